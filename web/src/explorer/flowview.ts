// Flows over time in the explorer: its choices, its chart, its table.
import type { StudyPage } from "../format";
import { button, el, fill } from "../ui/dom";
import type { Theme } from "../ui/palette";
import { INK, Scene } from "../ui/scene";
import { counted, plain, withUnit } from "../ui/units";
import { MARGIN, onPaper, type Paper } from "./chart";
import { choice } from "./controls";
import type { Dim, Source } from "./data";
import { drawFlows, drawFlowSample, flowChart } from "./flowchart";
import { FlowPointer, type FlowWiring } from "./flowpointer";
import { type Flows, flowsOf, type FlowTables, loadFlows, runsOfFlows } from "./flows";
import { drawSamples } from "./frame";
import { levelLabel, levelText } from "./picture";
import { rowOfRun } from "./runs";
import type { State } from "./state";

/** More rows than this are in the CSV alone. */
const SHOWN = 500;

export class FlowView {
  private tables: FlowTables | null = null;
  private runs: number[] = [];

  constructor(
    private readonly page: StudyPage,
    private readonly source: Source,
  ) {}

  get loaded(): boolean {
    return this.tables !== null;
  }

  /** Reads the tables, once. Rejects with an Error that says what is wrong with them. */
  async load(): Promise<void> {
    this.tables ??= await loadFlows(this.page);
    this.runs = runsOfFlows(this.tables);
  }

  /** The run that the state asks for, or the first that is there. */
  runOf(state: State): number {
    return state.of ?? this.runs[0] ?? 0;
  }

  /** What is shown; null of a run that the page has not. */
  flows(state: State): Flows | null {
    return this.tables && flowsOf(this.tables, this.runOf(state), state.link);
  }

  /** Run and link: a choice for each factor that varies. */
  controls(state: State, change: (next: State) => void): HTMLElement[] {
    const run = this.runOf(state);
    const row = rowOfRun(this.source, run);
    const several = this.source.dims.filter((dim) => dim.labels.length > 1 && dim.kind !== "key");
    const choices = several.map((dim) => {
      const levels = dim.labels.map((_, level): [string, string] => [String(level), levelLabel(dim, level)]);
      const chosen = String(row < 0 ? "" : dim.codes[row]);
      return choice(dim.title, levels, chosen, (level) => {
        const other = runWith(this.source, run, dim, Number(level));
        if (other !== null) change({ ...state, of: other, zoom: null });
      });
    });
    const flows = this.flows(state);
    if (flows) {
      const links = flows.links.map((link): [string, string] => [link, link]);
      choices.push(choice("Link", links, flows.link, (link) => change({ ...state, link })));
    }
    const packets = button("Packets of this run", () => change({ ...state, run, with: null, trace: "" }), {
      id: "flows-packets",
    });
    return [...choices, packets];
  }

  caption(state: State): string {
    const run = this.runOf(state);
    const row = rowOfRun(this.source, run);
    const several = this.source.dims.filter((dim) => dim.labels.length > 1 && dim.kind !== "key");
    const levels = row < 0 ? "" : several.map((dim) => levelText(dim, dim.codes[row])).join(", ");
    const flows = this.flows(state);
    const where = `Run ${run}${levels ? ` (${levels})` : ""}`;
    if (!flows) return `${where}: its flows over time are not in this page.`;
    const every = withUnit(flows.edges[1] - flows.edges[0], "s");
    return `${where}: goodput of its flows over time, in intervals of ${every}, above the queue of ${flows.link}.`;
  }

  /** Why there is nothing to chart. */
  nothing(change: () => void): HTMLElement {
    const note = this.page.flows?.note ?? "";
    return el(
      "div",
      { class: "nothing" },
      el("p", {}, "Flows over time of this run are not in this page."),
      note ? el("p", { class: "soft" }, note) : null,
      button(`Run ${this.runs[0]}, which is`, change, { id: "flows-first" }),
    );
  }

  /** Puts the chart into `host`; what listens there is to be destroyed. */
  mount(
    host: HTMLElement,
    flows: Flows,
    state: State,
    look: { width: number; theme: Theme },
    wiring: FlowWiring,
  ): FlowPointer {
    const chart = flowChart(flows, look.width, look.theme, state.zoom);
    const scene = new Scene(chart.width, chart.height);
    drawFlows(scene, chart, look.theme);
    host.style.height = `${chart.height}px`;
    host.style.width = `${chart.width}px`;
    host.innerHTML = scene.toString();
    return new FlowPointer(host, chart, wiring);
  }

  legend(host: HTMLElement, flows: Flows, theme: Theme): void {
    const items = flowChart(flows, 800, theme, null).legend.map((entry) => {
      const scene = new Scene(24, 12);
      drawFlowSample(scene, 1, 6, entry);
      const item = el("span", { class: "legend-item" }, entry.label);
      item.insertAdjacentHTML("afterbegin", scene.toString());
      return item;
    });
    fill(host, el("span", { class: "legend-title" }, "flows"), ...items);
  }

  paper(state: State, title: string, theme: Theme, width = 900): Paper | null {
    const flows = this.flows(state);
    if (!flows) return null;
    const chart = flowChart(flows, width - 2 * MARGIN, theme, state.zoom);
    const drawing = {
      caption: this.caption(state),
      width: chart.width,
      height: chart.height,
      legend: (scene: Scene): number => {
        const samples = chart.legend.map((entry) => ({
          label: entry.label,
          draw: (x: number, y: number) => drawFlowSample(scene, x, y, entry),
        }));
        return drawSamples(scene, samples, chart.width, INK[theme]);
      },
      draw: (scene: Scene): void => drawFlows(scene, chart, theme),
    };
    return onPaper(drawing, title, theme);
  }

  /** Every interval, in the units of its columns. */
  csv(state: State): string {
    const flows = this.flows(state);
    if (!flows) return "";
    const number = (one: number): string => (Number.isNaN(one) ? "" : String(one));
    const { unit, mean, most, drops } = flows.queue;
    const heads = ["from_s", "to_s", ...flows.lines.map(({ label }) => `${label} bit/s`)];
    heads.push(`queue mean ${unit}`, `queue largest ${unit}`, "drops");
    const rows = mean.map((_, at) =>
      [
        number(flows.edges[at]),
        number(flows.edges[at + 1]),
        ...flows.lines.map(({ values }) => number(values[at])),
        ...[mean, most, drops].map((column) => number(column[at])),
      ].join(","),
    );
    return `${[heads.map(quoted).join(","), ...rows].join("\r\n")}\r\n`;
  }

  /** The same to read, in the units that fit. */
  listing(flows: Flows, caption: string): HTMLElement {
    const { unit, mean, most, drops } = flows.queue;
    const size = (value: number): string => (unit === "ms" ? withUnit(value, "ms") : plain(value));
    const heads = ["from (s)", "to (s)", ...flows.lines.map(({ label }) => label)];
    heads.push("queue, mean", "queue, largest", "dropped");
    const rows = mean.slice(0, SHOWN).map((_, at) => {
      const texts = [plain(flows.edges[at]), plain(flows.edges[at + 1])];
      texts.push(...flows.lines.map(({ values }) => withUnit(values[at], "bit/s")));
      texts.push(size(mean[at]), size(most[at]), plain(drops[at]));
      return el("tr", {}, ...texts.map((text) => el("td", {}, text)));
    });
    const table = el(
      "table",
      { class: "runs-table" },
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows),
    );
    const look = { class: "table-scroll tall", tabIndex: 0, role: "region", "aria-label": "Charted values" };
    const rest = mean.length - SHOWN;
    const more = rest > 0 ? el("p", { class: "soft" }, `${counted(rest, "more row")} are in the CSV.`) : null;
    return el("div", {}, el("div", look, table), more);
  }
}

/** The run with another level of one dimension, all others as in `run`. */
function runWith(source: Source, run: number, dim: Dim, level: number): number | null {
  const row = rowOfRun(source, run);
  const runs = source.table.run as ArrayLike<number>;
  for (let other = 0; other < source.rows; other++) {
    if (dim.codes[other] !== level) continue;
    const same = source.dims.every(
      (one) => one.name === dim.name || one.kind === "key" || row < 0 || one.codes[other] === one.codes[row],
    );
    if (same) return runs[other];
  }
  return null;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
