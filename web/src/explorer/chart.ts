// One chart of a picture: on the screen, and on paper.
import type { Theme } from "../ui/palette";
import { INK, Scene } from "../ui/scene";
import { boxPlot, type CellChart, heatMap, SCALE_HEIGHT } from "./cells";
import { drawFrame, drawLegend, type Frame, type LegendEntry, type Mark } from "./frame";
import { drawLines, lineChart, type LineChart, mountLines } from "./lines";
import { levelLabel, type Picture } from "./picture";

export interface Chart {
  frame: Frame;
  marks: Mark[];
  legend: LegendEntry[];
  /** Whether the nearest mark is meant wherever the pointer is, or only the one under it. */
  near: boolean;
  destroy(): void;
}

export interface Paper {
  svg: string;
  width: number;
  height: number;
}

/** Puts the chart into `host`, `width` pixels wide. */
export function mountChart(
  host: HTMLElement,
  picture: Picture,
  { width, theme, zoomed }: { width: number; theme: Theme; zoomed: (zoom: number[]) => void },
): Chart {
  const made = make(picture, width, theme);
  const { frame } = made.chart;
  const height = frame.height + (made.kind === "heat" ? SCALE_HEIGHT : 0);
  const scene = new Scene(frame.width, height);
  drawFrame(scene, frame, { x: made.chart.x, y: made.chart.y, grid: made.kind !== "heat" }, INK[theme]);
  if (made.kind !== "lines") made.chart.draw(scene, theme);
  host.style.height = `${height}px`;
  host.innerHTML = scene.toString();
  const plots = made.kind === "lines" ? mountLines(host, made.chart, theme, zoomed) : [];
  return {
    frame,
    marks: made.chart.marks,
    legend: legendOf(made.chart),
    near: made.kind === "lines",
    destroy: () => plots.forEach((plot) => plot.destroy()),
  };
}

/** The chart as a drawing that stands alone: with its title, caption and legend. */
export function paperOf(picture: Picture, title: string, theme: Theme, width = 900): Paper {
  const made = make(picture, width - 2 * MARGIN, theme);
  const { frame, x, y } = made.chart;
  const legend = legendOf(made.chart);
  const drawing: Drawing = {
    caption: picture.caption,
    width: frame.width,
    height: frame.height + (made.kind === "heat" ? SCALE_HEIGHT : 0),
    legend: (scene) => drawLegend(scene, legend, frame.width, INK[theme]),
    draw: (scene) => {
      drawFrame(scene, frame, { x, y, grid: made.kind !== "heat" }, INK[theme]);
      if (made.kind === "lines") drawLines(scene, made.chart);
      else made.chart.draw(scene, theme);
    },
  };
  return onPaper(drawing, title, theme);
}

/** What a drawing that stands alone is made of. */
export interface Drawing {
  caption: string;
  width: number;
  height: number;
  /** Draws the legend, and says how high it is. */
  legend: (scene: Scene) => number;
  draw: (scene: Scene) => void;
}

/** A drawing with a title, its caption and its legend. */
export function onPaper(drawing: Drawing, title: string, theme: Theme): Paper {
  const ink = INK[theme];
  const lines = wrapped(drawing.caption, Math.floor((drawing.width - 10) / 6.1));
  const legendHeight = drawing.legend(new Scene(0, 0));
  const top = MARGIN + 26 + lines.length * 17 + 14;
  const height = top + legendHeight + drawing.height + MARGIN;
  const scene = new Scene(drawing.width + 2 * MARGIN, Math.ceil(height));
  scene.text(MARGIN, MARGIN + 16, title, { colour: ink.text, weight: 650, size: 18 });
  lines.forEach((line, at) => scene.text(MARGIN, MARGIN + 40 + at * 17, line, { colour: ink.soft }));
  scene.shifted(MARGIN, top, () => drawing.legend(scene));
  scene.shifted(MARGIN, top + legendHeight, () => drawing.draw(scene));
  return { svg: scene.toString(ink.paper), width: scene.width, height: scene.height };
}

/** Around a drawing that stands alone. */
export const MARGIN = 22;

type Made = { kind: "lines"; chart: LineChart } | { kind: "heat" | "box"; chart: CellChart };

function make(picture: Picture, width: number, theme: Theme): Made {
  const { kind, shape } = picture.state;
  if (kind === "heat") return { kind: "heat", chart: heatMap(picture, width) };
  if (kind === "spread" && shape === "box") return { kind: "box", chart: boxPlot(picture, width, theme) };
  return { kind: "lines", chart: lineChart(picture, width, theme) };
}

function legendOf(chart: LineChart | CellChart): LegendEntry[] {
  const { colour } = chart.picture.groups.roles;
  if (!colour || chart.looks.length === 0) return [];
  const { levels } = chart.picture.groups;
  return levels.colour.map((level, at) => ({ label: levelLabel(colour, level), look: chart.looks[at] }));
}

function wrapped(text: string, most: number): string[] {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line && line.length + word.length + 1 > most) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
