// What a page is told: the JSON of its element `rexmit-page`, and the heads of its blocks.
// `rexmit.report` and `rexmit.plot` write it; FORMAT changes when a page of an older script could not read it.

export const FORMAT = 1;

export type Page = StudyPage | CapturePage;

interface Common {
  format: number;
  /** Version of the package that wrote the page. */
  version: string;
  title: string;
}

/** The graphs of the connections of a capture, in one block with the id `trace`. */
export interface CapturePage extends Common {
  kind: "capture";
}

/** A study: what stands around the explorer is HTML already. */
export interface StudyPage extends Common {
  kind: "study";
  name: string;
  backend: string;
  factors: Factor[];
  replications: number;
  /** One row per run (`runs`), and what stands beside: `intervals`, `messages`, `retransmissions`. */
  tables: TableInfo[];
  /** The response and the x axis to begin with, and the factor that tells curves apart; the table, if not the runs. */
  first: { response: string; x: string | null; colour: string | null; table?: string };
  runs: RunsInfo;
  flows?: FlowsInfo;
}

/** What there is to say of flows over time, which are in the tables `transfers_over_time` and `links_over_time`. */
export interface FlowsInfo {
  /** Why they are not there of all runs, or of none, though they were measured: one sentence or two; else empty. */
  note: string;
  /** The response of runs that is Jain's index, where there is one. */
  fairness: string | null;
}

export interface Factor {
  /** Dotted name of the setting, such as `path.rate`. */
  name: string;
  /** What people call it, such as `bandwidth`; absent from pages of older versions. */
  title?: string;
  /** Levels as written, in the order of the design. */
  labels: string[];
  /** Their values in `unit` where they are numbers, rates or times. */
  values: number[] | null;
  unit: Unit;
  /** True where levels are positions in a flow. */
  position: boolean;
}

export type Unit = "" | "ns" | "ms" | "s" | "bit/s" | "bytes" | "packets" | "share";

export interface Column {
  name: string;
  /** One line for people. */
  meaning: string;
  unit: Unit;
  kind: "number" | "truth" | "text";
  /** What people call it, where that is not its name. */
  title?: string;
  /** The scale of its colours, where every chart is to have the same. */
  scale?: { title: string; low: number; high: number };
  /** Of completion times: transfers that write for a set time, which do not complete by themselves; `all` where there
   * are no others. */
  timed?: { names: string[]; all: boolean };
}

export interface TableInfo {
  name: string;
  /** Id of its block. Its one table has the columns `run`, `replication`, `level:FACTOR` (a number of a level of
   * each factor, u1 or u2) and the responses. */
  block: string;
  /** Responses that may be chosen, the most useful first. */
  responses: Column[];
  /** Columns of the table that tell its rows apart beside the factors, such as `host` and `interval`. */
  keys: Column[];
  /** Column of the table that is 1 for rows of a run in which a pattern met no packet; absent where there is none. */
  unreached?: string;
}

export interface RunsInfo {
  /** Runs whose packets can be looked at, by number: the id of the block, and the file beside the page that has it
   * where the page itself has not. */
  embedded: Record<string, { block: string; file?: string }>;
  /** The command that embeds one more, before its number and behind; null where its packets cannot be had again. */
  command: [string, string] | null;
  /** Why it cannot, or why not all are embedded: one sentence. */
  note: string;
}

/** Head of the block of a run, or of a capture. `rexmit.plot.trace` says which tables stand beside. */
export interface TraceHead {
  /** Null for a capture. */
  run: number | null;
  title: string;
  /** Label of each factor. */
  levels: Record<string, string>;
  /** Of a run: its responses, by name. */
  responses: Record<string, number | string | boolean | null>;
  /** Seconds from the first packet to the last. */
  duration: number;
  /** One for each direction of a connection in which data went, the one that sent most first. */
  views: ViewHead[];
  /** What there is to say of the capture: that it breaks off, that some connections were left out. */
  remarks: string[];
  /** Links of the run whose queues are known, one table `queue-N` each. */
  queues?: QueueHead[];
}

export interface QueueHead {
  /** As the table `verdicts` names it, such as `bottleneck/left-right`. */
  direction: string;
  /** For people: `bottleneck, left to right`. */
  title: string;
}

export interface ViewHead {
  /** Unique within the block, such as `1-server`; tables begin with it. */
  key: string;
  protocol: "tcp" | "sctp";
  connection: number;
  /** Who sends the data. */
  direction: "client" | "server";
  title: string;
  /** One sentence or two: packets, bytes, goodput, causes of retransmissions, what this place cannot see. */
  facts: string;
  groups: Group[];
  /** When its connection begins, in seconds on the clock of the table `verdicts`. */
  start: number;
  /** Bytes of data sent. */
  bytes: number;
  /** Seconds of an interval of throughput. */
  interval: number;
  /** Number of the connection in its run, where that is known. */
  of?: number;
  /** Why it is not faster: what held the sender back, in one sentence. */
  why?: string;
  /** What the numbers of `by` in its table `held` are called. */
  held?: HeldWord[];
}

/** What may hold a sender back. */
export interface HeldWord {
  label: string;
  letter: string;
  colour: string;
  /** True for what is hatched. */
  hatched: boolean;
}

/** Packets that look alike: new, or sent again for one cause. */
export interface Group {
  label: string;
  letter: string;
  /** A name of the style (`segment`, `late`, `again`) or a colour. */
  colour: string;
  /** True for retransmissions. */
  again: boolean;
}
