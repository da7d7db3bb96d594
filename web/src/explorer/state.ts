// Every choice of the explorer, and how a link holds it.
import type { StudyPage } from "../format";
import type { Against } from "./against";
import { type Dim, dimOf, type Source } from "./data";
import { type Filters, type Role, ROLES } from "./group";

export type Kind = "line" | "heat" | "spread" | "flows";
export type Shape = "ecdf" | "histogram" | "box";

export interface State {
  table: string;
  response: string;
  kind: Kind;
  /** Names of dimensions; in a heat map `colour` goes up the side. */
  x: string | null;
  colour: string | null;
  rows: string | null;
  columns: string | null;
  measure: "mean" | "median";
  shape: Shape;
  logX: boolean;
  logY: boolean;
  /** The part of the axes that is shown: x from, x to, y from, y to. */
  zoom: number[] | null;
  against: Against | null;
  filters: Filters;
  /** The chosen point: a level of each of its dimensions. */
  at: Record<string, number> | null;
  /** Runs whose packets are open. */
  run: number | null;
  with: number | null;
  layout: "beside" | "overlay";
  /** What the graphs of the packets say of their own state. */
  trace: string;
  view: "chart" | "table";
  /** Of flows over time: the run, the first that the page has where it is null, and the link, the one with the longest
   * queue where it is null. */
  of: number | null;
  link: string | null;
}

/** The state to begin with: what the page asks for, as far as this table has it. */
export function firstState(page: StudyPage, source: Source): State {
  const has = (name: string | null): string | null => dimOf(source, name)?.name ?? null;
  const several = source.dims.filter((dim) => dim.labels.length > 1 && dim.kind !== "replication");
  const response = source.responses.find((column) => column.name === page.first.response);
  const key = several.find((dim) => dim.kind === "key" && dim.values !== null);
  const x = key?.name ?? has(page.first.x) ?? several[0]?.name ?? null;
  // What two hosts measured is never averaged unasked.
  const apart = several.find(
    (dim) => dim.kind === "key" && dim.values === null && dim.labels.length <= 4 && dim.name !== "connection",
  );
  // Without anything along an axis a mean is one dot: the runs themselves say more.
  const spread = x === null && source.dims.some((dim) => dim.kind === "replication" && dim.labels.length > 1);
  const free = several.filter((dim) => dim.name !== x && dim !== apart);
  const wanted = has(page.first.colour);
  return {
    table: source.info.name,
    response: (response ?? source.responses[0])?.name ?? "",
    kind: spread ? "spread" : "line",
    x,
    colour: wanted !== null && wanted !== x ? wanted : (free[0]?.name ?? null),
    rows: null,
    columns: apart?.name ?? null,
    measure: "mean",
    shape: "ecdf",
    logX: prefersLog(dimOf(source, x)),
    logY: false,
    zoom: null,
    against: null,
    filters: {},
    at: null,
    run: null,
    with: null,
    layout: "beside",
    trace: "",
    view: "chart",
    of: null,
    link: null,
  };
}

/** Names of the dimensions, by role, as this kind of chart uses them. */
export function rolesOf(state: State, source: Source): Record<Role, ReturnType<typeof dimOf>> {
  const along = state.kind === "spread" && state.shape !== "box" ? null : state.x;
  return {
    rows: dimOf(source, state.rows),
    columns: dimOf(source, state.columns),
    colour: dimOf(source, state.colour),
    x: dimOf(source, along),
  };
}

const HEAD = "explorer?";

/** The fragment of a link that restores `state`; what is as in `first` is left out. */
export function toFragment(state: State, first: State, source: Source): string {
  const said = new URLSearchParams();
  for (const [key, name] of Object.entries(TEXTS) as [Textual, string][])
    if (state[key] !== first[key]) said.set(name, String(state[key] ?? NONE));
  if (state.logX !== prefersLog(dimOf(source, state.x))) said.set("logx", state.logX ? "1" : "0");
  if (state.logY) said.set("logy", "1");
  const { against, at } = state;
  if (against)
    said.set("against", [against.how, against.dim, labelAt(source, against.dim, against.level)].join("~"));
  for (const [name, levels] of Object.entries(state.filters)) writeFilter(said, source, name, levels);
  for (const [name, level] of Object.entries(at ?? {}))
    said.append(`at.${name}`, labelAt(source, name, level));
  if (at && Object.keys(at).length === 0) said.set("at", ALL);
  if (state.zoom) said.set("zoom", zoomText(state.zoom));
  if (state.run !== null) said.set("run", String(state.run));
  if (state.with !== null) said.set("with", String(state.with));
  if (state.of !== null) said.set("of", String(state.of));
  if (state.link !== null) said.set("link", state.link);
  return HEAD + said.toString();
}

/** The table that a fragment asks for; null where it is not one of ours. */
export function tableOf(fragment: string): string | null | undefined {
  const said = parse(fragment);
  return said ? said.get("table") : undefined;
}

/** The state that a fragment says, and what of it cannot be had, a sentence each. */
export function fromFragment(
  fragment: string,
  first: State,
  source: Source,
): { state: State; faults: string[] } {
  const state: State = { ...first, filters: {} };
  const faults: string[] = [];
  const said = parse(fragment);
  if (!said) return { state, faults };
  readTexts(said, state, source, faults);
  // An axis is as its levels ask for, unless the link says otherwise.
  [state.logX, state.logY] = [prefersLog(dimOf(source, state.x)), false];
  for (const [key, name] of Object.entries(SWITCHES) as ["logX" | "logY", string][])
    if (said.get(name) === "1" || said.get(name) === "0") state[key] = said.get(name) === "1";
    else if (said.has(name)) faults.push(`The link says ${name}=${said.get(name)}; known are 0, 1.`);
  readZoom(said.get("zoom"), state, faults);
  readAgainst(said.get("against"), state, source, faults);
  readLevels(said, state, source, faults);
  state.link = said.get("link");
  for (const key of ["run", "with", "of"] as const) {
    const number = said.get(key);
    if (number === null) continue;
    if (/^\d{1,15}$/.test(number)) state[key] = Number(number);
    else faults.push(`The link asks for a run ${number}, which is not a number.`);
  }
  if (state.with !== null && state.with === state.run) {
    faults.push(`The link compares run ${state.with} with itself.`);
    state.with = null;
  }
  return { state, faults };
}

/** With `name` in a role; a role that had it before takes what this one had. */
export function withRole(state: State, source: Source, role: Role, name: string | null): State {
  const changed: State = { ...state, at: null, zoom: null };
  const before = state[role];
  for (const other of ROLES)
    if (other !== role && name !== null && state[other] === name) changed[other] = before;
  changed[role] = name;
  if (changed.x !== state.x) changed.logX = prefersLog(dimOf(source, changed.x));
  return changed;
}

/** Whether the levels of a dimension lie better on a logarithmic axis: far apart, and none at or below 0. */
export function prefersLog(dim: Dim | null): boolean {
  if (!dim?.values?.length || dim.kind !== "factor" || dim.position) return false;
  const low = dim.values.reduce((least, value) => Math.min(least, value));
  const high = dim.values.reduce((most, value) => Math.max(most, value));
  return low > 0 && high / low >= 20 && dim.values.length > 2;
}

const NONE = "none";
/** The point of a chart that has but one. */
const ALL = "all";
const SWITCHES = { logX: "logx", logY: "logy" };
const TEXTS = {
  table: "table",
  response: "response",
  kind: "kind",
  x: "x",
  colour: "colour",
  rows: "rows",
  columns: "columns",
  measure: "measure",
  shape: "shape",
  layout: "layout",
  trace: "trace",
  view: "view",
};
type Textual = keyof typeof TEXTS;
const CHOICES: Partial<Record<Textual, string[]>> = {
  kind: ["line", "heat", "spread", "flows"],
  measure: ["mean", "median"],
  shape: ["ecdf", "histogram", "box"],
  layout: ["beside", "overlay"],
  view: ["chart", "table"],
};

/** Whether a fragment speaks to the explorer. */
export function isOurs(fragment: string): boolean {
  return parse(fragment) !== null;
}

function parse(fragment: string): URLSearchParams | null {
  const text = fragment.replace(/^#/, "");
  return text.startsWith(HEAD) ? new URLSearchParams(text.slice(HEAD.length)) : null;
}

function labelAt(source: Source, name: string, level: number): string {
  return dimOf(source, name)?.labels[level] ?? "";
}

function readTexts(said: URLSearchParams, state: State, source: Source, faults: string[]): void {
  for (const [key, name] of Object.entries(TEXTS) as [Textual, string][]) {
    const text = said.get(name);
    if (text === null || key === "table") continue;
    const isRole = (ROLES as readonly string[]).includes(key);
    if (isRole && text !== NONE && !dimOf(source, text)) {
      faults.push(`The link asks for ${text} as ${name}, which the table ${source.info.name} does not have.`);
    } else if (key === "response" && !source.responses.some((column) => column.name === text)) {
      faults.push(
        `The link asks for the response ${text}, which the table ${source.info.name} does not have.`,
      );
    } else if (CHOICES[key] && !CHOICES[key].includes(text)) {
      faults.push(`The link says ${name}=${text}; known are ${CHOICES[key].join(", ")}.`);
    } else Object.assign(state, { [key]: isRole && text === NONE ? null : text });
  }
  // Two roles of one dimension would chart nothing.
  for (const [at, role] of ROLES.entries())
    for (const other of ROLES.slice(at + 1))
      if (state[role] !== null && state[role] === state[other]) state[role] = null;
}

/** The ends of the part that is shown, to a millionth of it. */
function zoomText(zoom: number[]): string {
  const texts = zoom.map((end, at) => {
    const [low, high] = at < 2 ? zoom : zoom.slice(2);
    const digits = 7 + Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / Math.abs(high - low)));
    return String(Number(end.toPrecision(Number.isNaN(digits) ? 17 : Math.min(17, Math.max(7, digits)))));
  });
  return texts.join("~");
}

function readZoom(text: string | null, state: State, faults: string[]): void {
  if (text === null) return;
  const zoom = text.split("~").map((end) => (end.trim() === "" ? Number.NaN : Number(end)));
  if (zoom.length === 4 && zoom.every(Number.isFinite) && zoom[0] < zoom[1] && zoom[2] < zoom[3])
    state.zoom = zoom;
  else faults.push(`The link asks for the part ${text} of the axes, which is not x from ~ to ~ y from ~ to.`);
}

function readAgainst(text: string | null, state: State, source: Source, faults: string[]): void {
  if (text === null) return;
  const [how, name, ...label] = text.split("~");
  if (how === "difference" || how === "ratio")
    // A name or a label may have the mark between them.
    for (const dim of source.dims) {
      if (!text.startsWith(`${how}~${dim.name}~`)) continue;
      const level = dim.labels.indexOf(text.slice(how.length + dim.name.length + 2));
      if (level < 0) continue;
      state.against = { dim: dim.name, level, how };
      return;
    }
  faults.push(`The link holds values against ${label.join("~")} of ${name}, which there is not.`);
}

function writeFilter(said: URLSearchParams, source: Source, name: string, levels: number[]): void {
  const dim = dimOf(source, name);
  if (!dim) return;
  // The shorter of what is in and what is out; nothing at all in has to be said too.
  const out = dim.labels.map((_, level) => level).filter((level) => !levels.includes(level));
  const short = levels.length > 0 && levels.length <= out.length;
  for (const level of short ? levels : out)
    said.append(`${short ? "only" : "not"}.${name}`, dim.labels[level]);
}

function readLevels(said: URLSearchParams, state: State, source: Source, faults: string[]): void {
  const missing = (name: string, label: string): void => {
    faults.push(`The link asks for ${label} of ${name}, which there is not.`);
  };
  if (said.get("at") === ALL) state.at = {};
  for (const key of new Set(said.keys())) {
    const [, how, name] = /^(only|not|at)\.(.*)$/s.exec(key) ?? [];
    if (how === undefined) continue;
    const dim = dimOf(source, name);
    const labels = said.getAll(key);
    for (const label of labels) if (!dim?.labels.includes(label)) missing(name, label);
    if (!dim) continue;
    const levels = dim.labels.map((_, level) => level).filter((level) => labels.includes(dim.labels[level]));
    if (how === "at") {
      if (levels.length > 0) state.at = { ...state.at, [name]: levels[0] };
    } else if (how === "only") {
      if (levels.length > 0) state.filters[name] = levels;
    } else
      state.filters[name] = dim.labels.map((_, level) => level).filter((level) => !levels.includes(level));
  }
}
