// Where the panels of a chart lie, and what stands around them: grid, axes, titles, legend.
import { type Look } from "../ui/palette";
import { type Box, type Ink, markerPath, type Scene } from "../ui/scene";
import { type Axis, placeOn, short, SLANT } from "./axes";
import type { Groups, Role } from "./group";
import { levelText } from "./picture";

export interface Panel {
  r: number;
  c: number;
  /** Its plot, without axes. */
  box: Box;
  title: string;
  /** Whether labels stand at its left and below it. */
  left: boolean;
  bottom: boolean;
}

export interface Frame {
  width: number;
  height: number;
  panels: Panel[];
}

/** A point or a bar that can be pointed at and opened. */
export interface Mark {
  places: Record<Role, number>;
  cell: number;
  panel: number;
  /** Its place on the chart, in pixels; and its outline where it has one. */
  px: number;
  py: number;
  box?: Box;
  /** A pattern of some of its runs met no packet: it is drawn open, and no curve goes through it. */
  open?: boolean;
}

const GAP = 14;
const TOP = 30;
const BOTTOM = 44;
const LEAST = 190;

/** Panels for these groups in `width` pixels; `left` is what the labels of the axis of values need. */
export function frameOf(groups: Groups, width: number, left: number): Frame {
  const [rows, columns] = [groups.levels.rows.length, groups.levels.columns.length];
  const fit = Math.max(1, Math.floor((width - left + GAP) / (LEAST + GAP)));
  // Panels of one dimension may go on in the next line; those of two are a table, which keeps its columns.
  const across = rows > 1 ? columns : Math.min(columns, fit);
  const down = rows > 1 ? rows : Math.ceil(columns / across);
  const facets = rows * columns > 1;
  // Whole pixels: the curves are drawn by a library that rounds to them.
  const plotWidth = Math.floor(
    Math.max(rows > 1 ? 150 : 60, (width - left - 12 - GAP * (across - 1)) / across),
  );
  const plotHeight = Math.round(
    facets ? Math.max(120, Math.min(230, plotWidth * 0.72)) : Math.max(240, Math.min(400, width * 0.5)),
  );
  const titled = facets ? 22 : 0;
  const panels: Panel[] = [];
  for (let at = 0; at < rows * columns; at++) {
    const [r, c] = rows > 1 ? [Math.floor(at / columns), at % columns] : [0, at];
    const [line, place] = [Math.floor(at / across), at % across];
    const x = left + place * (plotWidth + GAP);
    const y = TOP + titled + line * (plotHeight + GAP + titled);
    const bottom = line === down - 1 || (rows === 1 && at + across >= columns);
    const title = facets ? panelTitle(groups, r, c) : "";
    panels.push({ r, c, box: { x, y, w: plotWidth, h: plotHeight }, title, left: place === 0, bottom });
  }
  const deepest = panels.at(-1)!.box;
  const total = Math.max(width, left + across * (plotWidth + GAP) - GAP + 12);
  return { width: total, height: deepest.y + deepest.h + BOTTOM, panels };
}

/** Draws grid, axes and titles. `grid` is false where the plot covers it. */
export function drawFrame(
  scene: Scene,
  frame: Frame,
  axes: { x: Axis; y: Axis; grid: boolean },
  ink: Ink,
): void {
  const { x: across, y: up, grid } = axes;
  for (const panel of frame.panels) {
    const { box } = panel;
    if (panel.title)
      scene.text(box.x, box.y - 8, short(panel.title, Math.floor(box.w / 6)), {
        colour: ink.soft,
        weight: 600,
      });
    up.ticks.forEach((tick, at) => {
      const y = box.y + box.h * (1 - placeOn(up, tick));
      if (y < box.y - 0.5 || y > box.y + box.h + 0.5) return;
      if (grid) scene.path(`M${box.x} ${round(y)}h${round(box.w)}`, { colour: ink.grid, width: 1 });
      if (panel.left) scene.text(box.x - 8, round(y) + 4, up.labels[at], { colour: ink.soft, anchor: "end" });
    });
    scene.path(`M${box.x} ${box.y + box.h}h${round(box.w)}`, { colour: ink.axis, width: 1 });
    across.ticks.forEach((tick, at) => {
      const x = box.x + box.w * placeOn(across, tick);
      if (x < box.x - 0.5 || x > box.x + box.w + 0.5) return;
      scene.path(`M${round(x)} ${box.y + box.h}v4`, { colour: ink.axis, width: 1 });
      if (panel.bottom)
        drawLabel(scene, { x: round(x), y: box.y + box.h, words: across.labels[at] }, across.slant > 0, ink);
    });
  }
  // The title of the axis of values lies over it, where it is read without turning the head.
  scene.text(0, 14, up.title, { colour: ink.text, weight: 600, size: 13 });
  const last = frame.panels.at(-1)!.box;
  const middle = (frame.panels[0].box.x + Math.max(...frame.panels.map(({ box }) => box.x + box.w))) / 2;
  scene.text(middle, last.y + last.h + 38 + across.slant, across.title, {
    colour: ink.text,
    weight: 600,
    size: 13,
    anchor: "middle",
  });
}

function drawLabel(
  scene: Scene,
  { x, y, words }: { x: number; y: number; words: string },
  aslant: boolean,
  ink: Ink,
): void {
  if (aslant) scene.text(x + 4, y + 14, words, { colour: ink.soft, anchor: "end", turn: -SLANT, size: 11 });
  else scene.text(x, y + 18, words, { colour: ink.soft, anchor: "middle" });
}

/** Labels that stand aslant need room below. */
export function makeRoom(frame: Frame, axis: Axis): void {
  frame.height += axis.slant;
}

export interface LegendEntry {
  label: string;
  look: Look;
}

/** Draws a legend in lines of at most `width`; its height. */
export function drawLegend(scene: Scene, entries: LegendEntry[], width: number, ink: Ink): number {
  const samples = entries.map(({ label, look }): Sample => ({
    label,
    draw: (x, y) => drawSample(scene, x, y, look),
  }));
  return drawSamples(scene, samples, width, ink);
}

/** A label, and what draws a piece of what it stands for. */
export interface Sample {
  label: string;
  draw: (x: number, y: number) => void;
}

/** The same with any pieces. */
export function drawSamples(scene: Scene, entries: Sample[], width: number, ink: Ink): number {
  let [x, y] = [0, 12];
  for (const { label, draw } of entries) {
    const needed = 30 + label.length * 6.8 + 18;
    if (x > 0 && x + needed > width) [x, y] = [0, y + 20];
    draw(x, y - 4);
    scene.text(x + 28, y, label, { colour: ink.text });
    x += needed;
  }
  return entries.length > 0 ? y + 14 : 0;
}

/** A piece of a curve, as the legend has it. */
export function drawSample(scene: Scene, x: number, y: number, { colour, dash, marker }: Look): void {
  scene.path(`M${x} ${y}h22`, { colour, width: 2, dash });
  scene.path(markerPath(marker, x + 11, y, 3.6), { colour, width: 0, fill: colour });
}

function panelTitle(groups: Groups, r: number, c: number): string {
  const words: string[] = [];
  const { rows, columns } = groups.roles;
  if (rows) words.push(levelText(rows, groups.levels.rows[r]));
  if (columns) words.push(levelText(columns, groups.levels.columns[c]));
  return words.join(" · ");
}

/** Lines of one pixel are sharp at halves. */
function round(value: number): number {
  return Math.round(value * 2) / 2;
}
