// The graphs that stand under one time axis: what each shows, and of which values.

import type { Layer } from "./layer";
import { dots, greatest, rowsInView } from "./lod";
import { colourOf } from "./look";
import type { Series } from "./model";
import { HELD } from "./panel-held";
import { QUEUE } from "./panel-queue";
import type { Shape } from "./pen";
import { drawSequence } from "./sequence";
import type { Sheet } from "./sheet";
import { foot, line } from "./strokes";

export interface Panel {
  name: PanelName;
  title: (layers: Layer[]) => string;
  /** The title where there is little room. */
  brief: string;
  /** Part of the height. */
  share: number;
  /** Pixels of a band, which has no axis of values and is as high whatever the height of all. */
  band?: (layers: Layer[]) => number;
  has: (layer: Layer) => boolean;
  /** The greatest value in view, where values are fitted to it; null where the user chooses them. */
  most: ((layer: Layer, t0: number, t1: number, hidden: ReadonlySet<string>) => number) | null;
  draw: (sheet: Sheet, layer: Layer) => void;
  /** What the pointer may find, with a unit. */
  series: (layer: Layer) => { series: Series; label: string; unit: string; say?: (row: number) => string }[];
}

export type PanelName = "sequence" | "held" | "queue" | "outstanding" | "cwnd" | "rtt" | "throughput";

const METHODS: Record<string, [Shape, string]> = {
  ack: ["dot", "ack"],
  timestamp: ["dot", "late"],
  sack: ["dot", "sack"],
  handshake: ["diamond", "segment"],
  heartbeat: ["diamond", "late"],
};

export const PANELS: Panel[] = [
  {
    name: "sequence",
    title: ([layer]) => (layer.view.unit === "TSN" ? "TSN (relative)" : "Sequence number (bytes, relative)"),
    brief: "Sequence number",
    share: 0.48,
    has: () => true,
    most: null,
    draw: drawSequence,
    series: () => [],
  },
  HELD,
  QUEUE,
  {
    name: "outstanding",
    title: () => "Outstanding data and advertised window (bytes)",
    brief: "Outstanding, window (bytes)",
    share: 0.15,
    has: (layer) => layer.outstanding.t.length > 0,
    most(layer, t0, t1, hidden) {
      const { acks } = layer.view;
      const data = greatest(layer.outstanding.t, layer.outstanding.v, t0, t1);
      const window = hidden.has("window") ? 0 : greatest(acks.t, acks.window, t0, t1);
      // Room is made for the window where it is near the data.
      return window < 2.5 * data ? Math.max(data, window) : data;
    },
    draw(sheet, layer) {
      if (!sheet.hidden.has("window"))
        line(sheet, layer, { t: layer.view.acks.t, v: layer.view.acks.window }, "window");
      line(sheet, layer, layer.outstanding, "segment");
      foot(sheet, layer);
    },
    series: (layer) => [
      { series: layer.outstanding, label: "outstanding", unit: "bytes" },
      {
        series: { t: layer.view.acks.t, v: layer.view.acks.window },
        label: "advertised window",
        unit: "bytes",
      },
    ],
  },
  {
    name: "cwnd",
    title: () => "Congestion window and slow-start threshold (dashed), as the endpoint kept them (bytes)",
    brief: "cwnd, ssthresh dashed (bytes)",
    share: 0.15,
    has: (layer) => layer.view.state !== null,
    most: (layer, t0, t1) => {
      const state = layer.view.state;
      return state ? greatest(state.t, state.cwnd, t0, t1) : 0;
    },
    draw(sheet, layer) {
      const state = layer.view.state;
      if (!state) return;
      line(sheet, layer, { t: state.t, v: state.ssthresh }, "ssthresh", [5, 3]);
      line(sheet, layer, { t: state.t, v: state.cwnd }, "cwnd");
      foot(sheet, layer);
    },
    series: ({ view: { state } }) =>
      state
        ? [
            { series: { t: state.t, v: state.cwnd }, label: "cwnd", unit: "bytes" },
            { series: { t: state.t, v: state.ssthresh }, label: "ssthresh", unit: "bytes" },
          ]
        : [],
  },
  {
    name: "rtt",
    title: (layers) =>
      layers.some((layer) => layer.view.state)
        ? "Round-trip time (ms): samples, SRTT (line), RTO (dashed)"
        : "Round-trip time (ms): green by ACK, blue by timestamp, purple by SACK",
    brief: "Round-trip time (ms)",
    share: 0.15,
    has: (layer) => layer.view.rtt.t.length > 0,
    most(layer, t0, t1) {
      const { rtt, state } = layer.view;
      const sample = greatest(rtt.t, rtt.v, t0, t1);
      const rto = state ? greatest(state.t, state.rto, t0, t1) : 0;
      // A timeout far above all samples would press them flat.
      return rto > 3 * sample ? sample : Math.max(sample, rto);
    },
    draw(sheet, layer) {
      const { rtt, state } = layer.view;
      if (state) {
        line(sheet, layer, { t: state.t, v: state.rto }, "rto", [5, 3]);
        line(sheet, layer, { t: state.t, v: state.srtt }, "cwnd");
      }
      const range = rowsInView(rtt.t, sheet.t0, sheet.t1);
      rtt.methods.forEach((method, at) => {
        const [shape, colour] = METHODS[method] ?? METHODS.ack;
        const found = dots(rtt.t, rtt.v, range, [sheet.x, sheet.y], (row) => rtt.method[row] === at);
        sheet.pen.marks(shape, found, 2.8, { colour: colourOf(layer.look, colour), width: 1 });
      });
      foot(sheet, layer);
    },
    series: ({ view: { rtt, state } }) => [
      { series: rtt, label: "RTT sample", unit: "ms" },
      ...(state
        ? [
            { series: { t: state.t, v: state.srtt }, label: "SRTT", unit: "ms" },
            { series: { t: state.t, v: state.rto }, label: "RTO", unit: "ms" },
          ]
        : []),
    ],
  },
  {
    name: "throughput",
    title: () => "Mbit/s: sent in intervals (steps), sent since the first (blue), goodput (green)",
    brief: "Mbit/s: sent, goodput green",
    share: 0.14,
    has: (layer) => layer.intervals.t.length > 0,
    most(layer, t0, t1) {
      const [each, all, good] = [layer.intervals, layer.average, layer.goodput].map(({ t, v }) =>
        greatest(t, v, t0, t1),
      );
      return Math.max(each, good, Math.min(all, 2 * each));
    },
    draw(sheet, layer) {
      line(sheet, layer, layer.intervals, "segment");
      line(sheet, layer, layer.average, "late");
      line(sheet, layer, layer.goodput, "ack");
      foot(sheet, layer);
    },
    series: (layer) => [
      { series: layer.intervals, label: "sent in the interval", unit: "Mbit/s" },
      { series: layer.goodput, label: "goodput", unit: "Mbit/s" },
    ],
  },
];

/** The range of values of a graph: as chosen, or from 0 to a little above the greatest in view. */
export function fitted(
  panel: Panel,
  layers: Layer[],
  range: [number, number],
  hidden: ReadonlySet<string>,
): [number, number] {
  let most = Number.NEGATIVE_INFINITY;
  for (const layer of layers) most = Math.max(most, panel.most?.(layer, range[0], range[1], hidden) ?? 0);
  return [0, most > 0 && Number.isFinite(most) ? 1.1 * most : 1];
}
