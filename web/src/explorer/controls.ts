// The choices: what is charted, along what, against what, and which levels.
import { button, el, fill } from "../ui/dom";
import { spoken } from "../ui/units";
import type { StudyPage } from "../format";
import { type Dim, dimOf, type Source } from "./data";
import type { Role } from "./group";
import { flowsHint, hasFlows } from "./flows";
import { levelLabel, wordOf } from "./picture";
import { presetsOf } from "./presets";
import { type Kind, type State, withRole } from "./state";

export interface Controls {
  page: StudyPage;
  /** Changes the state: what is chosen here goes through this. */
  change: (next: State) => void;
  chooseTable: (name: string) => void;
  /** Takes up a table and charts it as `of` says. */
  preset: (table: string, of: (first: State, source: Source) => State) => void;
  /** What of flows over time is chosen: run and link. */
  flows: () => HTMLElement[];
}

/** Fills `host` with the controls for a state. */
export function drawControls(host: HTMLElement, state: State, source: Source, wiring: Controls): void {
  const focused = host.contains(document.activeElement) ? document.activeElement?.id : null;
  const open = [...host.querySelectorAll<HTMLDetailsElement>("details[open]")].map((one) => one.id);
  const row = (...parts: HTMLElement[]): HTMLElement => el("div", { class: "controls-row" }, ...parts);
  if (state.kind === "flows") fill(host, row(...kindRow(state, source, wiring)), row(...wiring.flows()));
  else
    fill(
      host,
      row(...kindRow(state, source, wiring)),
      hintRow(wiring.page),
      row(...roleRow(state, source, wiring)),
      row(...againstRow(state, source, wiring), scaleToggles(state, wiring)),
      filterRow(state, source, wiring),
    );
  for (const id of open)
    host.querySelector<HTMLDetailsElement>(`details[id="${CSS.escape(id)}"]`)?.setAttribute("open", "");
  if (focused) document.getElementById(focused)?.focus();
}

type Option = [value: string, label: string];

export function choice(
  label: string,
  options: Option[],
  chosen: string,
  act: (value: string) => void,
): HTMLElement {
  const id = `choice-${label.toLowerCase().replaceAll(/\W+/g, "-")}`;
  const select = el("select", { id, onchange: () => act(select.value) });
  for (const [value, text] of options) select.append(new Option(text, value, false, value === chosen));
  return el("label", { class: "choice", for: id }, el("span", {}, label), select);
}

/** Buttons of which one is pressed. */
function segments(
  label: string,
  options: Option[],
  chosen: string,
  act: (value: string) => void,
): HTMLElement {
  const parts = options.map(([value, text]) =>
    button(text, () => act(value), { id: `${label}-${value}`, "aria-pressed": String(value === chosen) }),
  );
  return el("div", { class: "segments", role: "group", "aria-label": label }, ...parts);
}

function toggle(label: string, on: boolean, act: (on: boolean) => void): HTMLElement {
  const id = `toggle-${label.replaceAll(/\W+/g, "-")}`;
  const box = el("input", { type: "checkbox", id, checked: on, onchange: () => act(box.checked) });
  return el("label", { class: "toggle", for: id }, box, label);
}

/** What to write to have the kinds that this page has not. */
function hintRow(page: StudyPage): HTMLElement | null {
  const hint = flowsHint(page);
  return hint === null ? null : el("p", { class: "soft hint" }, hint);
}

function kindRow(state: State, source: Source, wiring: Controls): HTMLElement[] {
  const { page, change, chooseTable } = wiring;
  const kinds: Option[] = [
    ["line", "Lines"],
    ["heat", "Heat map"],
    ["spread", "Distribution"],
  ];
  if (hasFlows(page)) kinds.push(["flows", "Flows and queue"]);
  const column = source.responses.find((one) => one.name === state.response);
  const row = [
    segments("chart", kinds, state.kind, (kind) =>
      change({ ...state, kind: kind as Kind, zoom: null, at: null }),
    ),
  ];
  const presets = presetsOf(page).map(({ id, words, table, title, of }) =>
    button(words, () => wiring.preset(table, of), { id: `preset-${id}`, title }),
  );
  if (presets.length > 0)
    row.push(el("div", { class: "segments", role: "group", "aria-label": "Pictures of flows" }, ...presets));
  if (state.kind === "flows") return row;
  if (page.tables.length > 1)
    row.push(
      choice(
        "Table",
        page.tables.map(({ name }) => [name, spoken(name)]),
        state.table,
        chooseTable,
      ),
    );
  const responses = source.responses.map((one): Option => [one.name, wordOf(one)]);
  const response = choice("Response", responses, state.response, (name) =>
    change({ ...state, response: name, zoom: null }),
  );
  response.title = column?.meaning ?? "";
  row.push(response);
  if (state.kind === "spread") {
    const shapes: Option[] = [
      ["ecdf", "Cumulative"],
      ["histogram", "Histogram"],
      ["box", "Boxes"],
    ];
    row.push(
      segments("shape", shapes, state.shape, (shape) =>
        change({ ...state, shape: shape as State["shape"], zoom: null, at: null }),
      ),
    );
  } else if (column?.kind !== "truth") {
    const measures: Option[] = [
      ["mean", "Mean"],
      ["median", "Median"],
    ];
    row.push(
      segments("measure", measures, state.measure, (measure) =>
        change({ ...state, measure: measure as State["measure"], zoom: null }),
      ),
    );
  }
  return row;
}

function roleRow(state: State, source: Source, { change }: Controls): HTMLElement[] {
  const usable = source.dims.filter((dim) => dim.labels.length > 1);
  const options: Option[] = [["", "none"], ...usable.map(({ name, title }): Option => [name, title])];
  const role = (label: string, which: Role): HTMLElement =>
    choice(label, options, state[which] ?? "", (name) =>
      change(withRole(state, source, which, name || null)),
    );
  const heat = state.kind === "heat";
  const curve = isDistribution(state);
  const row = curve ? [] : [role("X axis", "x")];
  row.push(role(heat ? "Y axis" : "Colour", "colour"), role("Columns", "columns"), role("Rows", "rows"));
  return row;
}

/** A chart of shares along the values of the response: it has no axis of levels. */
function isDistribution(state: State): boolean {
  return state.kind === "spread" && state.shape !== "box";
}

function scaleToggles(state: State, { change }: Controls): HTMLElement {
  const heat = state.kind === "heat";
  const names = heat || (state.kind === "spread" && state.shape === "box");
  const toggles = names
    ? []
    : [toggle("log x", state.logX, (logX) => change({ ...state, logX, zoom: null }))];
  if (!isDistribution(state))
    toggles.push(
      toggle(heat ? "log colour" : "log y", state.logY, (logY) => change({ ...state, logY, zoom: null })),
    );
  return el("div", { class: "toggles", role: "group", "aria-label": "Scales" }, ...toggles);
}

function againstRow(state: State, source: Source, { change }: Controls): HTMLElement[] {
  const usable = source.dims.filter((dim) => dim.labels.length > 1 && dim.kind === "factor");
  if (usable.length === 0) return [];
  const { against } = state;
  const names: Option[] = [["", "nothing"], ...usable.map(({ name, title }): Option => [name, title])];
  const row = [
    choice("Against", names, against?.dim ?? "", (dim) =>
      change({
        ...state,
        zoom: null,
        against: dim ? { dim, level: 0, how: against?.how ?? "difference" } : null,
      }),
    ),
  ];
  if (!against) return row;
  const dim = dimOf(source, against.dim)!;
  const levels = dim.labels.map((_, level): Option => [String(level), levelLabel(dim, level)]);
  const hows: Option[] = [
    ["difference", "Difference"],
    ["ratio", "Ratio"],
  ];
  row.push(
    choice("Level", levels, String(against.level), (level) =>
      change({ ...state, zoom: null, against: { ...against, level: Number(level) } }),
    ),
    segments("how", hows, against.how, (how) =>
      change({ ...state, zoom: null, against: { ...against, how: how as "ratio" | "difference" } }),
    ),
  );
  return row;
}

function filterRow(state: State, source: Source, wiring: Controls): HTMLElement {
  const usable = source.dims.filter((dim) => dim.labels.length > 1);
  return el(
    "div",
    { class: "filters", role: "group", "aria-label": "Filters" },
    ...usable.map((dim) => filter(dim, state, wiring)),
  );
}

/** Levels of one dimension: all, some, or one after the other. */
function filter(dim: Dim, state: State, { change }: Controls): HTMLElement {
  const all = dim.labels.map((_, level) => level);
  const chosen = state.filters[dim.name] ?? all;
  const set = (levels: number[]): void => {
    const { [dim.name]: before, ...others } = state.filters;
    const filters =
      levels.length === all.length ? others : { ...others, [dim.name]: [...levels].sort((a, b) => a - b) };
    change({ ...state, filters, at: null, zoom: null });
  };
  const only = chosen.length === 1 ? chosen[0] : null;
  const step = (by: number): void => {
    const from = only ?? (by > 0 ? -1 : all.length);
    set([(from + by + all.length) % all.length]);
  };
  const words =
    chosen.length === all.length
      ? `all ${all.length}`
      : only !== null
        ? levelLabel(dim, only)
        : `${chosen.length} of ${all.length}`;
  const name = dim.title;
  const id = `filter-${dim.name}`;
  const details = el(
    "details",
    { id, title: dim.name, class: "filter-levels" },
    el("summary", { id: `${id}-summary` }, el("span", { class: "filter-name" }, name), ` ${words}`),
  );
  details.append(levelList(dim, chosen, set, all));
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary")?.focus();
    event.stopPropagation();
  });
  return el(
    "div",
    { class: chosen.length === all.length ? "filter" : "filter filter-on" },
    button("‹", () => step(-1), {
      id: `${id}-back`,
      "aria-label": `${name}: one level back`,
      title: "One level back",
    }),
    details,
    button("›", () => step(1), {
      id: `${id}-on`,
      "aria-label": `${name}: one level on`,
      title: "One level on",
    }),
  );
}

/** More boxes than this are not read; who has as many levels types a part of what is meant. */
const MOST_BOXES = 200;

function levelList(dim: Dim, chosen: number[], set: (levels: number[]) => void, all: number[]): HTMLElement {
  const kept = new Set(chosen);
  const list = el("div", { class: "filter-boxes" });
  const draw = (wanted: string): void => {
    const found = all.filter((level) => levelLabel(dim, level).toLowerCase().includes(wanted.toLowerCase()));
    const boxes = found.slice(0, MOST_BOXES).map((level) => {
      const id = `filter-${dim.name}-${level}`;
      const box = el("input", {
        type: "checkbox",
        id,
        checked: kept.has(level),
        onchange: () => set(all.filter((other) => (other === level ? box.checked : kept.has(other)))),
      });
      const only = button("only", () => set([level]), {
        id: `${id}-only`,
        class: "link",
        "aria-label": `only ${levelLabel(dim, level)}`,
      });
      return el("div", { class: "filter-box" }, el("label", { for: id }, box, levelLabel(dim, level)), only);
    });
    const more =
      found.length > MOST_BOXES ? `and ${found.length - MOST_BOXES} more: type a part of a level` : null;
    fill(list, ...boxes, more);
  };
  draw("");
  const search =
    all.length > 20
      ? el("input", {
          type: "search",
          placeholder: "find a level",
          "aria-label": `find a level of ${dim.title}`,
          oninput: (event: Event) => draw((event.target as HTMLInputElement).value),
        })
      : null;
  return el(
    "div",
    { class: "filter-panel" },
    el(
      "div",
      { class: "filter-all" },
      button("all", () => set(all), { id: `filter-${dim.name}-all`, class: "link" }),
    ),
    ...(search ? [search] : []),
    list,
  );
}
