// Runs in which a pattern met no packet are told apart from those whose loss happened.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dimOf } from "../src/explorer/data";
import { csv } from "../src/explorer/listing";
import { cellOf, notesOf, pictureOf, placesOf } from "../src/explorer/picture";
import { pointText } from "../src/explorer/runs";
import { firstState } from "../src/explorer/state";
import { made, madeUnreached, PAGE } from "./made";

const at = (drop: number): Record<string, number> => ({ "path.drop": drop, "path.rate": 0 });

test("a point whose pattern met no packet says so", () => {
  const source = madeUnreached();
  const picture = pictureOf(firstState(PAGE, source), source);
  const cell = (drop: number): number => cellOf(picture.groups, placesOf(picture.groups, at(drop))!);
  assert.deepEqual(
    [0, 1, 2].map((drop) => picture.unreached[cell(drop)]),
    [0, 0, 4],
  );
  assert.match(pointText(picture, cell(2)), / · a pattern met no packet$/);
  assert.doesNotMatch(pointText(picture, cell(1)), /met no packet/);
  assert.deepEqual(notesOf(picture), [
    "In 8 runs of 24 (2 open marks) a pattern met no packet: what it stands for never happened.",
  ]);
  const [head, ...rows] = csv(picture).trim().split("\r\n");
  assert.match(head, /,unreached$/);
  const drops = rows.map((row) => [row.split(",")[1], row.split(",").at(-1)]);
  assert.ok(drops.every(([drop, never]) => never === (drop === "2" ? "4" : "0")));
});

test("where every pattern met a packet nothing is said", () => {
  const source = made();
  const picture = pictureOf(firstState(PAGE, source), source);
  assert.equal(source.unreached, null);
  assert.ok(picture.unreached.every((rows) => rows === 0));
  assert.deepEqual(notesOf(picture), []);
  assert.doesNotMatch(csv(picture), /unreached/);
  assert.ok(dimOf(source, "path.drop"));
});
