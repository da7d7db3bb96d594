import assert from "node:assert/strict";
import { test } from "node:test";
import { numbers } from "../src/block";
import { holdAgainst } from "../src/explorer/against";
import { dimOf, type Source } from "../src/explorer/data";
import { cellAt, group, MOST, summarise, valuesOf, type Measure } from "../src/explorer/group";
import { neighbour, runsOf } from "../src/explorer/runs";
import { binShares, stepShares } from "../src/explorer/spread";
import { made, timeOf } from "./made";

const roles = (source: Source, names: Partial<Record<"x" | "colour" | "rows" | "columns", string>>) => ({
  x: dimOf(source, names.x ?? null),
  colour: dimOf(source, names.colour ?? null),
  rows: dimOf(source, names.rows ?? null),
  columns: dimOf(source, names.columns ?? null),
});
const sums = (source: Source, groups: ReturnType<typeof group>, measure: Measure = "mean") =>
  summarise(groups, numbers(source.table, "time_ns"), numbers(source.table, "replication"), measure);

test("each row is in the cell of its levels, and in no other", () => {
  const source = made();
  const groups = group(
    source,
    roles(source, { x: "path.drop", colour: "path.rate", rows: "hosts.stack" }),
    {},
  );
  assert.equal(groups.order.length, 24);
  const summary = sums(source, groups);
  for (const rate of [0, 1])
    for (const drop of [0, 1, 2])
      for (const stack of [0, 1]) {
        const cell = cellAt(groups, stack, 0, rate, drop);
        assert.equal(summary.n[cell], 2);
        assert.equal(summary.value[cell], timeOf(rate, drop, stack, 0) + 0.25);
      }
});

test("what is averaged over does not widen the interval over replications", () => {
  const source = made();
  const groups = group(source, roles(source, { x: "path.drop" }), {});
  const summary = sums(source, groups);
  // Replications differ by 0.5 throughout: the rates, 100 apart, must not count as chance.
  const cell = cellAt(groups, 0, 0, 0, 1);
  assert.equal(summary.n[cell], 8);
  assert.equal(summary.replications, 2);
  assert.equal(summary.value[cell], 100 + 50 + 10 + 0.5 + 0.25);
  const half = 12.706205 * (0.5 / 2);
  assert.ok(Math.abs(summary.high[cell] - summary.value[cell] - half) < 1e-5);
});

test("a median goes from the least to the most", () => {
  const source = made();
  const groups = group(source, roles(source, {}), { "path.rate": [0], "path.drop": [0] });
  const summary = sums(source, groups, "median");
  assert.deepEqual([summary.low[0], summary.value[0], summary.high[0]], [100, 100.75, 101.5]);
});

test("filters keep what they name, and all of what they do not", () => {
  const source = made();
  const all = roles(source, { x: "path.drop" });
  const some = group(source, all, { "path.drop": [2, 0], replication: [1] });
  assert.deepEqual(some.levels.x, [0, 2]);
  assert.equal(some.kept, 8);
  const none = group(source, all, { "path.rate": [] });
  assert.equal(none.order.length, 0);
  assert.equal(none.kept, 0);
});

test("runs without a value are counted, and a point that has none else is a gap", () => {
  // All runs of position 1 at the lower rate fail, and one of the others.
  const source = made((time, run) => ((run >= 4 && run < 8) || run === 0 ? Number.NaN : time));
  const groups = group(source, roles(source, { x: "path.drop", colour: "path.rate" }), {});
  const summary = sums(source, groups);
  const gap = cellAt(groups, 0, 0, 0, 1);
  assert.deepEqual([summary.n[gap], summary.missing[gap]], [0, 4]);
  assert.ok(Number.isNaN(summary.value[gap]));
  const first = cellAt(groups, 0, 0, 0, 0);
  assert.deepEqual([summary.n[first], summary.missing[first]], [3, 1]);
  assert.equal(valuesOf(groups, first, numbers(source.table, "time_ns")).length, 3);
  const share = summarise(groups, numbers(source.table, "completed"), null, "share");
  assert.equal(share.value[gap], 0);
  assert.equal(share.value[first], 0.75);
});

test("a level is held against the same run at another, replication by replication", () => {
  const source = made();
  const values = numbers(source.table, "time_ns");
  const more = holdAgainst(source, values, { dim: "path.drop", level: 0, how: "difference" });
  const drops = numbers(source.table, "level:path.drop");
  more.forEach((value, row) => assert.equal(value, 10 * drops[row]));
  const times = holdAgainst(source, values, { dim: "path.rate", level: 0, how: "ratio" });
  const last = source.rows - 1;
  assert.equal(times[last], timeOf(1, 2, 1, 1) / timeOf(0, 2, 1, 1));
});

test("what has nothing to be held against has no value", () => {
  const source = made((time, run) => (run === 0 ? Number.NaN : run === 1 ? 0 : time));
  const values = numbers(source.table, "time_ns");
  const more = holdAgainst(source, values, { dim: "path.drop", level: 0, how: "difference" });
  assert.ok(Number.isNaN(more[4]));
  assert.ok(!Number.isNaN(more[5]));
  const times = holdAgainst(source, values, { dim: "path.drop", level: 0, how: "ratio" });
  assert.ok(Number.isNaN(times[5]));
});

test("more curves than can be told apart are cut, and said", () => {
  const source = made();
  const labels = Array.from({ length: 1000 }, (_, level) => `level ${level}`);
  const many = { ...dimOf(source, "path.drop")!, labels, values: null };
  const groups = group(source, { ...roles(source, {}), colour: many, x: dimOf(source, "path.rate") }, {});
  assert.equal(groups.levels.colour.length, MOST.colour);
  assert.equal(groups.cut.colour, 1000 - MOST.colour);
});

test("a neighbour has the same levels but for one", () => {
  const source = made();
  const drop = dimOf(source, "path.drop")!;
  assert.equal(neighbour(source, 0, drop, 1), 4);
  assert.equal(neighbour(source, 4, drop, -1), 0);
  assert.equal(neighbour(source, 0, drop, -1), null);
  assert.equal(neighbour(source, 8, drop, 1), null);
  assert.equal(neighbour(source, 999, drop, 1), null);
});

test("rows of one run are one run", () => {
  const source = made();
  source.table.run = Float64Array.from({ length: 24 }, (_, row) => Math.floor(row / 3));
  const found = runsOf(source, [0, 1, 2, 3, 23]);
  assert.deepEqual(found, [
    { run: 0, rows: [0, 1, 2] },
    { run: 1, rows: [3] },
    { run: 7, rows: [23] },
  ]);
});

test("steps of a distribution rise to all, bins sum up to all", () => {
  const sorted = Float64Array.of(1, 1, 2, 4);
  assert.deepEqual(stepShares(sorted, [0, 1, 2, 3, 4]), [0, 0.5, 0.75, 0.75, 1]);
  assert.deepEqual(stepShares(new Float64Array(0), [0, 1]), [null, null]);
  const shares = binShares(sorted, [1, 2, 3, 4]);
  assert.deepEqual(shares, [0.5, 0.25, 0.25, 0.25]);
});
