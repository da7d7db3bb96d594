// Distributions: the share of runs up to a value, and shares of bins.
import { cellAt, valuesOf } from "./group";
import type { Curves } from "./lines";
import { type Picture, rowWord } from "./picture";
import { binEdges } from "./stats";

export interface Distribution {
  panels: Curves[];
  /** The least and the greatest value. */
  range: [number, number];
  title: string;
}

/** Beyond this many steps a curve has one for each of as many places, which is finer than a screen. */
const MOST_STEPS = 4000;

export function distribution(picture: Picture): Distribution {
  const { groups, values, state } = picture;
  const { rows, columns, colour } = groups.levels;
  const cells = rows.map((_, r) =>
    columns.map((_, c) => colour.map((_, k) => valuesOf(groups, cellAt(groups, r, c, k, 0), values))),
  );
  const some = joined(cells.flat(2));
  // What a logarithmic axis has no place for is still a part of all.
  const all = state.logX ? some.filter((one) => one > 0) : some;
  const range: [number, number] = all.length > 0 ? [all[0], all[all.length - 1]] : [0, 1];
  const histogram = state.shape === "histogram";
  const edges = histogram ? binsOf(all, state.logX) : placesOf(all);
  const panels = cells.flat().map((curves) => ({
    xs: edges,
    values: curves.map((sorted) =>
      histogram ? binShares(sorted, edges, state.logX) : stepShares(sorted, edges),
    ),
    lows: curves.map(() => edges.map(() => null)),
    highs: curves.map(() => edges.map(() => null)),
  }));
  const whose = `share of ${rowWord(state.table)}s`;
  return { panels, range, title: `${whose} ${histogram ? "in a bin" : "up to a value"}` };
}

/** The share of values at or below each place. */
export function stepShares(sorted: Float64Array, places: number[]): (number | null)[] {
  let below = 0;
  return places.map((place) => {
    while (below < sorted.length && sorted[below] <= place) below++;
    return sorted.length === 0 ? null : below / sorted.length;
  });
}

/** The share of values in each bin, at its left edge; the last edge closes the last bin. */
export function binShares(sorted: Float64Array, edges: number[], log = false): (number | null)[] {
  if (sorted.length === 0) return edges.map(() => null);
  const counts = edges.map(() => 0);
  let bin = 0;
  for (const value of sorted) {
    if (log && value <= 0) continue;
    while (bin < edges.length - 2 && value >= edges[bin + 1]) bin++;
    counts[bin]++;
  }
  counts[edges.length - 1] = counts[edges.length - 2];
  return counts.map((count) => count / sorted.length);
}

function binsOf(sorted: Float64Array, log: boolean): number[] {
  if (sorted.length === 0) return [0, 1];
  if (!log || sorted[0] === sorted.at(-1)) return binEdges(sorted);
  return binEdges(sorted.map(Math.log)).map(Math.exp);
}

/** Where the curves have steps: at each value, the first a step from nothing. */
function placesOf(sorted: Float64Array): number[] {
  const places: number[] = [];
  for (const value of sorted) if (value !== places.at(-1)) places.push(value);
  if (places.length === 0) return [0, 1];
  if (places.length > MOST_STEPS) {
    const [low, high] = [places[0], places.at(-1)!];
    const log = low > 0 && high / low > 100;
    return Array.from({ length: MOST_STEPS }, (_, at) => {
      if (at === MOST_STEPS - 1) return high;
      const share = at / (MOST_STEPS - 1);
      return log ? low * (high / low) ** share : low + (high - low) * share;
    });
  }
  return places;
}

function joined(parts: Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all.sort();
}
