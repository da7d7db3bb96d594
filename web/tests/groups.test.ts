import assert from "node:assert/strict";
import { test } from "node:test";
import { holdAgainst } from "../src/explorer/against";
import { dimOf, sourceOf } from "../src/explorer/data";
import { cellAt, group, MOST, summarise, valuesOf } from "../src/explorer/group";
import { csv } from "../src/explorer/listing";
import { pictureOf, placesOf } from "../src/explorer/picture";
import { numbers } from "../src/block";
import { column, factor, made, randoms } from "./sample";

const rate = factor("path.rate", ["1 Mbit/s", "2 Mbit/s"], [1e6, 2e6], "bit/s");
const delay = factor("path.delay", ["1 ms", "5 ms", "9 ms"], [1, 5, 9], "ms");
/** Rate r, delay d, replication n: 100 r + 10 d + n. */
const study = made([rate, delay], 3, ([r, d], n) => 100 * r + 10 * d + n);
const { source } = study;
const time = numbers(source.table, "time");
const replication = numbers(source.table, "replication");
const none = { rows: null, columns: null, colour: null, x: null };
const dim = (name: string): NonNullable<ReturnType<typeof dimOf>> => dimOf(source, name)!;
const near = (given: number, expected: number): void =>
  assert.ok(Math.abs(given - expected) < 1e-8, `${given}, not ${expected}`);

test("each row is in the cell of its levels, once", () => {
  const groups = group(source, { ...none, x: dim("path.delay"), colour: dim("path.rate") }, {});
  assert.equal(groups.kept, 18);
  assert.deepEqual(
    [...groups.order].sort((a, b) => a - b),
    [...Array(18).keys()],
  );
  for (const [k, d] of [
    [0, 0],
    [1, 2],
  ])
    assert.deepEqual(
      [...valuesOf(groups, cellAt(groups, 0, 0, k, d), time)],
      [0, 1, 2].map((n) => 100 * k + 10 * d + n),
    );
});

test("rows and columns of panels are dimensions as well", () => {
  const roles = {
    rows: dim("path.rate"),
    columns: dim("path.delay"),
    colour: dim("replication"),
    x: null,
  };
  const groups = group(source, roles, {});
  assert.equal(groups.start.length, 2 * 3 * 3 + 1);
  assert.deepEqual([...valuesOf(groups, cellAt(groups, 1, 2, 1, 0), time)], [121]);
});

test("filters keep levels, in the order of the design", () => {
  const roles = { ...none, x: dim("path.delay") };
  const groups = group(source, roles, { "path.delay": [2, 0], "path.rate": [1] });
  assert.deepEqual(groups.levels.x, [0, 2]);
  assert.equal(groups.kept, 6);
  assert.deepEqual([...valuesOf(groups, cellAt(groups, 0, 0, 0, 1), time)], [120, 121, 122]);
});

test("no level at all is neither a cell nor a row", () => {
  const groups = group(source, { ...none, x: dim("path.delay") }, { "path.delay": [] });
  assert.deepEqual([groups.kept, groups.order.length, groups.levels.x.length], [0, 0, 0]);
});

test("curves beyond what anyone tells apart are cut, and said", () => {
  const labels = Array.from({ length: 100 }, (_, at) => `${at}`);
  const wide = made([factor("a", labels), factor("b", labels)], 1, () => 1).source;
  const groups = group(wide, { ...none, x: dimOf(wide, "a"), colour: dimOf(wide, "b") }, {});
  assert.equal(groups.levels.colour.length, MOST.colour);
  assert.equal(groups.cut.colour, 60);
  assert.equal(groups.order.length, 100 * 40);
});

test("the interval of a mean stands on replications, not on the levels averaged over", () => {
  const groups = group(source, { ...none, x: dim("path.rate") }, {});
  const summary = summarise(groups, time, replication, "mean");
  assert.deepEqual([...summary.n], [9, 9]);
  assert.equal(summary.replications, 3);
  // Replications of rate 0 have the means 10, 11 and 12.
  near(summary.value[0], 11);
  near(summary.high[0], 11 + 4.302652729749 / Math.sqrt(3));
  near(summary.low[0], 11 - 4.302652729749 / Math.sqrt(3));
});

test("values that are missing are counted, and leave the others as they are", () => {
  const holes = Float64Array.from(time, (value, row) => (row < 3 || row === 3 ? Number.NaN : value));
  const groups = group(source, { ...none, x: dim("path.delay"), colour: dim("path.rate") }, {});
  const mean = summarise(groups, holes, replication, "mean");
  assert.deepEqual([mean.n[0], mean.missing[0], mean.n[1], mean.missing[1]], [0, 3, 2, 1]);
  assert.ok([mean.value[0], mean.low[0], mean.high[0]].every(Number.isNaN));
  near(mean.value[1], 11.5);
  const median = summarise(groups, holes, replication, "median");
  assert.deepEqual([median.value[1], median.low[1], median.high[1]], [11.5, 11, 12]);
});

test("one value has no interval, with and without replications", () => {
  const roles = { ...none, x: dim("path.delay"), colour: dim("path.rate"), rows: dim("replication") };
  for (const parts of [replication, null]) {
    const { value, low, high } = summarise(group(source, roles, {}), time, parts, "mean");
    assert.deepEqual([...low], [...value]);
    assert.deepEqual([...high], [...value]);
  }
});

test("truths are summed up as their share", () => {
  const truth = Float64Array.from(time, (_, row) => (row % 3 === 0 ? 1 : row === 1 ? Number.NaN : 0));
  const { value, low, high } = summarise(group(source, none, {}), truth, replication, "share");
  near(value[0], 6 / 17);
  assert.ok(low[0] > 0 && low[0] < value[0] && high[0] > value[0] && high[0] < 1);
});

test("sums of many random rows are those of a plain loop", () => {
  const random = randoms(7);
  const wide = made([rate, delay, factor("c", ["x", "y", "z", "w"])], 5, () => random() * 10 - 5).source;
  const values = numbers(wide.table, "time");
  const groups = group(wide, { ...none, colour: dimOf(wide, "c"), x: dimOf(wide, "path.delay") }, {});
  const { value } = summarise(groups, values, null, "median");
  for (let k = 0; k < 4; k++)
    for (let d = 0; d < 3; d++) {
      const rows = [...values.keys()].filter(
        (row) => dimOf(wide, "c")!.codes[row] === k && dimOf(wide, "path.delay")!.codes[row] === d,
      );
      const sorted = rows.map((row) => values[row]).sort((a, b) => a - b);
      assert.equal(value[cellAt(groups, 0, 0, k, d)], (sorted[4] + sorted[5]) / 2);
    }
});

test("a value is held against that of the same run at the reference level", () => {
  const less = holdAgainst(source, time, { dim: "path.delay", level: 1, how: "difference" });
  source.dims[1].codes.forEach((level, row) => assert.equal(less[row], (level - 1) * 10));
  const ratio = holdAgainst(source, time, { dim: "path.rate", level: 0, how: "ratio" });
  // Delay 0, replication 0 is 0 at the reference: nothing can be said of it.
  assert.ok(Number.isNaN(ratio[0]) && Number.isNaN(ratio[9]));
  assert.deepEqual([ratio[1], ratio[10], ratio[17]], [1, 101, 122 / 22]);
});

test("without a value at the reference there is nothing to hold against", () => {
  const holes = Float64Array.from(time, (value, row) => (row === 4 ? Number.NaN : value));
  const less = holdAgainst(source, holes, { dim: "path.delay", level: 1, how: "difference" });
  const without = [...less.keys()].filter((row) => Number.isNaN(less[row]));
  assert.deepEqual(without, [1, 4, 7]);
});

test("the mean of several rows at the reference level counts, and filters do not", () => {
  const parts = made([rate], 1, ([r]) => r + 1);
  const { table } = parts.source;
  const twice = {
    ...table,
    run: Float64Array.of(0, 0, 1),
    replication: Uint8Array.of(0, 0, 0),
    "level:path.rate": Uint8Array.of(0, 0, 1),
    time: Float64Array.of(2, 4, 6),
  };
  const rows = sourceOf(parts.page, parts.source.info, twice);
  const against = { dim: "path.rate", level: 0, how: "ratio" as const };
  assert.deepEqual([...holdAgainst(rows, twice.time, against)], [2 / 3, 4 / 3, 2]);
  const picture = pictureOf({ ...parts.first, against, filters: { "path.rate": [1] } }, rows);
  assert.equal(picture.summary.value[0], 2);
});

test("a key of numbers is a dimension in rising order; what has none is a level of its own", () => {
  const keys = [column("interval", "s"), column("host")];
  const columns = {
    interval: Float64Array.of(0.5, Number.NaN, 0, 0.25, 0, 0.5),
    host: { codes: Uint8Array.of(0, 1, 0, 1, 2, 2), words: ["client", null, "server"] },
  };
  const { source: keyed } = made([rate, delay], 1, () => 1, { keys, columns });
  const interval = dimOf(keyed, "interval")!;
  assert.deepEqual(interval.labels, ["0", "0.25", "0.5", "none"]);
  assert.deepEqual([...interval.codes], [2, 3, 0, 1, 0, 2]);
  assert.equal(interval.values, null);
  assert.deepEqual(dimOf(keyed, "host")!.labels, ["client", "none", "server"]);
});

test("levels of one value are names on the axis, not places", () => {
  const twice = made([factor("f", ["1 s", "1000 ms"], [1, 1], "s")], 1, () => 1);
  assert.equal(twice.source.dims[0].values, null);
});

test("a point is found again by its levels, and not where a filter hides it", () => {
  const state = { ...study.first, x: "path.delay", colour: "path.rate" };
  const { groups } = pictureOf({ ...state, filters: { "path.delay": [1, 2] } }, source);
  const at = { "path.delay": 2, "path.rate": 1 };
  assert.deepEqual(placesOf(groups, at), { rows: 0, columns: 0, colour: 1, x: 1 });
  assert.equal(placesOf(groups, { ...at, "path.delay": 0 }), null);
  assert.equal(placesOf(groups, null), null);
});

test("the CSV has names as they are, quoted where they must be, and no value as nothing", () => {
  const odd = factor('a "b", c', ["plain", "with, comma", 'with "quotes"', "two\nlines", "é~+% ü"]);
  const few = made([odd], 1, ([level]) => (level === 1 ? Number.NaN : level / 3));
  const text = csv(pictureOf(few.first, few.source));
  assert.equal(
    text,
    [
      '"a ""b"", c",time_mean,low,high,runs,without_value',
      "plain,0,0,0,1,0",
      '"with, comma",,,,0,1',
      `"with ""quotes""",${2 / 3},${2 / 3},${2 / 3},1,0`,
      '"two\nlines",1,1,1,1,0',
      `é~+% ü,${4 / 3},${4 / 3},${4 / 3},1,0`,
      "",
    ].join("\r\n"),
  );
});
