// Values as people read them: with the unit that fits their size.
import type { Unit } from "../format";

/** A unit to show values in: `text` stands behind them, one of it is `factor` of the unit that the page has. */
export interface Scale {
  factor: number;
  text: string;
}

const STEPS: Partial<Record<Unit, Scale[]>> = {
  ns: [
    { factor: 1, text: "ns" },
    { factor: 1e3, text: "µs" },
    { factor: 1e6, text: "ms" },
    { factor: 1e9, text: "s" },
  ],
  ms: [
    { factor: 1e-3, text: "µs" },
    { factor: 1, text: "ms" },
    { factor: 1e3, text: "s" },
  ],
  s: [
    { factor: 1e-6, text: "µs" },
    { factor: 1e-3, text: "ms" },
    { factor: 1, text: "s" },
  ],
  "bit/s": [
    { factor: 1, text: "bit/s" },
    { factor: 1e3, text: "kbit/s" },
    { factor: 1e6, text: "Mbit/s" },
    { factor: 1e9, text: "Gbit/s" },
  ],
  bytes: [
    { factor: 1, text: "bytes" },
    { factor: 1e3, text: "kB" },
    { factor: 1e6, text: "MB" },
    { factor: 1e9, text: "GB" },
  ],
  share: [{ factor: 0.01, text: "%" }],
};

const PLAIN: Scale = { factor: 1, text: "" };

/** The scale in which values as large as `size` have one to four digits before the point. */
export function scaleOf(unit: Unit, size: number): Scale {
  const steps = STEPS[unit];
  if (!steps) return PLAIN;
  const large = Math.abs(size);
  let found = steps[0];
  for (const step of steps) if (large >= step.factor * 0.9999999) found = step;
  return large > 0 || steps.length === 1 ? found : (steps.find((step) => step.factor === 1) ?? found);
}

/** A value with its unit, to `digits` significant digits: `3.512 s`. A dash where there is none. */
export function withUnit(value: number, unit: Unit, digits = 4): string {
  if (Number.isNaN(value)) return "–";
  const scale = scaleOf(unit, value);
  const text = plain(value / scale.factor, digits);
  return scale.text ? `${text}${NARROW}${scale.text}` : text;
}

/** A number to so many significant digits, whole parts kept whole, thousands set apart. */
export function plain(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= 15 || size < -6) return value.toExponential(digits - 1).replaceAll("-", "−");
  const places = Math.min(20, Math.max(0, digits - 1 - size));
  const text = Math.abs(value).toFixed(places);
  const [whole, part] = text.split(".");
  const rest = part?.replace(/0+$/, "");
  // The sign of a value that rounds to nothing would say something that the digits do not.
  const sign = value < 0 && Number(text) !== 0 ? "−" : "";
  return sign + grouped(whole) + (rest ? `.${rest}` : "");
}

/** A count: `23,898`. */
export function count(value: number): string {
  return grouped(String(Math.round(value)));
}

/** `1 run`, `23,898 runs`. */
export function counted(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

/** The name of a column for people: what its unit says already is left out. */
export function spoken(name: string): string {
  return name.replace(/_(ns|ms|s|bit_s)$/, "").replaceAll("_", " ");
}

/** A space that is narrow and does not break. */
export const NARROW = "\u202f";

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A share of a whole, to a whole per cent from ten on, and to a tenth below: `percent` in
 *  `python/rexmit/analyse/quantities.py` has the same rule. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  return `${value.toFixed(value >= 9.95 || value === 0 ? 0 : 1)} %`;
}
