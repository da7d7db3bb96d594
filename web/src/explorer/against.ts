// What a level costs: each value against that of the same run at a reference level of one factor.
import type { Numbers } from "../block";
import type { Source } from "./data";

export interface Against {
  /** Name of a dimension, and the level that all are held against. */
  dim: string;
  level: number;
  how: "difference" | "ratio";
}

/**
 * The values, each less (or divided by) the mean of the rows that have the reference level and else the same levels,
 * the replication included. NaN where there is none such, or where it is 0 and the ratio is asked for.
 */
export function holdAgainst(source: Source, values: Numbers, against: Against): Float64Array {
  const chosen = source.dims.find((dim) => dim.name === against.dim)!;
  const keys = keysWithout(source, against.dim);
  const sums = new Map<number | string, { sum: number; count: number }>();
  for (let row = 0; row < source.rows; row++) {
    if (chosen.codes[row] !== against.level || Number.isNaN(values[row])) continue;
    const found = sums.get(keys[row]);
    if (found) {
      found.sum += values[row];
      found.count++;
    } else sums.set(keys[row], { sum: values[row], count: 1 });
  }
  return Float64Array.from(values, (value, row) => {
    const found = sums.get(keys[row]);
    if (!found) return Number.NaN;
    const reference = found.sum / found.count;
    if (against.how === "difference") return value - reference;
    return reference === 0 ? Number.NaN : value / reference;
  });
}

/** A key for each row from its levels of all dimensions but one. */
function keysWithout(source: Source, left: string): Float64Array | string[] {
  const dims = source.dims.filter((dim) => dim.name !== left && dim.labels.length > 1);
  const size = dims.reduce((product, dim) => product * dim.labels.length, 1);
  if (size <= Number.MAX_SAFE_INTEGER) {
    const keys = new Float64Array(source.rows);
    for (const dim of dims)
      for (let row = 0; row < source.rows; row++) keys[row] = keys[row] * dim.labels.length + dim.codes[row];
    return keys;
  }
  return Array.from({ length: source.rows }, (_, row) => dims.map((dim) => dim.codes[row]).join());
}
