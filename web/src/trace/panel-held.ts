// What held the sender back, as a band under its packets: colours, hatching and letters as in rexmit's figures.

import { inkOn } from "../ui/palette";
import type { Layer } from "./layer";
import { duration } from "./ranges";
import { firstAt, type Waits } from "./model";
import type { Panel } from "./panels";
import { xOf, type Sheet } from "./sheet";

/** Pixels of the band itself, and of one that two traces share. */
const BAND = 20;
const SHARED = 32;
/** Pixels that a part takes before its letter fits. */
const LEAST_FOR_LETTER = 12;
/** How far hatches are apart. */
const HATCH = 6;
/** Height of the line under what is certain. */
const CERTAIN = 3;

export const HELD: Panel = {
  name: "held",
  title: () => "What held the sender back; underlined where that is certain",
  brief: "Held back by",
  share: 0,
  band: (layers) => (layers.length > 1 ? SHARED : BAND),
  has: (layer) => layer.view.held !== null,
  most: () => 1,
  draw(sheet, layer) {
    const { held } = layer.view;
    if (held) drawBand(sheet, layer, held);
  },
  series: () => [],
};

/** The key by which the legend hides one of them. */
export function heldKey(letter: string): string {
  return `k${letter}`;
}

/** What held the sender at a time, in a few lines; null where nothing is known of it. */
export function heldText(layer: Layer, t: number): string | null {
  const { held } = layer.view;
  if (!held) return null;
  const row = firstAt(held.t, t + 1e-12) - 1;
  if (row < 0 || t > held.until[row]) return null;
  const word = held.words[held.by[row]];
  const [from, to] = [held.t[row], held.until[row]];
  return [
    `${from.toFixed(6)} to ${to.toFixed(6)} s (${duration(to - from)})`,
    word.label,
    `${held.certain[row] ? "certain" : "likely"}; packets ${held.from[row]} to ${held.to[row]}`,
  ].join("\n");
}

/** Shares of a time for which each of the words held the sender. */
export function sharesOf(held: Waits): number[] {
  const times = held.words.map(() => 0);
  held.t.forEach((t, row) => {
    times[held.by[row]] += held.until[row] - t;
  });
  const total = times.reduce((sum, time) => sum + time, 0);
  return times.map((time) => (total ? time / total : 0));
}

/** A part of the band in pixels. */
interface Part {
  from: number;
  to: number;
  by: number;
}

function drawBand(sheet: Sheet, layer: Layer, held: Waits): void {
  const { box, pen } = sheet;
  const { top, height } = placeOf(sheet, layer);
  const half = layer.place !== "whole";
  const { parts, certain } = partsOf(sheet, held);
  for (const { from, to, by } of parts) {
    const word = held.words[by];
    if (sheet.hidden.has(heldKey(word.letter))) continue;
    pen.fill({ left: from, top, width: to - from, height }, word.colour);
    if (word.hatched) pen.lines(hatches(from, to, top, height), { colour: "#1a1a1a", width: 1 });
  }
  for (const [from, to] of certain)
    pen.fill({ left: from, top: top + height - CERTAIN, width: to - from, height: CERTAIN }, layer.look.ink);
  for (const { from, to, by } of parts) {
    const word = held.words[by];
    if (sheet.hidden.has(heldKey(word.letter))) continue;
    const [left, right] = [Math.max(from, box.left), Math.min(to, box.left + box.width)];
    if (right - left < LEAST_FOR_LETTER) continue;
    const middle = (left + right) / 2;
    const size = half ? 9 : 11;
    const foot = top + (height - CERTAIN) / 2 + size / 2 - 1;
    if (word.hatched)
      pen.fill({ left: middle - 5, top: foot - size, width: 10, height: size + 1 }, word.colour);
    pen.text(middle, foot, word.letter, { colour: inkOn(word.colour), size, bold: true, align: "center" });
  }
}

/** The rows of pixels of a layer: of two traces in one graph the second has the lower half. */
export function placeOf({ box }: Sheet, { place }: Layer): { top: number; height: number } {
  const height = place === "whole" ? box.height : box.height / 2 - 1;
  return { top: place === "lower" ? box.top + box.height - height : box.top, height };
}

/** Parts in view, and what of them is certain. A column of pixels with many waits has the one that took most of it. */
export function partsOf(sheet: Sheet, held: Waits): { parts: Part[]; certain: [number, number][] } {
  const parts: Part[] = [];
  const certain: [number, number][] = [];
  const add = (from: number, to: number, by: number, sure: boolean): void => {
    const last = parts[parts.length - 1];
    if (last?.by === by && from - last.to < 0.01) last.to = to;
    else parts.push({ from, to, by });
    if (!sure) return;
    const line = certain[certain.length - 1];
    if (line && from - line[1] < 0.01) line[1] = to;
    else certain.push([from, to]);
  };
  const end = sheet.box.left + sheet.box.width;
  const row0 = Math.max(0, firstAt(held.t, sheet.t0) - 1);
  let column: { at: number; times: Map<number, number>; to: number } | null = null;
  const flush = (): void => {
    if (!column) return;
    const [most] = [...column.times].reduce((best, one) => (one[1] > best[1] ? one : best));
    add(column.at, column.to, most >> 1, (most & 1) === 1);
    column = null;
  };
  for (let row = row0; row < held.t.length && held.t[row] <= sheet.t1; row++) {
    const from = Math.max(xOf(sheet, held.t[row]), sheet.box.left);
    const to = Math.min(xOf(sheet, held.until[row]), end);
    if (to <= from) continue;
    const [by, sure] = [held.by[row], held.certain[row] > 0];
    if (to - from >= 1) {
      flush();
      add(from, to, by, sure);
      continue;
    }
    if (column && from - column.at >= 1) flush();
    column ??= { at: from, times: new Map(), to };
    const key = 2 * by + (sure ? 1 : 0);
    column.times.set(key, (column.times.get(key) ?? 0) + to - from);
    column.to = to;
  }
  flush();
  return { parts, certain };
}

/** Diagonals within a rectangle, as x0, y0, x1, y1. */
function hatches(from: number, to: number, top: number, height: number): number[] {
  const lines: number[] = [];
  const bottom = top + height;
  // Hatches begin at multiples of their distance, so that parts beside each other join.
  for (let x = Math.floor((from - height) / HATCH) * HATCH; x < to; x += HATCH) {
    const [x0, x1] = [Math.max(x, from), Math.min(x + height, to)];
    if (x1 > x0) lines.push(x0, bottom - (x0 - x), x1, bottom - (x1 - x));
  }
  return lines;
}
