// Two pens for one drawing: a canvas for the screen and PNG, SVG for papers. What is drawn is said once.

export interface Stroke {
  colour: string;
  width: number;
  dash?: number[];
  alpha?: number;
}

export type Shape =
  "up" | "down" | "diamond" | "hollow" | "square" | "cross" | "ring" | "dot" | "below" | "above";

export interface Lettering {
  colour: string;
  size: number;
  bold?: boolean;
  align?: "left" | "center" | "right";
  /** Degrees; only -90 is used. */
  turn?: number;
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Pen {
  /** Vertical bars as x, y0, y1 triples. */
  bars(xyy: number[], stroke: Stroke): void;
  /** Lines as x0, y0, x1, y1. */
  lines(xyxy: number[], stroke: Stroke): void;
  /** One line through x, y pairs; a NaN begins anew. */
  path(xy: number[], stroke: Stroke): void;
  /** Symbols at x, y pairs. */
  marks(shape: Shape, xy: number[], size: number, stroke: Stroke): void;
  fill(box: Box, colour: string, alpha?: number): void;
  text(x: number, y: number, text: string, lettering: Lettering): void;
  /** Draws within a box only; `name` is what the part is called in SVG. */
  within(box: Box, name: string, draw: () => void): void;
}

export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  bars(xyy: number[], stroke: Stroke): void {
    this.stroke(stroke, (pen) => {
      for (let n = 0; n < xyy.length; n += 3) {
        pen.moveTo(xyy[n], xyy[n + 1]);
        pen.lineTo(xyy[n], Math.min(xyy[n + 2], xyy[n + 1] - 1));
      }
    });
  }

  lines(xyxy: number[], stroke: Stroke): void {
    this.stroke(stroke, (pen) => {
      for (let n = 0; n < xyxy.length; n += 4) {
        pen.moveTo(xyxy[n], xyxy[n + 1]);
        pen.lineTo(xyxy[n + 2], xyxy[n + 3]);
      }
    });
  }

  path(xy: number[], stroke: Stroke): void {
    this.stroke(stroke, (pen) => {
      let down = false;
      for (let n = 0; n < xy.length; n += 2) {
        if (Number.isNaN(xy[n + 1])) down = false;
        else if (down) pen.lineTo(xy[n], xy[n + 1]);
        else {
          pen.moveTo(xy[n], xy[n + 1]);
          down = true;
        }
      }
    });
  }

  marks(shape: Shape, xy: number[], size: number, stroke: Stroke): void {
    if (shape === "dot") {
      this.context.globalAlpha = stroke.alpha ?? 1;
      this.context.fillStyle = stroke.colour;
      for (let n = 0; n < xy.length; n += 2)
        this.context.fillRect(xy[n] - size / 2, xy[n + 1] - size / 2, size, size);
      this.context.globalAlpha = 1;
      return;
    }
    this.stroke(stroke, (pen) => {
      for (let n = 0; n < xy.length; n += 2) {
        const [x, y] = [xy[n], xy[n + 1]];
        if (shape === "ring") {
          pen.moveTo(x + size, y);
          pen.arc(x, y, size, 0, 2 * Math.PI);
          continue;
        }
        for (const line of OUTLINES[shape])
          line.forEach(([dx, dy], at) =>
            at ? pen.lineTo(x + dx * size, y + dy * size) : pen.moveTo(x + dx * size, y + dy * size),
          );
      }
    });
  }

  fill(box: Box, colour: string, alpha = 1): void {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = colour;
    this.context.fillRect(box.left, box.top, box.width, box.height);
    this.context.globalAlpha = 1;
  }

  text(x: number, y: number, text: string, lettering: Lettering): void {
    const pen = this.context;
    pen.font = `${lettering.bold ? "bold " : ""}${lettering.size}px ${FONT}`;
    pen.fillStyle = lettering.colour;
    pen.textAlign = lettering.align ?? "left";
    if (!lettering.turn) {
      pen.fillText(text, x, y);
      return;
    }
    pen.save();
    pen.translate(x, y);
    pen.rotate((lettering.turn * Math.PI) / 180);
    pen.fillText(text, 0, 0);
    pen.restore();
  }

  within(box: Box, _name: string, draw: () => void): void {
    const pen = this.context;
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.width, box.height);
    pen.clip();
    draw();
    pen.restore();
  }

  private stroke(stroke: Stroke, trace: (pen: CanvasRenderingContext2D) => void): void {
    const pen = this.context;
    pen.strokeStyle = stroke.colour;
    pen.lineWidth = stroke.width;
    pen.globalAlpha = stroke.alpha ?? 1;
    if (stroke.dash) pen.setLineDash(stroke.dash);
    pen.beginPath();
    trace(pen);
    pen.stroke();
    if (stroke.dash) pen.setLineDash([]);
    pen.globalAlpha = 1;
  }
}

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  bars(xyy: number[], stroke: Stroke): void {
    let d = "";
    for (let n = 0; n < xyy.length; n += 3)
      d += `M${short(xyy[n])} ${short(xyy[n + 1])}V${short(Math.min(xyy[n + 2], xyy[n + 1] - 1))}`;
    this.trace(d, stroke);
  }

  lines(xyxy: number[], stroke: Stroke): void {
    let d = "";
    for (let n = 0; n < xyxy.length; n += 4)
      d += `M${short(xyxy[n])} ${short(xyxy[n + 1])}L${short(xyxy[n + 2])} ${short(xyxy[n + 3])}`;
    this.trace(d, stroke);
  }

  path(xy: number[], stroke: Stroke): void {
    let [d, down] = ["", false];
    for (let n = 0; n < xy.length; n += 2) {
      if (Number.isNaN(xy[n + 1])) down = false;
      else {
        d += `${down ? "L" : "M"}${short(xy[n])} ${short(xy[n + 1])}`;
        down = true;
      }
    }
    this.trace(d, stroke);
  }

  marks(shape: Shape, xy: number[], size: number, stroke: Stroke): void {
    let d = "";
    for (let n = 0; n < xy.length; n += 2) {
      const [x, y] = [xy[n], xy[n + 1]];
      if (shape === "ring") {
        const arc = `a${short(size)} ${short(size)} 0 1 0 `;
        d += `M${short(x + size)} ${short(y)}${arc}${short(-2 * size)} 0${arc}${short(2 * size)} 0`;
      } else if (shape === "dot") d += `M${short(x - size / 2)} ${short(y)}h${short(size)}`;
      else
        for (const line of OUTLINES[shape])
          d += line
            .map(([dx, dy], at) => `${at ? "L" : "M"}${short(x + dx * size)} ${short(y + dy * size)}`)
            .join("");
    }
    this.trace(d, shape === "dot" ? { ...stroke, width: size } : stroke);
  }

  fill(box: Box, colour: string, alpha = 1): void {
    const opacity = alpha === 1 ? "" : ` fill-opacity="${alpha}"`;
    this.parts.push(`<rect ${sides(box)} fill="${colour}"${opacity}/>`);
  }

  text(x: number, y: number, text: string, lettering: Lettering): void {
    const anchor = { left: "start", center: "middle", right: "end" }[lettering.align ?? "left"];
    const turn = lettering.turn ? ` transform="rotate(${lettering.turn} ${short(x)} ${short(y)})"` : "";
    const weight = lettering.bold ? ' font-weight="bold"' : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${lettering.size}" fill="${lettering.colour}"` +
        ` text-anchor="${anchor}"${weight}${turn}>${escaped(text)}</text>`,
    );
  }

  within(box: Box, name: string, draw: () => void): void {
    const id = `clip-${++this.clips}`;
    this.parts.push(
      `<clipPath id="${id}"><rect ${sides(box)}/></clipPath><g class="${escaped(name)}" clip-path="url(#${id})">`,
    );
    draw();
    this.parts.push("</g>");
  }

  /** The whole as a file. */
  document(width: number, height: number, title: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="${FONT}">\n<title>${escaped(title)}</title>\n` +
      `${this.parts.join("\n")}\n</svg>\n`
    );
  }

  private trace(d: string, stroke: Stroke): void {
    if (!d) return;
    const dash = stroke.dash ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "";
    const alpha = stroke.alpha === undefined ? "" : ` stroke-opacity="${stroke.alpha}"`;
    this.parts.push(
      `<path d="${d}" fill="none" stroke="${stroke.colour}" stroke-width="${stroke.width}"${dash}${alpha}/>`,
    );
  }
}

export const FONT = "system-ui, sans-serif";

type Outline = [number, number][][];

/** Lines of symbols of size 1: tcptrace's arrow heads and ticks, and marks of packets. */
const OUTLINES: Record<Exclude<Shape, "ring" | "dot">, Outline> = {
  up: [
    [
      [-0.8, 1],
      [0, 0],
      [0.8, 1],
    ],
  ],
  down: [
    [
      [-0.8, -1],
      [0, 0],
      [0.8, -1],
    ],
  ],
  diamond: [
    [
      [0, -1],
      [0.8, 0],
      [0, 1],
      [-0.8, 0],
      [0, -1],
    ],
  ],
  hollow: [
    [
      [0, -1],
      [0.8, 0],
      [0, 1],
      [-0.8, 0],
      [0, -1],
    ],
  ],
  square: [
    [
      [-0.8, -0.8],
      [0.8, -0.8],
      [0.8, 0.8],
      [-0.8, 0.8],
      [-0.8, -0.8],
    ],
  ],
  cross: [
    [
      [-0.8, -0.8],
      [0.8, 0.8],
    ],
    [
      [-0.8, 0.8],
      [0.8, -0.8],
    ],
  ],
  below: [
    [
      [0, 0],
      [0, 1],
    ],
  ],
  above: [
    [
      [0, 0],
      [0, -1],
    ],
  ],
};

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function sides(box: Box): string {
  const [x, y, width, height] = [box.left, box.top, box.width, box.height].map(short);
  return `x="${x}" y="${y}" width="${width}" height="${height}"`;
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
