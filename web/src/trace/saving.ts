// What is in view as a file: SVG, or PNG at twice the size.

import { drawPanel, type Shown } from "./chart";
import type { Layer } from "./layer";
import { entries } from "./legend";
import { lookOf } from "./look";
import type { Panel } from "./panels";
import { CanvasPen, SvgPen, type Pen } from "./pen";
import { MARGIN } from "./sheet";

/** Graphs that stand under each other, with their heights as on the screen. */
export interface Column {
  layers: Layer[];
  heights: { panel: Panel; height: number }[];
  width: number;
}

const HEAD = 44;
const LINE = 18;
const PNG_SCALE = 2;

/** The files are light, as papers are. */
export function save(form: "svg" | "png", columns: Column[], shown: Shown): void {
  const name = fileName(columns, shown);
  if (form === "svg") {
    download(new Blob([svg(columns, shown)], { type: "image/svg+xml" }), `${name}.svg`);
    return;
  }
  const canvas = document.createElement("canvas");
  const { width, height } = size(columns);
  canvas.width = width * PNG_SCALE;
  canvas.height = height * PNG_SCALE;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser has no canvas");
  context.scale(PNG_SCALE, PNG_SCALE);
  drawAll(new CanvasPen(context), columns, shown);
  canvas.toBlob((blob) => blob && download(blob, `${name}.png`), "image/png");
}

/** The SVG file as text. */
export function svg(columns: Column[], shown: Shown): string {
  const pen = new SvgPen();
  drawAll(pen, columns, shown);
  const { width, height } = size(columns);
  return pen.document(width, height, titleOf(columns[0].layers[0]));
}

/** A name that says what is in the file: `rexmit-run-27-1-server-0.5-2s`. */
export function fileName(columns: Column[], shown: Shown): string {
  const layers = columns.flatMap((column) => column.layers);
  const parts = layers.map(({ trace, view }) => {
    const what =
      trace.head.run === null ? trace.head.title.replace(/\.[a-z]+$/i, "") : `run-${trace.head.run}`;
    return `${what}-${view.head.key}`;
  });
  const { t0, t1 } = shown.range;
  const decimals = Math.min(Math.max(2 - Math.floor(Math.log10(t1 - t0)), 0), 6);
  const time = [t0, t1].map((t) => Math.max(t, 0).toFixed(decimals)).join("-");
  return `rexmit-${parts.join("-beside-")}-${time}s`.replace(/[^A-Za-z0-9._-]+/g, "_").slice(0, 120);
}

function size(columns: Column[]): { width: number; height: number; legend: ReturnType<typeof flow> } {
  const width = Math.max(
    columns.reduce((sum, column) => sum + column.width, 0),
    480,
  );
  const graphs = Math.max(...columns.map((one) => one.heights.reduce((sum, { height }) => sum + height, 0)));
  const legend = flow(columns, width);
  return { width, height: HEAD + graphs + legend.rows * LINE + 10, legend };
}

function drawAll(pen: Pen, given: Column[], shown: Shown): void {
  const columns = given.map((column) => ({
    ...column,
    layers: column.layers.map((layer) => ({ ...layer, look: lookOf(false, layer.look.second) })),
  }));
  const { width, height, legend } = size(columns);
  const look = lookOf(false);
  pen.fill({ left: 0, top: 0, width, height }, look.ground);
  const light = { ...shown, all: columns.flatMap((column) => column.layers) };
  let left = 0;
  for (const column of columns) {
    column.layers.forEach((layer, at) =>
      pen.text(left + MARGIN.left, 18 + at * 16, titleOf(layer), {
        colour: at ? layer.look.names.segment : look.ink,
        size: 13,
        bold: true,
      }),
    );
    let top = HEAD;
    column.heights.forEach(({ panel, height: tall }, at) => {
      const lowest = at === column.heights.length - 1;
      drawPanel(pen, panel, column.layers, light, { left, top, width: column.width, height: tall, lowest });
      top += tall;
    });
    left += column.width;
  }
  const top = height - legend.rows * LINE - 4;
  for (const { x, row, entry } of legend.places) {
    if (shown.hidden.has(entry.key)) continue;
    const y = top + row * LINE + 12;
    pen.text(x, y, entry.sign, { colour: entry.colour, size: 12, bold: true });
    if (entry.second) pen.text(x + 9, y, entry.sign, { colour: entry.second, size: 12, bold: true });
    pen.text(x + 20, y, entry.label, { colour: look.ink, size: 11.5 });
  }
}

/** Where the entries of the legend stand, in rows. */
function flow(
  columns: Column[],
  width: number,
): { rows: number; places: { x: number; row: number; entry: ReturnType<typeof entries>[number] }[] } {
  const places = [];
  let [x, row] = [MARGIN.left, 0];
  const seen = new Set<string>();
  for (const entry of columns.flatMap((column) => entries(column.layers))) {
    if (seen.has(entry.key)) continue;
    seen.add(entry.key);
    const wide = 36 + 6.2 * entry.label.length;
    if (x + wide > width && x > MARGIN.left) [x, row] = [MARGIN.left, row + 1];
    places.push({ x, row, entry });
    x += wide;
  }
  return { rows: row + 1, places };
}

function titleOf({ trace, view }: Layer): string {
  return trace.head.run === null
    ? `${trace.head.title}: ${view.head.title}`
    : `${trace.head.title}, ${view.head.title}`;
}

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
