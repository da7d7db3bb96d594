import assert from "node:assert/strict";
import { test } from "node:test";
import { bars, dots, greatest, rowsInView, steps } from "../src/trace/lod";
import { count, duration, moved, ticks, tickStep, tickText, zoomTime, zoomValue } from "../src/trace/ranges";
import { fromText, toText } from "../src/trace/state";

const same = { a: 0, b: 1 };
const down = { a: 100, b: -1 };

test("ticks are round numbers within the range", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(ticks(3, 3, 4), []);
  assert.ok(ticks(1e-7, 3e-7, 4).length >= 2);
  assert.ok(ticks(0, 1e9, 1e6).length <= 200);
});

test("the text of a tick has as many decimals as its distance", () => {
  assert.equal(tickText(0.25, 0.05), "0.25");
  assert.equal(tickText(1234567, 1000), "1,234,567");
  assert.equal(tickText(5.123456, tickStep(5.12345, 5.12346, 5)), "5.123456");
  assert.equal(tickText(-1e-17, 0.5), "0");
  assert.equal(count(31000), "31,000");
});

test("lengths of time have three digits and a unit", () => {
  assert.deepEqual([1.5, 0.30412, 0.000021, 0, 123.4].map(duration), [
    "1.5 s",
    "304 ms",
    "21 µs",
    "0 s",
    "123 s",
  ]);
});

const whole = { t0: 0, t1: 10, y0: 0, y1: 1000 };

test("zooming keeps its place, and ends at what can be told apart", () => {
  const half = zoomTime(whole, 4, 0.5, whole);
  assert.deepEqual([half.t0, half.t1], [2, 7]);
  let small = whole;
  for (let n = 0; n < 200; n++) small = zoomTime(small, 4, 0.5, whole);
  assert.ok(small.t1 - small.t0 > 1e-8 && small.t0 < 4 && small.t1 > 4);
  let large = whole;
  for (let n = 0; n < 200; n++) large = zoomTime(large, 4, 2, whole);
  assert.ok(large.t1 - large.t0 <= 41);
  assert.deepEqual(zoomValue(whole, 0, 0.5, whole), { ...whole, y1: 500 });
});

test("moving leaves a tenth in view", () => {
  assert.deepEqual(moved(whole, 3, 100, whole), { t0: 3, t1: 13, y0: 100, y1: 1100 });
  assert.equal(moved(whole, 1e6, 0, whole).t0, 9);
  assert.equal(moved(whole, -1e6, 0, whole).t0, -9);
});

test("rows in view reach over the edges", () => {
  const t = Float64Array.of(0, 1, 2, 3, 4);
  assert.deepEqual(rowsInView(t, 1.5, 2.5), [1, 4]);
  assert.deepEqual(rowsInView(t, -5, 50), [0, 5]);
  assert.deepEqual(rowsInView(new Float64Array(0), 0, 1), [0, 0]);
});

test("bars of a pixel column are one where they touch, and stay apart where not", () => {
  const t = Float64Array.of(0.1, 0.2, 0.3, 5);
  const spans: [Float64Array, Float64Array] = [
    Float64Array.of(0, 10, 60, 0),
    Float64Array.of(10, 20, 70, 10),
  ];
  assert.deepEqual(bars(t, spans, null, [0, 4], [same, down]), [0.1, 100, 80, 0.3, 40, 30, 5, 100, 90]);
  assert.deepEqual(bars(t, spans, [2, 3], [1, 2], [same, down]), [5, 100, 90]);
});

test("what is drawn of 200,000 bars and steps follows the pixels", () => {
  const n = 200_000;
  const t = Float64Array.from({ length: n }, (_, row) => (row * 1000) / n);
  const v = Float64Array.from({ length: n }, (_, row) => Math.sin(row) * 50);
  const high = v.map((value) => value + 60);
  assert.ok(bars(t, [v.map(() => 0), high], null, [0, n], [same, down]).length <= 3 * 1000);
  const line = steps(t, v, [0, n], [same, down], 1000);
  assert.ok(line.length <= 2 * 4 * 1001);
  const values = line.filter((_, at) => at % 2).map((y) => 100 - y);
  const most = (list: ArrayLike<number>): number => Array.from(list).reduce((a, b) => Math.max(a, b));
  assert.ok(Math.abs(most(values) - most(v)) < 1e-9);
  assert.ok(Math.abs(most(values.map((y) => -y)) - most(v.map((y) => -y))) < 1e-9);
});

test("steps hold their value until the next, and break where there is none", () => {
  const t = Float64Array.of(0, 10, 20);
  assert.deepEqual(steps(t, Float64Array.of(1, 2, 3), [0, 3], [same, down], 25), [
    ...[0, 99, 10, 99, 10, 98],
    ...[20, 98, 20, 97, 25, 97],
  ]);
  const broken = steps(t, Float64Array.of(1, Number.NaN, 3), [0, 3], [same, down], 25);
  assert.deepEqual(broken, [0, 99, 10, 99, 10, Number.NaN, 20, 97, 25, 97]);
});

test("dots leave out what is not shown, and the greatest is of what is in view", () => {
  const [t, v] = [Float64Array.of(1, 2, 3), Float64Array.of(5, 9, 7)];
  assert.deepEqual(
    dots(t, v, [0, 3], [same, down], (row) => row !== 1),
    [1, 95, 3, 93],
  );
  assert.equal(greatest(t, v, 2.5, 4), 9); // one more at each end
  assert.equal(greatest(t, v, 10, 11), 7);
});

test("what is in view goes through a text", () => {
  const seen = {
    views: ["1-server", "a2-client"],
    range: { t0: 1.234, t1: 1.236, y0: -50, y1: 30000 },
    hidden: ["g?", "ack", "gF"],
    folded: ["rtt"],
    link: "bottleneck/left-right",
    measure: "ms" as const,
  };
  const text = toText(seen);
  const queue = "qms,bottleneck%2Fleft-right";
  assert.equal(text, `v1-server,a2-client;t1.234:1.236;y-50:30000;hg%3F,ack,gF;xrtt;${queue}`);
  assert.deepEqual(fromText(text), seen);
  const narrow = { ...seen, range: { t0: 5.1234567891, t1: 5.1234567899, y0: 0, y1: 1 } };
  const back = fromText(toText(narrow)).range;
  assert.ok(back && back.t0 < back.t1 && Math.abs(back.t1 - back.t0 - 8e-10) < 1e-11);
  assert.equal(
    toText({
      views: ["1-server"],
      range: null,
      hidden: [],
      folded: [],
      link: null,
      measure: "packets" as const,
    }),
    "v1-server",
  );
});

test("a text that says nothing useful gives the beginning", () => {
  for (const text of ["", "t3:1;y0:5", "tx:y", "q;;;", "t1:2", "h%E0%A4%A"])
    assert.equal(fromText(text).range, null, text);
});
