import assert from "node:assert/strict";
import { test } from "node:test";
import { binShares, distribution, stepShares } from "../src/explorer/spread";
import { pictureOf } from "../src/explorer/picture";
import { binEdges, halfWidth, meanOf, quantile, shareOf, studentT } from "../src/explorer/stats";
import { factor, made, randoms } from "./sample";

const near = (given: number, expected: number, most = 1e-9): void =>
  assert.ok(
    Math.abs(given - expected) <= most * Math.max(1, Math.abs(expected)),
    `${given}, not ${expected}`,
  );

test("quantiles of Student's t are those of tables", () => {
  // One and two degrees have a closed form.
  for (const p of [0.6, 0.9, 0.975, 0.999]) {
    near(studentT(p, 1), Math.tan(Math.PI * (p - 0.5)));
    near(studentT(p, 2), (2 * p - 1) * Math.sqrt(2 / (4 * p * (1 - p))));
  }
  const known = [
    [1, 12.706204736],
    [2, 4.302652729],
    [3, 3.182446305],
    [4, 2.776445105],
    [5, 2.570581835],
    [9, 2.262157163],
    [29, 2.045229642],
    [99, 1.984216952],
    [999, 1.962341461],
  ];
  for (const [degrees, t] of known) {
    near(studentT(0.975, degrees), t, 1e-8);
    near(halfWidth(degrees + 1), t, 1e-8);
    near(studentT(0.025, degrees), -t, 1e-8);
  }
  near(studentT(0.975, 1e6), 1.959966, 1e-6);
  assert.equal(studentT(0.5, 7), 0);
});

test("what has no quantile is not a number", () => {
  for (const [p, degrees] of [
    [0, 5],
    [1, 5],
    [0.9, 0],
    [0.9, -1],
    [Number.NaN, 5],
    [0.9, Number.NaN],
  ])
    assert.ok(Number.isNaN(studentT(p, degrees)), `${p} ${degrees}`);
  assert.ok(Number.isNaN(halfWidth(1)));
});

test("the mean has its interval", () => {
  // Mean 3, deviation sqrt(2.5): 3 ± 2.776445105 * sqrt(2.5 / 5).
  const five = meanOf([1, 2, 3, 4, 5]);
  near(five.value, 3);
  near(five.low, 3 - 1.963243162, 1e-8);
  near(five.high, 3 + 1.963243162, 1e-8);
  assert.deepEqual(meanOf([7, 7, 7]), { value: 7, low: 7, high: 7 });
});

test("one value is its own interval, and none is not a number", () => {
  assert.deepEqual(meanOf([4.5]), { value: 4.5, low: 4.5, high: 4.5 });
  assert.ok(Number.isNaN(meanOf([]).value));
  assert.equal(meanOf([1, 2, 99], 2).value, 1.5);
});

test("the mean of values that lie far from 0 and close together keeps its interval", () => {
  const { low, high } = meanOf([1e9 + 1, 1e9 + 2, 1e9 + 3]);
  near(high - low, 2 * 4.302652729 * Math.sqrt(1 / 3), 1e-6);
});

test("the interval of a share stays between 0 and 1", () => {
  // Wilson's interval of 8 of 10, and of 0 of 10.
  const eight = shareOf(8, 10);
  near(eight.low, 0.4901625, 1e-6);
  near(eight.high, 0.9433178, 1e-6);
  const none = shareOf(0, 10);
  near(none.low, 0);
  near(none.high, 0.2775328, 1e-6);
  assert.ok(shareOf(3, 3).high <= 1 && shareOf(0, 3).low >= 0);
});

test("quantiles lie between values by their distance", () => {
  assert.equal(quantile([1, 2, 3], 0.5), 2);
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.equal(quantile([1, 2, 3, 4], 0.25), 1.75);
  assert.equal(quantile([1, 2, 3, 4], 0), 1);
  assert.equal(quantile([1, 2, 3, 4], 1), 4);
  assert.equal(quantile([9], 0.75), 9);
  assert.ok(Number.isNaN(quantile([], 0.5)));
  assert.equal(quantile([1, 2, 100], 0.5, 2), 1.5);
});

test("bins cover all values, whatever lies between them", () => {
  const random = randoms(3);
  const many = Float64Array.from({ length: 5000 }, () => random() ** 3).sort();
  const far = Float64Array.of(0, 0, 0, 0, 0, 0, 0, 1e9);
  const two = Float64Array.of(1, 2);
  for (const sorted of [many, far, two]) {
    const edges = binEdges(sorted);
    assert.ok(edges.length >= 6 && edges.length <= 61, `${edges.length}`);
    assert.equal(edges[0], sorted[0]);
    assert.equal(edges.at(-1), sorted.at(-1));
    for (let at = 1; at < edges.length; at++) assert.ok(edges[at] > edges[at - 1]);
  }
});

test("values that are all alike have one bin about them that an axis can show", () => {
  for (const value of [0, 5, -5, 0.001, 1e9]) {
    const edges = binEdges(Float64Array.of(value, value, value));
    assert.equal(edges.length, 2);
    assert.ok(edges[0] < value && value < edges[1], `${edges}`);
    if (value !== 0) assert.ok(edges[1] - edges[0] <= Math.abs(value), `${edges} about ${value}`);
  }
});

test("the share at or below a place rises to one", () => {
  const sorted = Float64Array.of(1, 2, 2, 4);
  assert.deepEqual(stepShares(sorted, [0, 1, 1.5, 2, 3, 4, 9]), [0, 0.25, 0.25, 0.75, 0.75, 1, 1]);
  assert.deepEqual(stepShares(new Float64Array(0), [1, 2]), [null, null]);
});

test("a bin has its left edge, and the last one both", () => {
  assert.deepEqual(binShares(Float64Array.of(0, 1, 1, 2), [0, 1, 2]), [0.25, 0.75, 0.75]);
  assert.deepEqual(binShares(new Float64Array(0), [0, 1, 2]), [null, null, null]);
  const random = randoms(5);
  const sorted = Float64Array.from({ length: 999 }, random).sort();
  const shares = binShares(sorted, binEdges(sorted)).slice(0, -1);
  near(
    shares.reduce<number>((sum, share) => sum + share!, 0),
    1,
  );
});

const values = [0, Number.NaN, 1, 10, 10, 100];
const { source, first } = made([factor("one", ["a"])], values.length, (_, __, row) => values[row]);
const spread = { ...first, kind: "spread" as const, x: null, colour: null, logX: false };

test("a distribution leaves out what has no value", () => {
  const { panels, range } = distribution(pictureOf(spread, source));
  assert.deepEqual(panels[0].xs, [0, 1, 10, 100]);
  assert.deepEqual(panels[0].values, [[0.2, 0.4, 0.8, 1]]);
  assert.deepEqual(range, [0, 100]);
});

test("values at 0 have no place on a logarithmic axis, but count", () => {
  const { panels, range } = distribution(pictureOf({ ...spread, logX: true }, source));
  assert.deepEqual(panels[0].xs, [1, 10, 100]);
  assert.deepEqual(panels[0].values, [[0.4, 0.8, 1]]);
  assert.deepEqual(range, [1, 100]);
  const bars = distribution(pictureOf({ ...spread, logX: true, shape: "histogram" }, source)).panels[0];
  near(
    bars.values[0].slice(0, -1).reduce<number>((sum, share) => sum + share!, 0),
    0.8,
  );
});

test("a distribution of nothing is a chart without curves", () => {
  const none = made([factor("one", ["a"])], 2, () => Number.NaN);
  for (const shape of ["ecdf", "histogram"] as const)
    for (const logX of [false, true]) {
      const { panels, range } = distribution(
        pictureOf({ ...none.first, kind: "spread", shape, logX, x: null, colour: null }, none.source),
      );
      assert.deepEqual(panels[0].values, [[null, null]]);
      assert.deepEqual(range, [0, 1]);
    }
});

test("a curve of more steps than a screen shows ends at one", () => {
  const random = randoms(11);
  for (const power of [1, 9]) {
    const many = made([factor("one", ["a"])], 9001, () => 0.1 + random() ** power * 1e7);
    const state = { ...many.first, kind: "spread" as const, x: null, colour: null };
    const [curve] = distribution(pictureOf(state, many.source)).panels[0].values;
    assert.ok(curve.length <= 4000);
    assert.equal(curve.at(-1), 1);
    curve.forEach((share, at) => assert.ok(at === 0 || share! >= curve[at - 1]!));
  }
});
