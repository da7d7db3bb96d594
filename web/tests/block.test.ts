import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decode, numbers, textAt } from "../src/block";

// Written by tests/python/plot/test_pack.py, which says what is in it.
const text = readFileSync(new URL("./block.txt", import.meta.url), "utf8");

test("a block that Python wrote has the same head and columns", async () => {
  const { head, tables } = await decode<{ title: string }>(text);
  assert.deepEqual(head, { title: "Überlauf ☃", none: null });
  const table = tables["1-server.segments"];
  assert.deepEqual([...numbers(table, "small")], [0, 255, 3]);
  assert.deepEqual([...numbers(table, "large")], [2 ** 53, 0, 2 ** 40]);
  assert.deepEqual([...numbers(table, "far")], [2 ** 40, 2 ** 40 + 1, 2 ** 40 + 70000]);
  assert.deepEqual([...numbers(table, "rising")], [1000, 1000, 1300]);
  assert.deepEqual([...numbers(table, "signed")], [-5, 7, 0]);
  assert.deepEqual([...numbers(table, "real")], [0.5, Number.NaN, Number.POSITIVE_INFINITY]);
  assert.deepEqual([...numbers(table, "seconds")], [0, 0.001, 2.5]);
  assert.deepEqual([...numbers(table, "truth")], [1, 0, 1]);
  assert.deepEqual(
    [0, 1, 2].map((row) => textAt(table, "text", row)),
    ["timeout", null, "timeout"],
  );
  assert.equal(numbers(tables.empty, "none").length, 0);
});

test("a column that is not there is named", async () => {
  const { tables } = await decode(text);
  assert.throws(() => numbers(tables.empty, "cwnd"), /no column of numbers cwnd/);
  assert.throws(() => textAt(tables.empty, "none", 0), /no column of texts none/);
});

test("what is not a block is refused", async () => {
  await assert.rejects(decode(btoa("no gzip at all")));
});
