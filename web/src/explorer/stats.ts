// Statistics: Student's t, means and their intervals, quantiles.

/** What is known of the mean of some values. */
export interface Estimate {
  value: number;
  /** Ends of the interval of 95 % confidence; the value itself where there is none. */
  low: number;
  high: number;
}

/** The quantile `p` of Student's distribution with `degrees` of freedom, to about nine digits. */
export function studentT(p: number, degrees: number): number {
  if (!(degrees > 0) || !(p > 0 && p < 1)) return Number.NaN;
  if (p === 0.5) return 0;
  if (p < 0.5) return -studentT(1 - p, degrees);
  // The distribution rises, so halving finds the place; 0.5 to 1 of it is from 0 to a bound that doubling finds.
  let high = 1;
  while (studentShare(high, degrees) < p && high < 1e300) high *= 2;
  let low = 0;
  for (let turn = 0; turn < 200 && high - low > 1e-12 * high; turn++) {
    const middle = (low + high) / 2;
    if (studentShare(middle, degrees) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Half the width of the interval of 95 % confidence of a mean, in standard errors. */
export function halfWidth(values: number): number {
  const degrees = values - 1;
  if (degrees < 1) return Number.NaN;
  return (T95[degrees] ??= studentT(0.975, degrees));
}

const T95: Record<number, number> = {};

/** The mean of values with its interval by Student's t. One value has no interval. */
export function meanOf(values: ArrayLike<number>, count = values.length): Estimate {
  let sum = 0;
  for (let at = 0; at < count; at++) sum += values[at];
  const value = sum / count;
  if (count < 2) return { value, low: value, high: value };
  let squares = 0;
  for (let at = 0; at < count; at++) squares += (values[at] - value) ** 2;
  const half = halfWidth(count) * Math.sqrt(squares / (count - 1) / count);
  return { value, low: value - half, high: value + half };
}

/** The share of `yes` in `all` with its interval by Wilson (1927), which stays between 0 and 1. */
export function shareOf(yes: number, all: number): Estimate {
  const value = yes / all;
  const z = 1.959963984540054;
  const centre = (value + (z * z) / (2 * all)) / (1 + (z * z) / all);
  const half = (z / (1 + (z * z) / all)) * Math.sqrt((value * (1 - value)) / all + (z * z) / (4 * all * all));
  return { value, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/** The quantile `p` of sorted values, between two of them by their distance (type 7 of Hyndman and Fan). */
export function quantile(sorted: ArrayLike<number>, p: number, count = sorted.length): number {
  if (count === 0) return Number.NaN;
  const place = (count - 1) * p;
  const below = Math.floor(place);
  const rest = place - below;
  return rest === 0 ? sorted[below] : sorted[below] * (1 - rest) + sorted[below + 1] * rest;
}

/**
 * Edges of about as many bins of one width as Freedman and Diaconis (1981) advise, at most 60; one narrow bin about
 * values that are all alike.
 */
export function binEdges(sorted: Float64Array): number[] {
  const low = sorted[0];
  const high = sorted[sorted.length - 1];
  if (!(high > low)) {
    const half = low === 0 ? 0.5 : Math.abs(low) * 0.1;
    return [low - half, low + half];
  }
  const spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
  const width = (2 * spread) / Math.cbrt(sorted.length);
  const bins = width > 0 ? Math.ceil((high - low) / width) : 20;
  const count = Math.max(5, Math.min(60, bins));
  return Array.from({ length: count + 1 }, (_, at) => low + ((high - low) * at) / count);
}

/** The share of Student's distribution below `t` >= 0. */
function studentShare(t: number, degrees: number): number {
  return 1 - 0.5 * betaShare(degrees / (degrees + t * t), degrees / 2, 0.5);
}

/** The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22). */
function betaShare(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaShare(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return (front * fraction(x, a, b)) / a;
}

function fraction(x: number, a: number, b: number): number {
  const kept = (value: number): number => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / kept(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m < 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let change = 1;
    for (const term of [even, odd]) {
      d = 1 / kept(1 + term * d);
      c = kept(1 + term / c);
      change = c * d;
      result *= change;
    }
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return result;
}

/** The logarithm of the gamma function, by the series of Lanczos (g = 7). */
function logGamma(x: number): number {
  let sum = 0.99999999999980993;
  LANCZOS.forEach((factor, at) => (sum += factor / (x + at)));
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];
