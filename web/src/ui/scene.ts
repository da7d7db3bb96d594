// A drawing in SVG: what a chart is on paper, in a file, and behind its curves on the screen.
import type { Marker, Theme } from "./palette";

/** The colours of everything that is not data. */
export interface Ink {
  paper: string;
  text: string;
  soft: string;
  axis: string;
  grid: string;
}

export const INK: Record<Theme, Ink> = {
  light: { paper: "#ffffff", text: "#1c1e21", soft: "#5b626d", axis: "#8d949e", grid: "#e8eaed" },
  dark: { paper: "#16181c", text: "#e8eaed", soft: "#a2a9b4", axis: "#6c7480", grid: "#2a2e35" },
};

export const FONT = 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

export interface TextStyle {
  size?: number;
  colour: string;
  anchor?: "start" | "middle" | "end";
  weight?: number;
  /** Degrees, about the place of the text. */
  turn?: number;
}

export interface Stroke {
  colour: string;
  width: number;
  dash?: number[];
  fill?: string;
  opacity?: number;
}

export class Scene {
  private readonly parts: string[] = [];
  private clips = 0;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {}

  text(x: number, y: number, words: string, style: TextStyle): void {
    const { size = 12, colour, anchor = "start", weight, turn } = style;
    const bold = weight ? ` font-weight="${weight}"` : "";
    const turned = turn ? ` transform="rotate(${turn} ${n(x)} ${n(y)})"` : "";
    this.parts.push(
      `<text x="${n(x)}" y="${n(y)}" font-size="${size}" fill="${colour}" text-anchor="${anchor}"${bold}${turned}>` +
        `${escape(words)}</text>`,
    );
  }

  path(d: string, stroke: Stroke): void {
    if (d === "") return;
    const { colour, width, dash, fill = "none", opacity } = stroke;
    const dashes = dash && dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    const faint = opacity === undefined ? "" : ` opacity="${opacity}"`;
    const line =
      width > 0 ? ` stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"${dashes}` : "";
    this.parts.push(`<path d="${d}" fill="${fill}"${line}${faint}/>`);
  }

  rect(box: Box, fill: string): void {
    this.parts.push(
      `<rect x="${n(box.x)}" y="${n(box.y)}" width="${n(box.w)}" height="${n(box.h)}" fill="${fill}"/>`,
    );
  }

  /** What `draw` draws, inside `box` alone. */
  clipped(box: Box, draw: () => void): void {
    // The page has several drawings, and ids are the page's.
    const id = `clip-${++drawn}-${++this.clips}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${n(box.x)}" y="${n(box.y)}" width="${n(box.w)}" height="${n(box.h)}"/>` +
        `</clipPath><g clip-path="url(#${id})">`,
    );
    draw();
    this.parts.push("</g>");
  }

  /** What `draw` draws, moved to the right and down. */
  shifted(dx: number, dy: number, draw: () => void): void {
    this.parts.push(`<g transform="translate(${n(dx)} ${n(dy)})">`);
    draw();
    this.parts.push("</g>");
  }

  /** The whole as text; with `paper` as its background where it is to stand alone. */
  toString(paper?: string): string {
    const back = paper ? `<rect width="100%" height="100%" fill="${paper}"/>` : "";
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" ` +
      `viewBox="0 0 ${this.width} ${this.height}" font-family='${FONT}'>${back}${this.parts.join("")}</svg>`
    );
  }
}

let drawn = 0;

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** The outline of a marker of this radius as path data, for SVG and for Path2D. */
export function markerPath(marker: Marker, x: number, y: number, radius: number): string {
  const at = (dx: number, dy: number): string => `${n(x + dx * radius)} ${n(y + dy * radius)}`;
  switch (marker) {
    case "circle":
      return `M${at(-1, 0)}a${n(radius)} ${n(radius)} 0 1 0 ${n(2 * radius)} 0a${n(radius)} ${n(radius)} 0 1 0 ${n(-2 * radius)} 0Z`;
    case "square":
      return `M${at(-0.9, -0.9)}L${at(0.9, -0.9)}L${at(0.9, 0.9)}L${at(-0.9, 0.9)}Z`;
    case "up":
      return `M${at(0, -1.15)}L${at(1.05, 0.8)}L${at(-1.05, 0.8)}Z`;
    case "down":
      return `M${at(0, 1.15)}L${at(1.05, -0.8)}L${at(-1.05, -0.8)}Z`;
    case "left":
      return `M${at(-1.15, 0)}L${at(0.8, 1.05)}L${at(0.8, -1.05)}Z`;
    case "right":
      return `M${at(1.15, 0)}L${at(-0.8, 1.05)}L${at(-0.8, -1.05)}Z`;
    case "diamond":
      return `M${at(0, -1.25)}L${at(1.1, 0)}L${at(0, 1.25)}L${at(-1.1, 0)}Z`;
    case "plus":
      return `M${at(-0.35, -1.1)}L${at(0.35, -1.1)}L${at(0.35, -0.35)}L${at(1.1, -0.35)}L${at(1.1, 0.35)}L${at(0.35, 0.35)}L${at(0.35, 1.1)}L${at(-0.35, 1.1)}L${at(-0.35, 0.35)}L${at(-1.1, 0.35)}L${at(-1.1, -0.35)}L${at(-0.35, -0.35)}Z`;
    case "cross":
      return `M${at(-1, -0.55)}L${at(-0.55, -1)}L${at(0, -0.45)}L${at(0.55, -1)}L${at(1, -0.55)}L${at(0.45, 0)}L${at(1, 0.55)}L${at(0.55, 1)}L${at(0, 0.45)}L${at(-0.55, 1)}L${at(-1, 0.55)}L${at(-0.45, 0)}Z`;
  }
}

/** A picture of the drawing in pixels, `times` as many as it is large. */
export async function rasterise(svg: string, width: number, height: number, times = 2): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * times);
  canvas.height = Math.round(height * times);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture came out"))), "image/png"),
  );
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** What XML has no place for, which would leave a drawing without a picture. */
const FOREIGN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

function escape(words: string): string {
  return words
    .replaceAll(FOREIGN, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
