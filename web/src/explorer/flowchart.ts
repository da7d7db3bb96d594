// The chart of flows over time: their goodput above, the queue below, one axis of time.
import { looks, PAPER, readable, type Theme } from "../ui/palette";
import { type Box, INK, type Scene } from "../ui/scene";
import { type Axis, placeOn, valueAxis } from "./axes";
import type { Flows } from "./flows";

export interface FlowChart {
  flows: Flows;
  width: number;
  height: number;
  above: Box;
  below: Box;
  x: Axis;
  rates: Axis;
  queue: Axis;
  legend: FlowEntry[];
}

/** A line and its look: colours alone would not tell it from others. */
export interface FlowEntry {
  label: string;
  colour: string;
  dash: number[];
}

const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
const RATE_DASH = [1, 3];
const TOP = 26;
const BETWEEN = 34;
/** The width of a letter of a title, rather too much than too little. */
const TITLE_LETTER = 7.4;
const BOTTOM = 46;
/** A rate so many times above all flows is told in the legend; drawn, it would press them flat. */
const MOST_ABOVE = 2.5;

/** Lays the chart out; `zoom` is the range of time to show. */
export function flowChart(flows: Flows, width: number, theme: Theme, zoom: number[] | null): FlowChart {
  const all = looks(flows.lines.length, false, theme);
  const legend = flows.lines.map(({ label }, at): FlowEntry => ({
    label,
    colour: all[at].colour,
    dash: DASHES[at % DASHES.length],
  }));
  const [t0, t1] = zoom ?? [flows.edges[0], flows.edges.at(-1)!];
  const inside = flows.queue.mean
    .map((_, at) => at)
    .filter((at) => flows.edges[at + 1] > t0 && flows.edges[at] < t1);
  const greatest = (columns: number[][]): number =>
    columns.reduce(
      (most, column) => inside.reduce((own, at) => (column[at] > own ? column[at] : own), most),
      0,
    );
  const fastest = greatest(flows.lines.map(({ values }) => values));
  const drawn = rateIsDrawn(flows, fastest);
  if (flows.rate !== null) {
    const words = drawn ? "" : `: ${(flows.rate / 1e6).toLocaleString("en")} Mbit/s, above`;
    legend.push({
      label: `rate of ${flows.link.split(",")[0]}${words}`,
      colour: INK[theme].text,
      dash: RATE_DASH,
    });
  }
  const rates = scale([0, drawn ? Math.max(fastest, flows.rate!) : fastest], "bit/s", "goodput");
  const queue = scale(
    [0, greatest([flows.queue.most, flows.queue.mean])],
    flows.queue.unit === "ms" ? "ms" : "",
    flows.queue.unit === "ms" ? "queueing delay" : "packets in the queue",
  );
  queue.title = queueTitle(queue.title, flows, width);
  const left = Math.max(44, ...[...rates.labels, ...queue.labels].map((label) => label.length * 7 + 14));
  const wide = Math.max(60, width - left - 14);
  const high = Math.round(Math.max(170, Math.min(260, width * 0.3)));
  const above = { x: left, y: TOP, w: wide, h: high };
  const below = { x: left, y: TOP + high + BETWEEN, w: wide, h: Math.round(high * 0.66) };
  const x = valueAxis([t0, t1], "s", "time", { log: false, zoom: [t0, t1], room: wide / 80 });
  return { flows, width, height: below.y + below.h + BOTTOM, above, below, x, rates, queue, legend };
}

/** As much of what the lower part shows as its width holds. */
function queueTitle(plain: string, { link, queue }: Flows, width: number): string {
  const drops = queue.drops.some((one) => one > 0) ? ", × packets dropped" : "";
  const whole = `${plain} of ${link}: mean filled, largest as a line${drops}`;
  const titles = [
    whole,
    `${plain}: mean filled, largest as a line${drops}`,
    `${plain}: mean, largest, × drops`,
  ];
  return titles.find((title) => title.length * TITLE_LETTER <= width) ?? plain;
}

function rateIsDrawn({ rate }: Flows, fastest: number): boolean {
  return rate !== null && rate <= MOST_ABOVE * fastest;
}

function scale([low, high]: [number, number], unit: "bit/s" | "ms" | "", title: string): Axis {
  return valueAxis([low, high], unit, title, { log: false, zoom: [0, high > 0 ? high * 1.08 : 1], room: 5 });
}

export function drawFlows(scene: Scene, chart: FlowChart, theme: Theme): void {
  const { flows, above, below, x, rates, queue, legend } = chart;
  const ink = INK[theme];
  drawAxes(scene, chart, above, rates, theme);
  drawAxes(scene, chart, below, queue, theme);
  scene.text(below.x + below.w / 2, below.y + below.h + 38, x.title, {
    colour: ink.text,
    weight: 600,
    size: 13,
    anchor: "middle",
  });
  scene.clipped({ ...above, y: above.y - 2, h: above.h + 4 }, () => {
    const { rate } = flows;
    if (rate !== null && rate <= rates.high) {
      const y = fixed(above.y + above.h * (1 - placeOn(rates, rate)));
      scene.path(`M${above.x} ${y}h${above.w}`, { colour: ink.text, width: 1.2, dash: RATE_DASH });
    }
    flows.lines.forEach(({ values }, at) => {
      const { colour, dash } = legend[at];
      scene.path(stepsPath(chart, values, above, rates), { colour, width: 1.8, dash });
    });
  });
  scene.clipped({ ...below, y: below.y - 2, h: below.h + 4 }, () => {
    const mean = { colour: ink.text, width: 0, fill: ink.text, opacity: 0.22 };
    scene.path(stepsPath(chart, flows.queue.mean, below, queue, true), mean);
    scene.path(stepsPath(chart, flows.queue.most, below, queue), { colour: ink.text, width: 1.2 });
    scene.path(dropsPath(chart), { colour: dropColour(theme), width: 1.5 });
  });
}

function dropColour(theme: Theme): string {
  return readable("#d5231e", PAPER[theme], 3);
}

function drawAxes(scene: Scene, chart: FlowChart, box: Box, up: Axis, theme: Theme): void {
  const ink = INK[theme];
  const { x } = chart;
  scene.text(0, box.y - 11, up.title, { colour: ink.text, weight: 600, size: 13 });
  up.ticks.forEach((tick, at) => {
    const y = box.y + box.h * (1 - placeOn(up, tick));
    if (y < box.y - 0.5) return;
    scene.path(`M${box.x} ${fixed(y)}h${box.w}`, { colour: ink.grid, width: 1 });
    scene.text(box.x - 8, y + 4, up.labels[at], { colour: ink.soft, anchor: "end" });
  });
  scene.path(`M${box.x} ${box.y + box.h}h${box.w}`, { colour: ink.axis, width: 1 });
  x.ticks.forEach((tick, at) => {
    const px = fixed(box.x + box.w * placeOn(x, tick));
    scene.path(`M${px} ${box.y + box.h}v4`, { colour: ink.axis, width: 1 });
    if (box === chart.below)
      scene.text(Number(px), box.y + box.h + 18, x.labels[at], { colour: ink.soft, anchor: "middle" });
  });
}

/** A level an interval; with `filled` down to the ground. */
function stepsPath(chart: FlowChart, values: number[], box: Box, up: Axis, filled = false): string {
  const { edges } = chart.flows;
  const px = (at: number): string => fixed(xOf(chart, edges[at]));
  const ground = fixed(box.y + box.h);
  let d = "";
  let open = false;
  values.forEach((value, at) => {
    const known = !Number.isNaN(value);
    if (known) {
      const y = fixed(box.y + box.h * (1 - placeOn(up, value)));
      d += open ? `V${y}H${px(at + 1)}` : `M${px(at)} ${filled ? `${ground}V${y}` : y}H${px(at + 1)}`;
    }
    if (filled && open && (!known || at === values.length - 1)) d += `V${ground}Z`;
    else if (filled && known && at === values.length - 1) d += `V${ground}Z`;
    open = known;
  });
  return d;
}

/** A cross for each interval in which packets were dropped; not more than there is room for. */
function dropsPath(chart: FlowChart): string {
  const { below, flows } = chart;
  const y = below.y + 6;
  let last = Number.NEGATIVE_INFINITY;
  let d = "";
  flows.queue.drops.forEach((drops, at) => {
    if (!(drops > 0)) return;
    const x = xOf(chart, (flows.edges[at] + flows.edges[at + 1]) / 2);
    if (x - last < 3) return;
    last = x;
    d += `M${fixed(x - 3)} ${y - 3}l6 6M${fixed(x - 3)} ${y + 3}l6 -6`;
  });
  return d;
}

export function xOf({ above, x }: FlowChart, seconds: number): number {
  return above.x + above.w * placeOn(x, seconds);
}

/** A piece of a line, as the legend has it. */
export function drawFlowSample(scene: Scene, x: number, y: number, { colour, dash }: FlowEntry): void {
  scene.path(`M${x} ${y}h22`, { colour, width: 2, dash });
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
