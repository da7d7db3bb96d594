// What a state charts: groups, their sums, and the words for it. Knows nothing of pixels.
import { type Numbers, numbers } from "../block";
import type { Column, Unit } from "../format";
import { count, counted, plain, spoken, withUnit } from "../ui/units";
import { holdAgainst } from "./against";
import { type Dim, dimOf, type Source } from "./data";
import {
  cellAt,
  countUnreached,
  group,
  type Groups,
  type Measure,
  type Role,
  ROLES,
  summarise,
  type Summary,
} from "./group";
import { rolesOf, type State } from "./state";

export interface Picture {
  state: State;
  source: Source;
  column: Column;
  /** The charted value of each row. */
  values: Numbers;
  unit: Unit;
  measure: Measure;
  groups: Groups;
  summary: Summary;
  /** By cell: rows of runs in which a pattern met no packet, so that what it stands for never happened. */
  unreached: Uint32Array;
  /** What the axis of values says. */
  title: string;
  /** What is shown, in a sentence or two. */
  caption: string;
}

export function pictureOf(state: State, source: Source): Picture {
  const column = source.responses.find((one) => one.name === state.response)!;
  const given = numbers(source.table, column.name);
  const values = state.against ? holdAgainst(source, given, state.against) : given;
  const truth = column.kind === "truth";
  const measure: Measure =
    state.measure === "median" && !truth ? "median" : truth && !state.against ? "share" : "mean";
  const groups = group(source, rolesOf(state, source), state.filters);
  const replication = source.table.replication ? numbers(source.table, "replication") : null;
  const summary = summarise(groups, values, replication, measure);
  const unit: Unit = state.against?.how === "ratio" ? "" : truth ? "share" : column.unit;
  const unreached = countUnreached(groups, values, source.unreached);
  const picture = { state, source, column, values, unit, measure, groups, summary, unreached };
  return { ...picture, title: titleOf(picture), caption: captionOf(picture) };
}

type Unworded = Omit<Picture, "title" | "caption">;

/** What people call a response. */
export function wordOf(column: Column): string {
  return column.title ?? spoken(column.name);
}

/** What a row of a table is. */
export function rowWord(table: string): string {
  return { runs: "run", transfers: "flow" }[table] ?? "row";
}

/** `3.512 s`, `1.24 ×`. */
export function valueText(picture: Unworded, value: number, digits = 4): string {
  if (Number.isNaN(value)) return "–";
  if (picture.state.against?.how === "ratio") return `${plain(value, digits)} ×`;
  const text = withUnit(value, picture.unit, digits);
  return picture.state.against && value > 0 ? `+${text}` : text;
}

/** `bandwidth 40 kbit/s`, `stack of far: reno`: a level with the name of its dimension. */
export function levelText(dim: Dim, level: number): string {
  const label = levelLabel(dim, level);
  return dim.kind !== "factor" || /^\d/.test(label) ? `${dim.title} ${label}` : `${dim.title}: ${label}`;
}

/** A level as people write it. */
export function levelLabel(dim: Dim, level: number): string {
  return dim.kind === "key" && dim.values ? withUnit(dim.values[level], dim.unit) : dim.labels[level];
}

/** The dimensions of a cell with their levels. */
export function cellLevels(groups: Groups, places: Record<Role, number>): [Dim, number][] {
  const found: [Dim, number][] = [];
  for (const role of ROLES) {
    const dim = groups.roles[role];
    if (dim) found.push([dim, groups.levels[role][places[role]]]);
  }
  return found;
}

/** The cell that `at` names; null where it is not shown. */
export function placesOf(groups: Groups, at: Record<string, number> | null): Record<Role, number> | null {
  if (!at) return null;
  const places = { rows: 0, columns: 0, colour: 0, x: 0 };
  for (const role of ROLES) {
    const dim = groups.roles[role];
    if (!dim) continue;
    places[role] = groups.levels[role].indexOf(at[dim.name] ?? -1);
    if (places[role] < 0) return null;
  }
  return places;
}

export function cellOf(groups: Groups, places: Record<Role, number>): number {
  return cellAt(groups, places.rows, places.columns, places.colour, places.x);
}

/** Rows of a cell, in the order of the table. */
export function rowsOf(groups: Groups, cell: number): Uint32Array {
  return groups.order.subarray(groups.start[cell], groups.start[cell + 1]);
}

/** What holds for the whole of a chart and is easily overlooked, a sentence each. */
export function notesOf(picture: Picture): string[] {
  const { groups, summary, state } = picture;
  const notes: string[] = [];
  for (const [role, cut] of Object.entries(groups.cut)) {
    const shown = groups.levels[role as Role].length;
    const { title } = groups.roles[role as Role]!;
    notes.push(
      `Shown are the first ${shown} levels of ${title}; ${counted(cut, "more")} can be had by the filter.`,
    );
  }
  let missing = 0;
  let gaps = 0;
  for (let cell = 0; cell < summary.n.length; cell++) {
    missing += summary.missing[cell];
    if (summary.n[cell] === 0 && summary.missing[cell] > 0) gaps++;
  }
  if (missing > 0) {
    const why = state.against
      ? "no value, or none to hold it against"
      : "no value, as runs that failed have none";
    const points =
      gaps > 0 ? ` At ${counted(gaps, "point")} that is so of all: the chart has a gap there.` : "";
    notes.push(
      `${counted(missing, state.table === "runs" ? "row" : rowWord(state.table))} of ${count(groups.order.length)} ${missing === 1 ? "has" : "have"} ${why}.${points}`,
    );
  }
  return [...notes, timedNote(picture), unreachedNote(picture)].filter((note) => note !== "");
}

/** What a chart of completion times has to say of transfers that write for a set time. */
function timedNote({ column, source, state }: Picture): string {
  const dim = dimOf(source, "transfer");
  if (!column.timed || !dim) return "";
  const shown = new Set((state.filters.transfer ?? [...dim.labels.keys()]).map((at) => dim.labels[at]));
  const [out, there] = [false, true].map((is) =>
    column.timed!.names.filter((name) => shown.has(name) === is),
  );
  const why = "written for a set time, and did not complete by themselves";
  return [
    there.length > 0
      ? `Flows of ${listed(there)} were ${why}: their times say when they were told to end.`
      : "",
    out.length > 0 ? `Flows of ${listed(out)} are left out: they were ${why}.` : "",
  ]
    .filter((note) => note !== "")
    .join(" ");
}

function unreachedNote({ unreached, groups, state }: Picture): string {
  const all = unreached.reduce((sum, rows) => sum + rows, 0);
  if (all === 0) return "";
  const points = unreached.reduce((sum, rows) => sum + (rows > 0 ? 1 : 0), 0);
  const where = state.kind === "spread" ? "" : ` (${counted(points, "open mark")})`;
  const whose = rowWord(state.table);
  return `In ${counted(all, whose)} of ${count(groups.order.length)}${where} a pattern met no packet: what it stands for never happened.`;
}

function titleOf(picture: Unworded): string {
  const { column, state, source } = picture;
  const plain = wordOf(column);
  const name = column.kind === "truth" ? `share ${plain}` : plain;
  const { against } = state;
  if (!against) return name;
  const dim = dimOf(source, against.dim)!;
  const reference = levelText(dim, against.level);
  return `${name} ${against.how === "ratio" ? "÷" : "−"} ${name} at ${reference}`;
}

function captionOf(picture: Unworded): string {
  const { groups, state, source } = picture;
  const roles = groups.roles;
  const what = capital(`${measureWord(picture)} ${titleOf(picture)}`);
  const by = roles.x ? `${state.against ? "," : ""} by ${roles.x.title}` : "";
  const each =
    roles.colour === null
      ? ""
      : state.kind === "heat"
        ? ` and ${roles.colour.title}`
        : `, one curve for each ${roles.colour.title}`;
  const panels = [roles.rows, roles.columns].filter((dim) => dim !== null).map((dim) => dim.title);
  const facets = panels.length > 0 ? `, in panels by ${panels.join(" and ")}` : "";
  const used = new Set(ROLES.map((role) => roles[role]?.name));
  const rest = source.dims
    .filter((dim) => !used.has(dim.name) && dim.kind !== "replication" && levelsLeft(dim, state) > 1)
    .map((dim) => `${dim.title} (${levelsLeft(dim, state)} levels)`);
  const over =
    rest.length > 0 ? ` ${state.kind === "spread" ? "Over" : "Averaged over"} ${listed(rest)}.` : "";
  return `${what}${by}${each}${facets}.${over}${intervalText(picture)}`;
}

function intervalText(picture: Unworded): string {
  const { state, measure, summary } = picture;
  const rows = ` ${count(picture.groups.order.length)} of ${counted(picture.source.rows, rowWord(picture.source.info.name))}.`;
  if (state.kind !== "line") return rows;
  const parts = summary.replications;
  if (measure === "share") return ` Bands: 95\u202f% confidence of the share (Wilson).${rows}`;
  if (measure === "median") return ` Bands: least and greatest value.${rows}`;
  if (parts > 1) return ` Bands: 95\u202f% confidence over ${parts} replications (Student’s t).${rows}`;
  return ` One replication: no interval.${rows}`;
}

function measureWord(picture: Unworded): string {
  if (picture.state.kind === "spread") return "distribution of";
  return picture.measure === "share" ? "" : picture.measure;
}

function levelsLeft(dim: Dim, state: State): number {
  return state.filters[dim.name]?.length ?? dim.labels.length;
}

function listed(words: string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function capital(words: string): string {
  const text = words.trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
