// One run of the model as the graphs show it, with what there is to say of it.

import { readBlock } from "../block";
import type { TraceHead } from "../format";
import { readTrace, type Trace } from "../trace";
import type { Model } from "./model";
import { scenarioOf, type Setting } from "./setting";

/** What an analysis calls each cause, with its letter and colour: `rexmit.analyse.words` and `rexmit.plot.causes`. */
export type Causes = Record<string, { title: string; letter: string; colour: string }>;

export interface Ran {
  trace: Trace;
  /** Until the last byte was read, in ms. */
  time: number;
  /** What was sent again, in words; empty for nothing. */
  again: string;
  /** Why, of the first packet that was. */
  why: string;
  /** Packets of the server that the queue dropped. */
  queueDrops: number;
}

interface OwnGroup {
  cause: string | null;
  needed: boolean;
  again: boolean;
}

/** Runs a setting, with its loss or without. Throws where the model refuses it. */
export function runSetting(model: Model, setting: Setting, causes: Causes, lossy = true): Ran {
  const block = readBlock<TraceHead>(model.ask({ scenario: scenarioOf(setting, lossy) }));
  const head = block.head;
  for (const view of head.views) {
    const own = view.groups as unknown as OwnGroup[];
    view.groups = own.map((group) => dressed(group, causes));
  }
  const trace = readTrace(block);
  const view = trace.view(head.views[0].key);
  const counts = new Map<string, number>();
  view.head.groups.forEach((group, at) => {
    if (group.again) counts.set(plain(group.label), view.segments.rows[at].length);
  });
  const again = [...counts].map(([label, count]) => `${count} × ${label}`).join(", ");
  const drops = [...view.segments.lost.values()].filter((why) => why.includes("queue")).length;
  head.views[0].facts = `${head.responses.packets_down} packets, ${head.responses.packets_up} back.`;
  return {
    trace,
    time: Number(head.responses.time_ns) / 1e6,
    again,
    why: view.again.count ? view.again.why(0) : "",
    queueDrops: drops,
  };
}

/** How packets of a group look. */
function dressed(group: OwnGroup, causes: Causes): TraceHead["views"][number]["groups"][number] {
  if (group.cause === null) return { label: "segment", letter: "", colour: "segment", again: false };
  const { title, letter, colour } = causes[group.cause] ?? causes.unknown;
  const mark = group.needed ? letter : letter.toLowerCase();
  return {
    label: `${title}${group.needed ? "" : ", not needed"} (${mark})`,
    letter: mark,
    colour,
    again: true,
  };
}

function plain(label: string): string {
  return label.replace(/ \(.\)$/, "");
}

/** What happened, in a sentence or two. */
export function told(ran: Ran, without: Ran, setting: Setting): string {
  const time = `The client has read it all after ${milliseconds(ran.time)}`;
  const queue = ran.queueDrops ? ` The queue dropped ${ran.queueDrops} more.` : "";
  if (setting.lost === 0)
    return `${time}.${ran.queueDrops ? ` The queue dropped ${ran.queueDrops} packets.` : ""}`;
  const more = ran.time - without.time;
  const cost =
    Math.abs(more) < 0.005
      ? "no later than without the loss"
      : `${milliseconds(Math.abs(more))} ${more > 0 ? "later" : "earlier"} than without the loss`;
  const repair = ran.again ? ` Sent again: ${ran.again}${ran.why ? ` (${ran.why})` : ""}.` : "";
  return `${time}, ${cost}.${repair}${queue}`;
}

function milliseconds(time: number): string {
  return time >= 1000 ? `${(time / 1000).toFixed(2)} s` : `${time.toFixed(time < 10 ? 2 : 0)} ms`;
}
