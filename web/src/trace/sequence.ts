// The time-sequence graph, with the symbols that tcptrace and xplot made common.

import type { Layer } from "./layer";
import { bars, rowsInView, steps } from "./lod";
import { colourOf } from "./look";
import { FIN, firstAt, groupOf, PSH, RST, SYN } from "./model";
import type { Stroke } from "./pen";
import { duration } from "./ranges";
import { xOf, yOf, type Sheet } from "./sheet";

/** With more in view, symbols could not be told apart. */
const MOST_SYMBOLS = 1500;
const MOST_LETTERS = 500;

const SECOND_DASH = [6, 3];

export function drawSequence(sheet: Sheet, layer: Layer): void {
  drawLevels(sheet, layer);
  drawSacks(sheet, layer);
  drawNew(sheet, layer);
  drawBrackets(sheet, layer);
  drawAgain(sheet, layer);
  drawFlags(sheet, layer);
  drawLost(sheet, layer);
}

/** The key by which the legend hides a group. */
export function groupKey(letter: string): string {
  return `g${letter}`;
}

function drawLevels(sheet: Sheet, { view, look }: Layer): void {
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
    if (acks.duplicate[row] === 3)
      sheet.pen.text(xOf(sheet, acks.t[row]), yOf(sheet, acks.level[row]) + 15, "3", {
        colour: stroke.colour,
        size: 11,
        bold: true,
        align: "center",
      });
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
function drawNew(sheet: Sheet, layer: Layer): void {
  layer.view.head.groups.forEach((group, at) => {
    if (!group.again) drawGroup(sheet, layer, at, 1.3);
  });
}

function drawAgain(sheet: Sheet, layer: Layer): void {
  layer.view.head.groups.forEach((group, at) => {
    if (group.again) drawGroup(sheet, layer, at, 2.4);
  });
}

function drawGroup(sheet: Sheet, { view, look }: Layer, at: number, width: number): void {
  const group = view.head.groups[at];
  if (sheet.hidden.has(groupKey(group.letter))) return;
  const { segments } = view;
  const rows = segments.rows[at];
  const [from, to] = listInView(rows, segments.t, sheet);
  const stroke = { colour: colourOf(look, group.colour), width };
  const shown = bars(segments.t, [segments.low, segments.high], rows, [from, to], [sheet.x, sheet.y]);
  sheet.pen.bars(shown, stroke);
  if (to - from <= MOST_SYMBOLS) drawHeads(sheet, { view, look }, rows.subarray(from, to), stroke);
  if (group.letter)
    drawLetters(sheet, { view }, rows.subarray(from, to), { ...stroke, letter: group.letter });
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
  { view }: Pick<Layer, "view">,
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
    sheet.pen.text(beside ? x + 5 : x, y, letter, {
      colour,
      size: 11,
      bold: true,
      align: beside ? "left" : "center",
    });
    [lastX, lastY] = [x, y];
    if (++drawn >= MOST_LETTERS) return;
  }
}

/** From the transmission before to the repetition, in the colour of the cause. */
function drawBrackets(sheet: Sheet, { view, look }: Layer): void {
  if (sheet.hidden.has("bracket")) return;
  const { segments, again } = view;
  const lines = new Map<string, number[]>();
  const named: [number, number, string, string][] = [];
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
    if (x1 - x0 > 70)
      named.push([(Math.max(x0, sheet.box.left) + x1) / 2, y - 4, duration(again.previous[n]), colour]);
  }
  for (const [colour, found] of lines) sheet.pen.lines(found, { colour, width: 1, dash: [2, 2], alpha: 0.9 });
  // Those that would cover another one are left out.
  const placed: [number, number][] = [];
  for (const [x, y, text, colour] of named) {
    if (placed.length >= 60) return;
    if (placed.some((one) => Math.abs(one[0] - x) < 48 && Math.abs(one[1] - y) < 11)) continue;
    placed.push([x, y]);
    sheet.pen.text(x, y, text, { colour, size: 10, align: "center" });
  }
}

/** SYN, FIN and RST by name, in red with an R where they are sent again. */
function drawFlags(sheet: Sheet, { view, look }: Layer): void {
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
    sheet.pen.text(middle, below ? y + 16 : y - 8, again + name, {
      colour,
      size: 10.5,
      bold: true,
      align: "center",
    });
  }
}

/** A ring with a cross at what the emulator dropped; acknowledgments that it dropped likewise, in their colour. */
function drawLost(sheet: Sheet, { view, look, lostAcks }: Layer): void {
  if (sheet.hidden.has("lost")) return;
  const at: number[] = [];
  for (const row of view.segments.lost.keys())
    if (view.segments.t[row] >= sheet.t0 && view.segments.t[row] <= sheet.t1)
      at.push(
        xOf(sheet, view.segments.t[row]),
        yOf(sheet, (view.segments.low[row] + view.segments.high[row]) / 2),
      );
  drawRings(sheet, at, colourOf(look, "again"));
  const acks: number[] = [];
  for (let n = firstAt(lostAcks.t, sheet.t0); n < lostAcks.t.length && lostAcks.t[n] <= sheet.t1; n++)
    acks.push(xOf(sheet, lostAcks.t[n]), yOf(sheet, lostAcks.v[n]));
  drawRings(sheet, acks, colourOf(look, "ack"));
}

function drawRings(sheet: Sheet, at: number[], colour: string): void {
  const few = at.length <= 2 * 60;
  sheet.pen.marks("ring", at, few ? 7 : 4, { colour, width: few ? 1.6 : 1 });
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
