// What the graphs show of a capture: the tables of a block, read for one sender of data at a time.
//
// Times are in seconds from the first packet of the connection, sequence numbers count from the SYN (0), TSNs from
// the initial one. Every list is in the order of the packets.

import { numbers, textAt, type Block, type Numbers, type Table } from "../block";
import type { Group, HeldWord, TraceHead, ViewHead } from "../format";
import { readLinks, type LinkLog } from "./queue";

export const FIN = 1;
export const SYN = 2;
export const RST = 4;
export const PSH = 8;
export const ACK = 16;

export interface Trace {
  head: TraceHead;
  /** The views of the block, read when first asked for. */
  view(key: string): View;
  verdicts: Verdicts | null;
  /** Links whose queues are known. */
  links: LinkLog[];
}

/** What one side sent, one row per packet (TCP) or DATA chunk (SCTP). */
export interface Segments {
  count: number;
  t: Float64Array;
  /** First sequence number or TSN, and one past the last. */
  low: Float64Array;
  high: Float64Array;
  number: Numbers;
  /** Bytes of data. */
  bytes: Float64Array;
  flags: Numbers;
  group: Numbers;
  /** Bytes outstanding after it. */
  outstanding: Float64Array;
  /** Rows of each group, in order. */
  rows: Uint32Array[];
  /** Why the emulator dropped it, where that is known. */
  lost: Map<number, string>;
}

/** The acknowledgments that came back. */
export interface Acks {
  t: Float64Array;
  level: Float64Array;
  /** Right edge of the window on the axis of sequence numbers; null where windows do not count what the axis does. */
  edge: Float64Array | null;
  window: Float64Array;
  number: Numbers;
  duplicate: Numbers;
}

export interface Sacks {
  t: Float64Array;
  low: Float64Array;
  high: Float64Array;
  duplicate: Numbers;
}

/** A value that holds from each time until the next, or samples at these times. */
export interface Series {
  t: Float64Array;
  v: Float64Array;
}

export interface Samples extends Series {
  /** Which of `methods` gave it. */
  method: Numbers;
  methods: string[];
}

/** What was sent again. */
export interface Again {
  count: number;
  /** Row among the segments. */
  row: Numbers;
  /** Row of the transmission before it, -1 where that was not seen. */
  before: Int32Array;
  confidence: (row: number) => string;
  why: (row: number) => string;
  /** Seconds since the first transmission, and since the one before; below 0 where not known. */
  first: Float64Array;
  previous: Float64Array;
}

/** What the sender's endpoint kept; NaN where it had no value. */
export interface State {
  t: Float64Array;
  cwnd: Float64Array;
  ssthresh: Float64Array;
  /** Milliseconds. */
  srtt: Float64Array;
  rto: Float64Array;
  phase: ((row: number) => string) | null;
}

/** What the emulator did to each packet; times on its own clock. */
export interface Verdicts {
  count: number;
  t: Float64Array;
  direction: (row: number) => string;
  position: Numbers;
  bytes: Numbers;
  payload: Numbers;
  flags: Numbers;
  dropped: Numbers;
  verdict: (row: number) => string;
  /** Sequence and acknowledgment number from those of the SYNs, null where the log cannot tell. */
  seq: Numbers | null;
  ack: Numbers | null;
}

/** What held the sender back, one row each, without gaps. */
export interface Waits {
  words: HeldWord[];
  t: Float64Array;
  until: Float64Array;
  /** Which of `words`. */
  by: Numbers;
  certain: Numbers;
  /** Numbers of the packets with data at both ends of it. */
  from: Numbers;
  to: Numbers;
}

export interface View {
  head: ViewHead;
  unit: "bytes" | "TSN";
  segments: Segments;
  acks: Acks;
  sacks: Sacks;
  rtt: Samples;
  again: Again;
  state: State | null;
  held: Waits | null;
}

/** Reads a block that `rexmit.plot.trace` packed. */
export function readTrace(block: Block<TraceHead>): Trace {
  const read = new Map<string, View>();
  const verdicts = block.tables.verdicts ? readVerdicts(block.tables.verdicts) : null;
  return {
    head: block.head,
    verdicts,
    links: readLinks(block, verdicts),
    view(key) {
      const known = read.get(key);
      if (known) return known;
      const head = block.head.views.find((one) => one.key === key);
      if (!head) throw new Error(`the block has no view ${key}`);
      const view = readView(head, block.tables);
      read.set(key, view);
      return view;
    },
  };
}

function readView(head: ViewHead, tables: Record<string, Table>): View {
  const own = (name: string): Table => tables[`${head.key}.${name}`] ?? {};
  const sctp = head.protocol === "sctp";
  const other = head.key.replace(/(client|server)$/, head.direction === "client" ? "server" : "client");
  const answers = sctp ? own("reports") : (tables[`${other}.packets`] ?? {});
  const segments = readSegments(own("packets"), head, sctp);
  const heard = answerRows(answers, sctp);
  const acks = readAcks(answers, heard, sctp);
  if (!sctp) fillOutstanding(segments, acks, filled(own("packets"), "less", segments.count));
  const blocks = sctp ? own("sacks") : (tables[`${other}.sacks`] ?? {});
  return {
    head,
    unit: sctp ? "TSN" : "bytes",
    segments,
    acks,
    sacks: readSacks(blocks, answers),
    rtt: readRtt(own("rtt"), answers),
    again: readAgain(own("again"), segments),
    state: tables[`${head.key}.state`] ? readState(own("state")) : null,
    held: head.held && tables[`${head.key}.held`] ? readHeld(own("held"), head.held) : null,
  };
}

function readSegments(table: Table, head: ViewHead, sctp: boolean): Segments {
  const t = times(table, "t");
  const count = t.length;
  const jump = filled(table, "jump", count);
  const span = sctp ? new Uint8Array(count).fill(1) : filled(table, "span", count);
  const flags = filled(table, "flags", count);
  const group = filled(table, "group", count);
  const low = new Float64Array(count);
  const high = new Float64Array(count);
  const bytes = new Float64Array(count);
  const length = sctp ? filled(table, "len", count) : span;
  let highest = 0;
  for (let row = 0; row < count; row++) {
    low[row] = highest + jump[row];
    high[row] = low[row] + span[row];
    if (high[row] > highest) highest = high[row];
    bytes[row] = sctp ? length[row] : span[row] - (flags[row] & FIN ? 1 : 0) - (flags[row] & SYN ? 1 : 0);
  }
  const lost = new Map<number, string>();
  if (table.lost)
    for (let row = 0; row < count; row++) {
      const why = textAt(table, "lost", row);
      if (why !== null) lost.set(row, why);
    }
  const outstanding = Float64Array.from(filled(table, "outstanding", count));
  const number = filled(table, "number", count);
  const rows = head.groups.map((_, at) => rowsOf(group, at));
  return { count, t, low, high, number, bytes, flags, group, outstanding, rows, lost };
}

/** Rows of packets that acknowledge something; an SCTP report always does. */
function answerRows(table: Table, sctp: boolean): Uint32Array {
  const count = times(table, "t").length;
  const ack = filled(table, "ack", count);
  const rows = new Uint32Array(count);
  let found = 0;
  for (let row = 0; row < count; row++) if (sctp || ack[row] >= 0) rows[found++] = row;
  return rows.slice(0, found);
}

function readAcks(table: Table, rows: Uint32Array, sctp: boolean): Acks {
  const t = times(table, "t");
  const pick = (name: string): Float64Array => {
    const all = filled(table, name, t.length);
    return Float64Array.from(rows, (row) => all[row]);
  };
  const level = pick("ack");
  const window = pick("window");
  const edge = sctp ? null : level.map((ack, row) => ack + window[row]);
  return {
    t: Float64Array.from(rows, (row) => t[row]),
    level,
    edge,
    window,
    number: pick("number"),
    duplicate: pick("duplicate"),
  };
}

/** Outstanding bytes of TCP after each packet: from the last acknowledgment to the highest end, less what SACK has. */
function fillOutstanding(segments: Segments, acks: Acks, less: Numbers): void {
  let [highest, acked, next] = [0, 0, 0];
  for (let row = 0; row < segments.count; row++) {
    for (; next < acks.t.length && acks.number[next] < segments.number[row]; next++)
      if (acks.level[next] > acked) acked = acks.level[next];
    if (segments.high[row] > highest) highest = segments.high[row];
    segments.outstanding[row] = Math.max(highest - acked, 0) - less[row];
  }
}

function readSacks(table: Table, answers: Table): Sacks {
  const row = table.row ? numbers(table, "row") : filled(table, "row", rowsIn(table, "right"));
  const [t, ack] = [times(answers, "t"), filled(answers, "ack", times(answers, "t").length)];
  const [left, right] = [filled(table, "left", row.length), filled(table, "right", row.length)];
  return {
    t: Float64Array.from(row, (at) => t[at]),
    low: Float64Array.from(row, (at, n) => ack[at] + left[n]),
    high: Float64Array.from(row, (at, n) => ack[at] + right[n]),
    duplicate: filled(table, "duplicate", row.length),
  };
}

function readRtt(table: Table, answers: Table): Samples {
  const count = rowsIn(table, "rtt");
  const v = Float64Array.from(filled(table, "rtt", count));
  const t = table.t ? times(table, "t") : times(answers, "t");
  const row = table.t ? null : filled(table, "row", count);
  const method = table.method;
  const known = method !== undefined && "words" in method;
  return {
    t: row ? Float64Array.from(row, (at) => t[at]) : t,
    v,
    method: known ? method.codes : new Uint8Array(count),
    methods: known ? method.words.map((word) => word ?? "") : [],
  };
}

function readAgain(table: Table, segments: Segments): Again {
  const count = rowsIn(table, "previous");
  const row = filled(table, "row", count);
  const previous = Float64Array.from(filled(table, "previous", count));
  return {
    count,
    row,
    before: Int32Array.from(row, (at, n) => transmissionBefore(segments, at, previous[n])),
    confidence: (at) => (table.confidence ? (textAt(table, "confidence", at) ?? "") : ""),
    why: (at) => (table.why ? (textAt(table, "why", at) ?? "") : ""),
    first: Float64Array.from(filled(table, "first", count)),
    previous,
  };
}

/** Row of the packet that carried the first byte of this one `delay` seconds before. */
function transmissionBefore(segments: Segments, row: number, delay: number): number {
  if (delay < 0) return -1;
  const wanted = segments.t[row] - delay;
  for (let at = firstAt(segments.t, wanted - 1e-9); at < row && segments.t[at] <= wanted + 1e-9; at++)
    if (segments.low[at] <= segments.low[row] && segments.high[at] > segments.low[row]) return at;
  return -1;
}

function readState(table: Table): State {
  const t = times(table, "t");
  const known = (name: string): Float64Array =>
    Float64Array.from(
      table[name] ? numbers(table, name) : new Float64Array(t.length).fill(Number.NaN),
      (v) => (v < 0 ? Number.NaN : v),
    );
  return {
    t,
    cwnd: known("cwnd"),
    ssthresh: known("ssthresh"),
    srtt: known("srtt"),
    rto: known("rto"),
    phase: table.phase ? (row) => textAt(table, "phase", row) ?? "" : null,
  };
}

function readHeld(table: Table, words: HeldWord[]): Waits {
  const t = times(table, "t");
  const column = (name: string): Numbers => filled(table, name, t.length);
  return {
    words,
    t,
    until: times(table, "until"),
    by: column("by"),
    certain: column("certain"),
    from: column("from"),
    to: column("to"),
  };
}

function readVerdicts(table: Table): Verdicts {
  const t = times(table, "t");
  const count = t.length;
  const direction = (row: number): string => (table.direction ? (textAt(table, "direction", row) ?? "") : "");
  return {
    count,
    t,
    direction,
    position: table.position ? numbers(table, "position") : counted(count, direction),
    bytes: filled(table, "bytes", count),
    payload: filled(table, "payload", count),
    flags: filled(table, "flags", count),
    dropped: filled(table, "dropped", count),
    verdict: (row) => (table.verdict ? (textAt(table, "verdict", row) ?? "") : ""),
    seq: table.seq ? numbers(table, "seq") : null,
    ack: table.ack ? numbers(table, "ack") : null,
  };
}

/** The place of each row among those of its direction. */
function counted(count: number, direction: (row: number) => string): Uint32Array {
  const at = new Map<string, number>();
  return Uint32Array.from({ length: count }, (_, row) => {
    const next = (at.get(direction(row)) ?? 0) + 1;
    at.set(direction(row), next);
    return next;
  });
}

/** A column, or as many 0 where the block has left it out. */
function filled(table: Table, name: string, count: number): Numbers {
  return table[name] ? numbers(table, name) : new Uint8Array(count);
}

function times(table: Table, name: string): Float64Array {
  const column = table[name] ? numbers(table, name) : new Float64Array(0);
  return column instanceof Float64Array ? column : Float64Array.from(column);
}

/** Rows of a table by any of its columns. */
function rowsIn(table: Table, first: string): number {
  for (const name of [first, ...Object.keys(table)]) {
    const column = table[name];
    if (column) return "words" in column ? column.codes.length : column.length;
  }
  return 0;
}

function rowsOf(group: Numbers, wanted: number): Uint32Array {
  const rows = new Uint32Array(group.length);
  let found = 0;
  for (let row = 0; row < group.length; row++) if (group[row] === wanted) rows[found++] = row;
  return rows.slice(0, found);
}

/** Index of the first time that is not before t. */
export function firstAt(list: Float64Array, t: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Looks of the groups of a view. */
export function groupOf(view: View, row: number): Group {
  return view.head.groups[view.segments.group[row]];
}
