// Level of detail: what of many rows is drawn, so that a graph costs what it has pixels, not what it has packets.
//
// Coordinates are pixels; `x` and `y` are linear: x = ax + bx * t.

import { firstAt } from "./model";

export interface Linear {
  a: number;
  b: number;
}

/** Rows from the first in view to one past the last, one more at each end so that lines reach the edge. */
export function rowsInView(t: Float64Array, t0: number, t1: number): [number, number] {
  return [Math.max(firstAt(t, t0) - 1, 0), Math.min(firstAt(t, t1) + 1, t.length)];
}

/** Bars as x, y0, y1 triples: those of one pixel column that touch each other are one. */
export function bars(
  t: Float64Array,
  spans: [Float64Array, Float64Array],
  rows: ArrayLike<number> | null,
  range: [number, number],
  [x, y]: [Linear, Linear],
): number[] {
  const found: number[] = [];
  const [low, high] = spans;
  let [column, top, bottom, at] = [Number.NaN, 0, 0, 0];
  for (let n = range[0]; n < range[1]; n++) {
    const row = rows ? rows[n] : n;
    const px = x.a + x.b * t[row];
    const [y0, y1] = [y.a + y.b * low[row], y.a + y.b * high[row]];
    const own = Math.floor(px);
    if (own === column && y1 <= bottom + 1 && y0 >= top - 1) {
      if (y1 < top) top = y1;
      if (y0 > bottom) bottom = y0;
      continue;
    }
    if (column === column) found.push(at, bottom, top);
    [column, at, top, bottom] = [own, px, y1, y0];
  }
  if (column === column) found.push(at, bottom, top);
  return found;
}

/** Steps as x, y pairs of a polyline; in a pixel column the first, the least, the greatest and the last value. NaN
 * breaks the line. */
export function steps(
  t: Float64Array,
  v: Float64Array,
  range: [number, number],
  [x, y]: [Linear, Linear],
  end: number,
): number[] {
  const found: number[] = [];
  const [from, to] = range;
  let row = from;
  let level = Number.NaN;
  while (row < to) {
    const px = x.a + x.b * t[row];
    const column = Math.floor(px) + 1;
    let [least, most, last] = [v[row], v[row], v[row]];
    let many = 1;
    for (row++; row < to && x.a + x.b * t[row] < column; row++, many++) {
      last = v[row];
      if (last < least) least = last;
      else if (last > most) most = last;
    }
    if (level === level) found.push(px, y.a + y.b * level);
    if (many > 2) found.push(px, y.a + y.b * least, px, y.a + y.b * most);
    else if (many === 2 && least !== most) found.push(px, y.a + y.b * (last === most ? least : most));
    found.push(px, y.a + y.b * last);
    level = last;
  }
  if (level === level) found.push(end, y.a + y.b * level);
  return found;
}

/** Dots as x, y pairs, one for each pixel that has any. */
export function dots(
  t: Float64Array,
  v: Float64Array,
  range: [number, number],
  [x, y]: [Linear, Linear],
  shown: (row: number) => boolean,
): number[] {
  const found: number[] = [];
  const taken = new Set<number>();
  const many = range[1] - range[0] > 5000;
  for (let row = range[0]; row < range[1]; row++) {
    if (!shown(row) || v[row] !== v[row]) continue;
    const [px, py] = [x.a + x.b * t[row], y.a + y.b * v[row]];
    if (many) {
      const key = Math.round(px) * 65536 + Math.round(py);
      if (taken.has(key)) continue;
      taken.add(key);
    }
    found.push(px, py);
  }
  return found;
}

/** The greatest value in view. */
export function greatest(t: Float64Array, v: Float64Array, t0: number, t1: number): number {
  const [from, to] = rowsInView(t, t0, t1);
  let most = Number.NEGATIVE_INFINITY;
  for (let row = from; row < to; row++) if (v[row] > most) most = v[row];
  return most;
}
