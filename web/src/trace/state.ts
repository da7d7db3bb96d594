// What of the graphs is in view, as a short text for the fragment of a URL.
//
// `v1-server;t0.5:2;y0:30000;hack,window;xrtt`: views, range of time, range of values, hidden groups, graphs that are
// folded away, what of which queue (`qms,down`). What is as at the beginning is left out.

import type { Range } from "./ranges";

export interface Seen {
  /** Keys of the views, one for each trace. */
  views: string[];
  /** Null for all. */
  range: Range | null;
  hidden: string[];
  folded: string[];
  /** The link whose queue is shown, null for the one in which the data wait longest; and what of it. */
  link: string | null;
  measure: "packets" | "ms";
}

export function toText(seen: Seen): string {
  const parts = [`v${seen.views.map(encodeURIComponent).join(",")}`];
  if (seen.range) {
    const { t0, t1, y0, y1 } = seen.range;
    const [time, value] = [t1 - t0, y1 - y0];
    parts.push(`t${short(t0, time)}:${short(t1, time)}`, `y${short(y0, value)}:${short(y1, value)}`);
  }
  if (seen.hidden.length) parts.push(`h${seen.hidden.map(encodeURIComponent).join(",")}`);
  if (seen.folded.length) parts.push(`x${seen.folded.map(encodeURIComponent).join(",")}`);
  if (seen.link !== null || seen.measure !== "packets")
    parts.push(`q${seen.measure},${seen.link === null ? "" : encodeURIComponent(seen.link)}`);
  return parts.join(";");
}

/** What a text says; what it does not say, or says wrongly, is as at the beginning. */
export function fromText(text: string): Seen {
  const seen: Seen = { views: [], range: null, hidden: [], folded: [], link: null, measure: "packets" };
  const ranges: Record<string, [number, number]> = {};
  for (const part of text.split(";")) {
    const [kind, rest] = [part.slice(0, 1), part.slice(1)];
    if (kind === "v") seen.views = list(rest);
    else if (kind === "h") seen.hidden = list(rest);
    else if (kind === "x") seen.folded = list(rest);
    else if (kind === "q") {
      const [measure, link] = list(rest);
      if (measure === "ms") seen.measure = "ms";
      seen.link = link ?? null;
    } else if (kind === "t" || kind === "y") {
      const [low, high] = rest.split(":").map(Number);
      if (Number.isFinite(low) && Number.isFinite(high) && low < high) ranges[kind] = [low, high];
    }
  }
  if (ranges.t && ranges.y) {
    const [[t0, t1], [y0, y1]] = [ranges.t, ranges.y];
    seen.range = { t0, t1, y0, y1 };
  }
  return seen;
}

function list(text: string): string[] {
  return text.split(",").filter(Boolean).map(decoded);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A number to a ten-thousandth of the range that it bounds. */
function short(value: number, length: number): string {
  const decimals = Math.min(Math.max(4 - Math.floor(Math.log10(length)), 0), 12);
  return String(+value.toFixed(decimals));
}
