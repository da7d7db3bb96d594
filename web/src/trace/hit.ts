// What lies under the pointer.

import type { Layer } from "./layer";
import { FIN, firstAt, groupOf, PSH, RST, SYN } from "./model";
import { heldText, placeOf } from "./panel-held";
import type { Panel } from "./panels";
import { count, duration } from "./ranges";
import { groupKey } from "./sequence";
import { xOf, yOf, type Sheet } from "./sheet";

export interface Hit {
  x: number;
  y: number;
  text: string;
}

const REACH = 14;
/** More rows than this are not looked at: those nearest in time are. */
const MOST_LOOKED_AT = 20_000;

/** The nearest symbol within a few pixels, null where nothing is near. */
export function nearest(sheet: Sheet, panel: Panel, layers: Layer[], [x, y]: [number, number]): Hit | null {
  const search = new Search(sheet, x, y);
  for (const layer of layers) {
    if (panel.name === "sequence") searchSequence(search, layer);
    else if (panel.name === "held") searchHeld(search, layer);
    else
      for (const { series, label, unit, say } of panel.series(layer))
        search.rows(series.t, (row) => {
          const value = series.v[row];
          const words = (): string => (say ? say(row) : `${round(value)} ${unit} (${label})`);
          if (value === value) search.point(series.t[row], value, () => `${time(series.t[row])}\n${words()}`);
        });
  }
  return search.best;
}

class Search {
  best: Hit | null = null;
  private distance = REACH ** 2;

  constructor(
    readonly sheet: Sheet,
    readonly x: number,
    readonly y: number,
  ) {}

  rows(t: Float64Array, look: (row: number) => void): void {
    const at = (this.x - this.sheet.x.a) / this.sheet.x.b;
    const reach = REACH / this.sheet.x.b;
    const middle = firstAt(t, at);
    const from = Math.max(firstAt(t, at - reach), middle - MOST_LOOKED_AT);
    const to = Math.min(firstAt(t, at + reach), middle + MOST_LOOKED_AT);
    for (let row = from; row < to; row++) look(row);
  }

  point(t: number, v: number, say: () => string): void {
    const y = yOf(this.sheet, v);
    this.bar(t, y, y, say);
  }

  /** A bar from `bottom` to `top`, in pixels. */
  bar(t: number, bottom: number, top: number, say: () => string): void {
    const x = xOf(this.sheet, t);
    const y = this.y > bottom ? bottom : this.y < top ? top : this.y;
    const distance = (x - this.x) ** 2 + (y - this.y) ** 2;
    if (distance < this.distance) {
      this.distance = distance;
      this.best = { x, y, text: say() };
    }
  }
}

function searchSequence(search: Search, layer: Layer): void {
  const { segments, acks, sacks } = layer.view;
  const { sheet } = search;
  search.rows(segments.t, (row) => {
    if (sheet.hidden.has(groupKey(groupOf(layer.view, row).letter))) return;
    search.bar(segments.t[row], yOf(sheet, segments.low[row]), yOf(sheet, segments.high[row]), () =>
      segmentText(layer, row),
    );
  });
  if (!sheet.hidden.has("lost"))
    search.rows(layer.lostAcks.t, (row) =>
      search.point(
        layer.lostAcks.t[row],
        layer.lostAcks.v[row],
        () =>
          `${time(layer.lostAcks.t[row])}\nACK ${count(layer.lostAcks.v[row])}\n${layer.lostAcks.why[row]}`,
      ),
    );
  if (!sheet.hidden.has("ack"))
    search.rows(acks.t, (row) => search.point(acks.t[row], acks.level[row], () => ackText(layer, row)));
  if (!sheet.hidden.has("sack"))
    search.rows(sacks.t, (row) =>
      search.bar(sacks.t[row], yOf(sheet, sacks.low[row]), yOf(sheet, sacks.high[row]), () => {
        const kind = sacks.duplicate[row] ? "DSACK (came twice)" : "SACK block";
        const last = layer.view.unit === "TSN" ? sacks.high[row] - 1 : sacks.high[row];
        return `${time(sacks.t[row])}\n${kind} ${count(sacks.low[row])} .. ${count(last)}`;
      }),
    );
}

/** A part of the band, wherever in it the pointer is. */
function searchHeld(search: Search, layer: Layer): void {
  const { sheet, x, y } = search;
  const { top, height } = placeOf(sheet, layer);
  if (y < top || y > top + height) return;
  const text = heldText(layer, (x - sheet.x.a) / sheet.x.b);
  if (text) search.best = { x, y: top, text };
}

/** What a packet is, in a few lines. */
export function segmentText(layer: Layer, row: number): string {
  const { segments, unit } = layer.view;
  const group = groupOf(layer.view, row);
  const flags = unit === "bytes" ? segments.flags[row] : 0;
  const names = (
    [
      [SYN, "SYN"],
      [FIN, "FIN"],
      [RST, "RST"],
      [PSH, "PSH"],
    ] as const
  ).filter(([bit]) => flags & bit);
  const lines = [`packet ${segments.number[row]}, ${time(segments.t[row])}`];
  const empty = segments.high[row] === segments.low[row];
  lines.push([empty ? "no data" : group.label, ...names.map(([, name]) => name)].join(", "));
  lines.push(
    unit === "TSN"
      ? `TSN ${count(segments.low[row])} (${count(segments.bytes[row])} bytes)`
      : `${count(segments.low[row])} .. ${count(segments.high[row])} (${count(segments.bytes[row])} bytes)`,
  );
  lines.push(`${count(segments.outstanding[row])} bytes outstanding`);
  const why = reason(layer, row);
  if (why) lines.push(why);
  const lost = segments.lost.get(row);
  if (lost) lines.push(lost);
  return lines.join("\n");
}

function reason(layer: Layer, row: number): string {
  const { again } = layer.view;
  let [low, high] = [0, again.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (again.row[middle] < row) low = middle + 1;
    else high = middle;
  }
  if (low >= again.count || again.row[low] !== row) return "";
  const delay =
    again.previous[low] >= 0 ? `${duration(again.previous[low])} after the transmission before; ` : "";
  return `${delay}${again.confidence(low)}: ${again.why(low)}`;
}

function ackText(layer: Layer, row: number): string {
  const { acks, unit } = layer.view;
  const what =
    unit === "TSN" ? `SACK up to TSN ${count(acks.level[row] - 1)}` : `ACK ${count(acks.level[row])}`;
  const duplicate = acks.duplicate[row] ? `\nduplicate ACK ${acks.duplicate[row]}` : "";
  return `packet ${acks.number[row]}, ${time(acks.t[row])}\n${what}, window ${count(acks.window[row])}${duplicate}`;
}

export function time(seconds: number): string {
  return `${seconds.toFixed(6)} s`;
}

function round(value: number): string {
  return Math.abs(value) >= 1000 ? count(value) : String(+value.toPrecision(5));
}
