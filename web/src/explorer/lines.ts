// Curves: a response along an axis, or the distribution of its values.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { looks, type Look, type Theme } from "../ui/palette";
import { markerPath, type Scene } from "../ui/scene";
import { type Axis, leftRoom, levelAxis, placeOn, placesOfLevels, valueAxis } from "./axes";
import { type Frame, frameOf, makeRoom, type Mark, type Panel } from "./frame";
import { cellAt } from "./group";
import type { Picture } from "./picture";
import { distribution } from "./spread";

/** Curves of one panel over the same places. */
export interface Curves {
  xs: number[];
  /** By curve: null where it has a gap. */
  values: (number | null)[][];
  lows: (number | null)[][];
  highs: (number | null)[][];
  /** Values that no curve goes through: a pattern of their runs met no packet. */
  open?: (number | null)[][];
}

export interface LineChart {
  picture: Picture;
  frame: Frame;
  x: Axis;
  y: Axis;
  panels: Curves[];
  looks: Look[];
  marks: Mark[];
  /** Steps from value to value; markers at each value. */
  steps: boolean;
  markers: boolean;
  /** Levels are names: what lies between them means nothing. */
  names: boolean;
}

export function lineChart(picture: Picture, width: number, theme: Theme): LineChart {
  const { state, groups } = picture;
  const spread = state.kind === "spread";
  const found = spread ? distribution(picture) : null;
  const panels = found ? found.panels : curvesOf(picture);
  const zoomX = state.zoom ? ([state.zoom[0], state.zoom[1]] as [number, number]) : null;
  const zoomY = state.zoom ? ([state.zoom[2], state.zoom[3]] as [number, number]) : null;
  const y = valueAxis(
    picture.measure === "share" && !state.logY ? [0, 1] : extent(panels, state.logY),
    found ? "share" : picture.unit,
    found?.title ?? picture.title,
    {
      log: state.logY && !found,
      zoom: zoomY,
      room: groups.levels.rows.length * groups.levels.columns.length > 1 ? 4 : 7,
    },
  );
  const left = leftRoom(y, found ? null : groups.roles.x, groups.levels.x);
  const frame = frameOf(groups, width, left);
  const across = frame.panels[0].box.w;
  const x = found
    ? valueAxis(found.range, picture.unit, picture.title, { log: state.logX, zoom: zoomX, room: across / 80 })
    : levelAxis(groups.roles.x, groups.levels.x, { log: state.logX, zoom: zoomX, width: across });
  makeRoom(frame, x);
  const colour = groups.roles.colour;
  const all = looks(colour?.labels.length ?? 1, (colour?.values ?? null) !== null, theme);
  const chart: LineChart = {
    picture,
    frame,
    x,
    y,
    panels,
    // A colour stays with its level, whatever the filters leave.
    looks: groups.levels.colour.map((level) => all[Math.max(0, level)]),
    marks: [],
    steps: spread,
    markers: !spread && groups.levels.x.length <= 60,
    names: !spread && groups.roles.x?.values === null,
  };
  chart.marks = marksOf(chart);
  return chart;
}

/** Draws curves, bands and markers onto paper. */
export function drawLines(scene: Scene, chart: LineChart): void {
  chart.frame.panels.forEach((panel, at) => {
    const curves = chart.panels[at];
    scene.clipped(panel.box, () => {
      curves.values.forEach((values, k) => {
        const { colour, dash } = chart.looks[k];
        const place = placer(chart, panel);
        if (!chart.steps && !chart.names)
          scene.path(bandPath(curves, k, place), {
            colour,
            width: 0,
            fill: colour,
            opacity: bandOpacity(chart),
          });
        if (chart.names) scene.path(whiskerPath(curves, k, place), { colour, width: 1.5 });
        const faint = chart.names ? { opacity: 0.45 } : {};
        scene.path(linePath(curves.xs, values, place, chart.steps), { colour, width: 1.8, dash, ...faint });
      });
    });
    for (const mark of chart.marks) {
      if (mark.panel !== at || !(chart.markers || mark.open)) continue;
      const { colour, marker } = chart.looks[mark.places.colour];
      const path = markerPath(marker, mark.px, mark.py, radiusOf(chart));
      scene.path(path, mark.open ? { colour, width: OPEN } : { colour, width: 0, fill: colour });
    }
  });
}

/** Many bands over each other would hide what is below them. */
function bandOpacity(chart: LineChart): number {
  return Math.max(0.05, Math.min(0.18, 0.9 / chart.looks.length));
}

/** The last two digits of a colour: its opacity. */
function byte(opacity: number): string {
  return Math.round(opacity * 255)
    .toString(16)
    .padStart(2, "0");
}

/** How thick the outline of an open marker is. */
const OPEN = 1.2;

/** Small panels have small markers. */
function radiusOf(chart: LineChart): number {
  return chart.frame.panels.length > 1 ? 2.4 : 3.4;
}

/** The curves of each panel on the screen; `zoomed` is told what part somebody has chosen. */
export function mountLines(
  host: HTMLElement,
  chart: LineChart,
  theme: Theme,
  zoomed: (zoom: number[]) => void,
): uPlot[] {
  const sync = uPlot.sync(`rexmit-${++mounted}`);
  return chart.frame.panels.map((panel, at) => {
    const place = document.createElement("div");
    place.className = "plot";
    place.style.left = `${panel.box.x - ROOM}px`;
    place.style.top = `${panel.box.y - ROOM}px`;
    host.append(place);
    return new uPlot(
      options(chart, panel, at, { theme, zoomed, key: sync.key }),
      dataOf(chart.panels[at]),
      place,
    );
  });
}

let mounted = 0;

/** Markers at the edge of a plot reach over it. */
const ROOM = 8;

interface Wiring {
  theme: Theme;
  zoomed: (zoom: number[]) => void;
  key: string;
}

function options(chart: LineChart, panel: Panel, at: number, { zoomed, key }: Wiring): uPlot.Options {
  const curves = chart.panels[at];
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  curves.values.forEach((_, k) => {
    const { colour, dash } = chart.looks[k];
    const paths = chart.steps ? uPlot.paths.stepped!({ align: 1 }) : uPlot.paths.linear!();
    const stroke = chart.names ? `${colour}72` : colour;
    series.push({ stroke, width: 1.8, dash, paths, points: { show: false }, pxAlign: 0 });
    const bare = {
      stroke: "transparent",
      width: 0,
      paths: uPlot.paths.linear!(),
      points: { show: false },
      pxAlign: 0,
    };
    series.push({ ...bare }, { ...bare });
    if (!chart.steps && !chart.names)
      bands.push({ series: [3 * k + 3, 3 * k + 2], fill: colour + byte(bandOpacity(chart)) });
  });
  return {
    // Where our markers are, not at the next whole pixel.
    pxAlign: 0,
    width: panel.box.w + 2 * ROOM,
    height: panel.box.h + 2 * ROOM,
    padding: [ROOM, ROOM, ROOM, ROOM],
    legend: { show: false },
    scales: {
      x: scaleOf(chart.x),
      y: scaleOf(chart.y),
    },
    axes: [{ show: false }, { show: false }],
    series,
    bands,
    cursor: {
      points: { show: false },
      sync: { key, setSeries: false },
      drag: { x: true, y: true, uni: 24, dist: 6, setScale: false },
    },
    hooks: {
      draw: [(plot): void => drawOver(plot, chart, at)],
      setSelect: [
        (plot): void => {
          const { left, top, width, height } = plot.select;
          if (width < 4 && height < 4) return;
          const [x0, x1] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
          const [y0, y1] = [plot.posToVal(top + height, "y"), plot.posToVal(top, "y")];
          // Afterwards: this plot goes with its zoom, and must have let go of the mouse by then.
          setTimeout(() => zoomed([x0, x1, y0, y1]));
        },
      ],
    },
  };
}

function scaleOf(axis: Axis): uPlot.Scale {
  return { time: false, distr: axis.log ? 3 : 1, log: 10, auto: false, range: [axis.low, axis.high] };
}

function dataOf(curves: Curves): uPlot.AlignedData {
  const columns = curves.values.flatMap((values, k) => [values, curves.lows[k], curves.highs[k]]);
  return [curves.xs, ...columns] as uPlot.AlignedData;
}

/** Markers and whiskers, which the library has not in our shapes. */
function drawOver(plot: uPlot, chart: LineChart, at: number): void {
  const { ctx, bbox } = plot;
  const { box } = chart.frame.panels[at];
  const scale = bbox.width / box.w;
  ctx.save();
  ctx.setTransform(scale, 0, 0, scale, bbox.left - box.x * scale, bbox.top - box.y * scale);
  if (chart.names) {
    chart.panels[at].values.forEach((_, k) => {
      ctx.strokeStyle = chart.looks[k].colour;
      ctx.lineWidth = 1.5;
      ctx.stroke(new Path2D(whiskerPath(chart.panels[at], k, placer(chart, chart.frame.panels[at]))));
    });
  }
  for (const mark of chart.marks) {
    if (mark.panel !== at || !(chart.markers || mark.open)) continue;
    const { colour, marker } = chart.looks[mark.places.colour];
    const path = new Path2D(markerPath(marker, mark.px, mark.py, radiusOf(chart)));
    ctx.fillStyle = ctx.strokeStyle = colour;
    ctx.lineWidth = OPEN;
    if (mark.open) ctx.stroke(path);
    else ctx.fill(path);
  }
  ctx.restore();
}

function curvesOf(picture: Picture): Curves[] {
  const { groups, summary, state, unreached } = picture;
  const { rows, columns, colour, x } = groups.levels;
  const dim = groups.roles.x;
  const places = dim ? placesOfLevels(dim, x, state.logX).places : [0];
  const along = places.map((_, at) => at).sort((a, b) => places[a] - places[b]);
  const take = (column: Float64Array, open: boolean, ...[r, c, k]: number[]): (number | null)[] =>
    along.map((at) => {
      const cell = cellAt(groups, r, c, k, at);
      const value = unreached[cell] > 0 === open ? column[cell] : Number.NaN;
      return Number.isNaN(value) || (state.logY && value <= 0) ? null : value;
    });
  const panels: Curves[] = [];
  for (let r = 0; r < rows.length; r++)
    for (let c = 0; c < columns.length; c++) {
      const each = (column: Float64Array, open = false): (number | null)[][] =>
        colour.map((_, k) => take(column, open, r, c, k));
      panels.push({
        xs: along.map((at) => places[at]),
        values: each(summary.value),
        lows: each(summary.low),
        highs: each(summary.high),
        open: each(summary.value, true),
      });
    }
  return panels;
}

function marksOf(chart: LineChart): Mark[] {
  const { picture, frame } = chart;
  const { groups } = picture;
  const marks: Mark[] = [];
  // Curves rise along the axis, levels come in the order of the design.
  const dim = chart.steps ? null : groups.roles.x;
  const places = dim ? placesOfLevels(dim, groups.levels.x, chart.x.log).places : [];
  const order = places.map((_, at) => at).sort((a, b) => places[a] - places[b]);
  frame.panels.forEach((panel, at) => {
    const place = placer(chart, panel);
    const curves = chart.panels[at];
    curves.values.forEach((values, k) =>
      values.forEach((closed, i) => {
        const value = closed ?? curves.open?.[k][i] ?? null;
        if (value === null) return;
        const [px, py] = place(curves.xs[i], value);
        if (!within(panel, px, py)) return;
        const x = dim ? order[i] : 0;
        const cell = cellAt(groups, panel.r, panel.c, k, x);
        const places = { rows: panel.r, columns: panel.c, colour: k, x };
        marks.push({ places, cell, panel: at, px, py, open: closed === null });
      }),
    );
  });
  return marks;
}

function within({ box }: Panel, px: number, py: number): boolean {
  return px >= box.x - 1 && px <= box.x + box.w + 1 && py >= box.y - 1 && py <= box.y + box.h + 1;
}

type Placer = (x: number, y: number) => [number, number];

function placer(chart: LineChart, { box }: Panel): Placer {
  return (x, y) => [box.x + box.w * placeOn(chart.x, x), box.y + box.h * (1 - placeOn(chart.y, y))];
}

function linePath(xs: number[], values: (number | null)[], place: Placer, steps: boolean): string {
  let d = "";
  let before: [number, number] | null = null;
  values.forEach((value, at) => {
    if (value === null) {
      before = null;
      return;
    }
    const [px, py] = place(xs[at], value);
    if (!before) d += `M${fixed(px)} ${fixed(py)}`;
    else d += steps ? `H${fixed(px)}V${fixed(py)}` : `L${fixed(px)} ${fixed(py)}`;
    before = [px, py];
  });
  return d;
}

function bandPath(curves: Curves, k: number, place: Placer): string {
  let d = "";
  let run: number[] = [];
  const close = (): void => {
    if (run.length > 1) {
      const point = (ends: (number | null)[], at: number): string =>
        place(curves.xs[at], ends[at]!).map(fixed).join(" ");
      const there = run.map((at) => point(curves.highs[k], at));
      const back = [...run].reverse().map((at) => point(curves.lows[k], at));
      d += `M${[...there, ...back].join("L")}Z`;
    }
    run = [];
  };
  curves.values[k].forEach((_, at) => {
    if (curves.lows[k][at] === null || curves.highs[k][at] === null) close();
    else run.push(at);
  });
  close();
  return d;
}

function whiskerPath(curves: Curves, k: number, place: Placer): string {
  return curves.xs
    .map((x, at) => {
      const [low, high] = [curves.lows[k][at], curves.highs[k][at]];
      if (low === null || high === null || low === high) return "";
      const [px, bottom] = place(x, low);
      const top = place(x, high)[1];
      return `M${fixed(px - 4)} ${fixed(top)}h8M${fixed(px)} ${fixed(top)}V${fixed(bottom)}M${fixed(px - 4)} ${fixed(bottom)}h8`;
    })
    .join("");
}

function extent(panels: Curves[], log: boolean): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { values, lows, highs, open } of panels)
    for (const columns of [values, lows, highs, open ?? []])
      for (const column of columns)
        for (const value of column) {
          if (value === null || (log && value <= 0)) continue;
          if (value < low) low = value;
          if (value > high) high = value;
        }
  return [low, high];
}

function fixed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
