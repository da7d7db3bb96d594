// The runs behind a point, and which of them are open.
import { numbers } from "../block";
import type { StudyPage } from "../format";
import { button, copy, el, fill } from "../ui/dom";
import { count, counted, withUnit } from "../ui/units";
import type { Dim, Source } from "./data";
import {
  cellLevels,
  cellOf,
  levelLabel,
  levelText,
  type Picture,
  placesOf,
  rowsOf,
  rowWord,
  valueText,
  wordOf,
} from "./picture";
import type { State } from "./state";
import { meanOf } from "./stats";

export interface RunWiring {
  open: (run: number) => void;
  compare: (run: number) => void;
  close: () => void;
}

/** More are shown on request, up to as many as a browser lays out at once. */
const SHOWN = 60;
const MOST = 5000;

/** Fills `host` with the runs of the point that the state has chosen. */
export function drawRuns(host: HTMLElement, page: StudyPage, picture: Picture, wiring: RunWiring): void {
  const places = placesOf(picture.groups, picture.state.at);
  if (!places) {
    host.replaceChildren();
    return;
  }
  const cell = cellOf(picture.groups, places);
  const entries = runsOf(picture.source, rowsOf(picture.groups, cell));
  const levels = cellLevels(picture.groups, places);
  const where = levels.map(([dim, level]) => levelText(dim, level)).join(", ");
  const title = el(
    "h3",
    { id: "runs-title", tabIndex: -1 },
    `${counted(entries.length, "run")}${where ? ` at ${where}` : ""}`,
  );
  const shut = button("×", wiring.close, {
    class: "close",
    "aria-label": "Close the list of runs",
    title: "Close (Escape)",
  });
  fill(
    host,
    el("header", { class: "panel-head" }, title, el("p", { class: "soft" }, pointText(picture, cell))),
    runTable(page, picture, entries, wiring),
    shut,
  );
}

/** What is known of a point, in one line. */
export function pointText(picture: Picture, cell: number): string {
  const { summary, state, measure } = picture;
  const [n, missing] = [summary.n[cell], summary.missing[cell]];
  const lost = missing > 0 ? `${count(missing)} without a value` : "";
  const never = picture.unreached[cell];
  const open = never > 0 ? `a pattern met no packet${never < n ? ` in ${count(never)}` : ""}` : "";
  if (n === 0) return `no value: ${counted(missing, "run")} without one`;
  const value = `${measure} ${valueText(picture, summary.value[cell])}`;
  const [low, high] = [summary.low[cell], summary.high[cell]];
  const ends = `${valueText(picture, low)} … ${valueText(picture, high)}`;
  const interval =
    low === high && measure !== "share" ? "" : measure === "median" ? `from ${ends}` : `95\u202f% ${ends}`;
  const unit = rowWord(state.table);
  return [value, interval, counted(n, unit), lost, open].filter((part) => part !== "").join(" · ");
}

/** A run with its rows of the charted table: one of a table of runs, several of intervals or messages. */
interface Entry {
  run: number;
  rows: number[];
}

/** The runs of some rows, in the order of the table. */
export function runsOf(source: Source, rows: Iterable<number>): Entry[] {
  const runs = numbers(source.table, "run");
  const found = new Map<number, Entry>();
  for (const row of rows) {
    const entry = found.get(runs[row]);
    if (entry) entry.rows.push(row);
    else found.set(runs[row], { run: runs[row], rows: [row] });
  }
  return [...found.values()];
}

function runTable(page: StudyPage, picture: Picture, entries: Entry[], wiring: RunWiring): HTMLElement {
  const { source, column, state, groups } = picture;
  const fixed = Object.values(groups.roles).map((dim) => dim?.name);
  // What tells rows of one run apart is not a property of the run.
  const other = source.dims.filter(
    (dim) => dim.kind === "factor" && dim.labels.length > 1 && !fixed.includes(dim.name),
  );
  const heads = ["run", "replication", ...other.map((dim) => dim.title), wordOf(column)];
  if (state.against) heads.push(state.against.how);
  if (hasEnd(picture)) heads.push("ended");
  heads.push("packets", "");
  const body = el("tbody");
  const line = (entry: Entry): HTMLElement => {
    const mark = entry.run === state.run ? "is-open" : entry.run === state.with ? "is-compared" : "";
    const cells = runCells(page, picture, entry, other).map((text) => el("td", {}, text));
    return el("tr", { class: mark }, ...cells, el("td", {}, runActs(state, entry.run, wiring)));
  };
  body.append(...entries.slice(0, SHOWN).map(line));
  const table = el(
    "table",
    { class: "runs-table", "aria-labelledby": "runs-title" },
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    body,
  );
  const scroll = el(
    "div",
    { class: "table-scroll", tabIndex: 0, role: "region", "aria-label": "Runs" },
    table,
  );
  if (entries.length <= SHOWN) return scroll;
  const words = entries.length > MOST ? `Show the first ${count(MOST)}` : `Show all ${count(entries.length)}`;
  const more = button(words, () => {
    body.append(...entries.slice(SHOWN, MOST).map(line));
    more.remove();
  });
  return el("div", {}, scroll, more);
}

function hasEnd({ source, column }: Picture): boolean {
  return source.table.completed !== undefined && column.name !== "completed";
}

function runCells(page: StudyPage, picture: Picture, { run, rows }: Entry, other: Dim[]): (string | Node)[] {
  const { source, column, state, values } = picture;
  const [row] = rows;
  const cells: (string | Node)[] = [String(run), String(numbers(source.table, "replication")[row])];
  for (const dim of other) cells.push(levelLabel(dim, dim.codes[row]));
  if (rows.length === 1) cells.push(responseText(source, column.name, row));
  else {
    const given = rows
      .map((one) => numbers(source.table, column.name)[one])
      .filter((one) => !Number.isNaN(one));
    const unit = column.kind === "truth" ? "share" : column.unit;
    const mean = given.length > 0 ? withUnit(meanOf(given).value, unit) : "–";
    cells.push(`${mean} (mean of ${counted(rows.length, "row")})`);
  }
  if (state.against) {
    const given = rows.map((one) => values[one]).filter((one) => !Number.isNaN(one));
    cells.push(given.length > 0 ? valueText(picture, meanOf(given).value) : "–");
  }
  if (hasEnd(picture)) {
    const completed = numbers(source.table, "completed")[row];
    cells.push(completed ? "completed" : el("span", { class: "failed" }, "failed"));
  }
  cells.push(page.runs.embedded[run] ? "embedded" : el("span", { class: "soft" }, "not embedded"));
  return cells;
}

function runActs(state: State, run: number, wiring: RunWiring): HTMLElement {
  const [shown, pinned] = [run === state.run, run === state.with];
  const act = (words: string, name: string, on: boolean, go: () => void): HTMLElement =>
    button(words, go, {
      id: `${name.toLowerCase()}-${run}`,
      "aria-pressed": String(on),
      "aria-label": name === "Open" ? `Open run ${run}` : `Compare with run ${run}`,
    });
  const compare =
    state.run !== null && !shown
      ? act(pinned ? "compared" : "Compare", "Compare", pinned, () => wiring.compare(run))
      : null;
  return el(
    "span",
    { class: "acts" },
    act(shown ? "open" : "Open", "Open", shown, () => wiring.open(run)),
    compare,
  );
}

/** A response of a row as people read it. */
export function responseText(source: Source, name: string, row: number): string {
  const column = source.info.responses.find((one) => one.name === name);
  const given = source.table[name];
  if (!column || given === undefined) return "–";
  if ("words" in given) return given.words[given.codes[row]] ?? "–";
  const value = given[row];
  if (column.kind === "truth") return Number.isNaN(value) ? "–" : value ? "yes" : "no";
  return withUnit(value, column.unit);
}

/** The row of a run in a table of runs; -1 where it has none. */
export function rowOfRun(source: Source, run: number): number {
  const runs = numbers(source.table, "run");
  // Runs are numbered as they lie in the table, unless some are missing.
  return runs[run] === run ? run : runs.indexOf(run);
}

/** The run whose levels are those of `run`, but for one dimension, where it is `by` levels on. */
export function neighbour(source: Source, run: number, dim: Dim, by: number): number | null {
  const row = rowOfRun(source, run);
  const level = row < 0 ? -1 : dim.codes[row] + by;
  if (level < 0 || level >= dim.labels.length) return null;
  for (let other = 0; other < source.rows; other++) {
    if (dim.codes[other] !== level) continue;
    if (source.dims.every((one) => one.name === dim.name || one.codes[other] === one.codes[row]))
      return numbers(source.table, "run")[other];
  }
  return null;
}

/** How to have the packets of a run that the page has not. */
export function absent(page: StudyPage, run: number): HTMLElement {
  const command = page.runs.command?.join(String(run)) ?? null;
  const note = el("p", {}, `The packets of run ${run} are not in this page. ${page.runs.note}`);
  if (command === null) return el("div", { class: "absent" }, note);
  const done = el("span", { class: "soft", role: "status" });
  const act = button("Copy", () => void copy(command).then(() => (done.textContent = "copied")), {
    class: "copy",
    "aria-label": "Copy the command",
  });
  return el(
    "div",
    { class: "absent" },
    note,
    el("p", {}, "This writes the page anew, with them:"),
    el("div", { class: "command" }, el("code", {}, command), act, done),
  );
}
