// A layer: one view with its colours, and what is worked out of it once.

import { lookOf, type Look } from "./look";
import { SYN, type Series, type Trace, type View } from "./model";
import { queueOf, waitOf, type LinkLog, type Queue } from "./queue";
import { average, goodput, intervals, outstanding } from "./series";

export interface Layer {
  trace: Trace;
  view: View;
  look: Look;
  outstanding: Series;
  intervals: Series;
  average: Series;
  goodput: Series;
  /** Acknowledgments that the emulator dropped on their way to the sender: when they set out, and what they said. */
  lostAcks: Series & { why: string[] };
  /** The queue that was chosen, or that of the link in which the data wait longest. */
  queue: Queue | null;
  /** What of it is shown. */
  measure: QueueMeasure;
  /** Where of a band it is drawn; a half of it where another trace has the other. */
  place: Place;
}

export type Place = "whole" | "upper" | "lower";

export type QueueMeasure = "packets" | "ms";

/** Which queue is shown, and what of it; where no link is named, the one in which the data wait longest. */
export interface QueueChoice {
  link: string | null;
  measure: QueueMeasure;
}

const known = new WeakMap<View, Omit<Layer, "look" | "trace" | "view" | "queue" | "measure" | "place">>();
const queues = new WeakMap<View, Map<string, Queue>>();

export function layerOf(
  trace: Trace,
  key: string,
  dark: boolean,
  choice: QueueChoice = { link: null, measure: "packets" },
  place: Place = "whole",
): Layer {
  const view = trace.view(key);
  let derived = known.get(view);
  if (!derived) {
    const length = view.head.interval;
    derived = {
      outstanding: outstanding(view),
      intervals: intervals(view.segments, length),
      average: average(view.segments, length),
      goodput: goodput(view, length),
      lostAcks: lostAcks(trace, view),
    };
    known.set(view, derived);
  }
  const queue = queueFor(trace, view, choice.link);
  const look = lookOf(dark, place === "lower");
  return { trace, view, look, queue, measure: choice.measure, place, ...derived };
}

/** The link of this name, or the one in whose queue the data of a view wait longest. */
export function linkFor(trace: Trace, view: View, wanted: string | null): LinkLog | null {
  const named = trace.links.find((link) => link.head.direction === wanted);
  const log = trace.verdicts;
  if (named || !log) return named ?? null;
  let [best, most]: [LinkLog | null, number] = [null, -1];
  for (const link of trace.links) {
    const wait = waitOf(link, log, view.head.of);
    if (wait > most) [best, most] = [link, wait];
  }
  return best;
}

function queueFor(trace: Trace, view: View, wanted: string | null): Queue | null {
  const link = linkFor(trace, view, wanted);
  if (!link || !trace.verdicts) return null;
  const own = queues.get(view) ?? new Map<string, Queue>();
  queues.set(view, own);
  const made = own.get(link.head.direction) ?? queueOf(link, trace.verdicts, view.head.of, view.head.start);
  own.set(link.head.direction, made);
  return made;
}

function lostAcks(trace: Trace, view: View): Layer["lostAcks"] {
  const log = trace.verdicts;
  const [t, v, why]: [number[], number[], string[]] = [[], [], []];
  const from = view.head.direction === "server" ? "up" : "down";
  if (log?.ack)
    for (let row = 0; row < log.count; row++)
      if (
        log.dropped[row] &&
        log.ack[row] >= 0 &&
        !(log.flags[row] & SYN) &&
        log.direction(row).startsWith(from)
      ) {
        t.push(log.t[row] - view.head.start);
        v.push(log.ack[row]);
        why.push(log.verdict(row));
      }
  return { t: Float64Array.from(t), v: Float64Array.from(v), why };
}
