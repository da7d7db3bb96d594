// A column of graphs under one time axis, on a canvas each, which share the range of time with other columns.

import { element } from "./dom";
import { nearest, type Hit } from "./hit";
import type { Layer } from "./layer";
import { CanvasPen, type Box, type Pen } from "./pen";
import { fitted, PANELS, type Panel } from "./panels";
import type { Range } from "./ranges";
import { axes, fitting, inner, MARGIN, sheetOf, type Sheet } from "./sheet";

export interface Shown {
  range: Range;
  /** The layers of every column. */
  all: Layer[];
  hidden: ReadonlySet<string>;
  folded: ReadonlySet<string>;
}

interface Place {
  panel: Panel;
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  /** The values to which it was fitted when it was last drawn. */
  fitted: [number, number] | null;
}

/** The panels that these layers have something for. */
export function panelsOf(layers: Layer[], folded: ReadonlySet<string>): Panel[] {
  return PANELS.filter((panel) => !folded.has(panel.name) && layers.some((layer) => panel.has(layer)));
}

/** Draws one graph with its axes; values are fitted to all that stands beside it, so that both may be compared. */
export function drawPanel(
  pen: Pen,
  panel: Panel,
  layers: Layer[],
  shown: Shown,
  place: Box & { lowest: boolean; title?: string },
): Sheet {
  const sheet = scales(pen, panel, shown, place);
  const title = fitting(sheet.box.width, titles(panel.title(layers), panel.brief, place.title));
  axes(sheet, layers[0].look, title, place.lowest, !panel.band);
  pen.within(sheet.box, panel.name, () => {
    for (const layer of layers) panel.draw(sheet, layer);
  });
  return sheet;
}

/** What may stand over a graph, the longest first; `whose` is "run 8: path.delay 5 ms". */
function titles(title: string, brief: string, whose = ""): string[] {
  const name = whose.replace(/:.*$/, "");
  return whose ? [`${whose}: ${title}`, `${name}: ${title}`, `${name}: ${brief}`, name] : [title, brief];
}

function scales(
  pen: Pen,
  panel: Panel,
  shown: Shown,
  place: Box & { lowest: boolean },
  last: [number, number] | null = null,
): Sheet {
  const { t0, t1, y0, y1 } = shown.range;
  const values = panel.most
    ? (last ?? (panel.band ? [0, 1] : fitted(panel, shown.all, [t0, t1], shown.hidden)))
    : ([y0, y1] as const);
  return sheetOf(pen, inner(place, place.lowest), [t0, t1], values, shown.hidden);
}

export class Chart {
  readonly element = document.createElement("div");
  private readonly cursor = element("div", "rx-cursor");
  private readonly selection = element("div", "rx-frame");
  private places: Place[] = [];
  layers: Layer[] = [];

  constructor(private readonly listen: (chart: Chart, canvas: HTMLCanvasElement, panel: Panel) => void) {
    this.element.className = "rx-chart";
    this.cursor.hidden = this.selection.hidden = true;
  }

  /** Makes a canvas for each graph; `height` is that of all together. */
  build(layers: Layer[], folded: ReadonlySet<string>, height: number): void {
    this.layers = layers;
    const panels = panelsOf(layers, folded);
    if (panels.map((panel) => panel.name).join() !== this.places.map(({ panel }) => panel.name).join()) {
      this.element.replaceChildren(this.cursor, this.selection);
      this.places = panels.map((panel) => this.place(panel));
    }
    for (const { panel, canvas } of this.places)
      canvas.setAttribute(
        "aria-label",
        `${panel.title(layers)} over time. Arrows move, plus and minus zoom, 0 shows all, brackets go to retransmissions.`,
      );
    this.resize(height);
  }

  resize(height: number): void {
    const shares = this.places.reduce((sum, { panel }) => sum + panel.share, 0);
    const scale = window.devicePixelRatio || 1;
    this.places.forEach((place, at) => {
      const { name, share, band } = place.panel;
      const least = name === "sequence" ? 260 : 84;
      const foot = at === this.places.length - 1 ? MARGIN.foot - 5 : 0;
      const own = band
        ? MARGIN.top + band(this.layers) + 5
        : Math.max(Math.round((height * share) / shares), least);
      place.height = own + foot;
      place.canvas.style.height = `${place.height}px`;
      place.width = place.canvas.clientWidth || this.element.clientWidth || 600;
      place.canvas.width = Math.round(place.width * scale);
      place.canvas.height = Math.round(place.height * scale);
    });
  }

  /** Draws all graphs; `title` says whose they are where others stand beside. */
  paint(shown: Shown, title = ""): void {
    const scale = window.devicePixelRatio || 1;
    this.places.forEach((place, at) => {
      const { context, panel, width, height } = place;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      const pen = new CanvasPen(context);
      pen.fill({ left: 0, top: 0, width, height }, this.layers[0].look.ground);
      const drawn = drawPanel(pen, panel, this.layers, shown, { ...this.box(at), title: at ? "" : title });
      place.fitted = [drawn.y0, drawn.y1];
    });
  }

  /** A line at this place of the time axis, null for none. */
  point(x: number | null): void {
    this.cursor.hidden = x === null;
    if (x !== null) this.cursor.style.transform = `translateX(${x}px)`;
  }

  /** The frame that is being drawn on a canvas, null for none. */
  frame(canvas: HTMLCanvasElement, rect: DOMRect | null): void {
    this.selection.hidden = !rect;
    if (!rect) return;
    Object.assign(this.selection.style, {
      left: `${rect.x}px`,
      top: `${canvas.offsetTop + rect.y}px`,
      width: `${rect.width}px`,
      height: `${rect.height}px`,
    });
  }

  /** The scales of a graph as it stands; values that are fitted are those of the last drawing. */
  sheet(canvas: HTMLCanvasElement, shown: Shown): Sheet | null {
    const at = this.places.findIndex((place) => place.canvas === canvas);
    if (at < 0) return null;
    const { panel, context, fitted: last } = this.places[at];
    return scales(new CanvasPen(context), panel, shown, this.box(at), last);
  }

  /** The place of the graph of that number on its canvas. */
  private box(at: number): Box & { lowest: boolean } {
    const { width, height } = this.places[at];
    return { left: 0, top: 0, width, height, lowest: at === this.places.length - 1 };
  }

  hit(canvas: HTMLCanvasElement, shown: Shown, at: [number, number]): Hit | null {
    const place = this.places.find((one) => one.canvas === canvas);
    const sheet = this.sheet(canvas, shown);
    return place && sheet ? nearest(sheet, place.panel, this.layers, at) : null;
  }

  get width(): number {
    return this.places[0]?.width ?? 0;
  }

  /** The heights of the graphs, by name. */
  get heights(): { panel: Panel; height: number }[] {
    return this.places.map(({ panel, height }) => ({ panel, height }));
  }

  private place(panel: Panel): Place {
    const canvas = document.createElement("canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.dataset.panel = panel.name;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser has no canvas");
    this.element.append(canvas);
    this.listen(this, canvas, panel);
    return { panel, canvas, context, width: 0, height: 0, fitted: null };
  }
}
