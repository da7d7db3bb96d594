// The instrument: graphs, legend, choice of direction, lists. It keeps what is in view and tells the others.

import { Chart, panelsOf, type Shown } from "./chart";
import { element, button, Tip } from "./dom";
import { listen } from "./gestures";
import type { MountedTrace, TraceOptions } from "./index";
import { layerOf, type Layer, type Place, type QueueChoice } from "./layer";
import { legend } from "./legend";
import { Lists } from "./lists";
import type { Trace } from "./model";
import { PANELS, type Panel } from "./panels";
import { queueChoice } from "./queue-choice";
import { moved, zoomTime, zoomValue, type Range } from "./ranges";
import { save } from "./saving";
import { fromText, toText } from "./state";
import { rangeAbout, valuesWithin, wholeOf } from "./whole";

/** What boxes that fold a graph call it, where that is not its name. */
const NAMES: Partial<Record<Panel["name"], string>> = { rtt: "RTT", held: "held back by" };

/** Of two traces in one graph. */
const PLACES: Place[] = ["upper", "lower"];

export class Instrument implements MountedTrace {
  private readonly root = element("div", "rx-trace");
  private readonly facts = element("div", "rx-facts");
  private readonly bar = element("div", "rx-bar");
  private readonly legend = element("div", "rx-legend");
  private readonly charts: Chart[];
  private readonly chartHost = element("div", "rx-charts");
  private readonly tip = new Tip();
  private readonly lists: Lists;
  private readonly ends: (() => void)[] = [];
  private layers: Layer[] = [];
  private keys: string[] = [];
  private whole: Range = { t0: 0, t1: 1, y0: 0, y1: 1 };
  private range: Range | null = null;
  private readonly hidden = new Set<string>();
  private readonly folded = new Set<string>();
  private queue: QueueChoice = { link: null, measure: "packets" };
  private current = { layer: 0, row: -1 };
  private waiting = 0;
  private telling = 0;
  private printing = false;

  constructor(
    host: HTMLElement,
    private traces: Trace[],
    private readonly options: TraceOptions,
  ) {
    if (!traces.length || traces.length > 2) throw new Error("one trace is shown, or two");
    const columns = this.overlaid ? 1 : traces.length;
    this.charts = Array.from({ length: columns }, () => new Chart((...given) => this.listen(...given)));
    this.chartHost.append(...this.charts.map((chart) => chart.element));
    this.chartHost.classList.toggle("rx-two", columns === 2);
    this.lists = new Lists(
      (layer, row) => this.goTo(layer, row),
      (layer, t) => this.centre(layer, t),
    );
    this.root.append(this.facts, this.bar, this.legend, this.chartHost, this.tip.element);
    if (!options.bare) this.chartHost.after(this.lists.element);
    host.append(this.root);
    this.keys = traces.map((trace) => trace.head.views[0]?.key ?? "");
    this.restore(options.state ?? "");
    this.watch();
  }

  state(): string {
    return toText({
      views: this.keys,
      range: this.range,
      hidden: [...this.hidden],
      folded: [...this.folded],
      ...this.queue,
    });
  }

  restore(text: string): void {
    const seen = fromText(text);
    this.keys = this.traces.map((trace, at) => {
      const views = trace.head.views;
      return (views.find((view) => view.key === seen.views[at]) ?? views[0])?.key ?? "";
    });
    this.hidden.clear();
    for (const key of seen.hidden) this.hidden.add(key);
    this.folded.clear();
    for (const name of seen.folded) if (PANELS.some((panel) => panel.name === name)) this.folded.add(name);
    this.range = seen.range;
    this.queue = { link: seen.link, measure: seen.measure };
    this.rebuild();
  }

  replace(traces: Trace[]): void {
    if (traces.length !== this.traces.length) throw new Error("as many traces are shown as before");
    this.traces = traces;
    this.keys = traces.map((trace, at) => {
      const views = trace.head.views;
      return (views.find((view) => view.key === this.keys[at]) ?? views[0])?.key ?? "";
    });
    this.range = null;
    this.rebuild();
  }

  destroy(): void {
    for (const end of this.ends) end();
    cancelAnimationFrame(this.waiting);
    clearTimeout(this.telling);
    this.root.remove();
  }

  private get overlaid(): boolean {
    return this.traces.length === 2 && this.options.layout === "overlay";
  }

  private get shown(): Shown {
    return { range: this.range ?? this.whole, all: this.layers, hidden: this.hidden, folded: this.folded };
  }

  private get dark(): boolean {
    if (this.printing) return false;
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  /** Layers of a column of graphs. */
  private layersOf(column: number): Layer[] {
    return this.overlaid ? this.layers : [this.layers[column]];
  }

  private rebuild(): void {
    const missing = this.traces.some((trace) => !trace.head.views.length);
    this.root.classList.toggle("rx-empty", missing);
    if (missing) {
      this.facts.textContent = "There is nothing to show: no side of any connection sent data.";
      return;
    }
    this.layers = this.makeLayers();
    this.whole = wholeOf(this.layers);
    this.current = { layer: 0, row: -1 };
    this.describe();
    legend(this.legend, this.layers, this.hidden, () => this.changed());
    this.charts.forEach((chart, at) => chart.build(this.layersOf(at), this.folded, this.height()));
    this.lists.show(this.layers);
    this.changed(false);
  }

  private makeLayers(): Layer[] {
    return this.traces.map((trace, at) =>
      layerOf(trace, this.keys[at], this.dark, this.queue, this.overlaid ? PLACES[at] : "whole"),
    );
  }

  /** Shows another queue, or something else of it, under the same packets. */
  private chooseQueue(choice: QueueChoice): void {
    this.queue = choice;
    this.layers = this.makeLayers();
    this.charts.forEach((chart, at) => chart.build(this.layersOf(at), this.folded, this.height()));
    this.changed();
  }

  private height(): number {
    if (this.options.height) return this.options.height();
    return Math.max(420, Math.min(window.innerHeight - 210, 1100));
  }

  private describe(): void {
    this.facts.replaceChildren(
      ...this.layers.map((layer, at) => {
        const line = element("p");
        if (this.traces.length > 1) {
          const mark = element("b", at ? "rx-second" : "rx-first");
          if (this.overlaid) mark.style.color = layer.look.names.segment;
          mark.textContent = `${layer.trace.head.title}${this.overlaid && at ? " (dashed, letters with ′)" : ""}: `;
          line.append(mark);
        }
        const { title, facts } = layer.view.head;
        line.append(layer.trace.head.views.length > 1 ? facts : `${title}: ${facts}`);
        return line;
      }),
      ...this.layers.flatMap((layer) => {
        const { why } = layer.view.head;
        if (!why) return [];
        const line = element("p", "rx-why");
        const whose = this.traces.length > 1 ? ` (${layer.trace.head.title.replace(/:.*$/, "")})` : "";
        const lead = document.createElement("b");
        lead.textContent = `Why not faster?${whose} `;
        line.append(lead, why);
        return [line];
      }),
      ...this.traces
        .flatMap((trace) => trace.head.remarks)
        .map((remark) => {
          const line = element("p", "rx-remark");
          line.textContent = remark;
          return line;
        }),
    );
    const again = this.layers.some((layer) => layer.view.again.count);
    this.bar.replaceChildren(
      ...this.traces.flatMap((trace, at) => (trace.head.views.length > 1 ? [this.chooser(trace, at)] : [])),
      button("show all", "0", () => this.all()),
      ...(again
        ? [
            button("◂ retransmission", "[", () => this.step(-1)),
            button("retransmission ▸", "]", () => this.step(1)),
          ]
        : []),
      ...this.foldings(),
      ...queueChoice(this.layers, this.queue, (choice) => this.chooseQueue(choice)),
      button("save SVG", "vector graphics of what is in view", () => this.save("svg")),
      button("save PNG", "a picture of what is in view, at twice the size", () => this.save("png")),
      help(),
    );
  }

  private chooser(trace: Trace, at: number): HTMLElement {
    const label = element("label", "rx-choose");
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", "direction and connection (d)");
    for (const view of trace.head.views) {
      const option = document.createElement("option");
      option.value = view.key;
      const kind = view.protocol === "sctp" ? "association" : "connection";
      option.textContent = `${kind} ${view.connection}, ${view.direction} sends: ${view.title}`;
      option.selected = view.key === this.keys[at];
      choice.append(option);
    }
    choice.addEventListener("change", () => this.choose(at, choice.value));
    label.append(choice);
    return label;
  }

  private foldings(): HTMLElement[] {
    const there = panelsOf(this.layers, new Set());
    return there.slice(1).map((panel) => {
      const label = element("label", "rx-fold");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = !this.folded.has(panel.name);
      box.addEventListener("change", () => {
        if (box.checked) this.folded.delete(panel.name);
        else this.folded.add(panel.name);
        this.charts.forEach((chart, at) => chart.build(this.layersOf(at), this.folded, this.height()));
        this.changed();
      });
      label.append(box, NAMES[panel.name] ?? panel.name);
      return label;
    });
  }

  private choose(at: number, key: string): void {
    this.keys[at] = key;
    this.range = null;
    this.rebuild();
    this.tell();
  }

  private turn(): void {
    if (this.traces.every((trace) => trace.head.views.length < 2)) return;
    this.traces.forEach((trace, at) => {
      const views = trace.head.views;
      const next = (views.findIndex((view) => view.key === this.keys[at]) + 1) % views.length;
      this.keys[at] = views[next].key;
    });
    this.range = null;
    this.rebuild();
    this.tell();
  }

  private listen(chart: Chart, canvas: HTMLCanvasElement, panel: Panel): void {
    const sheet = (): ReturnType<Chart["sheet"]> => chart.sheet(canvas, this.shown);
    listen(canvas, {
      sheet,
      move: (dx, dy) => {
        const on = sheet();
        if (on) this.view(moved(this.shown.range, -dx / on.x.b, panel.most ? 0 : -dy / on.y.b, this.whole));
      },
      zoom: (x, y, factor, what) => {
        const on = sheet();
        if (!on) return;
        let range = this.shown.range;
        if (what !== "values") range = zoomTime(range, (x - on.x.a) / on.x.b, factor, this.whole);
        if (what !== "time" && !panel.most)
          range = zoomValue(range, (y - on.y.a) / on.y.b, factor, this.whole);
        this.view(range);
      },
      frame: (x0, y0, x1, y1) => {
        const on = sheet();
        if (!on) return;
        const [t0, t1] = [(x0 - on.x.a) / on.x.b, (x1 - on.x.a) / on.x.b];
        const values = panel.most
          ? (valuesWithin(this.layers, t0, t1) ?? [this.shown.range.y0, this.shown.range.y1])
          : [(y1 - on.y.a) / on.y.b, (y0 - on.y.a) / on.y.b];
        if (values[1] > values[0]) this.view({ t0, t1, y0: values[0], y1: values[1] });
      },
      framing: (rect) => {
        chart.frame(canvas, rect);
      },
      hover: (at) => {
        const on = at && sheet();
        // Graphs side by side have the same width, so a place is the same time in both.
        const inside = at && on && at.x >= on.box.left && at.x <= on.box.left + on.box.width;
        for (const one of this.charts) one.point(inside ? at.x : null);
        this.tip.show(at && chart.hit(canvas, this.shown, [at.x, at.y]), at);
      },
      all: () => this.all(),
      step: (by) => this.step(by),
      turn: () => this.turn(),
    });
  }

  private view(range: Range): void {
    this.range = range;
    this.changed();
  }

  private all(): void {
    this.range = null;
    this.changed();
  }

  /** Shows the next retransmission of any trace, or the one before. */
  private step(by: 1 | -1): void {
    const every = this.layers.flatMap(({ view: { again, segments } }, layer) =>
      Array.from({ length: again.count }, (_, row) => ({ layer, row, t: segments.t[again.row[row]] })),
    );
    if (!every.length) return;
    every.sort((one, other) => one.t - other.t);
    const { layer, row } = this.current;
    const at = every.findIndex((one) => one.layer === layer && one.row === row);
    const next = at < 0 ? (by > 0 ? 0 : -1) : (at + by) % every.length;
    const found = every.at(next);
    if (found) this.goTo(found.layer, found.row);
  }

  private goTo(layer: number, row: number): void {
    this.current = { layer, row };
    this.lists.mark(layer, row);
    this.view(rangeAbout(this.layers[layer], row, this.whole));
  }

  /** Moves the graph so that this time, of the emulator's clock, is in the middle. */
  private centre(layer: number, clock: number): void {
    const t = clock - this.layers[layer].view.head.start;
    const { t0, t1 } = this.shown.range;
    const length = Math.min(t1 - t0, Math.max((this.whole.t1 - this.whole.t0) / 10, 1e-6));
    const [from, to] = [t - length / 2, t + length / 2];
    const values = valuesWithin(this.layers, from, to) ?? [this.shown.range.y0, this.shown.range.y1];
    this.view({ t0: from, t1: to, y0: values[0], y1: values[1] });
  }

  private changed(tell = true): void {
    this.paint();
    if (tell) this.tell();
  }

  private tell(): void {
    clearTimeout(this.telling);
    if (this.options.onState)
      this.telling = window.setTimeout(() => this.options.onState?.(this.state()), 250);
  }

  private paint(): void {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paintNow();
    });
  }

  private paintNow(): void {
    if (!this.layers.length) return;
    const two = this.charts.length > 1;
    this.charts.forEach((chart, at) => chart.paint(this.shown, two ? this.traces[at].head.title : ""));
  }

  private save(form: "svg" | "png"): void {
    const columns = this.charts.map((chart, at) => ({
      layers: this.layersOf(at),
      heights: chart.heights,
      width: chart.width,
    }));
    save(form, columns, this.shown);
  }

  /** Colours, sizes and print follow what is around. */
  private watch(): void {
    const recolour = (): void => {
      this.layers = this.makeLayers();
      this.charts.forEach((chart, at) => (chart.layers = this.layersOf(at)));
      legend(this.legend, this.layers, this.hidden, () => this.changed());
      this.paintNow();
    };
    const sized = new ResizeObserver(() => {
      for (const chart of this.charts) chart.resize(this.height());
      this.paintNow();
    });
    sized.observe(this.chartHost);
    const themed = new MutationObserver(recolour);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const print = (printing: boolean) => (): void => {
      this.printing = printing;
      recolour();
    };
    const [before, after] = [print(true), print(false)];
    scheme.addEventListener("change", recolour);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    this.ends.push(
      () => sized.disconnect(),
      () => themed.disconnect(),
      () => scheme.removeEventListener("change", recolour),
      () => window.removeEventListener("beforeprint", before),
      () => window.removeEventListener("afterprint", after),
    );
  }
}

function help(): HTMLElement {
  const details = element("details", "rx-help");
  const summary = element("summary");
  summary.textContent = "keys";
  const text = element("p");
  text.textContent =
    "Drag moves; the wheel zooms (with Shift in time only, with Ctrl in values only); Shift and drag draws a frame; " +
    "a double click shows all. Keys on a graph: arrows move (Shift: far), + and − zoom, 0 shows all, [ and ] go to " +
    "the retransmission before and after, d takes the next direction or connection.";
  details.append(summary, text);
  return details;
}
