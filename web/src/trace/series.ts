// What graphs show over time that a block does not hold because its packets say it.

import type { Acks, Segments, Series, View } from "./model";

/** Bytes outstanding after each packet of either side, as `rexmit.plot.series.outstanding` has them. */
export function outstanding(view: View): Series {
  const { segments, acks } = view;
  const sizes = view.unit === "TSN" ? new Unacknowledged(segments) : null;
  const total = segments.count + acks.t.length;
  const [t, v] = [new Float64Array(total), new Float64Array(total)];
  let [own, heard, highest, acked, last] = [0, 0, 0, 0, 0];
  for (let at = 0; at < total; at++) {
    const sends = heard >= acks.t.length || (own < segments.count && before(segments, own, acks, heard));
    if (sends) {
      if (segments.high[own] > highest) highest = segments.high[own];
      sizes?.send(own);
      last = segments.outstanding[own];
    } else {
      if (acks.level[heard] > acked) acked = acks.level[heard];
      sizes?.acknowledge(acked);
    }
    // What SACK has reported is known where the side itself sends; between, cumulative ACKs bring it down.
    const left = sizes ? sizes.bytes : Math.max(highest - acked, 0);
    t[at] = sends ? segments.t[own] : acks.t[heard];
    v[at] = Math.min(last, left);
    if (sends) own++;
    else heard++;
  }
  return { t, v };
}

/** Whether a packet was seen before an acknowledgment; those of one instant are in the order of the capture. */
function before(segments: Segments, own: number, acks: Acks, heard: number): boolean {
  const [sent, came] = [segments.t[own], acks.t[heard]];
  return sent < came || (sent === came && segments.number[own] < acks.number[heard]);
}

/** Bytes of chunks that the cumulative TSN has not reached. */
class Unacknowledged {
  bytes = 0;
  private readonly sizes = new Map<number, number>();
  private reached = 0;

  constructor(private readonly segments: Segments) {}

  send(row: number): void {
    const tsn = this.segments.low[row];
    if (tsn < this.reached || this.sizes.has(tsn)) return;
    this.sizes.set(tsn, this.segments.bytes[row]);
    this.bytes += this.segments.bytes[row];
  }

  acknowledge(next: number): void {
    for (; this.reached < next; this.reached++) {
      this.bytes -= this.sizes.get(this.reached) ?? 0;
      this.sizes.delete(this.reached);
    }
  }
}

/** Mbit/s of what was sent, over intervals of this many seconds. */
export function intervals(segments: Segments, length: number): Series {
  const rows = firstAndLast(segments);
  if (!rows || !(length > 0)) return { t: new Float64Array(0), v: new Float64Array(0) };
  const start = segments.t[rows[0]];
  const count = Math.min(Math.floor((segments.t[rows[1]] - start) / length) + 1, 100_000);
  const [t, v] = [new Float64Array(count + 1), new Float64Array(count + 1)];
  for (let at = 0; at <= count; at++) t[at] = start + at * length;
  for (let row = rows[0]; row <= rows[1]; row++)
    if (segments.bytes[row] > 0)
      v[Math.min(Math.floor((segments.t[row] - start) / length), count - 1)] += segments.bytes[row];
  for (let at = 0; at < count; at++) v[at] *= 8 / length / 1e6;
  return { t, v };
}

/** Mbit/s of what was sent since the first data, from one interval on. */
export function average(segments: Segments, length: number): Series {
  const rows = firstAndLast(segments);
  if (!rows) return { t: new Float64Array(0), v: new Float64Array(0) };
  const start = segments.t[rows[0]];
  const [t, v]: [number[], number[]] = [[], []];
  let sent = -segments.bytes[rows[0]];
  for (let row = rows[0]; row <= rows[1]; row++) {
    sent += segments.bytes[row];
    if (segments.bytes[row] > 0 && segments.t[row] >= start + length && segments.t[row] > start) {
      t.push(segments.t[row]);
      v.push((8 * sent) / (segments.t[row] - start) / 1e6);
    }
  }
  return { t: Float64Array.from(t), v: Float64Array.from(v) };
}

/** Mbit/s of what was acknowledged since the first data, from one interval on. */
export function goodput(view: View, length: number): Series {
  const rows = firstAndLast(view.segments);
  if (!rows) return { t: new Float64Array(0), v: new Float64Array(0) };
  const start = view.segments.t[rows[0]];
  const sizes = view.unit === "TSN" ? deliveredSizes(view.segments, view.acks) : null;
  // Of a part of a connection, what was acknowledged before it does not count.
  let first = Number.POSITIVE_INFINITY;
  for (let row = rows[0]; row <= rows[1]; row++)
    if (view.segments.bytes[row] > 0) first = Math.min(first, view.segments.low[row]);
  const [t, v]: [number[], number[]] = [[], []];
  let acked = 0;
  for (let row = 0; row < view.acks.t.length; row++) {
    const level = sizes ? sizes[row] : view.acks.level[row] - first;
    if (level > acked) acked = level;
    if (view.acks.t[row] > start && view.acks.t[row] >= start + length) {
      t.push(view.acks.t[row]);
      v.push((8 * acked) / (view.acks.t[row] - start) / 1e6);
    }
  }
  return { t: Float64Array.from(t), v: Float64Array.from(v) };
}

/** Bytes of all chunks before the cumulative TSN of each report. */
function deliveredSizes(segments: Segments, acks: Acks): Float64Array {
  const size = new Map<number, number>();
  for (let row = 0; row < segments.count; row++) size.set(segments.low[row], segments.bytes[row]);
  let [next, bytes] = [0, 0];
  return acks.level.map((level) => {
    for (; next < level; next++) bytes += size.get(next) ?? 0;
    return bytes;
  });
}

function firstAndLast(segments: Segments): [number, number] | null {
  let [first, last] = [0, segments.count - 1];
  while (first <= last && !(segments.bytes[first] > 0)) first++;
  while (last >= first && !(segments.bytes[last] > 0)) last--;
  return first <= last ? [first, last] : null;
}
