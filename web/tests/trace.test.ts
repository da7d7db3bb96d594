import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decode } from "../src/block";
import type { TraceHead } from "../src/format";
import { nearest } from "../src/trace/hit";
import { layerOf } from "../src/trace/layer";
import { entries } from "../src/trace/legend";
import { lookOf } from "../src/trace/look";
import { firstAt, groupOf, readTrace, type Trace } from "../src/trace/model";
import { PANELS } from "../src/trace/panels";
import { SvgPen } from "../src/trace/pen";
import { fileName, svg, type Column } from "../src/trace/saving";
import { goodput, intervals, outstanding } from "../src/trace/series";
import { fitting } from "../src/trace/sheet";
import { sheetOf, xOf, yOf } from "../src/trace/sheet";
import { rangeAbout, valuesWithin, wholeOf } from "../src/trace/whole";

// Written by tests/python/plot/test_trace.py: the second of five segments is lost and sent again at the third
// duplicate acknowledgment, with states and verdicts beside; and a real association of SCTP.
const read = async (name: string): Promise<Trace> =>
  readTrace(await decode<TraceHead>(readFileSync(new URL(`./${name}`, import.meta.url), "utf8")));
const tcp = await read("trace.txt");
const sctp = await read("trace-sctp.txt");
const view = tcp.view("1-server");
const layer = layerOf(tcp, "1-server", false);
const near = (given: ArrayLike<number>, expected: number[]): void => {
  assert.equal(given.length, expected.length);
  Array.from(given).forEach((value, at) => assert.ok(Math.abs(value - expected[at]) < 1e-9, `${value}`));
};

test("segments have their numbers, bytes and times again", () => {
  const { segments } = view;
  assert.deepEqual([...segments.low], [0, 1, 1001, 2001, 3001, 4001, 1001, 5001, 5002]);
  assert.deepEqual([...segments.high], [1, 1001, 2001, 3001, 4001, 5001, 2001, 5002, 5002]);
  assert.deepEqual([...segments.bytes], [0, 1000, 1000, 1000, 1000, 1000, 1000, 0, 0]);
  near(segments.t, [0.0001, 0.021, 0.022, 0.023, 0.024, 0.025, 0.046, 0.061, 0.081]);
  assert.deepEqual([...segments.lost], [[2, "dropped by pattern at position 3"]]);
});

test("acknowledgments, windows and SACK blocks are those of the other side", () => {
  const { acks, sacks } = view;
  assert.deepEqual([...acks.level], [1, 1001, 1001, 1001, 1001, 5001, 5002]);
  assert.deepEqual([...acks.duplicate], [0, 0, 1, 2, 3, 0, 0]);
  assert.deepEqual([...(acks.edge ?? [])], [7001, 8001, 8001, 8001, 8001, 12001, 12002]);
  assert.deepEqual([...sacks.low], [2001, 2001, 2001]);
  assert.deepEqual([...sacks.high], [3001, 4001, 5001]);
  near(sacks.t, [0.043, 0.044, 0.045]);
});

test("a retransmission knows what it repeats", () => {
  const { again } = view;
  assert.equal(again.count, 1);
  assert.deepEqual([again.row[0], again.before[0]], [6, 2]);
  assert.ok(Math.abs(again.previous[0] - 0.024) < 1e-9);
  assert.equal(again.confidence(0), "certain");
  assert.match(again.why(0), /^after 3 duplicate ACKs/);
  assert.equal(groupOf(view, 6).label, "fast retransmit (F)");
});

test("outstanding data follow segments and acknowledgments", () => {
  const series = outstanding(view);
  const at = (ms: number): number => series.v[firstAt(series.t, ms / 1e3 + 1e-9) - 1];
  assert.deepEqual([21, 22, 25].map(at), [1000, 2000, 5000]);
  assert.deepEqual([40, 60].map(at), [4000, 0]);
});

test("throughput in intervals holds every bit", () => {
  const length = view.head.interval;
  const { t, v } = intervals(view.segments, length);
  const bits = v.reduce((sum, rate) => sum + rate * 1e6 * length, 0);
  assert.ok(Math.abs(bits - 8 * 6000) < 1e-6);
  assert.ok(Math.abs(t[1] - t[0] - length) < 1e-12);
});

test("goodput counts what was acknowledged of the part that is there", () => {
  const { t, v } = goodput(view, 0);
  const last = (list: Float64Array): number => list[list.length - 1];
  assert.ok(Math.abs(last(v) * 1e6 - (8 * 5001) / (last(t) - 0.021)) < 1e-3);
  const keep = view.segments.low.map((low) => (low >= 3001 ? 1 : 0));
  const bytes = view.segments.bytes.map((size, row) => size * keep[row]);
  const part = goodput({ ...view, segments: { ...view.segments, bytes } }, 0);
  // From 3,001 on, since the segment that begins there.
  assert.ok(Math.abs(last(part.v) * 1e6 - (8 * 2001) / (last(part.t) - 0.024)) < 1e-3);
});

test("states and verdicts are read, with nothing for what was not known", () => {
  const state = view.state;
  assert.ok(state);
  assert.deepEqual([...state.cwnd], [2000, 5000, 5000, 2500]);
  assert.deepEqual([...state.ssthresh], [Number.NaN, Number.NaN, Number.NaN, 2500]);
  near(state.srtt.slice(1), [20, 20, 20]);
  assert.equal(state.phase?.(3), "recovery");
  const log = tcp.verdicts;
  assert.ok(log);
  assert.deepEqual([...log.position], [1, 1, 2, 3, 2]);
  assert.deepEqual([...log.dropped], [0, 0, 0, 1, 1]);
  assert.equal(log.verdict(3), "dropped by pattern at position 3");
  // The acknowledgment that the emulator dropped is not a packet of the capture.
  near(layer.lostAcks.t, [0.041]);
  assert.deepEqual([...layer.lostAcks.v], [1001]);
});

test("an association has a chunk a row, and what is outstanding ends at nothing", () => {
  const [head] = sctp.head.views;
  const given = sctp.view(head.key);
  assert.equal(given.unit, "TSN");
  assert.ok(given.segments.count > 20);
  assert.ok(given.segments.high.every((high, row) => high === given.segments.low[row] + 1));
  assert.ok(given.acks.level.every((level, row) => row === 0 || level >= given.acks.level[row - 1]));
  assert.ok(given.sacks.low.every((low, row) => low < given.sacks.high[row]));
  for (let n = 0; n < given.again.count; n++)
    if (given.again.before[n] >= 0)
      assert.equal(given.segments.low[given.again.before[n]], given.segments.low[given.again.row[n]]);
  const { v } = outstanding(given);
  assert.equal(v[v.length - 1], 0);
  assert.ok(v.every((value) => value >= 0));
});

test("a view that is not there is named", () => {
  assert.throws(() => tcp.view("9-client"), /no view 9-client/);
});

test("all is within the whole range, and a retransmission within its own", () => {
  const whole = wholeOf([layer]);
  assert.ok(whole.t0 < 0 && whole.t1 > 0.081 && whole.y0 < 0 && whole.y1 > 5002);
  const own = rangeAbout(layer, 0, whole);
  assert.ok(own.t0 < 0.022 && own.t1 > 0.046 && own.y0 < 1001 && own.y1 > 2001);
  assert.deepEqual(valuesWithin([layer], 5, 6), null);
});

test("the pointer finds the segment, the acknowledgment and what they are", () => {
  const whole = wholeOf([layer]);
  const box = { left: 0, top: 0, width: 1000, height: 500 };
  const sheet = sheetOf(new SvgPen(), box, [whole.t0, whole.t1], [whole.y0, whole.y1], new Set());
  const at = (t: number, v: number): string =>
    nearest(sheet, PANELS[0], [layer], [xOf(sheet, t), yOf(sheet, v)])?.text ?? "";
  assert.match(
    at(0.046, 1500),
    /^packet 13, 0\.046000 s\nfast retransmit \(F\)\n1,001 \.\. 2,001 \(1,000 bytes\)/,
  );
  assert.match(at(0.046, 1500), /24 ms after the transmission before; certain: after 3 duplicate ACKs/);
  assert.match(at(0.022, 1500), /dropped by pattern at position 3/);
  assert.match(at(0.045, 1001), /ACK 1,001, window 7,000\nduplicate ACK 3/);
  assert.match(at(0.045, 4500), /SACK block 2,001 \.\. 5,001/);
  assert.equal(at(0.07, 500), "");
  const hidden = { ...sheet, hidden: new Set(["gF"]) };
  const found = nearest(hidden, PANELS[0], [layer], [xOf(sheet, 0.046), yOf(sheet, 1500)]);
  assert.doesNotMatch(found?.text ?? "", /packet 13/);
});

function column(given = layer): Column {
  const heights = PANELS.filter((panel) => panel.has(given)).map((panel) => ({ panel, height: 150 }));
  return { layers: [given], heights, width: 900 };
}

test("an SVG file has every graph, its axes, its legend and a title, and is well formed", () => {
  const shown = {
    range: wholeOf([layer]),
    all: [layer],
    hidden: new Set<string>(),
    folded: new Set<string>(),
  };
  const text = svg([column()], shown);
  for (const { name, has } of PANELS) if (has(layer)) assert.ok(text.includes(`<g class="${name}"`), name);
  for (const { label } of entries([layer])) assert.ok(text.includes(`>${label}<`), label);
  assert.match(text, /<title>a run, /);
  assert.match(text, />SYN</);
  assert.match(text, />F</);
  assert.match(text, />3</);
  assert.match(text, />0\.02 s</);
  assert.equal(text.match(/<g /g)?.length, text.match(/<\/g>/g)?.length);
  assert.doesNotMatch(text, /NaN|Infinity|undefined/);
  const without = svg([column()], { ...shown, hidden: new Set(["gF", "bracket"]) });
  assert.doesNotMatch(without, />F</);
  assert.equal(fileName([column()], shown), "rexmit-run-7-1-server-0.0000-0.0826s");
});

test("files are light, whatever the screen is", () => {
  const dark = layerOf(tcp, "1-server", true);
  const shown = { range: wholeOf([dark]), all: [dark], hidden: new Set<string>(), folded: new Set<string>() };
  const text = svg([column(dark)], shown);
  assert.ok(text.includes(lookOf(false).names.ack));
  assert.ok(!text.includes(lookOf(true).ground));
});

test("the second of two traces has colours of its own in the legend", () => {
  const second = layerOf(tcp, "1-server", false, undefined, "lower");
  const segment = entries([layer, second]).find((entry) => entry.label === "segment");
  assert.ok(segment?.second && segment.second !== segment.colour);
  assert.equal(entries([layer]).find((entry) => entry.label === "segment")?.second, undefined);
});

test("a title that its graph cannot hold gives way to a shorter one", () => {
  const titles = ["Outstanding data and advertised window (bytes)", "Outstanding, window (bytes)"];
  assert.equal(fitting(600, titles), titles[0]);
  assert.equal(fitting(200, titles), titles[1]);
  assert.equal(fitting(20, titles), titles[1]);
});
