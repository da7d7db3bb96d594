// The queue of a link from the log of a run, under the packets of one connection.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Block, decode, type Table } from "../src/block";
import type { TraceHead } from "../src/format";
import { nearest } from "../src/trace/hit";
import { layerOf, linkFor } from "../src/trace/layer";
import { readTrace, type Trace } from "../src/trace/model";
import { fitted, PANELS } from "../src/trace/panels";
import { SvgPen } from "../src/trace/pen";
import { queueOf } from "../src/trace/queue";
import { sheetOf, xOf, yOf } from "../src/trace/sheet";

const plain = await decode<TraceHead>(readFileSync(new URL("./trace.txt", import.meta.url), "utf8"));
const panel = PANELS.find(({ name }) => name === "queue")!;

/** A packet at a link: when it was offered, entered and left, in ms; null where it did not, Infinity still inside. */
interface Passed {
  link: string;
  offered: number;
  entered?: number;
  left: number | null;
  connection?: number;
  payload?: number;
  verdict?: string;
}

/** The block of the unit tests with a log of these packets; `steps` packs leavings, not times inside. */
function traced(passed: Passed[], steps = false): Trace {
  const words = [...new Set(passed.map(({ link }) => link))];
  const verdicts = [...new Set(passed.map(({ verdict }) => verdict ?? "delivered"))];
  const log: Table = {
    t: Float64Array.from(passed, ({ offered }) => offered / 1e3),
    direction: { codes: Uint8Array.from(passed, ({ link }) => words.indexOf(link)), words },
    payload: Uint16Array.from(passed, ({ payload }) => payload ?? 1000),
    dropped: Uint8Array.from(passed, ({ verdict }) => (verdict?.startsWith("dropped") ? 1 : 0)),
    verdict: {
      codes: Uint8Array.from(passed, ({ verdict }) => verdicts.indexOf(verdict ?? "delivered")),
      words: verdicts,
    },
  };
  const tables: Record<string, Table> = { ...plain.tables, verdicts: log };
  words.forEach((link, at) => {
    const own = passed.filter((one) => one.link === link);
    const into = ({ offered, entered }: Passed): number => entered ?? offered;
    let last = own[0].offered;
    const leavings = own.map((one) => {
      const before = last;
      if (one.left !== null && Number.isFinite(one.left)) last = one.left;
      return (last - before) / 1e3;
    });
    const stays = own.map((one) => (Number.isFinite(one.left ?? NaN) ? (one.left! - into(one)) / 1e3 : 0));
    tables[`queue-${at}`] = {
      place: Uint8Array.from(own, ({ left }) => (left === null ? 1 : left === Infinity ? 2 : 0)),
      entered: Float64Array.from(own, (one) => (into(one) - one.offered) / 1e3),
      connection: Uint8Array.from(own, ({ connection }) => connection ?? 0),
      ...(steps ? { left: Float64Array.from(leavings) } : { stay: Float64Array.from(stays) }),
    };
  });
  const views = plain.head.views.map((view) => ({ ...view, of: 0, start: 0 }));
  const queues = words.map((link) => ({ direction: link, title: `link ${link}` }));
  return readTrace({ head: { ...plain.head, views, queues }, tables } as Block<TraceHead>);
}

const FULL = "dropped: queue full (2 packets)";
const ONE: Passed[] = [
  { link: "a", offered: 0, left: 10 },
  { link: "a", offered: 4, left: 20, connection: 1 },
  { link: "a", offered: 6, left: null, verdict: FULL },
  { link: "a", offered: 8, left: null, verdict: FULL, connection: 1 },
  { link: "a", offered: 10, left: 30 },
];
const near = (given: ArrayLike<number>, expected: number[]): void => {
  assert.equal(given.length, expected.length, String(Array.from(given)));
  Array.from(given).forEach((value, at) => assert.ok(Math.abs(value - expected[at]) < 1e-9, `${value}`));
};

test("a queue has as many packets as entered and have not left; a place is free as one leaves", () => {
  for (const steps of [false, true]) {
    const { links, verdicts } = traced(ONE, steps);
    const { length, own, others } = queueOf(links[0], verdicts!, 0, 0);
    near(length.t, [0, 0.004, 0.01, 0.02, 0.03]);
    near(length.v, [1, 2, 2, 1, 0]);
    near(own.t, [0, 0.01]);
    near(own.v, [10, 20]);
    near(others.v, [16]);
  }
});

test("what was dropped is of the connection or of others, where the queue was, and why", () => {
  const { links, verdicts } = traced(ONE);
  const [own, others] = queueOf(links[0], verdicts!, 0, 0.001).drops;
  near(own.t, [0.005]);
  near(own.packets, [2]);
  // The last packet leaves 14 ms later.
  near(own.waited, [14]);
  assert.deepEqual([own.why, others.why], [[FULL], [FULL]]);
  near(others.t, [0.007]);
});

test("what the management drops from the queue was in it until then", () => {
  const late = "dropped by codel after 30 ms in the queue";
  const { links, verdicts } = traced([
    { link: "a", offered: 0, left: 40 },
    { link: "a", offered: 10, left: 40, verdict: late },
    { link: "a", offered: 20, left: 50 },
  ]);
  const queue = queueOf(links[0], verdicts!, 0, 0);
  near(queue.length.v, [1, 2, 3, 1, 0]);
  const [own] = queue.drops;
  near(own.t, [0.04]);
  near(own.waited, [30]);
});

test("a packet enters behind the first link, and may never leave", () => {
  const { links, verdicts } = traced([
    { link: "a", offered: 0, entered: 3, left: 5 },
    { link: "a", offered: 1, entered: 4, left: Infinity },
  ]);
  const { length, own } = queueOf(links[0], verdicts!, 0, 0);
  near(length.t, [0.003, 0.004, 0.005]);
  near(length.v, [1, 2, 1]);
  near(own.v, [2]);
});

const TWO: Passed[] = [
  { link: "a", offered: 0, left: 1 },
  { link: "b", offered: 1, left: 9 },
  { link: "c", offered: 2, left: 500, payload: 0 },
  { link: "c", offered: 3, left: 600, connection: 1 },
];

test("the queue to begin with is that in which the data of the connection wait longest", () => {
  const trace = traced(TWO);
  const view = trace.view("1-server");
  assert.equal(linkFor(trace, view, null)!.head.direction, "b");
  assert.equal(linkFor(trace, view, "c")!.head.direction, "c");
  assert.equal(linkFor(trace, view, "no such")!.head.direction, "b");
  assert.equal(layerOf(trace, "1-server", false).queue!.title, "link b");
});

test("without a log of queues there is no graph of them", () => {
  const layer = layerOf(readTrace(plain), "1-server", false);
  assert.equal(layer.queue, null);
  assert.equal(panel.has(layer), false);
});

test("both measures are drawn, fitted, and tell why under the pointer", () => {
  for (const measure of ["packets", "ms"] as const) {
    const layer = layerOf(traced(ONE), "1-server", false, { link: null, measure });
    const range = fitted(panel, [layer], [0, 0.04], new Set());
    assert.ok(Math.abs(range[1] - 1.1 * (measure === "packets" ? 2 : 20)) < 1e-9, String(range));
    const pen = new SvgPen();
    const sheet = sheetOf(pen, { left: 0, top: 0, width: 400, height: 100 }, [0, 0.04], range, new Set());
    panel.draw(sheet, layer);
    assert.doesNotMatch(pen.document(400, 100, "queue"), /NaN|Infinity/);
    assert.match(panel.title([layer]), measure === "packets" ? /^Packets in the queue of link a/ : /\(ms\)/);
    const { t, packets, waited } = layer.queue!.drops[0];
    const at = measure === "packets" ? packets[0] : waited[0];
    const hit = nearest(sheet, panel, [layer], [xOf(sheet, t[0]), yOf(sheet, at)]);
    assert.match(hit!.text, /this connection: dropped: queue full/);
    const level = nearest(
      sheet,
      panel,
      [layer],
      [xOf(sheet, 0.02), yOf(sheet, measure === "packets" ? 1 : 20)],
    );
    assert.match(level?.text ?? "", measure === "packets" ? /1 packet in the queue/ : /$/);
  }
});
