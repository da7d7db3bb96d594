// The axes of a chart: their ranges, marks and labels.
import type { Unit } from "../format";
import { every, linearTicks, logTicks, roomy, tickLabels } from "../ui/ticks";
import type { Dim } from "./data";
import { levelLabel } from "./picture";

export interface Axis {
  low: number;
  high: number;
  log: boolean;
  ticks: number[];
  labels: string[];
  title: string;
  /** Where labels are too many to lie, the room that they need below when they stand aslant. */
  slant: number;
}

/** Where a value stands, 0 at the low end and 1 at the high one. */
export function placeOn(axis: Axis, value: number): number {
  const { low, high, log } = axis;
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** An axis of numbers for these values; `zoom` is the part to show. `room` is how many labels fit. */
export function valueAxis(
  [least, most]: [number, number],
  unit: Unit,
  title: string,
  { log, zoom, room }: { log: boolean; zoom?: [number, number] | null; room: number },
): Axis {
  const usable = log ? least > 0 : true;
  const [low, high] = zoom && (!log || zoom[0] > 0) ? zoom : roomy(least, most, log && usable);
  const isLog = log && low > 0;
  const ticks = isLog ? logTicks(low, high, room) : linearTicks(low, high, room);
  const { texts, unit: text } = tickLabels(ticks, unit, isLog ? "smallest" : "largest");
  return {
    low,
    high,
    log: isLog,
    ticks,
    labels: texts,
    title: text ? `${title} (${text})` : title,
    slant: 0,
  };
}

/** The axis along which the levels of a dimension stand; `width` is its length in pixels. */
export function levelAxis(
  dim: Dim | null,
  levels: number[],
  { log, zoom, width }: { log: boolean; zoom?: [number, number] | null; width: number },
): Axis {
  if (!dim) return { low: -0.5, high: 0.5, log: false, ticks: [0], labels: [""], title: "", slant: 0 };
  const { places, isLog } = placesOfLevels(dim, levels, log);
  const [low, high] =
    zoom && (!isLog || zoom[0] > 0)
      ? zoom
      : padded(places.length > 0 ? endsOf(places) : [0, 0], isLog, dim.values === null);
  const axis: Axis = { low, high, log: isLog, ticks: [], labels: [], title: titleOf(dim), slant: 0 };
  if (places.length === 0) return axis;
  if (dim.values === null) return named(axis, dim, levels, width);
  const inside = places.filter((place) => place >= low && place <= high).sort((a, b) => a - b);
  const few = inside.length > 0 && inside.length <= Math.max(12, width / 22);
  const room = Math.max(2, width / 70);
  const all = few ? inside : isLog ? logTicks(low, high, room) : linearTicks(low, high, room);
  const { texts, unit } = tickLabels(all, dim.unit, isLog ? "smallest" : "largest");
  if (unit || dim.unit === "packets") axis.title += ` (${unit || dim.unit})`;
  return thinned(axis, all, texts, width);
}

function titleOf(dim: Dim): string {
  return dim.position ? `${dim.title} (position in the flow)` : dim.title;
}

/** Where levels stand: at their values, or one beside the other where they are names. */
export function placesOfLevels(
  dim: Dim,
  levels: number[],
  log: boolean,
): { places: number[]; isLog: boolean } {
  const { values } = dim;
  if (!values) return { places: levels.map((_, at) => at), isLog: false };
  const places = levels.map((level) => values[level]);
  return { places, isLog: log && places.length > 0 && places.every((place) => place > 0) };
}

function padded([low, high]: [number, number], log: boolean, names: boolean): [number, number] {
  if (names) return [low - 0.5, high + 0.5];
  if (log)
    return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.03, high * (high / low) ** 0.03];
  return low === high ? [low - 1, high + 1] : [low - (high - low) * 0.03, high + (high - low) * 0.03];
}

function named(axis: Axis, dim: Dim, levels: number[], width: number): Axis {
  const whole = levels.map((level) => short(levelLabel(dim, level), 24));
  const lying = every(levels.length, Math.floor(width / (widest(whole) + 10)));
  const aslant = lying > 1 && whole.some((label) => label.length > 5);
  const labels = aslant ? levels.map((level) => short(levelLabel(dim, level), 26)) : whole;
  const step = aslant ? every(levels.length, Math.floor(width / 16)) : lying;
  axis.ticks = levels.map((_, at) => at).filter((at) => at % step === 0);
  axis.labels = axis.ticks.map((at) => labels[at]);
  if (aslant) axis.slant = Math.round(widest(axis.labels) * 0.86 * Math.sin((SLANT * Math.PI) / 180));
  return axis;
}

/** The least and the greatest; of a million values too, which are more than a function takes. */
export function endsOf(values: Iterable<number>): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** The room at the left that labels of an axis of values need, and the first of many names below. */
export function leftRoom(y: Axis, dim: Dim | null, levels: number[]): number {
  const many = dim !== null && dim.values === null && levels.length > 8;
  return Math.max(many ? 84 : 36, ...y.labels.map((label) => label.length * 7 + 14));
}

/** How steep such labels are, in degrees: they end at their tick, and reach down to the left. */
export const SLANT = 55;

/** Without the labels that would run into the one before. */
function thinned(axis: Axis, ticks: number[], texts: string[], width: number): Axis {
  let end = Number.NEGATIVE_INFINITY;
  for (const [at, tick] of ticks.entries()) {
    const half = (texts[at].length * 7) / 2;
    const place = placeOn(axis, tick) * width;
    if (place - half < end + 8) continue;
    axis.ticks.push(tick);
    axis.labels.push(texts[at]);
    end = place + half;
  }
  return axis;
}

export function short(text: string, most: number): string {
  if (text.length <= most) return text;
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

export function widest(labels: string[]): number {
  return labels.reduce((most, label) => Math.max(most, label.length), 0) * 7;
}
