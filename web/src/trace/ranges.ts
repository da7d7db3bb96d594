// Ranges of time and value: ticks, texts of numbers, and how a view moves within them.

export interface Range {
  t0: number;
  t1: number;
  y0: number;
  y1: number;
}

/** The least that a range of time may be: a nanosecond is what captures tell at best. */
export const LEAST_TIME = 2e-8;

/** Round numbers from `low` to `high`, at most about `count`. */
export function ticks(low: number, high: number, count: number): number[] {
  const step = tickStep(low, high, count);
  if (!(step > 0)) return [];
  const found: number[] = [];
  // Adding 0 makes 0 of -0.
  const first = Math.ceil(low / step - 1e-9) + 0;
  for (let n = first; n * step <= high + step * 1e-9 && found.length < 200; n++) found.push(n * step);
  return found;
}

/** The round distance of ticks: 1, 2 or 5 times a power of ten. */
export function tickStep(low: number, high: number, count: number): number {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return 0;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10) * power;
}

/** The text of a tick, with as many decimals as its distance asks for. */
export function tickText(value: number, step: number): string {
  const decimals = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 9);
  const text = Math.abs(value) < step / 1e6 ? "0" : value.toFixed(decimals);
  const [whole, rest] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}

/** A whole number with its thousands apart. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** A length of time for people: three digits and a unit. */
export function duration(seconds: number): string {
  const size = Math.abs(seconds);
  const [factor, unit] = size >= 1 || size === 0 ? [1, "s"] : size >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  const value = seconds * factor;
  return `${Math.abs(value) >= 100 ? Math.round(value) : +value.toPrecision(3)} ${unit}`;
}

/** The range after time is stretched by `factor` about `t`, kept within reason. */
export function zoomTime(range: Range, t: number, factor: number, whole: Range): Range {
  const length = range.t1 - range.t0;
  const most = 4 * (whole.t1 - whole.t0);
  const wanted = Math.min(Math.max(length * factor, LEAST_TIME), most);
  const given = wanted / length;
  return { ...range, t0: t - (t - range.t0) * given, t1: t + (range.t1 - t) * given };
}

/** The same for values. */
export function zoomValue(range: Range, y: number, factor: number, whole: Range): Range {
  const length = range.y1 - range.y0;
  const wanted = Math.min(Math.max(length * factor, 0.01), 50 * (whole.y1 - whole.y0));
  const given = wanted / length;
  return { ...range, y0: y - (y - range.y0) * given, y1: y + (range.y1 - y) * given };
}

/** The range moved, so that some of what there is stays in view. */
export function moved(range: Range, dt: number, dy: number, whole: Range): Range {
  const [t, y] = [
    kept(range.t0 + dt, range.t1 - range.t0, whole.t0, whole.t1),
    kept(range.y0 + dy, range.y1 - range.y0, whole.y0, whole.y1),
  ];
  return { t0: t, t1: t + range.t1 - range.t0, y0: y, y1: y + range.y1 - range.y0 };
}

function kept(start: number, length: number, low: number, high: number): number {
  return Math.min(Math.max(start, low - length * 0.9), high - length * 0.1);
}
