// Colours that are told apart with every common form of colour blindness, and seen on their background.
import { viridis } from "./viridis";

export type Theme = "light" | "dark";

/** What curves lie on. The style has the same. */
export const PAPER: Record<Theme, string> = { light: "#ffffff", dark: "#16181c" };

/** Okabe and Ito (2008); what stands out most from white first, black left to the axes. */
const OKABE_ITO = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442"];

/** The second sign that tells curves apart. */
export const MARKERS = [
  "circle",
  "square",
  "up",
  "diamond",
  "down",
  "plus",
  "cross",
  "left",
  "right",
] as const;
export type Marker = (typeof MARKERS)[number];
const DASHES: number[][] = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

export interface Look {
  colour: string;
  marker: Marker;
  dash: number[];
}

/** The looks of `count` curves; shades of one family where their order means something. */
export function looks(count: number, ordered: boolean, theme: Theme): Look[] {
  return Array.from({ length: count }, (_, at) => {
    const shade = ordered && count > 2;
    const colour = shade ? viridis(0.02 + (0.93 * at) / (count - 1)) : OKABE_ITO[at % OKABE_ITO.length];
    // Shades follow each other and lie beside each other: there the dashes change with each.
    const round = Math.floor(at / OKABE_ITO.length);
    return {
      colour: readable(colour, PAPER[theme], 3),
      marker: MARKERS[at % MARKERS.length],
      dash: shade ? DASHES[0] : DASHES[round % DASHES.length],
    };
  });
}

/** `colour`, darker or lighter until its contrast to `paper` is at least `least` (WCAG 2.2, 1.4.11 asks for 3). */
export function readable(colour: string, paper: string, least: number): string {
  const towards = luminance(paper) > 0.5 ? 0 : 255;
  const given = channels(colour);
  for (let share = 0; share < 1; share += 0.01) {
    const mixed = hex(given.map((channel) => channel + (towards - channel) * share));
    if (contrast(mixed, paper) >= least) return mixed;
  }
  return hex([towards, towards, towards]);
}

/** Ratio of luminances, 1 to 21 (WCAG 2.2). */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Black or white, whichever is read better on `colour`. */
export function inkOn(colour: string): string {
  return contrast(colour, "#ffffff") >= contrast(colour, "#000000") ? "#ffffff" : "#000000";
}

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

export function hex(parts: number[]): string {
  return `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}
