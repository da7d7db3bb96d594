import assert from "node:assert/strict";
import { test } from "node:test";
import { levelAxis, placeOn, short, valueAxis } from "../src/explorer/axes";
import type { Dim } from "../src/explorer/data";
import { every, linearTicks, logTicks, roomy, tickLabels } from "../src/ui/ticks";
import { count, counted, plain, spoken, withUnit } from "../src/ui/units";
import { randoms } from "./sample";

const NARROW = "\u202f";

test("values have the unit that fits their size", () => {
  const given: [number, Parameters<typeof withUnit>[1], string][] = [
    [3.512, "s", "3.512 s"],
    [0.0305, "s", "30.5 ms"],
    [0.00002, "s", "20 µs"],
    [0, "s", "0 s"],
    [-0.25, "s", "−250 ms"],
    [1500, "ns", "1.5 µs"],
    [40_000, "bit/s", "40 kbit/s"],
    [10_000_000, "bit/s", "10 Mbit/s"],
    [0.5, "bit/s", "0.5 bit/s"],
    [1460, "bytes", "1.46 kB"],
    [0.125, "share", "12.5 %"],
    [0, "share", "0 %"],
    [12, "packets", "12"],
    [12, "", "12"],
    [Number.NaN, "s", "–"],
  ];
  for (const [value, unit, text] of given) assert.equal(withUnit(value, unit).replace(NARROW, " "), text);
});

test("numbers have so many significant digits, and no less than their whole part", () => {
  assert.equal(plain(123456.7, 4), "123,457");
  assert.equal(plain(1.23456, 4), "1.235");
  assert.equal(plain(0.000123456, 3), "0.000123");
  assert.equal(plain(9.99999, 4), "10");
  assert.equal(plain(-1234.5, 6), "−1,234.5");
  assert.equal(plain(-1e-7, 2), "−1.0e−7");
  assert.equal(plain(1e18, 2), "1.0e+18");
  assert.equal(plain(-0), "0");
  assert.deepEqual([plain(Infinity), plain(-Infinity), plain(NaN)], ["∞", "−∞", "–"]);
});

test("counts and names are as people write them", () => {
  assert.equal(count(23898), "23,898");
  assert.deepEqual(
    [counted(1, "run"), counted(0, "run"), counted(1e6, "run")],
    ["1 run", "0 runs", "1,000,000 runs"],
  );
  assert.equal(spoken("first_byte_ns"), "first byte");
  assert.equal(spoken("goodput_bit_s"), "goodput");
  assert.equal(spoken("path.down.drop"), "path.down.drop");
});

test("ticks of a linear axis are round, rise, and lie within", () => {
  assert.deepEqual(linearTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(linearTicks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(linearTicks(0.1, 0.3, 2), [0.1, 0.2, 0.3]);
  const random = randoms(1);
  for (let turn = 0; turn < 3000; turn++) {
    const low = (random() - 0.5) * 10 ** (random() * 18 - 6);
    const high = low + Math.max(Math.abs(low) * 1e-9, 1e-9) * 10 ** (random() * 9);
    const most = 1 + random() * 12;
    const ticks = linearTicks(low, high, most);
    const slack = (high - low) * 1e-6;
    assert.ok(ticks.length <= most + 1.000001, `${ticks.length} of ${most}`);
    for (const [at, tick] of ticks.entries()) {
      assert.ok(tick >= low - slack && tick <= high + slack, `${tick} in ${low} to ${high}`);
      assert.ok(at === 0 || tick > ticks[at - 1], `${ticks}`);
    }
  }
});

test("a range that is not a range has one tick, and one finer than numbers has no two alike", () => {
  assert.deepEqual(linearTicks(3, 3, 5), [3]);
  assert.deepEqual(linearTicks(3, 1, 5), [3]);
  assert.deepEqual(linearTicks(Number.NaN, 1, 5), [Number.NaN]);
  const fine = linearTicks(1e9, 1e9 + 2e-7, 10);
  assert.equal(new Set(fine).size, fine.length);
});

test("ticks of a logarithmic axis are powers of ten, with 2 and 5 where there is room", () => {
  assert.deepEqual(logTicks(1, 100, 9), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual(logTicks(1e-6, 1e6, 5), [1e-6, 1e-3, 1, 1e3, 1e6]);
  assert.deepEqual(logTicks(2e5, 3e5, 4), [200_000, 250_000, 300_000]);
});

test("a logarithmic axis always has a tick, and none outside", () => {
  const random = randoms(2);
  for (let turn = 0; turn < 3000; turn++) {
    const low = 10 ** (random() * 24 - 12);
    const high = low * 10 ** (random() ** 2 * 12 + 1e-6);
    const most = 0.5 + random() * 12;
    const ticks = logTicks(low, high, most);
    assert.ok(ticks.length > 0, `${low} to ${high}, ${most}`);
    assert.ok(ticks.length <= Math.max(4, 1.5 * most + 1.5), `${ticks.length} of ${most}`);
    for (const tick of ticks) assert.ok(tick > low * 0.99999 && tick < high * 1.00001);
  }
});

test("a range has room about its values, from 0 where that is near", () => {
  assert.deepEqual(roomy(2, 10, false), [0, 10.4]);
  assert.deepEqual(roomy(-10, -2, false), [-10.4, 0]);
  assert.deepEqual(roomy(8, 10, false), [7.9, 10.1]);
  assert.deepEqual(roomy(0, 0, false), [0, 1]);
  assert.deepEqual(roomy(5, 5, false), [0, 10]);
  assert.deepEqual(roomy(-5, -5, false), [-10, 0]);
  assert.deepEqual(roomy(4, 4, true), [2, 8]);
  assert.deepEqual(roomy(Infinity, -Infinity, false), [0, 1]);
  assert.deepEqual(roomy(Infinity, -Infinity, true), [1, 10]);
});

test("labels of ticks are in one unit, and tell ticks apart", () => {
  assert.deepEqual(tickLabels([0, 0.5, 1], "s"), { texts: ["0", "0.5", "1"], unit: "s" });
  assert.deepEqual(tickLabels([0, 0.0005, 0.001], "s"), { texts: ["0", "0.5", "1"], unit: "ms" });
  assert.deepEqual(tickLabels([1e5, 1e6], "bit/s", "smallest"), { texts: ["100", "1,000"], unit: "kbit/s" });
  assert.deepEqual(tickLabels([0], "s"), { texts: ["0"], unit: "s" });
  assert.deepEqual(tickLabels([], "s").texts, []);
  for (const [low, high] of [
    [5.123456, 5.123457],
    [1_000_000.1, 1_000_000.2],
    [-1e-7, 1e-7],
  ]) {
    const { texts } = tickLabels(linearTicks(low, high, 5), "");
    assert.ok(texts.length > 3);
    assert.equal(new Set(texts).size, texts.length, texts.join(" "));
  }
});

test("of labels that do not fit, every so many stand", () => {
  assert.deepEqual(
    [every(10, 10), every(11, 10), every(21, 10), every(1000, 10), every(5, 0)],
    [1, 2, 5, 100, 5],
  );
  for (let n = 1; n < 2000; n += 7) assert.ok(n / every(n, 13) <= 13);
});

const dim = (labels: string[], values: number[] | null, unit: Dim["unit"] = ""): Dim => ({
  name: "path.rate",
  title: "path.rate",
  labels,
  values,
  unit,
  position: false,
  codes: new Uint8Array(0),
  kind: "factor",
});
const all = (of: Dim): number[] => [...of.labels.keys()];
const inside = (axis: ReturnType<typeof levelAxis>): void => {
  assert.equal(axis.ticks.length, axis.labels.length);
  for (const tick of axis.ticks) assert.ok(placeOn(axis, tick) >= 0 && placeOn(axis, tick) <= 1);
};

test("few levels have a tick each, at their values", () => {
  const rates = dim(["1", "2", "10"], [1e6, 2e6, 1e7], "bit/s");
  const axis = levelAxis(rates, all(rates), { log: false, width: 800 });
  assert.deepEqual(
    [axis.ticks, axis.labels, axis.title],
    [[1e6, 2e6, 1e7], ["1", "2", "10"], "path.rate (Mbit/s)"],
  );
  inside(axis);
  const log = levelAxis(rates, all(rates), { log: true, width: 800 });
  assert.ok(log.log && Math.abs(placeOn(log, Math.sqrt(1e13)) - 0.5) < 1e-12);
});

test("an axis with a level at or below 0 is not logarithmic", () => {
  const levels = dim(["0", "1", "100"], [0, 1, 100]);
  assert.equal(levelAxis(levels, all(levels), { log: true, width: 800 }).log, false);
  assert.equal(levelAxis(levels, [1, 2], { log: true, width: 800 }).log, true);
  assert.equal(valueAxis([0, 5], "s", "time", { log: true, room: 5 }).log, false);
  assert.equal(valueAxis([1, 5], "s", "time", { log: true, zoom: [-1, 2], room: 5 }).log, true);
});

test("a thousand levels, and a hundred thousand, have labels that do not run into each other", () => {
  for (const n of [1000, 100_000]) {
    const labels = Array.from({ length: n }, (_, at) => `level ${at}`);
    for (const values of [labels.map((_, at) => at), null])
      for (const log of [false, true]) {
        const many = dim(labels, values?.map((value) => value + 1) ?? null);
        const axis = levelAxis(many, all(many), { log, width: 700 });
        inside(axis);
        assert.ok(axis.ticks.length > 1 && axis.ticks.length < 100, `${axis.ticks.length}`);
        let end = -100;
        axis.ticks.forEach((tick, at) => {
          // Names that stand aslant need the height of a line.
          const half = axis.slant > 0 ? 7 : (axis.labels[at].length * 7) / 2;
          assert.ok(placeOn(axis, tick) * 700 - half >= end);
          end = placeOn(axis, tick) * 700 + half;
        });
      }
  }
});

test("one level, and none, have an axis", () => {
  for (const values of [[5], null]) {
    const one = dim(["5"], values);
    const axis = levelAxis(one, [0], { log: false, width: 300 });
    assert.deepEqual([axis.labels, placeOn(axis, axis.ticks[0])], [["5"], 0.5]);
    const none = levelAxis(one, [], { log: true, width: 300 });
    assert.ok(Number.isFinite(none.low) && none.low < none.high && none.ticks.length === 0);
  }
  assert.deepEqual(levelAxis(null, [-1], { log: true, width: 300 }).labels, [""]);
});

test("values that are all alike, or that are not there, have an axis", () => {
  for (const log of [false, true])
    for (const ends of [
      [0, 0],
      [7, 7],
      [-7, -7],
      [1e-9, 1e-9],
      [Infinity, -Infinity],
    ] as [number, number][]) {
      const axis = valueAxis(ends, "s", "time", { log, room: 6 });
      assert.ok(axis.low < axis.high && axis.ticks.length > 0, `${ends}`);
      assert.ok(!axis.log || axis.low > 0);
      if (Number.isFinite(ends[0])) assert.ok(placeOn(axis, ends[0]) >= 0 && placeOn(axis, ends[0]) <= 1);
    }
});

test("a long name is cut between letters, never within one", () => {
  assert.equal(short("short", 5), "short");
  assert.equal(short("too long", 5), "too …");
  assert.equal(short("🚀🚀🚀🚀", 3), "🚀🚀…");
  assert.ok(!/\p{Surrogate}/u.test(short("a🚀🚀🚀🚀", 3)));
});
