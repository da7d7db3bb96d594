// A layer: one view with its colours, and what is worked out of it once.

import { lookOf, type Look } from "./look";
import { SYN, type Series, type Trace, type View } from "./model";
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
}

const known = new WeakMap<View, Omit<Layer, "look" | "trace" | "view">>();

export function layerOf(trace: Trace, key: string, dark: boolean, second: boolean): Layer {
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
  return { trace, view, look: lookOf(dark, second), ...derived };
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
