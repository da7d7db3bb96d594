// Scales of colours that are the same in every chart, completion times of flows that end by the clock, words of levels.
import assert from "node:assert/strict";
import { test } from "node:test";
import { levelAxis } from "../src/explorer/axes";
import { heatMap } from "../src/explorer/cells";
import { dimOf } from "../src/explorer/data";
import { levelText, notesOf, pictureOf } from "../src/explorer/picture";
import { presetsOf } from "../src/explorer/presets";
import { Scene } from "../src/ui/scene";
import { viridis } from "../src/ui/viridis";
import { column, factor, made } from "./sample";

test("a response with a scale of its own has it in every heat map, and its name", () => {
  const jain = { ...column("even"), scale: { title: "Jain's index (1: all alike)", low: 0, high: 1 } };
  const factors = [
    { ...factor("links.b.aqm", ["none", "pie"]), title: "AQM of link b" },
    {
      ...factor("links.b.queue", ["10 packets", "40 packets"], [10, 40], "packets"),
      title: "queue of link b",
    },
  ];
  const even = Float64Array.from([0.9, 0.95, 0.9, 1]);
  const { first, source } = made(factors, 1, () => 1, { columns: { even }, responses: [jain] });
  const state = {
    ...first,
    kind: "heat" as const,
    response: "even",
    x: "links.b.queue",
    colour: "links.b.aqm",
  };
  const scene = new Scene(700, 500);
  heatMap(pictureOf(state, source), 700).draw(scene, "light");
  const text = scene.toString();
  for (const words of [jain.scale.title.replace("'", "&#39;"), ">0<", ">0.5<", ">1<"])
    assert.ok(text.includes(words) || text.includes(words.replace("&#39;", "'")), words);
  for (const share of [0.9, 0.95, 1]) assert.ok(text.includes(viridis(share)), `${share}`);
  const against = { ...state, against: { dim: "links.b.aqm", level: 0, how: "difference" as const } };
  const other = new Scene(700, 500);
  heatMap(pictureOf(against, source), 700).draw(other, "light");
  assert.ok(!other.toString().includes("1: all alike"), "a difference has a scale of its own");
});

test("levels stand behind the words of their factor, packets are told as a unit", () => {
  const factors = [
    { ...factor("links.b.aqm", ["none"]), title: "AQM of link b" },
    {
      ...factor("links.b.queue", ["10 packets", "40 packets"], [10, 40], "packets"),
      title: "queue of link b",
    },
  ];
  const { source } = made(factors, 2, () => 1);
  assert.equal(levelText(dimOf(source, "links.b.aqm")!, 0), "AQM of link b: none");
  assert.equal(levelText(dimOf(source, "links.b.queue")!, 1), "queue of link b 40 packets");
  assert.equal(levelText(dimOf(source, "replication")!, 1), "replication 1");
  const axis = levelAxis(dimOf(source, "links.b.queue"), [0, 1], { log: false, width: 400 });
  assert.equal(axis.title, "queue of link b (packets)");
});

test("completion times leave out flows that end by the clock, and say so", () => {
  const timed = { names: ["clock"], all: false };
  const time = { ...column("time_ns", "ns"), timed };
  const transfer = { codes: Uint16Array.from([0, 1, 0, 1]), words: ["web", "clock"] };
  const more = {
    columns: { time_ns: Float64Array.from([1, 9, 2, 9]), transfer },
    keys: [column("transfer", "", "text")],
    responses: [time],
  };
  const { first, page, source } = made([factor("a", ["x", "y"])], 2, () => 1, more);
  const of = (responses: (typeof time)[]) =>
    presetsOf({ ...page, tables: [{ ...page.tables[0], name: "transfers", responses }] });
  const state = of([time])[0].of(first, source);
  assert.deepEqual(state.filters, { transfer: [0] });
  const picture = pictureOf(state, source);
  assert.deepEqual([...picture.groups.order], [0, 2]);
  assert.deepEqual(notesOf(picture), [
    "Flows of clock are left out: they were written for a set time, and did not complete by themselves.",
  ]);
  assert.deepEqual(notesOf(pictureOf({ ...state, filters: {} }, source)), [
    "Flows of clock were written for a set time, and did not complete by themselves: their times say when they were told to end.",
  ]);
  assert.deepEqual(of([{ ...time, timed: { ...timed, all: true } }]), []);
});
