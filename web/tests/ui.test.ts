import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, inkOn, looks, PAPER } from "../src/ui/palette";
import { Scene } from "../src/ui/scene";
import { every, linearTicks, logTicks, roomy, tickLabels } from "../src/ui/ticks";
import { count, counted, NARROW, percent, plain, spoken, withUnit } from "../src/ui/units";
import { viridis } from "../src/ui/viridis";

test("values stand in the unit of their size", () => {
  const unit = (text: string): string => text.replaceAll(NARROW, " ");
  assert.equal(unit(withUnit(3_512_345_678, "ns")), "3.512 s");
  assert.equal(unit(withUnit(72_000_000, "ns")), "72 ms");
  assert.equal(unit(withUnit(0, "ns")), "0 ns");
  assert.equal(unit(withUnit(40_000, "bit/s")), "40 kbit/s");
  assert.equal(unit(withUnit(0.995, "share")), "99.5 %");
  assert.equal(unit(withUnit(25_000, "bytes")), "25 kB");
  assert.equal(withUnit(17, ""), "17");
  assert.equal(withUnit(Number.NaN, "ns"), "–");
});

test("shares are worded as the command words them", () => {
  const shares = [0, 0.0004, 0.0006, 0.05, 0.0994, 0.0996, 0.124, 1];
  const words = ["0 %", "< 0.1 %", "0.1 %", "5.0 %", "9.9 %", "10 %", "12 %", "100 %"];
  assert.deepEqual(shares.map(percent), words);
});

test("numbers keep their whole part and lose empty decimals", () => {
  assert.equal(plain(1234567), "1,234,567");
  assert.equal(plain(-0.5), "−0.5");
  assert.equal(plain(2.5001), "2.5");
  assert.equal(plain(-0), "0");
  assert.equal(plain(Number.NEGATIVE_INFINITY), "−∞");
  assert.match(plain(1.5e-9), /^1\.5.*e−9$/);
  assert.equal(count(23898), "23,898");
  assert.equal(counted(1, "run"), "1 run");
  assert.equal(counted(6930, "run"), "6,930 runs");
  assert.equal(spoken("time_ns"), "time");
  assert.equal(spoken("path.down.drop"), "path.down.drop");
});

test("ticks are round, lie within, and are told apart by their labels", () => {
  assert.deepEqual(linearTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(linearTicks(0, 0.3, 3), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(linearTicks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(logTicks(1, 100, 10), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual(logTicks(1, 1e6, 4), [1, 100, 10_000, 1e6]);
  for (const [low, high] of [
    [0, 1],
    [3, 3.0001],
    [-5e9, 2e9],
    [1e-9, 2e-9],
    [0, 123456],
  ]) {
    const ticks = linearTicks(low, high, 6);
    assert.ok(ticks.length >= 2 && ticks.length <= 8, `${low} to ${high} has ${ticks.length}`);
    assert.ok(ticks.every((tick) => tick >= low - 1e-12 && tick <= high + 1e-12));
    const { texts } = tickLabels(ticks, "");
    assert.equal(new Set(texts).size, texts.length, texts.join());
  }
  assert.deepEqual(tickLabels([0, 5e9, 1e10], "ns"), { texts: ["0", "5", "10"], unit: "s" });
  assert.deepEqual(tickLabels([4e4, 1e7], "bit/s", "smallest"), { texts: ["40", "10,000"], unit: "kbit/s" });
});

test("ranges hold their values, and nothing is as good as a range", () => {
  for (const log of [false, true]) {
    for (const [low, high] of [
      [1, 2],
      [5, 5],
      [0.001, 900],
    ]) {
      const [from, to] = roomy(low, high, log);
      assert.ok(from <= low && to >= high && from < to);
    }
    const [from, to] = roomy(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, log);
    assert.ok(from < to);
  }
  assert.equal(roomy(1, 10, false)[0], 0);
  assert.equal(every(1000, 12), 100);
  assert.equal(every(5, 12), 1);
});

test("every curve is seen on its paper, and no two look alike", () => {
  for (const theme of ["light", "dark"] as const)
    for (const ordered of [false, true])
      for (const curves of [1, 2, 7, 12, 36]) {
        const all = looks(curves, ordered, theme);
        for (const { colour } of all) assert.ok(contrast(colour, PAPER[theme]) >= 3, `${colour} on ${theme}`);
        const signs = new Set(all.map(({ colour, marker, dash }) => `${colour} ${marker} ${dash}`));
        assert.equal(signs.size, curves);
      }
});

test("numbers on the colours of a heat map are read", () => {
  for (let share = 0; share <= 1; share += 0.05)
    assert.ok(contrast(inkOn(viridis(share)), viridis(share)) >= 4.5, `at ${share}`);
  assert.equal(viridis(0), "#440154");
  assert.equal(viridis(1), "#fde725");
  assert.equal(contrast("#000000", "#ffffff"), 21);
});

test("a drawing is text that cannot become something else", () => {
  const scene = new Scene(10, 10);
  scene.text(1, 2, `<script>"&'</script>`, { colour: "#000000" });
  const svg = scene.toString("#ffffff");
  assert.ok(!svg.includes("<script"));
  assert.ok(svg.includes("&lt;script&gt;"));
});
