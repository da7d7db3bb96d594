import assert from "node:assert/strict";
import { test } from "node:test";
import type { Box } from "../src/trace/pen";
import { Places } from "../src/trace/places";

test("a text takes the first place that no other and no symbol has", () => {
  const places = new Places();
  const spots: [number, number][] = [
    [100, 50],
    [100, 70],
    [160, 50],
  ];
  assert.deepEqual(places.first(spots, "124 ms", 10), [100, 50]);
  places.mark(100, 66, 7);
  assert.deepEqual(places.first(spots, "87.8 ms", 10), [160, 50]);
  assert.equal(places.first(spots, "S", 11), null);
  assert.deepEqual(places.first([[100, 90]], "S", 11), [100, 90]);
});

test("a place on a line is taken where there is no other, a place that the asker knows of never", () => {
  const onLine = (box: Box): boolean => box.left < 90;
  const spots: [number, number][] = [
    [100, 50],
    [200, 50],
  ];
  assert.deepEqual(new Places().first(spots, "124 ms", 10, { isCrossed: onLine }), [200, 50]);
  assert.deepEqual(new Places().first(spots.slice(0, 1), "124 ms", 10, { isCrossed: onLine }), [100, 50]);
  assert.equal(new Places().first(spots.slice(0, 1), "124 ms", 10, { isTaken: onLine }), null);
});
