// Groups the rows of a table by the levels of up to four dimensions, and sums each group up.
import type { Numbers } from "../block";
import type { Dim, Source } from "./data";
import { meanOf, quantile, shareOf } from "./stats";

/** What a dimension is on the chart: rows and columns of panels, curves, places along the axis. */
export const ROLES = ["rows", "columns", "colour", "x"] as const;
export type Role = (typeof ROLES)[number];
export type Roles = Record<Role, Dim | null>;

/** Levels to keep, by dimension; all of what is not named. */
export type Filters = Record<string, number[]>;

/** Rows by cell: cell `(r, c, k, x)` has the rows `order[start[cell]]` to `order[start[cell + 1] - 1]`. */
export interface Groups {
  roles: Roles;
  /** The levels that are shown, by role; one of -1 where the role has no dimension. */
  levels: Record<Role, number[]>;
  start: Uint32Array;
  order: Uint32Array;
  /** Rows that the filters keep. */
  kept: number;
  /** Levels that were left out because there are too many, by role. */
  cut: Partial<Record<Role, number>>;
}

/** More than this many panels or curves are not told apart by anyone. */
export const MOST: Record<Role, number> = { rows: 12, columns: 12, colour: 40, x: 100_000 };
const MOST_CELLS = 4_000_000;

export function group(source: Source, roles: Roles, filters: Filters): Groups {
  const levels = {} as Record<Role, number[]>;
  const cut: Groups["cut"] = {};
  let room = MOST_CELLS;
  for (const role of ROLES) {
    const kept = keptLevels(roles[role], filters);
    const most = Math.max(1, Math.min(MOST[role], room));
    levels[role] = kept.slice(0, most);
    if (kept.length > most) cut[role] = kept.length - most;
    room = Math.floor(room / Math.max(1, levels[role].length));
  }
  const passes = filterRows(source, filters);
  const cells = cellOfRows(source, roles, levels, passes);
  let kept = 0;
  for (const pass of passes) kept += pass;
  const total = ROLES.reduce((product, role) => product * levels[role].length, 1);
  return { roles, levels, kept, cut, ...sorted(cells, total) };
}

/** The number of a cell, from places among the levels that are shown. */
export function cellAt(groups: Groups, r: number, c: number, k: number, x: number): number {
  const { columns, colour, x: along } = groups.levels;
  return ((r * columns.length + c) * colour.length + k) * along.length + x;
}

export interface Summary {
  /** Rows with a value, and rows without one. */
  n: Uint32Array;
  missing: Uint32Array;
  value: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** Replications that a mean's interval stands on, the most of all cells. */
  replications: number;
}

export type Measure = "mean" | "median" | "share";

/**
 * Sums up each cell. The interval of a mean is over replications: where a cell has several rows of one, such as those
 * of levels that are averaged over, each replication is averaged first. That of a median is the least and the most.
 */
export function summarise(
  groups: Groups,
  values: Numbers,
  replication: Numbers | null,
  measure: Measure,
): Summary {
  const cells = groups.start.length - 1;
  const summary: Summary = {
    n: new Uint32Array(cells),
    missing: new Uint32Array(cells),
    value: new Float64Array(cells).fill(Number.NaN),
    low: new Float64Array(cells).fill(Number.NaN),
    high: new Float64Array(cells).fill(Number.NaN),
    replications: 0,
  };
  const scratch = new Scratch(replication);
  for (let cell = 0; cell < cells; cell++) {
    scratch.take(groups, cell, values);
    summary.n[cell] = scratch.n;
    summary.missing[cell] = groups.start[cell + 1] - groups.start[cell] - scratch.n;
    if (scratch.n === 0) continue;
    const { value, low, high } = scratch.estimate(measure);
    summary.value[cell] = value;
    summary.low[cell] = low;
    summary.high[cell] = high;
    summary.replications = Math.max(summary.replications, scratch.parts);
  }
  return summary;
}

/** Rows of each cell with a value that are marked as those of runs in which a pattern met no packet. */
export function countUnreached(groups: Groups, values: Numbers, unreached: Numbers | null): Uint32Array {
  const counts = new Uint32Array(groups.start.length - 1);
  if (!unreached) return counts;
  for (let cell = 0; cell < counts.length; cell++)
    for (let at = groups.start[cell]; at < groups.start[cell + 1]; at++) {
      const row = groups.order[at];
      if (unreached[row] > 0 && !Number.isNaN(values[row])) counts[cell]++;
    }
  return counts;
}

/** Values of a cell, without those that are missing, in rising order. */
export function valuesOf(groups: Groups, cell: number, values: Numbers): Float64Array {
  const found = new Float64Array(groups.start[cell + 1] - groups.start[cell]);
  let count = 0;
  for (let at = groups.start[cell]; at < groups.start[cell + 1]; at++) {
    const value = values[groups.order[at]];
    if (!Number.isNaN(value)) found[count++] = value;
  }
  return found.subarray(0, count).sort();
}

/** Levels that the filters keep of a dimension, in the order of the design. */
export function keptLevels(dim: Dim | null, filters: Filters): number[] {
  if (!dim) return [-1];
  const all = dim.labels.map((_, level) => level);
  if (!filters[dim.name]) return all;
  const chosen = new Set(filters[dim.name]);
  return all.filter((level) => chosen.has(level));
}

function filterRows(source: Source, filters: Filters): Uint8Array {
  const passes = new Uint8Array(source.rows).fill(1);
  for (const dim of source.dims) {
    const chosen = filters[dim.name];
    if (!chosen) continue;
    const wanted = new Uint8Array(dim.labels.length);
    for (const level of chosen) wanted[level] = 1;
    for (let row = 0; row < source.rows; row++) passes[row] &= wanted[dim.codes[row]];
  }
  return passes;
}

const OUT = 0xffffffff;

function cellOfRows(
  source: Source,
  roles: Roles,
  levels: Record<Role, number[]>,
  passes: Uint8Array,
): Uint32Array {
  const cells = new Uint32Array(source.rows);
  for (const role of ROLES) {
    const dim = roles[role];
    const size = levels[role].length;
    if (!dim) continue;
    const places = new Uint32Array(dim.labels.length).fill(OUT);
    levels[role].forEach((level, place) => (places[level] = place));
    for (let row = 0; row < source.rows; row++) {
      const place = places[dim.codes[row]];
      cells[row] = place === OUT || cells[row] === OUT ? OUT : cells[row] * size + place;
    }
  }
  for (let row = 0; row < source.rows; row++) if (passes[row] === 0) cells[row] = OUT;
  return cells;
}

/** Counting sort: rows by cell, in the order of the table within each. */
function sorted(cells: Uint32Array, total: number): { start: Uint32Array; order: Uint32Array } {
  const start = new Uint32Array(total + 1);
  for (const cell of cells) if (cell !== OUT) start[cell + 1]++;
  for (let cell = 0; cell < total; cell++) start[cell + 1] += start[cell];
  const next = start.slice(0, total);
  const order = new Uint32Array(start[total]);
  for (let row = 0; row < cells.length; row++) {
    const cell = cells[row];
    if (cell !== OUT) order[next[cell]++] = row;
  }
  return { start, order };
}

/** The values of one cell after the other, without allocating for each. */
class Scratch {
  /** Values of the cell, and the replications that they come from. */
  n = 0;
  parts = 0;
  private values = new Float64Array(64);
  private readonly sums: Float64Array;
  private readonly counts: Uint32Array;
  private readonly means: Float64Array;

  constructor(private readonly replication: Numbers | null) {
    let most = 0;
    if (replication) for (const one of replication) if (one > most) most = one;
    this.sums = new Float64Array(most + 1);
    this.counts = new Uint32Array(most + 1);
    this.means = new Float64Array(most + 1);
  }

  take(groups: Groups, cell: number, values: Numbers): void {
    const [from, to] = [groups.start[cell], groups.start[cell + 1]];
    if (to - from > this.values.length) this.values = new Float64Array((to - from) * 2);
    this.n = 0;
    this.parts = 0;
    this.sums.fill(0);
    this.counts.fill(0);
    for (let at = from; at < to; at++) {
      const row = groups.order[at];
      const value = values[row];
      if (Number.isNaN(value)) continue;
      this.values[this.n++] = value;
      const part = this.replication ? this.replication[row] : 0;
      this.sums[part] += value;
      if (this.counts[part]++ === 0) this.parts++;
    }
  }

  estimate(measure: Measure): { value: number; low: number; high: number } {
    if (measure === "share") {
      let yes = 0;
      for (let at = 0; at < this.n; at++) yes += this.values[at];
      return shareOf(yes, this.n);
    }
    if (measure === "median") {
      const all = this.values.subarray(0, this.n).sort();
      return { value: quantile(all, 0.5), low: all[0], high: all[all.length - 1] };
    }
    // One row a replication is the common case, and then these are the values themselves.
    let parts = 0;
    for (let part = 0; part < this.sums.length; part++)
      if (this.counts[part] > 0) this.means[parts++] = this.sums[part] / this.counts[part];
    return meanOf(this.means, parts);
  }
}
