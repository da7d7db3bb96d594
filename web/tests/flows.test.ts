// Flows over time: which lines there are, when they live, and above which queue they stand.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Table, Texts } from "../src/block";
import { drawFlows, flowChart } from "../src/explorer/flowchart";
import {
  flowsHint,
  flowsOf,
  type FlowTables,
  hasFlows,
  MOST_FLOWS,
  runsOfFlows,
} from "../src/explorer/flows";
import { presetsOf } from "../src/explorer/presets";
import { firstState } from "../src/explorer/state";
import type { StudyPage, TableInfo } from "../src/format";
import { Scene } from "../src/ui/scene";
import { column, factor, made } from "./sample";

const S = 1e9;

function texts(words: string[]): Texts {
  const all = [...new Set(words)];
  return { codes: Uint16Array.from(words, (word) => all.indexOf(word)), words: all };
}

function table(columns: Record<string, number[] | string[]>): Table {
  return Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [
      name,
      typeof values[0] === "string" ? texts(values as string[]) : Float64Array.from(values as number[]),
    ]),
  );
}

interface Sent {
  name: string;
  opened: number;
  time: number;
  /** Goodput in bit/s by the interval in which there was any. */
  rates: Record<number, number>;
}

/** Run 4: three intervals of a second, the last of them half, on two links. */
function tables(sent: Sent[], change: Record<string, number[]> = {}): FlowTables {
  const rows = sent.flatMap(({ rates }, connection) =>
    Object.entries(rates).map(([at, rate]) => ({ connection, from: Number(at) * S, rate })),
  );
  const links = ["back", "bottleneck"].flatMap((link, own) =>
    [0, 1, 2].map((at) => ({ link, at, mean: own * 10 + at })),
  );
  return {
    transfers: table({
      run: sent.map(() => 4),
      connection: sent.map((_, at) => at),
      transfer: sent.map(({ name }) => name),
      opened_ns: sent.map(({ opened }) => opened * S),
      time_ns: sent.map(({ time }) => time * S),
      bytes: sent.map(({ rates }) => Object.values(rates).reduce((sum, rate) => sum + rate, 0)),
    }),
    transfers_over_time: table({
      run: rows.map(() => 4),
      connection: rows.map(({ connection }) => connection),
      from_ns: rows.map(({ from }) => from),
      goodput_bit_s: rows.map(({ rate }) => rate),
    }),
    links_over_time: table({
      run: links.map(() => 4),
      link: links.map(({ link }) => link),
      from_point: links.map(() => "left"),
      to_point: links.map(() => "right"),
      from_ns: links.map(({ at }) => at * S),
      to_ns: links.map(({ at }) => (at === 2 ? 2.5 : at + 1) * S),
      queue_mean_ms: links.map(({ mean }) => mean),
      queue_max_ms: links.map(({ mean }) => mean * 2),
      queue_packets_mean: links.map(({ mean }) => mean * 3),
      queue_packets_max: links.map(({ mean }) => mean * 4),
      drops: links.map(({ at }) => (at === 1 ? 2 : 0)),
      rate_bit_s: links.map(() => 8000),
      ...change,
    }),
  };
}

const TWO: Sent[] = [
  { name: "near", opened: 0, time: 2.5, rates: { 0: 5000, 1: 4000, 2: 4500 } },
  { name: "far", opened: 1.2, time: 0.5, rates: { 1: 1000 } },
];

test("a flow has no value before it begins and after its end, and 0 where it delivers nothing", () => {
  const flows = flowsOf(
    tables([...TWO, { name: "still", opened: 0, time: Number.NaN, rates: {} }]),
    4,
    null,
  )!;
  assert.deepEqual(
    flows.lines.map(({ label, values }) => [label, ...values]),
    [
      ["near", 5000, 4000, 4500],
      ["far", Number.NaN, 1000, Number.NaN],
      ["still", 0, 0, 0],
    ],
  );
  assert.deepEqual(flows.edges, [0, 1, 2, 2.5]);
});

test("the queue is the longest unless another one is asked for", () => {
  const made = tables(TWO);
  const flows = flowsOf(made, 4, null)!;
  assert.deepEqual(flows.links, ["back, left to right", "bottleneck, left to right"]);
  assert.equal(flows.link, "bottleneck, left to right");
  assert.deepEqual(flows.queue, { unit: "ms", mean: [10, 11, 12], most: [20, 22, 24], drops: [0, 2, 0] });
  assert.equal(flows.rate, 8000);
  assert.deepEqual(flowsOf(made, 4, "back, left to right")!.queue.mean, [0, 1, 2]);
  assert.equal(flowsOf(made, 4, "no such link")!.link, "bottleneck, left to right");
});

test("a link without a rate has a queue in packets", () => {
  const none = Array(6).fill(Number.NaN);
  const flows = flowsOf(tables(TWO, { queue_mean_ms: none, queue_max_ms: none, rate_bit_s: none }), 4, null)!;
  assert.equal(flows.rate, null);
  assert.deepEqual(flows.queue, {
    unit: "packets",
    mean: [30, 33, 36],
    most: [40, 44, 48],
    drops: [0, 2, 0],
  });
});

test("of many flows those of a transfer are one line, of many transfers the smallest", () => {
  const many = (names: (at: number) => string, count: number): Sent[] =>
    Array.from({ length: count }, (_, at) => ({
      name: names(at),
      opened: 0,
      time: 1,
      rates: { 0: 10 + at },
    }));
  const labels = (sent: Sent[]): string[] => flowsOf(tables(sent), 4, null)!.lines.map(({ label }) => label);
  assert.deepEqual(labels(many(() => "pairs", 3)), ["pairs 1", "pairs 2", "pairs 3"]);
  const summed = flowsOf(tables(many(() => "pairs", 1000)), 4, null)!.lines;
  assert.deepEqual(
    summed.map(({ label }) => label),
    ["pairs, sum of 1,000 flows"],
  );
  assert.equal(summed[0].values[0], 10 * 1000 + (999 * 1000) / 2);
  const apart = flowsOf(tables(many((at) => `one-${at}`, 1000)), 4, null)!.lines;
  assert.equal(apart.length, MOST_FLOWS);
  assert.deepEqual([apart[0].label, apart.at(-1)!.label], ["one-989", "others, sum of 989 flows"]);
  assert.deepEqual(labels([{ name: "0", opened: 0, time: 1, rates: {} }]), ["transfer 0"]);
});

test("a run that the page has not is none", () => {
  assert.equal(flowsOf(tables(TWO), 5, null), null);
  assert.deepEqual(runsOfFlows(tables(TWO)), [4]);
});

test("a rate far above all flows is told, not drawn; a part of the time is fitted to itself", () => {
  const slow = flowsOf(
    tables([{ name: "slow", opened: 0, time: 3, rates: { 0: 100, 1: 40, 2: 50 } }]),
    4,
    null,
  )!;
  const chart = flowChart(slow, 800, "light", null);
  assert.deepEqual(
    chart.legend.map(({ label }) => label),
    ["slow", "rate of bottleneck: 0.008 Mbit/s, above"],
  );
  assert.ok(chart.rates.high < 8000);
  assert.ok(flowChart(flowsOf(tables(TWO), 4, null)!, 800, "light", null).rates.high > 8000);
  const part = flowChart(slow, 800, "light", [1.1, 1.9, 0, 1]);
  assert.deepEqual([part.x.low, part.x.high, part.rates.high < 50], [1.1, 1.9, true]);
});

test("everything that is drawn has a place and a unit, in light and in dark", () => {
  for (const theme of ["light", "dark"] as const) {
    const chart = flowChart(flowsOf(tables(TWO), 4, null)!, 800, theme, null);
    const scene = new Scene(chart.width, chart.height);
    drawFlows(scene, chart, theme);
    const svg = scene.toString();
    assert.doesNotMatch(svg, /NaN|Infinity|undefined/);
    for (const words of ["goodput (kbit/s)", "queueing delay (ms) of bottleneck, left to right", "time (s)"])
      assert.ok(svg.includes(words), words);
  }
});

function pageOf(names: string[], note = ""): StudyPage {
  const info = (name: string): TableInfo => ({
    name,
    block: name,
    responses: [column(name === "runs" ? "index" : "time_ns", "ns")],
    keys: [],
  });
  const { page } = made([factor("a", ["x", "y"]), factor("b", ["1", "2", "3"], [1, 2, 3])], 1, () => 1);
  return { ...page, tables: names.map(info), flows: { note, fairness: "index" } };
}

test("what a page has not it says how to have", () => {
  const all = ["runs", "transfers", "transfers_over_time", "links_over_time"];
  assert.equal(hasFlows(pageOf(all)), true);
  assert.equal(flowsHint(pageOf(all)), null);
  assert.match(flowsHint(pageOf(["runs"]))!, /^Completion times, and .*measure\.every/);
  assert.match(flowsHint(pageOf(["runs", "transfers"]))!, /^Flows over time .*measure\.every/);
  assert.equal(flowsHint(pageOf(["runs", "transfers"], "Too large.")), "Too large.");
});

test("pictures of flows are states: a distribution by a factor, a heat map over two", () => {
  const page = pageOf(["runs", "transfers"]);
  const presets = presetsOf(page);
  assert.deepEqual(
    presets.map(({ id, table }) => [id, table]),
    [
      ["completion", "transfers"],
      ["fairness", "runs"],
    ],
  );
  const { source } = made([factor("a", ["x", "y"]), factor("b", ["1", "2", "3"], [1, 2, 3])], 1, () => 1);
  const first = firstState(page, source);
  const [completion, fairness] = presets.map(({ of }) => of(first, source));
  assert.deepEqual([completion.kind, completion.shape, completion.colour], ["spread", "ecdf", "b"]);
  assert.deepEqual(
    [fairness.kind, fairness.response, fairness.x, fairness.colour],
    ["heat", "index", "b", "a"],
  );
  assert.deepEqual(
    presetsOf(pageOf(["runs"])).map(({ id }) => id),
    ["fairness"],
  );
  const single = { ...page, factors: [factor("a", ["x", "y"])] };
  assert.deepEqual(
    presetsOf(single).map(({ id }) => id),
    ["completion"],
  );
});
