// A sheet: one graph's place on a canvas or in a file, its scales and axes.

import type { Linear } from "./lod";
import type { Look } from "./look";
import type { Box, Pen } from "./pen";
import { ticks, tickStep, tickText } from "./ranges";

export const MARGIN = { left: 78, right: 14, top: 20, foot: 24 };
/** The width of a letter of a title, rather too much than too little. */
const TITLE_LETTER = 6.6;

export interface Sheet {
  pen: Pen;
  /** Within the axes. */
  box: Box;
  t0: number;
  t1: number;
  y0: number;
  y1: number;
  x: Linear;
  y: Linear;
  hidden: ReadonlySet<string>;
}

/** What of a place for a graph is within its axes; the lowest has the texts of the time axis. */
export function inner(place: Box, lowest: boolean): Box {
  return {
    left: place.left + MARGIN.left,
    top: place.top + MARGIN.top,
    width: Math.max(place.width - MARGIN.left - MARGIN.right, 10),
    height: Math.max(place.height - MARGIN.top - (lowest ? MARGIN.foot : 5), 10),
  };
}

export function sheetOf(
  pen: Pen,
  box: Box,
  [t0, t1]: readonly [number, number],
  [y0, y1]: readonly [number, number],
  hidden: ReadonlySet<string>,
): Sheet {
  const bx = box.width / (t1 - t0);
  const by = -box.height / (y1 - y0);
  return {
    pen,
    box,
    t0,
    t1,
    y0,
    y1,
    hidden,
    x: { a: box.left - t0 * bx, b: bx },
    y: { a: box.top + box.height - y0 * by, b: by },
  };
}

export const xOf = (sheet: Sheet, t: number): number => sheet.x.a + sheet.x.b * t;
export const yOf = (sheet: Sheet, v: number): number => sheet.y.a + sheet.y.b * v;

/** The first of these titles that `width` pixels hold, the last if none. */
export function fitting(width: number, titles: string[]): string {
  return titles.find((title) => title.length * TITLE_LETTER <= width) ?? titles[titles.length - 1];
}

/** Grid, ticks and title; ticks of values where there are `values`. */
export function axes(sheet: Sheet, look: Look, title: string, lowest: boolean, values = true): void {
  const { pen, box } = sheet;
  const grid = { colour: look.grid, width: 1 };
  const words = { colour: look.dim, size: 11 };
  const timeCount = box.width / 110;
  const timeStep = tickStep(sheet.t0, sheet.t1, timeCount);
  const lines: number[] = [];
  const bottom = box.top + box.height;
  for (const t of ticks(sheet.t0, sheet.t1, timeCount)) {
    const x = Math.round(xOf(sheet, t)) + 0.5;
    lines.push(x, box.top, x, bottom);
    const text = `${tickText(t, timeStep)} s`;
    const right = box.left + box.width;
    if (lowest && x + 3.2 * text.length > right + MARGIN.right)
      pen.text(right + MARGIN.right - 1, bottom + 15, text, { ...words, align: "right" });
    else if (lowest) pen.text(x, bottom + 15, text, { ...words, align: "center" });
  }
  // One tick alone would tell no scale.
  const some = Math.max(box.height / 38, 2);
  const valueCount = ticks(sheet.y0, sheet.y1, some).length > 1 ? some : 2 * some;
  const valueStep = tickStep(sheet.y0, sheet.y1, valueCount);
  for (const v of values ? ticks(sheet.y0, sheet.y1, valueCount) : []) {
    const y = Math.round(yOf(sheet, v)) + 0.5;
    lines.push(box.left, y, box.left + box.width, y);
    pen.text(box.left - 7, y + 3.5, tickText(v, valueStep), { ...words, align: "right" });
  }
  pen.lines(lines, grid);
  pen.lines(
    [
      box.left + 0.5,
      box.top,
      box.left + 0.5,
      bottom,
      box.left,
      bottom + 0.5,
      box.left + box.width,
      bottom + 0.5,
    ],
    { colour: look.dim, width: 1 },
  );
  pen.text(box.left, box.top - 6, title, { colour: look.ink, size: 11.5, bold: true });
}
