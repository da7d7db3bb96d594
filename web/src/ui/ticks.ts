// Where an axis has its marks, and what stands at them.
import type { Unit } from "../format";
import { plain, scaleOf } from "./units";

/** Round values from `low` to `high`, about `most` of them: steps of 1, 2 or 5 times a power of ten. */
export function linearTicks(low: number, high: number, most: number): number[] {
  const step = stepOf(high - low, most);
  if (!(step > 0) || !Number.isFinite(step)) return [low];
  // Steps that numbers of this size cannot make would never come to the end.
  if (step < Math.max(Math.abs(low), Math.abs(high)) * 1e-14) return [low];
  const ticks = [];
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  for (let at = first; at <= last; at++) ticks.push(round(at * step, step));
  return ticks;
}

/** Powers of ten from `low` to `high`, with 2 and 5 between them where few fit. Both must be above 0. */
export function logTicks(low: number, high: number, most: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const decades = Math.max(1, last - first);
  // With room for fewer, all of them might lie outside.
  most = Math.max(3, most);
  const factors = decades <= most / 3 ? [1, 2, 5] : [1];
  const every = factors.length > 1 ? 1 : Math.max(1, Math.ceil(decades / most));
  const ticks = [];
  for (let power = first; power <= last; power += every)
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(12));
      if (tick >= low * 0.999999 && tick <= high * 1.000001) ticks.push(tick);
    }
  return ticks.length > 1 || decades > 1 ? ticks : linearTicks(low, high, most);
}

/** A range that holds these values with room at its ends; from 0 where that is near. */
export function roomy(low: number, high: number, log: boolean): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return log ? [1, 10] : [0, 1];
  if (log)
    return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.05, high * (high / low) ** 0.05];
  if (low === high) return low === 0 ? [0, 1] : [Math.min(0, low * 2), Math.max(0, low * 2)];
  const room = (high - low) * 0.05;
  if (low >= 0) return [low < 0.5 * high ? 0 : low - room, high + room];
  return [low - room, high <= 0 && high > 0.5 * low ? 0 : high + room];
}

export interface Labels {
  texts: string[];
  /** Unit of all of them, for the title of the axis. */
  unit: string;
}

/** The labels of ticks, all in the unit that fits the largest (or smallest but 0) of them. */
export function tickLabels(ticks: number[], unit: Unit, fit: "largest" | "smallest" = "largest"): Labels {
  const sizes = ticks.map(Math.abs).filter((size) => size > 0);
  const scale = scaleOf(
    unit,
    sizes.length === 0 ? 0 : fit === "largest" ? Math.max(...sizes) : Math.min(...sizes),
  );
  // In a narrow part far from 0 it takes many digits to tell ticks apart.
  let texts: string[] = [];
  for (let digits = 6; digits <= 16; digits++) {
    texts = ticks.map((tick) => plain(tick / scale.factor, digits));
    if (new Set(texts).size === ticks.length) break;
  }
  return { texts, unit: scale.text };
}

/** Every so many of `count` labels can be shown, where `room` of them fit. */
export function every(count: number, room: number): number {
  if (count <= room) return 1;
  const least = count / Math.max(1, room);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least - 1e-9)!;
}

function stepOf(span: number, most: number): number {
  const least = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999999)!;
}

/** Without the noise of binary fractions. */
function round(value: number, step: number): number {
  const places = Math.max(0, Math.min(20, 1 - Math.floor(Math.log10(step))));
  return step >= 1 ? Math.round(value) || 0 : Number(value.toFixed(places)) || 0;
}
