import assert from "node:assert/strict";
import { test } from "node:test";
import { binEdges, halfWidth, meanOf, quantile, shareOf, studentT } from "../src/explorer/stats";

const near = (given: number, wanted: number, by = 1e-6): void =>
  assert.ok(Math.abs(given - wanted) <= by * Math.max(1, Math.abs(wanted)), `${given} is not ${wanted}`);

test("quantiles of Student's t are those of the tables", () => {
  // Of one and two degrees there are closed forms; the rest is printed in every textbook.
  near(studentT(0.975, 1), Math.tan(Math.PI * 0.475), 1e-9);
  near(studentT(0.975, 2), (2 * 0.975 - 1) * Math.sqrt(2 / (1 - (2 * 0.975 - 1) ** 2)), 1e-9);
  near(studentT(0.975, 5), 2.570582, 1e-6);
  near(studentT(0.975, 9), 2.262157, 1e-6);
  near(studentT(0.95, 30), 1.697261, 1e-6);
  near(studentT(0.975, 1e6), 1.959966, 1e-5);
  near(studentT(0.025, 5), -studentT(0.975, 5));
  assert.equal(studentT(0.5, 3), 0);
  assert.ok(Number.isNaN(studentT(0.9, 0)));
});

test("a mean has the interval of its standard error; one value has none", () => {
  const { value, low, high } = meanOf([1, 2, 3]);
  assert.equal(value, 2);
  near(high - value, 4.302653 / Math.sqrt(3));
  near(value - low, high - value, 1e-12);
  assert.deepEqual(meanOf([7]), { value: 7, low: 7, high: 7 });
  assert.ok(Number.isNaN(halfWidth(1)));
  assert.deepEqual(meanOf([5, 5, 5]), { value: 5, low: 5, high: 5 });
});

test("shares have Wilson's interval, which stays between nothing and all", () => {
  // Newcombe (1998), table I: 81 of 263, and 0 of 20.
  const some = shareOf(81, 263);
  near(some.low, 0.2553, 2e-4);
  near(some.high, 0.3662, 2e-4);
  const none = shareOf(0, 20);
  assert.equal(none.low, 0);
  near(none.high, 0.1611, 2e-4);
  assert.equal(shareOf(20, 20).high, 1);
});

test("quantiles lie between values by their distance", () => {
  const values = [1, 2, 3, 4];
  assert.equal(quantile(values, 0.5), 2.5);
  assert.equal(quantile(values, 0.25), 1.75);
  assert.equal(quantile(values, 0), 1);
  assert.equal(quantile(values, 1), 4);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test("bins cover all values", () => {
  const edges = binEdges(Float64Array.from({ length: 200 }, (_, at) => at));
  assert.deepEqual([edges[0], edges.at(-1)], [0, 199]);
  assert.ok(edges.length >= 6 && edges.length <= 61);
});
