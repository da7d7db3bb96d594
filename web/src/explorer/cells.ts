// Heat maps and boxes: charts of outlines rather than of curves.
import { hex, inkOn, type Look, looks, channels, type Theme } from "../ui/palette";
import { type Box, INK, type Scene } from "../ui/scene";
import { linearTicks, logTicks, tickLabels } from "../ui/ticks";
import { plain, scaleOf } from "../ui/units";
import { viridis } from "../ui/viridis";
import { type Axis, endsOf, leftRoom, levelAxis, placeOn, valueAxis, widest } from "./axes";
import { type Frame, frameOf, makeRoom, type Mark } from "./frame";
import { cellAt, valuesOf } from "./group";
import { levelLabel, type Picture } from "./picture";
import { quantile } from "./stats";

export interface CellChart {
  picture: Picture;
  frame: Frame;
  x: Axis;
  y: Axis;
  marks: Mark[];
  looks: Look[];
  /** Draws the outlines. */
  draw: (scene: Scene, theme: Theme) => void;
}

/** The response as a colour, for each pair of levels. */
export function heatMap(picture: Picture, width: number): CellChart {
  const { groups, summary } = picture;
  const up = groups.roles.colour;
  const labels = groups.levels.colour.map((level) => (up ? levelLabel(up, level) : ""));
  const left = Math.min(180, Math.max(44, widest(labels) + 14));
  const frame = frameOf(groups, width, left);
  const { h, w } = frame.panels[0].box;
  const x = bandAxis(
    levelAxis(nameOnly(groups.roles.x), groups.levels.x, { log: false, width: w }),
    groups.levels.x,
  );
  const y = bandAxis(
    levelAxis(nameOnly(up), groups.levels.colour, { log: false, width: h * 4 }),
    groups.levels.colour,
  );
  y.title = up ? up.title : picture.title;
  makeRoom(frame, x);
  const chart: CellChart = { picture, frame, x, y, marks: [], looks: [], draw: () => undefined };
  frame.panels.forEach(({ box, r, c }, panel) => {
    const [wide, high] = [box.w / groups.levels.x.length, box.h / groups.levels.colour.length];
    groups.levels.colour.forEach((_, k) =>
      groups.levels.x.forEach((_, at) => {
        const cell = cellAt(groups, r, c, k, at);
        if (groups.start[cell] === groups.start[cell + 1]) return;
        const outline = { x: box.x + at * wide, y: box.y + box.h - (k + 1) * high, w: wide, h: high };
        chart.marks.push({
          places: { rows: r, columns: c, colour: k, x: at },
          cell,
          panel,
          px: outline.x + wide / 2,
          py: outline.y + high / 2,
          box: outline,
        });
      }),
    );
  });
  const shades = shadesOf(picture, summary.value);
  chart.draw = (scene, theme) => drawHeat(scene, chart, shades, theme);
  return chart;
}

/** Boxes from quartile to quartile, with whiskers to the values within 1.5 times their distance (Tukey). */
export function boxPlot(picture: Picture, width: number, theme: Theme): CellChart {
  const { groups, state, values } = picture;
  const sorted = Array.from({ length: groups.start.length - 1 }, (_, cell) => valuesOf(groups, cell, values));
  const ends = sorted.filter((one) => one.length > 0).flatMap((one) => [one[0], one[one.length - 1]]);
  const range = endsOf(ends);
  const y = valueAxis(range, picture.unit, picture.title, { log: state.logY, room: 7 });
  const along = groups.levels.x;
  const names = nameOnly(groups.roles.x);
  const frame = frameOf(groups, width, leftRoom(y, names, along));
  const x = bandAxis(levelAxis(names, along, { log: false, width: frame.panels[0].box.w }), along);
  const colour = groups.roles.colour;
  const all = looks(colour?.labels.length ?? 1, (colour?.values ?? null) !== null, theme);
  makeRoom(frame, x);
  const chart: CellChart = {
    picture,
    frame,
    x,
    y,
    marks: [],
    looks: groups.levels.colour.map((level) => all[Math.max(0, level)]),
    draw: (scene) => drawBoxes(scene, chart, sorted),
  };
  frame.panels.forEach(({ box, r, c }, panel) => {
    const band = box.w / along.length;
    const wide = Math.min(46, (band * 0.8) / groups.levels.colour.length);
    along.forEach((_, at) =>
      groups.levels.colour.forEach((_, k) => {
        const cell = cellAt(groups, r, c, k, at);
        const five = fiveOf(sorted[cell]);
        if (!five) return;
        const px = box.x + band * (at + 0.5) + (k - (groups.levels.colour.length - 1) / 2) * wide;
        const level = (value: number): number =>
          box.y + box.h * (1 - Math.min(1, Math.max(0, placeOn(y, y.log ? Math.max(value, y.low) : value))));
        const [top, bottom] = [level(five[3]), level(five[1])];
        chart.marks.push({
          places: { rows: r, columns: c, colour: k, x: at },
          cell,
          panel,
          px,
          py: level(five[2]),
          box: { x: px - wide * 0.42, y: top, w: wide * 0.84, h: Math.max(3, bottom - top) },
        });
      }),
    );
  });
  return chart;
}

/** Lower whisker, quartile, median, quartile, upper whisker; null of nothing. */
export function fiveOf(sorted: Float64Array): number[] | null {
  if (sorted.length === 0) return null;
  const [low, middle, high] = [0.25, 0.5, 0.75].map((p) => quantile(sorted, p));
  const reach = 1.5 * (high - low);
  const inside = sorted.filter((value) => value >= low - reach && value <= high + reach);
  return [Math.min(low, inside[0]), low, middle, high, Math.max(high, inside[inside.length - 1])];
}

interface Shades {
  colourOf: (value: number, theme: Theme) => string;
  low: number;
  high: number;
  /** Whether steps of colour are ratios. */
  log: boolean;
  /** What the scale says, where the response has one of its own. */
  title?: string;
}

/** Shades of viridis; to both sides of the reference where values are held against one. */
export function shadesOf(picture: Picture, values: Float64Array): Shades {
  const { scale } = picture.column;
  if (scale && !picture.state.against) {
    const { title, low, high } = scale;
    const colourOf = (value: number): string => viridis((value - low) / (high - low));
    return { colourOf, low, high, log: false, title };
  }
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const { against, logY } = picture.state;
  const log = against?.how === "ratio" || (logY && !against);
  for (const value of values) {
    if (Number.isNaN(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) [low, high] = [0, 1];
  const scaled = (value: number): number => (log ? Math.log(value) : value);
  if (against) {
    const centre = against.how === "ratio" ? 1 : 0;
    const reach =
      Math.max(Math.abs(scaled(low) - scaled(centre)), Math.abs(scaled(high) - scaled(centre))) || 1;
    const colourOf = (value: number, theme: Theme): string =>
      twoSided((scaled(value) - scaled(centre)) / reach, theme);
    return { colourOf, low, high, log };
  }
  const span = scaled(high) - scaled(low) || 1;
  return { colourOf: (value) => viridis((scaled(value) - scaled(low)) / span), low, high, log };
}

/** Blue below, vermilion above, the paper's grey between. */
function twoSided(share: number, theme: Theme): string {
  const middle = channels(theme === "light" ? "#f1f1f1" : "#33373e");
  const end = channels(share < 0 ? "#0072b2" : "#d55e00");
  return hex(middle.map((channel, at) => channel + (end[at] - channel) * Math.min(1, Math.abs(share))));
}

function drawHeat(scene: Scene, chart: CellChart, shades: Shades, theme: Theme): void {
  const { summary, unreached } = chart.picture;
  const ink = INK[theme];
  // Cells of one colour in one outline: a million elements would be slow.
  const outlines = new Map<string, string>();
  const frames = new Map<string, string>();
  for (const { cell, box } of chart.marks) {
    const value = summary.value[cell];
    const colour = Number.isNaN(value) ? ink.grid : shades.colourOf(value, theme);
    const { x, y, w, h } = box!;
    const gap = Math.min(w, h) > 12 ? 1 : 0;
    // A cell whose patterns met no packet is a frame, as markers are open there.
    const [into, inset] = unreached[cell] > 0 ? [frames, 1] : [outlines, 0];
    const [wide, high] = [w - gap - 2 * inset, h - gap - 2 * inset];
    const outline = `M${fixed(x + inset)} ${fixed(y + inset)}h${fixed(wide)}v${fixed(high)}h${fixed(-wide)}Z`;
    into.set(colour, (into.get(colour) ?? "") + outline);
  }
  for (const [colour, d] of outlines) scene.path(d, { colour, width: 0, fill: colour });
  for (const [colour, d] of frames) scene.path(d, { colour, width: 2 });
  annotate(scene, chart, shades, theme);
  drawScale(scene, chart, shades, theme);
}

/** Numbers in the cells, where they fit. */
function annotate(scene: Scene, chart: CellChart, shades: Shades, theme: Theme): void {
  const { summary, unit, state, unreached } = chart.picture;
  const first = chart.marks[0]?.box;
  if (!first || first.w < 38 || first.h < 17) return;
  const scale =
    state.against?.how === "ratio"
      ? 1
      : scaleOf(unit, Math.max(Math.abs(shades.low), Math.abs(shades.high))).factor;
  for (const { cell, px, py } of chart.marks) {
    const value = summary.value[cell];
    if (Number.isNaN(value))
      scene.text(px, py + 4, "none", { colour: INK[theme].soft, anchor: "middle", size: 11 });
    else {
      const ink = unreached[cell] > 0 ? INK[theme].soft : inkOn(shades.colourOf(value, theme));
      scene.text(px, py + 4, plain(value / scale, 3), { colour: ink, anchor: "middle", size: 11 });
    }
  }
}

/** The scale of colours, below the panels at the right. */
function drawScale(scene: Scene, chart: CellChart, shades: Shades, theme: Theme): void {
  const { picture, frame } = chart;
  const ink = INK[theme];
  const wide = 4 * Math.floor(Math.min(280, frame.width * 0.4) / 4);
  const box: Box = { x: Math.floor(frame.width - 12 - wide), y: frame.height + 14, w: wide, h: 10 };
  const { low, high, log } = shades;
  const valueAt = (share: number): number =>
    log && low > 0 ? low * (high / low) ** share : low + (high - low) * share;
  // Whole pixels beside each other leave no seams.
  for (let at = 0; at < wide; at += 4)
    scene.rect({ x: box.x + at, y: box.y, w: 4, h: box.h }, shades.colourOf(valueAt((at + 2) / wide), theme));
  const axis = { low, high, log: log && low > 0, labels: [], ticks: [], title: "", slant: 0 };
  const ticks = (axis.log ? logTicks(low, high, 6) : linearTicks(low, high, 4)).filter(
    (tick) => tick >= low && tick <= high,
  );
  const { texts, unit } = tickLabels(ticks, picture.unit);
  let end = Number.NEGATIVE_INFINITY;
  ticks.forEach((tick, at) => {
    const place = high > low ? wide * placeOn(axis, tick) : wide / 2;
    const half = texts[at].length * 3.5;
    if (place - half < end + 6) return;
    end = place + half;
    scene.path(`M${fixed(box.x + place)} ${box.y + box.h}v4`, { colour: ink.axis, width: 1 });
    scene.text(box.x + place, box.y + 26, texts[at], { colour: ink.soft, anchor: "middle" });
  });
  const title = shades.title ?? (unit ? `${picture.title} (${unit})` : picture.title);
  scene.text(box.x - 12, box.y + 10, title, { colour: ink.text, weight: 600, size: 13, anchor: "end" });
}

/** How much room the scale of colours takes below the panels. */
export const SCALE_HEIGHT = 48;

function drawBoxes(scene: Scene, chart: CellChart, sorted: Float64Array[]): void {
  const { frame, y } = chart;
  for (const { cell, px, panel, places, box } of chart.marks) {
    const five = fiveOf(sorted[cell])!;
    const { colour } = chart.looks[places.colour];
    const area = frame.panels[panel].box;
    const level = (value: number): string =>
      fixed(area.y + area.h * (1 - placeOn(y, y.log ? Math.max(value, y.low) : value)));
    const { x, y: top, w, h } = box!;
    const whiskers = `M${fixed(px)} ${level(five[4])}V${fixed(top)}M${fixed(px)} ${fixed(top + h)}V${level(five[0])}`;
    const outline = `M${fixed(x)} ${fixed(top)}h${fixed(w)}v${fixed(h)}h${fixed(-w)}Z`;
    const open = chart.picture.unreached[cell] > 0;
    if (!open) scene.path(outline, { colour, width: 0, fill: colour, opacity: 0.22 });
    scene.path(`${outline}${whiskers}`, { colour, width: 1.3, ...(open ? { dash: [3, 3] } : {}) });
    scene.path(`M${fixed(x)} ${level(five[2])}h${fixed(w)}`, { colour, width: 2.6 });
    const [values] = [sorted[cell]];
    const outside = values.filter((value) => value < five[0] || value > five[4]).slice(0, 200);
    for (const value of outside)
      scene.path(`M${fixed(px - 2)} ${level(value)}h4`, { colour, width: 1.6, opacity: 0.7 });
  }
}

type Named = Picture["groups"]["roles"]["x"];

/** A dimension whose levels stand side by side, whatever their values. */
function nameOnly(dim: Named): Named {
  return dim && { ...dim, labels: dim.labels.map((_, level) => levelLabel(dim, level)), values: null };
}

function bandAxis(axis: Axis, levels: number[]): Axis {
  return { ...axis, low: -0.5, high: levels.length - 0.5 };
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
