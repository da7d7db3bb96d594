// The queue of a link, from the log of a run: how many packets were in it at each instant, how long each was, and
// which were dropped. Exact: each packet's times are in the log.

import { numbers, type Block, type Numbers, type Table } from "../block";
import type { QueueHead, TraceHead } from "../format";
import type { Series, Verdicts } from "./model";

/** Of a packet that never came into the queue, and of one that was still inside at the end. */
const OUTSIDE = 1;
const INSIDE = 2;

/** What one link did, on the clock of the log. */
export interface LinkLog {
  head: QueueHead;
  /** When each packet was offered, entered and left; NaN where it did not. */
  offered: Float64Array;
  entered: Float64Array;
  left: Float64Array;
  /** Number of its connection, -1 of none; null where all are of one. */
  connection: Numbers | null;
  /** Rows of the log. */
  rows: Uint32Array;
}

/** A queue as a graph shows it, times from the first packet of a connection. */
export interface Queue {
  title: string;
  /** Packets inside. */
  length: Series;
  /** Milliseconds that each packet was inside, when it entered: those of the connection, and others. */
  own: Series;
  others: Series;
  drops: Drops[];
}

/** Packets that were dropped: of the connection, or of others. `packets` were inside then; a packet that came as they
 * did would have waited `waited` ms. */
export interface Drops {
  own: boolean;
  t: Float64Array;
  packets: Float64Array;
  waited: Float64Array;
  why: string[];
}

/** The links of a block whose queues it has. */
export function readLinks(block: Block<TraceHead>, log: Verdicts | null): LinkLog[] {
  if (!log) return [];
  return (block.head.queues ?? []).flatMap((head, at) => {
    const table = block.tables[`queue-${at}`];
    return table ? [linkLog(head, table, log)] : [];
  });
}

function linkLog(head: QueueHead, table: Table, log: Verdicts): LinkLog {
  const rows: number[] = [];
  for (let row = 0; row < log.count; row++) if (log.direction(row) === head.direction) rows.push(row);
  const column = (name: string): Numbers =>
    table[name] ? numbers(table, name) : new Uint8Array(rows.length);
  const [place, late] = [column("place"), column("entered")];
  const offered = Float64Array.from(rows, (row) => log.t[row]);
  const entered = offered.map((t, at) => (place[at] === OUTSIDE ? Number.NaN : t + late[at]));
  return {
    head,
    offered,
    entered,
    left: leavings(table, offered, entered, place),
    connection: table.connection ? numbers(table, "connection") : null,
    rows: Uint32Array.from(rows),
  };
}

function leavings(table: Table, offered: Float64Array, entered: Float64Array, place: Numbers): Float64Array {
  const stay = table.stay ? numbers(table, "stay") : null;
  const steps = table.left ? numbers(table, "left") : null;
  let last = offered.length > 0 ? offered[0] : 0;
  return entered.map((t, at) => {
    if (steps) last += steps[at];
    if (place[at] === OUTSIDE) return Number.NaN;
    if (place[at] === INSIDE) return Number.POSITIVE_INFINITY;
    return steps ? last : t + (stay ? stay[at] : 0);
  });
}

/** Seconds that packets of data of a connection spent in a queue: where that is most, the connection's queue is. */
export function waitOf(link: LinkLog, log: Verdicts, connection: number | undefined): number {
  let sum = 0;
  for (let at = 0; at < link.rows.length; at++) {
    if (!isOwn(link, at, connection) || !log.payload[link.rows[at]]) continue;
    const stay = link.left[at] - link.entered[at];
    if (Number.isFinite(stay)) sum += stay;
  }
  return sum;
}

function isOwn(link: LinkLog, at: number, connection: number | undefined): boolean {
  return link.connection === null || link.connection[at] === connection;
}

/** The queue of a link for a connection that begins at `start` of the log's clock. */
export function queueOf(link: LinkLog, log: Verdicts, connection: number | undefined, start: number): Queue {
  const inside: number[] = [];
  for (let at = 0; at < link.rows.length; at++) if (!Number.isNaN(link.entered[at])) inside.push(at);
  // Whoever is in a queue was behind others where packets came from a first link at different speeds.
  inside.sort((a, b) => link.entered[a] - link.entered[b]);
  const length = lengthOf(link, inside, start);
  const waits = (own: boolean): Series => {
    const some = inside.filter((at) => isOwn(link, at, connection) === own && Number.isFinite(link.left[at]));
    return {
      t: Float64Array.from(some, (at) => link.entered[at] - start),
      v: Float64Array.from(some, (at) => 1e3 * (link.left[at] - link.entered[at])),
    };
  };
  const drops = [true, false].map((own) =>
    dropsOf(link, log, { own, connection, start }, { inside, length }),
  );
  return { title: link.head.title, length, own: waits(true), others: waits(false), drops };
}

/** The number of packets inside from each time on at which it changes. */
function lengthOf(link: LinkLog, inside: number[], start: number): Series {
  const leaves = Float64Array.from(inside, (at) => link.left[at]).sort();
  const [t, v]: [number[], number[]] = [[], []];
  let [next, gone] = [0, 0];
  while (next < inside.length || (gone < leaves.length && Number.isFinite(leaves[gone]))) {
    const come = next < inside.length ? link.entered[inside[next]] : Number.POSITIVE_INFINITY;
    // A place that becomes free at an instant can be taken at that instant.
    const now = Math.min(come, gone < leaves.length ? leaves[gone] : Number.POSITIVE_INFINITY);
    while (gone < leaves.length && leaves[gone] === now) gone++;
    while (next < inside.length && link.entered[inside[next]] === now) next++;
    t.push(now - start);
    v.push(Math.max(next - gone, 0));
  }
  return { t: Float64Array.from(t), v: Float64Array.from(v) };
}

function dropsOf(
  link: LinkLog,
  log: Verdicts,
  whose: { own: boolean; connection: number | undefined; start: number },
  { inside, length }: { inside: number[]; length: Series },
): Drops {
  const { own, connection, start } = whose;
  const found: Drops = {
    own,
    t: new Float64Array(0),
    packets: new Float64Array(0),
    waited: new Float64Array(0),
    why: [],
  };
  const [t, packets, waited]: number[][] = [[], [], []];
  let [before, at] = [0, 0];
  for (let place = 0; place < link.rows.length; place++) {
    const row = link.rows[place];
    if (!log.dropped[row] || isOwn(link, place, connection) !== own) continue;
    // From the queue it is dropped when it leaves it, else as it arrives.
    const within = Number.isFinite(link.left[place]);
    const now = (within ? link.left[place] : link.offered[place]) - start;
    while (at < length.t.length && length.t[at] <= now) at++;
    while (at > 0 && length.t[at - 1] > now) at--;
    while (before < inside.length && link.entered[inside[before]] - start <= now) before++;
    while (before > 0 && link.entered[inside[before - 1]] - start > now) before--;
    const last = before > 0 ? inside[before - 1] : -1;
    t.push(now);
    packets.push(at > 0 ? length.v[at - 1] : 0);
    const stay = within ? link.left[place] - link.entered[place] : waitNow(link, last, now + start);
    waited.push(1e3 * stay);
    found.why.push(log.verdict(row));
  }
  // Those of a queue whose management drops from the middle may come in another order than they were offered.
  const order = t.map((_, n) => n).sort((a, b) => t[a] - t[b]);
  const sorted = (list: number[]): Float64Array => Float64Array.from(order, (n) => list[n]);
  const why = order.map((n) => found.why[n]);
  return { own, t: sorted(t), packets: sorted(packets), waited: sorted(waited), why };
}

/** How long the packet that came last has still to be inside: about what the next one would wait. */
function waitNow(link: LinkLog, last: number, now: number): number {
  const left = last < 0 ? 0 : link.left[last] - now;
  return Number.isFinite(left) ? Math.max(left, 0) : 0;
}
