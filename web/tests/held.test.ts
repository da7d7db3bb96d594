// The band of what held the sender back: shares, parts in view, words under the pointer, halves of two traces.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decode } from "../src/block";
import type { TraceHead } from "../src/format";
import { panelsOf } from "../src/trace/chart";
import { nearest } from "../src/trace/hit";
import { layerOf, type Layer } from "../src/trace/layer";
import { entries } from "../src/trace/legend";
import { readTrace, type Waits } from "../src/trace/model";
import { HELD, partsOf, placeOf, sharesOf } from "../src/trace/panel-held";
import { SvgPen } from "../src/trace/pen";
import { sheetOf, xOf, type Sheet } from "../src/trace/sheet";

const text = readFileSync(new URL("./trace.txt", import.meta.url), "utf8");
const trace = readTrace(await decode<TraceHead>(text));
const layer = layerOf(trace, "1-server", false);

const WORDS = [
  { label: "the window", letter: "W", colour: "#e69f00", hatched: false },
  { label: "a timer", letter: "T", colour: "#d55e00", hatched: true },
];
/** Waits that follow each other, as [until, by, certain]. */
function waits(...rows: [number, number, number][]): Waits {
  const until = Float64Array.from(rows, ([end]) => end);
  return {
    words: WORDS,
    t: Float64Array.from(rows, (_, at) => (at ? until[at - 1] : 0)),
    until,
    by: Uint8Array.from(rows, ([, by]) => by),
    certain: Uint8Array.from(rows, ([, , certain]) => certain),
    from: Uint32Array.from(rows, (_, at) => at),
    to: Uint32Array.from(rows, (_, at) => at + 1),
  };
}
const sheet = (t1 = 10, hidden: string[] = []): Sheet =>
  sheetOf(new SvgPen(), { left: 0, top: 0, width: 100, height: 20 }, [0, t1], [0, 1], new Set(hidden));
const layerWith = (held: Waits, place: Layer["place"] = "whole"): Layer => ({
  ...layer,
  place,
  view: { ...layer.view, held },
});
const drawn = (held: Waits, hidden: string[] = []): string => {
  const on = sheet(10, hidden);
  HELD.draw(on, layerWith(held));
  return (on.pen as SvgPen).document(100, 20, "");
};

test("the block has the sentence, and waits without gaps", () => {
  const { held, head } = layer.view;
  assert.ok(held);
  assert.match(head.why ?? "", /^Not held back by the network: the server's application .* 96 % of 25 ms/);
  for (let row = 1; row < held.t.length; row++) assert.ok(Math.abs(held.t[row] - held.until[row - 1]) < 1e-9);
  const [application, window] = sharesOf(held);
  assert.ok(Math.abs(application - 0.96) < 1e-6 && Math.abs(window - 0.04) < 1e-6);
});

test("the legend has the words of the analysis, with shares where one trace is shown", () => {
  const label = (given: Layer[]): string => entries(given).find(({ key }) => key === "kA")?.label ?? "";
  assert.equal(label([layer]), "the application had nothing to send (A), 96 %");
  assert.equal(label([layer, layer]), "the application had nothing to send (A)");
});

test("parts that say the same are one, and what is certain is underlined", () => {
  const { parts, certain } = partsOf(sheet(), waits([2, 0, 1], [5, 0, 0], [9, 1, 1]));
  assert.deepEqual(parts, [
    { from: 0, to: 50, by: 0 },
    { from: 50, to: 90, by: 1 },
  ]);
  assert.deepEqual(certain, [
    [0, 20],
    [50, 90],
  ]);
});

test("a column of pixels with many waits has the one that took most of it", () => {
  const many = waits(
    ...Array.from({ length: 20_000 }, (_, at): [number, number, number] => [
      (at + (at % 2 ? 1 : 1.3)) / 2000,
      at % 2,
      0,
    ]),
  );
  const { parts } = partsOf(sheet(), many);
  assert.ok(parts.length <= 2, `${parts.length}`);
  assert.equal(parts[0].by, 0);
});

test("what is hatched is, and what the legend hides is not drawn", () => {
  const held = waits([5, 0, 0], [10, 1, 0]);
  assert.match(drawn(held), /fill="#d55e00"[^]*<path d="M/);
  assert.doesNotMatch(drawn(held, ["kT"]), /#d55e00|>T</);
  assert.match(drawn(held), />W<[^]*>T</);
});

test("the pointer finds what held the sender, anywhere in its time", () => {
  const on = sheet();
  const layers = [layerWith(waits([5, 0, 1], [10, 1, 0]))];
  const at = (t: number, y: number): string => nearest(on, HELD, layers, [xOf(on, t), y])?.text ?? "";
  assert.match(at(2, 10), /^0\.000000 to 5\.000000 s .*\nthe window\ncertain; packets 0 to 1$/);
  assert.match(at(9.9, 10), /a timer\nlikely/);
  assert.equal(at(2, 30), "");
});

test("of two traces in one graph each has a half, and none is drawn where nothing is known", () => {
  const held = waits([10, 0, 0]);
  const places = (["upper", "lower"] as const).map((place) => placeOf(sheet(), layerWith(held, place)));
  assert.ok(places[0].top + places[0].height < places[1].top);
  assert.equal(places[1].top + places[1].height, 20);
  const without = { ...layer, view: { ...layer.view, held: null } };
  assert.ok(panelsOf([layer], new Set()).includes(HELD));
  assert.ok(!panelsOf([without], new Set()).includes(HELD));
});
