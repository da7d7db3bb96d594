// The explorer of a study: from all runs to a curve, from a point to its runs, from a run to its packets.
import type { StudyPage } from "../format";
import "./style.css";
import { button, copy, download, el, fill, say } from "../ui/dom";
import { rasterise, Scene } from "../ui/scene";
import { onTheme, theme } from "../ui/theme";
import { counted } from "../ui/units";
import { type Chart, mountChart, type Paper, paperOf } from "./chart";
import { drawControls } from "./controls";
import { dimOf, load, reason, type Source } from "./data";
import type { FlowPointer } from "./flowpointer";
import { flowsHint, hasFlows } from "./flows";
import { FlowView } from "./flowview";
import { drawSample, type LegendEntry, type Mark } from "./frame";
import { keysDialog } from "./keys";
import { csv, listing } from "./listing";
import { Packets } from "./packets";
import { cellLevels, cellOf, notesOf, type Picture, pictureOf, placesOf } from "./picture";
import { Pointer } from "./pointer";
import { drawRuns } from "./runs";
import { firstState, fromFragment, isOurs, type State, tableOf, toFragment } from "./state";

/** Fills `host` with the explorer of the page's study. What is wrong stands in its place. */
export async function mountExplorer(host: HTMLElement, page: StudyPage): Promise<void> {
  try {
    const [info] = page.tables;
    if (!info) throw new Error("this page has no table of runs");
    const runs = await load(page, info);
    if (runs.rows === 0) throw new Error("this study has no run yet");
    if (runs.responses.length === 0)
      throw new Error(`the table ${info.name} has no response that can be charted`);
    const explorer = new Explorer(host, page, runs);
    await explorer.follow(location.hash);
  } catch (error) {
    fill(host, el("p", { class: "fault", role: "alert" }, `The explorer cannot be shown: ${reason(error)}`));
  }
}

class Explorer {
  private source: Source;
  private state: State;
  private first: State;
  private picture: Picture | null = null;
  private chart: Chart | null = null;
  private pointer: Pointer | null = null;
  private flowPointer: FlowPointer | null = null;
  private readonly flows: FlowView;
  private faults: string[] = [];
  /** The drawing for paper is in its place. */
  private printing = false;
  private width = 0;
  private readonly sources = new Map<string, Source>();
  private readonly packets: Packets;
  private readonly parts = {
    controls: el("div", { class: "controls" }),
    faults: el("div", { class: "faults", role: "alert" }),
    caption: el("p", { class: "caption" }),
    legend: el("div", { class: "legend" }),
    chart: el("div", { class: "chart", tabIndex: 0, role: "application" }),
    notes: el("div", { class: "notes" }),
    tools: el("div", { class: "tools" }),
    runs: el("section", { class: "runs", id: "runs" }),
    packets: el("section", { class: "packets", id: "packets" }),
    paper: el("div", { class: "paper" }),
    live: el("div", { class: "sr-only", "aria-live": "polite" }),
  };

  constructor(
    private readonly host: HTMLElement,
    private readonly page: StudyPage,
    private readonly runs: Source,
  ) {
    this.source = runs;
    this.sources.set(runs.info.name, runs);
    this.first = this.state = firstState(page, runs);
    this.flows = new FlowView(page, runs);
    this.packets = new Packets(this.parts.packets, page, runs, {
      change: (part) => this.change({ ...this.state, ...part }),
      traced: (trace) => {
        this.state = { ...this.state, trace };
        this.write(true);
      },
    });
    const {
      controls,
      faults,
      caption,
      legend,
      chart,
      notes,
      tools,
      runs: list,
      packets,
      paper,
      live,
    } = this.parts;
    fill(
      host,
      el("h2", {}, "Explorer"),
      controls,
      faults,
      el(
        "figure",
        { class: "figure" },
        caption,
        legend,
        el("div", { class: "chart-scroll" }, chart),
        paper,
        notes,
      ),
      tools,
      list,
      packets,
      live,
    );
    this.drawTools();
    this.listen();
  }

  /** Shows what a fragment says. */
  async follow(fragment: string): Promise<void> {
    const table = tableOf(fragment);
    // A page says what it opens with; a link that names no table means that of the runs.
    const opens = table === undefined ? this.page.first.table : null;
    const faults = await this.choose(table ?? opens ?? this.page.tables[0].name);
    const read = fromFragment(fragment, this.first, this.source);
    this.faults = [...faults, ...read.faults];
    this.state = read.state;
    if (this.state.kind === "flows") await this.loadFlows();
    this.draw();
    if (table === undefined) return;
    const open = this.state.run !== null ? this.parts.packets : this.host;
    open.scrollIntoView();
  }

  /** Takes up another table. What is wrong with it is said, and the one before stays. */
  private async choose(name: string): Promise<string[]> {
    const info = this.page.tables.find((table) => table.name === name);
    if (!info) return [`The link asks for the table ${name}, which this page does not have.`];
    try {
      const source = this.sources.get(name) ?? (await load(this.page, info));
      if (source.rows === 0 || source.responses.length === 0)
        return [`The table ${name} has nothing to chart.`];
      this.sources.set(name, source);
      this.source = source;
      this.first = firstState(this.page, source);
      return [];
    } catch (error) {
      return [`The table ${name} cannot be read: ${reason(error)}`];
    }
  }

  /** Reads what flows over time take; where that cannot be had, says so and shows lines. */
  private async loadFlows(): Promise<void> {
    try {
      if (!hasFlows(this.page)) throw new Error(flowsHint(this.page) ?? "");
      await this.flows.load();
      const { link } = this.state;
      const flows = this.flows.flows(this.state);
      if (link !== null && flows && flows.link !== link)
        this.faults.push(`The link asks for the queue of ${link}, which run ${flows.run} does not have.`);
    } catch (error) {
      this.faults.push(`Flows over time cannot be shown: ${reason(error)}`);
      this.state = { ...this.state, kind: "line" };
    }
  }

  private change(next: State): void {
    if (next.kind === "flows" && !this.flows.loaded) {
      this.faults = [];
      this.state = next;
      void this.loadFlows().then(() => {
        this.write(false);
        this.draw();
      });
      return;
    }
    const before = this.state;
    this.state = next;
    this.faults = [];
    this.write(false);
    const same = (Object.keys(next) as (keyof State)[]).every(
      (key) => ["at", "run", "with", "layout", "trace"].includes(key) || next[key] === before[key],
    );
    if (same && this.picture) {
      this.picture = { ...this.picture, state: next };
      this.drawOpen();
    } else this.draw();
  }

  /** Writes the state into the address: a step of its own, unless it is `quiet`. */
  private write(quiet: boolean): void {
    const plain = firstState(this.page, this.runs);
    const text = toFragment(this.state, this.first, this.source);
    const table = this.state.table === plain.table ? "" : `table=${encodeURIComponent(this.state.table)}`;
    const [head, rest] = text.split(/\?(.*)/s);
    const fragment = `#${head}?${[table, rest].filter((part) => part !== "").join("&")}`;
    if (quiet) history.replaceState(null, "", fragment);
    else if (fragment !== location.hash) history.pushState(null, "", fragment);
  }

  private draw(): void {
    const { controls, caption } = this.parts;
    drawControls(controls, this.state, this.source, {
      page: this.page,
      change: (next) => this.change(next),
      chooseTable: (name) => void this.table(name),
      preset: (name, of) => void this.table(name, (first) => of(first, this.source)),
      flows: () => this.flows.controls(this.state, (next) => this.change(next)),
    });
    this.picture = pictureOf(this.state, this.source);
    caption.textContent = this.caption;
    say(this.parts.live, this.caption);
    this.drawFaults();
    this.drawChart();
    this.drawOpen();
    this.drawTools();
  }

  private get caption(): string {
    return this.state.kind === "flows" ? this.flows.caption(this.state) : this.picture!.caption;
  }

  private async table(name: string, of: (first: State) => State = (first) => first): Promise<void> {
    const faults = await this.choose(name);
    if (faults.length === 0) this.change({ ...of(this.first) });
    this.faults = faults;
    this.drawFaults();
  }

  private drawFaults(): void {
    fill(
      this.parts.faults,
      ...this.faults.map((fault) => el("p", { class: "fault" }, fault)),
      this.faults.length > 0 ? el("p", { class: "soft" }, "What could be shown is shown.") : null,
    );
  }

  private drawChart(): void {
    const picture = this.picture!;
    const { chart: host, legend, notes, paper } = this.parts;
    this.chart?.destroy();
    this.pointer?.destroy();
    this.flowPointer?.destroy();
    this.chart = this.pointer = this.flowPointer = null;
    if (this.state.kind === "flows") {
      this.drawFlows();
      return;
    }
    const none = this.nothing(picture);
    const asTable = this.state.view === "table";
    host.classList.toggle("empty", none !== null || asTable);
    host.style.height = "";
    fill(paper);
    this.printing = false;
    fill(notes, ...notesOf(picture).map((note) => el("p", {}, note)));
    if (none || asTable) {
      fill(legend);
      fill(host, none ?? listing(picture, (places) => this.openPlaces(places)));
      return;
    }
    this.width = Math.floor(host.parentElement!.clientWidth);
    this.chart = mountChart(host, picture, {
      width: this.width,
      theme: theme(),
      zoomed: (zoom) => this.change({ ...this.state, zoom }),
    });
    host.style.width = `${this.chart.frame.width}px`;
    host.setAttribute(
      "aria-label",
      `Chart. ${picture.caption} Arrow keys go from point to point, Enter opens one.`,
    );
    this.pointer = new Pointer(host, this.chart, picture, {
      open: (mark: Mark) => this.openPlaces(mark.places),
      say: (text) => say(this.parts.live, text),
    });
    this.drawLegend(this.chart.legend);
  }

  private drawFlows(): void {
    const { chart: host, legend, notes, paper } = this.parts;
    const flows = this.flows.flows(this.state);
    const asTable = this.state.view === "table";
    host.classList.toggle("empty", flows === null || asTable);
    host.style.height = "";
    fill(paper);
    fill(notes);
    fill(legend);
    this.printing = false;
    if (!flows)
      fill(
        host,
        this.flows.nothing(() => this.change({ ...this.state, of: null })),
      );
    else if (asTable) fill(host, this.flows.listing(flows, this.caption));
    if (!flows || asTable) return;
    this.width = Math.floor(host.parentElement!.clientWidth);
    this.flows.legend(legend, flows, theme());
    host.setAttribute("aria-label", `Chart. ${this.caption} Arrow keys go from interval to interval.`);
    this.flowPointer = this.flows.mount(
      host,
      flows,
      this.state,
      { width: this.width, theme: theme() },
      {
        zoomed: (from, to) => this.change({ ...this.state, zoom: [from, to, 0, 1] }),
        open: () => this.openRun({ run: flows.run, with: null, trace: "" }),
        say: (text) => say(this.parts.live, text),
      },
    );
  }

  /** Why there is nothing to chart, and a way back; null where there is. */
  private nothing({ groups, summary, column }: Picture): HTMLElement | null {
    if (groups.order.length === 0)
      return el(
        "div",
        { class: "nothing" },
        el("p", {}, "The filters leave no run."),
        button("Show all levels again", () => this.change({ ...this.state, filters: {}, at: null }), {
          id: "undo-filters",
        }),
      );
    if (summary.n.some((n) => n > 0)) return null;
    const why = this.state.against ? "has a run to hold it against" : "completed with a value";
    return el(
      "div",
      { class: "nothing" },
      el("p", {}, `None of ${counted(groups.order.length, "run")} ${why} of ${column.name}.`),
    );
  }

  private drawLegend(entries: LegendEntry[]): void {
    const { colour } = this.picture!.groups.roles;
    fill(this.parts.legend);
    if (!colour || entries.length === 0) return;
    const { levels } = this.picture!.groups;
    fill(
      this.parts.legend,
      el("span", { class: "legend-title" }, colour.title),
      ...entries.map(({ label, look }, at) =>
        legendItem(label, look, () => this.only(colour.name, levels.colour[at])),
      ),
    );
  }

  /** One level alone; all of them again where it is alone already. */
  private only(name: string, level: number): void {
    const { [name]: before, ...others } = this.state.filters;
    const alone = before?.length === 1 && before[0] === level;
    const filters = alone ? others : { ...others, [name]: [level] };
    this.change({ ...this.state, filters, at: null });
  }

  private openPlaces(places: Mark["places"]): void {
    const levels = cellLevels(this.picture!.groups, places);
    this.change({ ...this.state, at: Object.fromEntries(levels.map(([dim, level]) => [dim.name, level])) });
    document.getElementById("runs-title")?.focus({ preventScroll: true });
    this.parts.runs.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  private drawOpen(): void {
    const picture = this.picture!;
    const places = placesOf(picture.groups, this.state.at);
    this.pointer?.mark(places ? cellOf(picture.groups, places) : null);
    const focused = document.activeElement?.id;
    drawRuns(this.parts.runs, this.page, picture, {
      open: (run) => this.openRun({ run, with: this.state.with === run ? null : this.state.with }),
      compare: (run) => this.openRun({ with: this.state.with === run ? null : run }),
      close: () => this.closeRuns(),
    });
    void this.packets.show(this.state);
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
  }

  private openRun(part: Partial<State>): void {
    this.change({ ...this.state, ...part });
    this.parts.packets.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  private closeRuns(): void {
    this.change({ ...this.state, at: null });
    this.parts.chart.focus();
  }

  private drawTools(): void {
    const table = this.state.view === "table";
    const zoomed = this.state.zoom !== null;
    const done = el("span", { class: "soft", role: "status" });
    const told = (words: string): void => {
      done.textContent = words;
    };
    fill(
      this.parts.tools,
      button(
        table ? "Chart" : "Table",
        () => this.change({ ...this.state, view: table ? "chart" : "table" }),
        { id: "tool-view" },
      ),
      zoomed
        ? button("Whole axes", () => this.change({ ...this.state, zoom: null }), { id: "tool-zoom" })
        : null,
      button("SVG", () => this.save("svg"), { id: "tool-svg", title: "Download the chart as SVG" }),
      button("PNG", () => this.save("png"), { id: "tool-png", title: "Download the chart as PNG" }),
      button("CSV", () => this.save("csv"), { id: "tool-csv", title: "Download the charted values as CSV" }),
      button("Copy CSV", () => void copy(this.values()).then(() => told("copied")), { id: "tool-copy" }),
      button("Copy link", () => void copy(location.href).then(() => told("link copied")), {
        id: "tool-link",
        title: "A link that restores every choice",
      }),
      button("Start again", () => this.change({ ...firstState(this.page, this.source) }), {
        id: "tool-reset",
      }),
      button("Keys ?", () => keysDialog(), { id: "tool-keys" }),
      done,
    );
  }

  private save(kind: "svg" | "png" | "csv"): void {
    const whose = this.state.kind === "flows" ? `flows-${this.flows.runOf(this.state)}` : this.state.response;
    const name = `${this.page.name.replaceAll(/\W+/g, "-")}-${whose}`;
    if (kind === "csv") {
      download(`${name}.csv`, this.values(), "text/csv");
      return;
    }
    const paper = this.paper(this.page.title);
    if (!paper) return;
    const { svg, width, height } = paper;
    if (kind === "svg") download(`${name}.svg`, svg, "image/svg+xml");
    else void rasterise(svg, width, height).then((blob) => download(`${name}.png`, blob));
  }

  /** What is charted as CSV. */
  private values(): string {
    return this.state.kind === "flows" ? this.flows.csv(this.state) : csv(this.picture!);
  }

  /** What is charted as a drawing; null where nothing is. */
  private paper(title: string, width?: number): Paper | null {
    return this.state.kind === "flows"
      ? this.flows.paper(this.state, title, "light", width)
      : paperOf(this.picture!, title, "light", width);
  }

  private listen(): void {
    addEventListener("popstate", () => {
      // A link to another part of the page asks nothing of the explorer.
      if (location.hash === "" || isOurs(location.hash)) void this.follow(location.hash);
    });
    onTheme(() => this.picture && this.drawChart());
    onTheme(() => this.picture && this.drawOpen());
    // On paper the chart is light, whatever the screen is.
    addEventListener("beforeprint", () => this.drawPaper());
    addEventListener("afterprint", () => (this.printing = false));
    matchMedia("print").addEventListener("change", ({ matches }) => {
      if (matches) this.drawPaper();
      else this.printing = false;
    });
    new ResizeObserver(() => {
      // The page has another width on paper: what is drawn for it must stay.
      if (this.printing) return;
      const width = Math.floor(this.parts.chart.parentElement!.clientWidth);
      if ((this.chart || this.flowPointer) && width !== this.width && width > 0) {
        this.drawChart();
        this.drawOpen();
      }
    }).observe(this.host);
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private drawPaper(): void {
    if (!this.picture || !(this.chart || this.flowPointer)) return;
    this.printing = true;
    this.parts.paper.innerHTML = this.paper("", 760)?.svg ?? "";
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") keysDialog();
    else if (event.key === "t") document.getElementById("theme")?.click();
    else if (event.key === "Escape" && !document.querySelector("dialog[open]")) this.escape();
    else if ((event.key === "[" || event.key === "]") && this.state.run !== null)
      this.stepRun(event.key === "]");
    else return;
    event.preventDefault();
  }

  /** Closes what was opened last. */
  private escape(): void {
    const { state } = this;
    if (state.with !== null) this.change({ ...state, with: null });
    else if (state.run !== null) this.change({ ...state, run: null, trace: "" });
    else if (state.at) this.closeRuns();
    else if (state.zoom) this.change({ ...state, zoom: null });
  }

  /** The next or previous level of the x axis, for the run that was opened last. */
  private stepRun(on: boolean): void {
    const which = this.state.with === null ? "a" : "b";
    const dim = dimOf(this.runs, this.state.x);
    if (dim) document.getElementById(`step-${which}-${dim.name}-${on ? "next" : "previous"}`)?.click();
  }
}

function legendItem(label: string, look: LegendEntry["look"], act: () => void): HTMLElement {
  const item = button(label, act, { class: "legend-item", title: "This one alone; again for all" });
  const scene = new Scene(24, 12);
  drawSample(scene, 1, 6, look);
  item.insertAdjacentHTML("afterbegin", scene.toString());
  return item;
}
