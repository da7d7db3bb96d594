// The time-sequence graph, with the symbols that tcptrace and xplot made common.

import type { Layer } from "./layer";
import { bars, rowsInView, steps } from "./lod";
import { colourOf } from "./look";
import { FIN, firstAt, groupOf, PSH, RST, SYN } from "./model";
import type { Box, Stroke } from "./pen";
import { Places } from "./places";
import { duration } from "./ranges";
import { xOf, yOf, type Sheet } from "./sheet";

/** With more in view, symbols could not be told apart. */
const MOST_SYMBOLS = 1500;
const MOST_LETTERS = 500;
const MOST_DURATIONS = 60;
const MOST_ASKED = 60;

const RING = 7;
const SECOND_DASH = [6, 3];

export function drawSequence(sheet: Sheet, layer: Layer): void {
  const places = new Places();
  drawLevels(sheet, layer, places);
  drawSacks(sheet, layer);
  drawNew(sheet, layer, places);
  const brackets = drawBrackets(sheet, layer);
  drawAgain(sheet, layer, places);
  drawFlags(sheet, layer, places);
  drawLost(sheet, layer, places);
  // What says most stands first; times are written where there is room.
  drawDurations(sheet, layer, brackets, places);
}

/** The key by which the legend hides a group. */
export function groupKey(letter: string): string {
  return `g${letter}`;
}

function drawLevels(sheet: Sheet, { view, look }: Layer, places: Places): void {
  const { acks } = view;
  const range = rowsInView(acks.t, sheet.t0, sheet.t1);
  const scales: [Sheet["x"], Sheet["y"]] = [sheet.x, sheet.y];
  const end = Math.min(sheet.box.left + sheet.box.width, xOf(sheet, lastTime(view)));
  const dash = look.second ? { dash: SECOND_DASH } : {};
  const ticked = range[1] - range[0] <= MOST_SYMBOLS;
  if (!sheet.hidden.has("window") && acks.edge) {
    const stroke = { colour: colourOf(look, "window"), width: 1.2, ...dash };
    sheet.pen.path(steps(acks.t, acks.edge, range, scales, end), stroke);
    if (ticked) sheet.pen.marks("above", points(sheet, acks.t, acks.edge, range), 4, { ...stroke, width: 1 });
  }
  if (sheet.hidden.has("ack")) return;
  const stroke = { colour: colourOf(look, "ack"), width: 1.3, ...dash };
  sheet.pen.path(steps(acks.t, acks.level, range, scales, end), stroke);
  if (!ticked) return;
  sheet.pen.marks("below", points(sheet, acks.t, acks.level, range), 4, { colour: stroke.colour, width: 1 });
  for (let row = range[0]; row < range[1]; row++)
    if (acks.duplicate[row] === 3) {
      const [x, y] = [xOf(sheet, acks.t[row]), yOf(sheet, acks.level[row]) + 15];
      sheet.pen.text(x, y, "3", { colour: stroke.colour, size: 11, bold: true, align: "center" });
      places.text(x, y, "3", 11);
    }
}

function drawSacks(sheet: Sheet, { view, look }: Layer): void {
  if (sheet.hidden.has("sack")) return;
  const { sacks } = view;
  const range = rowsInView(sacks.t, sheet.t0, sheet.t1);
  const shown = bars(sacks.t, [sacks.low, sacks.high], null, range, [sheet.x, sheet.y]);
  const wide = shown.length < 3 * MOST_SYMBOLS ? 2.6 : 1.2;
  sheet.pen.bars(shown, { colour: colourOf(look, "sack"), width: wide, alpha: 0.8 });
}

/** New data: bars between arrow heads, a diamond for PSH; a cross for a packet without data. */
function drawNew(sheet: Sheet, layer: Layer, places: Places): void {
  layer.view.head.groups.forEach((group, at) => {
    if (!group.again) drawGroup(sheet, layer, at, places);
  });
}

function drawAgain(sheet: Sheet, layer: Layer, places: Places): void {
  layer.view.head.groups.forEach((group, at) => {
    if (group.again) drawGroup(sheet, layer, at, places);
  });
}

function drawGroup(sheet: Sheet, { view, look }: Layer, at: number, places: Places): void {
  const group = view.head.groups[at];
  if (sheet.hidden.has(groupKey(group.letter))) return;
  const { segments } = view;
  const rows = segments.rows[at];
  const [from, to] = listInView(rows, segments.t, sheet);
  const stroke = { colour: colourOf(look, group.colour), width: group.again ? 2.4 : 1.3 };
  const shown = bars(segments.t, [segments.low, segments.high], rows, [from, to], [sheet.x, sheet.y]);
  sheet.pen.bars(shown, stroke);
  if (to - from <= MOST_SYMBOLS) drawHeads(sheet, { view, look }, rows.subarray(from, to), stroke);
  if (group.letter)
    drawLetters(sheet, { view, places }, rows.subarray(from, to), { ...stroke, letter: group.letter });
}

function drawHeads(
  sheet: Sheet,
  layer: Pick<Layer, "view" | "look">,
  rows: Uint32Array,
  stroke: Stroke,
): void {
  const { segments, unit } = layer.view;
  const [up, down, push, empty]: number[][] = [[], [], [], []];
  let tall = 0;
  for (const row of rows) {
    const x = xOf(sheet, segments.t[row]);
    const [y0, y1] = [yOf(sheet, segments.low[row]), yOf(sheet, segments.high[row])];
    if (segments.high[row] === segments.low[row]) {
      if (!(segments.flags[row] & RST)) empty.push(x, y0);
      continue;
    }
    if (y0 - y1 > tall) tall = y0 - y1;
    down.push(x, y0);
    if (unit === "bytes" && segments.flags[row] & PSH && segments.bytes[row] > 0) push.push(x, y1);
    else up.push(x, y1);
  }
  const size = Math.min(Math.max(tall * 0.28, 2), 4.5);
  const thin = { ...stroke, width: 1.1 };
  if (tall > 5) {
    sheet.pen.marks("up", up, size, thin);
    sheet.pen.marks("down", down, size, thin);
  }
  if (tall > 2.5) sheet.pen.marks("diamond", push, Math.max(size * 0.85, 2.4), thin);
  sheet.pen.marks("cross", empty, 3, { ...thin, alpha: 0.55 });
}

/** The letter of the cause, where there is room for it. */
function drawLetters(
  sheet: Sheet,
  { view, places }: Pick<Layer, "view"> & { places: Places },
  rows: Uint32Array,
  { colour, letter }: { colour: string; letter: string },
): void {
  const { segments } = view;
  let [lastX, lastY, drawn] = [Number.NEGATIVE_INFINITY, 0, 0];
  for (const row of rows) {
    const x = xOf(sheet, segments.t[row]);
    const [y0, y1] = [yOf(sheet, segments.low[row]), yOf(sheet, segments.high[row])];
    const beside = y0 - y1 > 16;
    const y = beside ? (y0 + y1) / 2 + 4 : y1 - 5;
    if (Math.abs(x - lastX) < 8 && Math.abs(y - lastY) < 10) continue;
    // A letter of another cause at the same place goes over it.
    const middle = beside ? x + 9 : x;
    const spot = places.first(
      [0, 11, 22].map((up): [number, number] => [middle, y - up]),
      letter,
      11,
    );
    if (!spot) continue;
    sheet.pen.text(...spot, letter, { colour, size: 11, bold: true, align: "center" });
    [lastX, lastY] = [x, y];
    if (++drawn >= MOST_LETTERS) return;
  }
}

/** Where a bracket lies on paper, and what it says. */
interface Bracket {
  from: number;
  to: number;
  y: number;
  text: string;
  colour: string;
}

/** From the transmission before to the repetition, in the colour of the cause. */
function drawBrackets(sheet: Sheet, { view, look }: Layer): Bracket[] {
  const drawn: Bracket[] = [];
  if (sheet.hidden.has("bracket")) return drawn;
  const { segments, again } = view;
  const lines = new Map<string, number[]>();
  for (let n = 0; n < again.count; n++) {
    const [row, before] = [again.row[n], again.before[n]];
    if (before < 0 || segments.t[row] < sheet.t0 || segments.t[before] > sheet.t1) continue;
    const group = groupOf(view, row);
    if (sheet.hidden.has(groupKey(group.letter))) continue;
    const [x0, x1] = [xOf(sheet, segments.t[before]), xOf(sheet, segments.t[row])];
    if (x1 - x0 < 4) continue;
    const y = yOf(sheet, (segments.low[row] + Math.min(segments.high[row], segments.high[before])) / 2);
    const colour = colourOf(look, group.colour);
    const found = lines.get(colour) ?? [];
    if (!found.length) lines.set(colour, found);
    found.push(x0 + 3, y, x1, y, x0 + 3, y - 4, x0 + 3, y + 4);
    drawn.push({
      from: Math.max(x0, sheet.box.left),
      to: x1,
      y,
      text: duration(again.previous[n]),
      colour,
    });
  }
  for (const [colour, found] of lines) sheet.pen.lines(found, { colour, width: 1, dash: [2, 2], alpha: 0.9 });
  return drawn;
}

/** The times of brackets, each where it covers nothing; of those that find no place, none. */
function drawDurations(sheet: Sheet, { view }: Layer, brackets: Bracket[], places: Places): void {
  const size = 10;
  const byHeight = [...brackets].sort((a, b) => a.y - b.y);
  let drawn = 0;
  for (const own of brackets) {
    const { from, to, y, text, colour } = own;
    if (to - from <= 70) continue;
    const spots = [0.5, 0.35, 0.65, 0.2, 0.8].flatMap((share): [number, number][] => {
      const x = from + (to - from) * share;
      return [
        [x, y - 4],
        [x, y + size + 2],
      ];
    });
    const spot = places.first(spots, text, size, {
      isTaken: (box) => isBracketed(byHeight, own, box),
      isCrossed: (box) => isCrossed(sheet, view, box),
    });
    if (!spot) continue;
    sheet.pen.text(...spot, text, { colour, size, align: "center" });
    if (++drawn >= MOST_DURATIONS) return;
  }
}

/** Whether the line of another bracket passes through a box; `byHeight` are all of them. */
function isBracketed(byHeight: Bracket[], own: Bracket, box: Box): boolean {
  let [low, high] = [0, byHeight.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byHeight[middle].y < box.top) low = middle + 1;
    else high = middle;
  }
  for (; low < byHeight.length && byHeight[low].y <= box.top + box.height; low++) {
    const { from, to } = byHeight[low];
    if (byHeight[low] !== own && from < box.left + box.width && box.left < to) return true;
  }
  return false;
}

/** Whether new segments, the level of acknowledgments or the window pass through a box; of a great many rows, some are
 * asked. */
function isCrossed(sheet: Sheet, { segments, acks }: Layer["view"], box: Box): boolean {
  const timeAt = (x: number): number => (x - sheet.x.a) / sheet.x.b;
  const [t0, t1] = [timeAt(box.left), timeAt(box.left + box.width)];
  const isWithin = (low: number, high: number): boolean =>
    yOf(sheet, high) <= box.top + box.height && yOf(sheet, low) >= box.top;
  const isAny = (t: Float64Array, before: number, test: (row: number) => boolean): boolean => {
    const [first, end] = [Math.max(0, firstAt(t, t0) - before), firstAt(t, t1)];
    const step = Math.max(1, Math.floor((end - first) / MOST_ASKED));
    for (let row = first; row < end; row += step) if (test(row)) return true;
    return false;
  };
  const { edge, level } = acks;
  return (
    isAny(segments.t, 0, (row) => isWithin(segments.low[row], segments.high[row])) ||
    // What holds at the box's beginning was said before.
    isAny(
      acks.t,
      1,
      (row) => isWithin(level[row], level[row]) || (edge !== null && isWithin(edge[row], edge[row])),
    )
  );
}

/** SYN, FIN and RST by name, in red with an R where they are sent again. */
function drawFlags(sheet: Sheet, { view, look }: Layer, places: Places): void {
  if (view.unit !== "bytes" || sheet.hidden.has("flags")) return;
  const { segments } = view;
  const [from, to] = rowsInView(segments.t, sheet.t0, sheet.t1);
  let drawn = 0;
  for (let row = from; row < to && drawn < MOST_LETTERS; row++) {
    const flags = segments.flags[row] & (SYN | FIN | RST);
    if (!flags) continue;
    drawn++;
    const again = groupOf(view, row).again ? "R " : "";
    const name = flags & SYN ? "SYN" : flags & RST ? "RST" : "FIN";
    const below = name === "SYN";
    const y = yOf(sheet, below ? segments.low[row] : segments.high[row]);
    const colour = colourOf(look, again ? "again" : "mark");
    const x = xOf(sheet, segments.t[row]);
    if (segments.bytes[row] === 0)
      sheet.pen.marks(name === "RST" ? "cross" : name === "SYN" ? "hollow" : "square", [x, y], 3.5, {
        colour,
        width: 1.2,
      });
    const middle = Math.max(x, sheet.box.left + 13);
    const foot = below ? y + 16 : y - 8;
    sheet.pen.text(middle, foot, again + name, { colour, size: 10.5, bold: true, align: "center" });
    places.text(middle, foot, again + name, 10.5);
  }
}

/** A ring with a cross at what the emulator dropped; acknowledgments that it dropped likewise, in their colour. */
function drawLost(sheet: Sheet, { view, look, lostAcks }: Layer, places: Places): void {
  if (sheet.hidden.has("lost")) return;
  const at: number[] = [];
  for (const row of view.segments.lost.keys())
    if (view.segments.t[row] >= sheet.t0 && view.segments.t[row] <= sheet.t1)
      at.push(
        xOf(sheet, view.segments.t[row]),
        yOf(sheet, (view.segments.low[row] + view.segments.high[row]) / 2),
      );
  drawRings(sheet, at, colourOf(look, "again"));
  for (let n = 0; n < at.length; n += 2) places.mark(at[n], at[n + 1], RING);
  const acks: number[] = [];
  for (let n = firstAt(lostAcks.t, sheet.t0); n < lostAcks.t.length && lostAcks.t[n] <= sheet.t1; n++)
    acks.push(xOf(sheet, lostAcks.t[n]), yOf(sheet, lostAcks.v[n]));
  drawRings(sheet, acks, colourOf(look, "ack"));
}

function drawRings(sheet: Sheet, at: number[], colour: string): void {
  const few = at.length <= 2 * 60;
  sheet.pen.marks("ring", at, few ? RING : 4, { colour, width: few ? 1.6 : 1 });
  if (few) sheet.pen.marks("cross", at, 5, { colour, width: 1.2 });
}

function points(sheet: Sheet, t: Float64Array, v: Float64Array, range: [number, number]): number[] {
  const found: number[] = [];
  for (let row = range[0]; row < range[1]; row++) found.push(xOf(sheet, t[row]), yOf(sheet, v[row]));
  return found;
}

/** Which places of a list of rows are in view. */
function listInView(rows: Uint32Array, t: Float64Array, sheet: Sheet): [number, number] {
  const first = firstRow(rows, firstAt(t, sheet.t0));
  return [first, firstRow(rows, firstAt(t, sheet.t1 + 1e-12))];
}

function firstRow(rows: Uint32Array, row: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

function lastTime(view: Layer["view"]): number {
  const last = (list: Float64Array): number => (list.length ? list[list.length - 1] : 0);
  return Math.max(last(view.segments.t), last(view.acks.t));
}
