// Ranges that show all of some layers, or one retransmission.

import type { Layer } from "./layer";
import { rowsInView } from "./lod";
import type { Range } from "./ranges";

/** The range that shows everything; room is made for the advertised window where it is near the data. */
export function wholeOf(layers: Layer[]): Range {
  let [t0, t1, low, high, edge] = [Infinity, -Infinity, Infinity, -Infinity, 0];
  for (const { view } of layers) {
    for (const list of [view.segments.t, view.acks.t]) {
      if (!list.length) continue;
      t0 = Math.min(t0, list[0]);
      t1 = Math.max(t1, list[list.length - 1]);
    }
    for (let row = 0; row < view.segments.count; row++) {
      if (view.segments.low[row] < low) low = view.segments.low[row];
      if (view.segments.high[row] > high) high = view.segments.high[row];
    }
    for (const value of view.acks.edge ?? []) if (value > edge) edge = value;
  }
  if (!(low < high)) [low, high] = [0, 1];
  if (!(t0 <= t1)) [t0, t1] = [0, 1];
  if (edge - low < 1.7 * (high - low)) high = Math.max(high, edge);
  const time = Math.max(t1 - t0, 1e-6) * 0.02;
  const value = 0.07 * Math.max(high - low, 4);
  return { t0: t0 - time, t1: t1 + time, y0: low - value, y1: high + value };
}

/** The range about a retransmission, from the transmission before it on. */
export function rangeAbout(layer: Layer, at: number, whole: Range): Range {
  const { segments, again } = layer.view;
  const row = again.row[at];
  const from = again.before[at] >= 0 ? segments.t[again.before[at]] : segments.t[row];
  const width = Math.max(segments.t[row] - from, (whole.t1 - whole.t0) / 2000, 1e-6);
  const [t0, t1] = [from - 0.6 * width, segments.t[row] + 0.6 * width];
  let [low, high] = [segments.low[row], segments.high[row]];
  const [first, last] = rowsInView(segments.t, t0, t1);
  for (let n = first; n < last; n++) {
    if (segments.t[n] < t0 || segments.t[n] > t1) continue;
    low = Math.min(low, segments.low[n]);
    high = Math.max(high, segments.high[n]);
  }
  const room = 0.15 * Math.max(high - low, 4);
  return { t0, t1, y0: low - room, y1: high + room };
}

/** The range of values of what was sent in a range of time. */
export function valuesWithin(layers: Layer[], t0: number, t1: number): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const { view } of layers) {
    const [first, last] = rowsInView(view.segments.t, t0, t1);
    for (let n = first; n < last; n++) {
      if (view.segments.t[n] < t0 || view.segments.t[n] > t1) continue;
      low = Math.min(low, view.segments.low[n]);
      high = Math.max(high, view.segments.high[n]);
    }
  }
  if (!(low < high)) return null;
  const room = 0.07 * Math.max(high - low, 4);
  return [low - room, high + room];
}
