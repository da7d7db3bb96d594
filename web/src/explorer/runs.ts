// The runs behind a point, and which of them are open.
import { numbers } from "../block";
import type { StudyPage } from "../format";
import { button, copy, el, fill } from "../ui/dom";
import { count, counted, spoken, withUnit } from "../ui/units";
import { type Dim, type Source } from "./data";
import {
  cellLevels,
  cellOf,
  levelLabel,
  levelText,
  type Picture,
  placesOf,
  rowsOf,
  valueText,
} from "./picture";

export interface RunWiring {
  open: (run: number) => void;
  compare: (run: number) => void;
  close: () => void;
}

/** More are shown on request. */
const SHOWN = 60;

/** Fills `host` with the runs of the point that the state has chosen. */
export function drawRuns(host: HTMLElement, page: StudyPage, picture: Picture, wiring: RunWiring): void {
  const places = placesOf(picture.groups, picture.state.at);
  if (!places) {
    host.replaceChildren();
    return;
  }
  const cell = cellOf(picture.groups, places);
  const rows = [...rowsOf(picture.groups, cell)];
  const levels = cellLevels(picture.groups, places);
  const where = levels.map(([dim, level]) => levelText(dim, level)).join(", ");
  const title = el(
    "h3",
    { id: "runs-title", tabIndex: -1 },
    `${counted(rows.length, "run")}${where ? ` at ${where}` : ""}`,
  );
  const shut = button("×", wiring.close, {
    class: "close",
    "aria-label": "Close the list of runs",
    title: "Close (Escape)",
  });
  fill(
    host,
    el("header", { class: "panel-head" }, title, el("p", { class: "soft" }, pointText(picture, cell)), shut),
    runTable(page, picture, { rows, fixed: levels.map(([dim]) => dim) }, wiring),
  );
}

/** What is known of a point, in one line. */
export function pointText(picture: Picture, cell: number): string {
  const { summary, state, measure } = picture;
  const [n, missing] = [summary.n[cell], summary.missing[cell]];
  const lost = missing > 0 ? `${count(missing)} without a value` : "";
  if (n === 0) return `no value: ${counted(missing, "run")} without one`;
  const value = `${measure} ${valueText(picture, summary.value[cell])}`;
  const [low, high] = [summary.low[cell], summary.high[cell]];
  const ends = `${valueText(picture, low)} … ${valueText(picture, high)}`;
  const interval =
    low === high && measure !== "share" ? "" : measure === "median" ? `from ${ends}` : `95\u202f% ${ends}`;
  const unit = state.table === "runs" ? "run" : "row";
  return [value, interval, counted(n, unit), lost].filter((part) => part !== "").join(" · ");
}

function runTable(
  page: StudyPage,
  picture: Picture,
  { rows, fixed }: { rows: number[]; fixed: Dim[] },
  wiring: RunWiring,
): HTMLElement {
  const { source, column, state } = picture;
  const runs = numbers(source.table, "run");
  const replication = numbers(source.table, "replication");
  const completed = source.table.completed ? numbers(source.table, "completed") : null;
  const other = source.dims.filter(
    (dim) =>
      dim.kind !== "replication" && dim.labels.length > 1 && !fixed.some((one) => one.name === dim.name),
  );
  const heads = ["run", "replication", ...other.map((dim) => spoken(dim.name)), spoken(column.name)];
  if (state.against) heads.push(state.against.how);
  if (completed && column.name !== "completed") heads.push("ended");
  heads.push("packets", "");
  const body = el("tbody");
  const line = (row: number): HTMLElement => {
    const run = runs[row];
    const cells: (string | Node)[] = [String(run), String(replication[row])];
    for (const dim of other) cells.push(levelLabel(dim, dim.codes[row]));
    cells.push(responseText(source, column.name, row));
    if (state.against) cells.push(valueText(picture, picture.values[row]));
    if (completed && column.name !== "completed")
      cells.push(completed[row] ? "completed" : el("span", { class: "failed" }, "failed"));
    cells.push(page.runs.embedded[run] ? "embedded" : el("span", { class: "soft" }, "not embedded"));
    const [shown, pinned] = [run === state.run, run === state.with];
    const acts = el(
      "span",
      { class: "acts" },
      button(shown ? "open" : "Open", () => wiring.open(run), {
        id: `open-${run}`,
        "aria-pressed": String(shown),
        "aria-label": `Open run ${run}`,
      }),
      state.run !== null && !shown
        ? button(pinned ? "compared" : "Compare", () => wiring.compare(run), {
            id: `compare-${run}`,
            "aria-pressed": String(pinned),
            "aria-label": `Compare with run ${run}`,
          })
        : null,
    );
    const mark = shown ? "is-open" : pinned ? "is-compared" : "";
    return el("tr", { class: mark }, ...cells.map((text) => el("td", {}, text)), el("td", {}, acts));
  };
  body.append(...rows.slice(0, SHOWN).map(line));
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
  if (rows.length <= SHOWN) return scroll;
  const more = button(`Show all ${count(rows.length)}`, () => {
    body.append(...rows.slice(SHOWN, 5000).map(line));
    more.remove();
  });
  return el("div", {}, scroll, more);
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
  const command = page.runs.command?.replaceAll("RUN", String(run)) ?? null;
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
