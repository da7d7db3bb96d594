// Pointing at flows over time: by mouse, by touch, by keys; a drag chooses a part of the time.
import { el, fill } from "../ui/dom";
import { count, plain, withUnit } from "../ui/units";
import { type FlowChart, xOf } from "./flowchart";

export interface FlowWiring {
  /** A range of time was chosen. */
  zoomed: (from: number, to: number) => void;
  /** The run's packets are asked for. */
  open: () => void;
  /** What a listener should hear of the interval. */
  say: (text: string) => void;
}

/** Flows that the box beside the pointer names. */
const MOST_NAMED = 13;

export class FlowPointer {
  private at = -1;
  private from: number | null = null;
  private readonly cursor = el("div", { class: "flow-cursor", hidden: true });
  private readonly part = el("div", { class: "flow-part", hidden: true });
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly stop = new AbortController();

  constructor(
    private readonly host: HTMLElement,
    private readonly chart: FlowChart,
    private readonly wiring: FlowWiring,
  ) {
    host.append(this.part, this.cursor, this.tip);
    const { signal } = this.stop;
    host.addEventListener("pointermove", (event) => this.move(this.place(event)), { signal });
    host.addEventListener("pointerleave", () => this.show(-1), { signal });
    host.addEventListener("pointerdown", (event) => this.press(event), { signal });
    // A drag may end outside of the chart.
    window.addEventListener("pointerup", (event) => this.release(this.place(event)), { signal });
    host.addEventListener("keydown", (event) => this.key(event), { signal });
  }

  destroy(): void {
    this.stop.abort();
  }

  private place(event: MouseEvent): number {
    return event.clientX - this.host.getBoundingClientRect().left;
  }

  private timeAt(x: number): number {
    const { above, x: axis } = this.chart;
    const share = Math.min(1, Math.max(0, (x - above.x) / above.w));
    return axis.low + share * (axis.high - axis.low);
  }

  private press(event: PointerEvent): void {
    const x = this.place(event);
    if (event.button === 0 && x >= this.chart.above.x) this.from = x;
  }

  private move(x: number): void {
    const { above, below } = this.chart;
    if (this.from !== null && Math.abs(x - this.from) > 5) {
      const ends = [this.from, x].map((one) => Math.min(above.x + above.w, Math.max(above.x, one)));
      const [left, right] = ends.sort((a, b) => a - b);
      this.part.hidden = false;
      Object.assign(this.part.style, {
        left: `${left}px`,
        width: `${right - left}px`,
        top: `${above.y}px`,
        height: `${below.y + below.h - above.y}px`,
      });
      this.show(-1);
    } else this.show(x < above.x - 4 ? -1 : this.intervalAt(this.timeAt(x)));
  }

  private release(x: number): void {
    const { from } = this;
    this.from = null;
    this.part.hidden = true;
    if (from === null || Math.abs(x - from) <= 5) return;
    const [t0, t1] = [this.timeAt(from), this.timeAt(x)].sort((a, b) => a - b);
    if (t1 > t0) this.wiring.zoomed(t0, t1);
  }

  private intervalAt(seconds: number): number {
    const { edges } = this.chart.flows;
    const next = edges.findIndex((edge) => edge > seconds);
    return Math.max(0, (next < 0 ? edges.length - 1 : next) - 1);
  }

  private show(at: number): void {
    this.at = at;
    this.cursor.hidden = this.tip.hidden = at < 0;
    if (at < 0) return;
    const { above, below, flows } = this.chart;
    const [t0, t1] = [flows.edges[at], flows.edges[at + 1]];
    const x = Math.min(above.x + above.w, Math.max(above.x, xOf(this.chart, (t0 + t1) / 2)));
    Object.assign(this.cursor.style, {
      left: `${x}px`,
      top: `${above.y}px`,
      height: `${below.y + below.h - above.y}px`,
    });
    const rows = intervalRows(this.chart, at).map(([name, value]) =>
      el("div", { class: "tip-level" }, el("span", {}, name), el("b", {}, value)),
    );
    fill(this.tip, el("div", { class: "tip-value" }, intervalWords(t0, t1)), ...rows);
    const wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, x + 16 + wide > this.host.clientWidth ? x - wide - 16 : x + 16)}px`;
    this.tip.style.top = `${above.y + 4}px`;
  }

  private key(event: KeyboardEvent): void {
    const last = this.chart.flows.edges.length - 2;
    const steps: Record<string, number> = {
      ArrowRight: this.at + 1,
      ArrowLeft: this.at < 0 ? last : this.at - 1,
      PageDown: this.at + 10,
      PageUp: this.at - 10,
      Home: 0,
      End: last,
    };
    if (event.key in steps) {
      const [first, end] = this.inView();
      this.show(Math.min(end, Math.max(first, steps[event.key])));
      const rows = intervalRows(this.chart, this.at).map(([name, value]) => `${name} ${value}`);
      const { edges } = this.chart.flows;
      this.wiring.say(`${intervalWords(edges[this.at], edges[this.at + 1])}: ${rows.join(", ")}`);
    } else if (event.key === "Enter") this.wiring.open();
    else if (event.key === "Escape" && this.at >= 0) this.show(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private inView(): [number, number] {
    const { x } = this.chart;
    return [this.intervalAt(x.low), this.intervalAt(x.high - (x.high - x.low) * 1e-9)];
  }
}

function intervalWords(from: number, to: number): string {
  return `${plain(from)} to ${plain(to)} s`;
}

/** What there is to read of an interval: names and values. */
function intervalRows({ flows }: FlowChart, at: number): [string, string][] {
  const { queue } = flows;
  const alive = flows.lines.filter(({ values }) => !Number.isNaN(values[at]));
  const rows = alive
    .slice(0, MOST_NAMED)
    .map(({ label, values }): [string, string] => [label, withUnit(values[at], "bit/s")]);
  const size = (value: number): string =>
    queue.unit === "ms" ? withUnit(value, "ms") : `${plain(value)} packets`;
  rows.push(["queue, mean", size(queue.mean[at])], ["queue, largest", size(queue.most[at])]);
  if (queue.drops[at] > 0) rows.push(["dropped", count(queue.drops[at])]);
  return rows;
}
