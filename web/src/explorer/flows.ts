// The flows of one run over time, above the queue of a link: what is charted, before it is drawn.
import { type Numbers, numbers, type Table, textAt } from "../block";
import type { StudyPage } from "../format";
import { loadTable } from "./data";

/** The tables that this takes. */
const NAMES = ["transfers", "transfers_over_time", "links_over_time"] as const;

export type FlowTables = Record<(typeof NAMES)[number], Table>;

export interface Flows {
  run: number;
  /** Ends of the intervals in seconds, one more than there are intervals. */
  edges: number[];
  lines: FlowLine[];
  /** Names of the links that have a queue, and the one that is shown. */
  links: string[];
  link: string;
  /** Its rate in bit/s; null where it has none or follows a trace. */
  rate: number | null;
  queue: Queue;
}

/** Goodput of a flow, or of several. */
export interface FlowLine {
  label: string;
  /** bit/s in each interval; NaN before it begins and after its end. */
  values: number[];
}

export interface Queue {
  unit: "ms" | "packets";
  /** In each interval; NaN where nothing is known. */
  mean: number[];
  most: number[];
  drops: number[];
}

/** More flows than this are not told apart: those of a transfer are one line then, and of many transfers the smallest. */
export const MOST_FLOWS = 12;

/** Whether a page has what this takes. */
export function hasFlows(page: StudyPage): boolean {
  return NAMES.every((name) => page.tables.some((table) => table.name === name));
}

/** What to write to have more pictures of flows; null where all are there. */
export function flowsHint(page: StudyPage): string | null {
  if (hasFlows(page)) return null;
  if (page.flows?.note) return page.flows.note;
  const every = 'measure.every = "500 ms"';
  return page.tables.some(({ name }) => name === "transfers")
    ? `Flows over time above a queue need ${every} in the scenario.`
    : `Completion times, and flows over time above a queue, need ${every} in the scenario.`;
}

/** Reads the tables. Rejects with an Error that says what is wrong with them. */
export async function loadFlows(page: StudyPage): Promise<FlowTables> {
  const found = await Promise.all(
    NAMES.map(async (name) => [name, await loadTable(page.tables.find((one) => one.name === name)!)]),
  );
  return Object.fromEntries(found) as FlowTables;
}

/** The runs of which there is something, in rising order. */
export function runsOfFlows(tables: FlowTables): number[] {
  return [...new Set(numbers(tables.links_over_time, "run"))].sort((a, b) => a - b);
}

/** The flows of a run above the queue of a link, the longest where none of this name is there; null of another run. */
export function flowsOf(tables: FlowTables, run: number, wanted: string | null): Flows | null {
  const queues = tables.links_over_time;
  const rows = rowsOfRun(queues, run);
  if (rows.length === 0) return null;
  const byLink = new Map<string, number[]>();
  for (const row of rows) {
    const name = linkName(queues, row);
    const own = byLink.get(name);
    if (own) own.push(row);
    else byLink.set(name, [row]);
  }
  const links = [...byLink.keys()];
  const link = wanted !== null && byLink.has(wanted) ? wanted : longest(queues, byLink);
  const [from, to] = [numbers(queues, "from_ns"), numbers(queues, "to_ns")];
  const own = byLink.get(link)!.sort((a, b) => from[a] - from[b]);
  const begins = own.map((row) => from[row]);
  const edges = [...begins, to[own.at(-1)!]];
  const rate = queues.rate_bit_s ? numbers(queues, "rate_bit_s")[own[0]] : Number.NaN;
  return {
    run,
    edges: edges.map((edge) => edge / 1e9),
    lines: linesOf(tables, run, edges),
    links,
    link,
    rate: rate > 0 ? rate : null,
    queue: queueOf(queues, own),
  };
}

function rowsOfRun(table: Table, run: number): number[] {
  const rows: number[] = [];
  numbers(table, "run").forEach((one, row) => {
    if (one === run) rows.push(row);
  });
  return rows;
}

/** `bottleneck, left to right`. */
function linkName(table: Table, row: number): string {
  const [link, from, to] = ["link", "from_point", "to_point"].map((name) => textAt(table, name, row) ?? "");
  return `${link}, ${from} to ${to}`;
}

/** The link in whose queue packets wait longest. */
function longest(queues: Table, byLink: Map<string, number[]>): string {
  const sums = [...byLink].map(([name, rows]): [string, number] => {
    const { mean, unit } = queueOf(queues, rows);
    // Where a link has no rate its packets count, which are not a time: behind all that have one.
    const sum = mean.reduce((all, one) => all + (one || 0), 0);
    return [name, unit === "ms" ? sum : sum / 1e9];
  });
  return sums.reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

function queueOf(queues: Table, rows: number[]): Queue {
  const column = (name: string): number[] => {
    const all = queues[name] ? numbers(queues, name) : null;
    return rows.map((row) => (all ? all[row] : Number.NaN));
  };
  const timed = column("queue_mean_ms");
  const unit = timed.some((one) => !Number.isNaN(one)) ? "ms" : "packets";
  return unit === "ms"
    ? { unit, mean: timed, most: column("queue_max_ms"), drops: column("drops") }
    : { unit, mean: column("queue_packets_mean"), most: column("queue_packets_max"), drops: column("drops") };
}

interface Group {
  label: string;
  /** Rows of the table of transfers. */
  rows: number[];
}

function linesOf(
  { transfers, transfers_over_time: over }: FlowTables,
  run: number,
  edges: number[],
): FlowLine[] {
  const rows = rowsOfRun(over, run);
  const [connection, from, goodput] = ["connection", "from_ns", "goodput_bit_s"].map((name) =>
    numbers(over, name),
  );
  const place = new Map(edges.slice(0, -1).map((edge, at) => [edge, at]));
  const known = numbers(transfers, "connection");
  const [opened, time] = [numbers(transfers, "opened_ns"), timesOf(transfers)];
  const groups = groupsOf(transfers, rowsOfRun(transfers, run));
  const groupOf = new Map(groups.flatMap(({ rows }, at) => rows.map((row) => [known[row], at])));
  const lines = groups.map(({ label, rows }) => {
    const begin = rows.reduce((least, row) => (opened[row] < least ? opened[row] : least), Infinity);
    // One that never came to its end goes on.
    const end = rows.reduce((most, row) => Math.max(most, finite(opened[row] + time[row])), 0);
    const alive = (at: number): boolean => edges[at + 1] > begin && edges[at] < end;
    return { label, values: edges.slice(0, -1).map((_, at) => (alive(at) ? 0 : Number.NaN)) };
  });
  for (const row of rows) {
    const [at, line] = [place.get(from[row]), groupOf.get(connection[row])];
    if (at === undefined || line === undefined) continue;
    const { values } = lines[line];
    values[at] = (values[at] || 0) + goodput[row];
  }
  return lines;
}

function timesOf(transfers: Table): Numbers {
  return transfers.time_ns
    ? numbers(transfers, "time_ns")
    : new Float64Array(numbers(transfers, "run").length).fill(NaN);
}

function finite(value: number): number {
  return Number.isNaN(value) ? Infinity : value;
}

/** One line per connection; one line per transfer where they are many; of many transfers those with most bytes. */
function groupsOf(transfers: Table, rows: number[]): Group[] {
  const byName = new Map<string, number[]>();
  for (const row of rows) {
    const name = textAt(transfers, "transfer", row) ?? "";
    const label = /^\d+$/.test(name) ? `transfer ${name}` : name;
    const own = byName.get(label);
    if (own) own.push(row);
    else byName.set(label, [row]);
  }
  if (rows.length <= MOST_FLOWS)
    return [...byName].flatMap(([name, own]) =>
      own.map((row, at) => ({ label: own.length > 1 ? `${name} ${at + 1}` : name, rows: [row] })),
    );
  const groups = [...byName].map(([name, own]): Group => ({ label: summed(name, own), rows: own }));
  if (groups.length <= MOST_FLOWS) return groups;
  const bytes = numbers(transfers, "bytes");
  const size = ({ rows }: Group): number => rows.reduce((sum, row) => sum + bytes[row], 0);
  const large = new Set([...groups].sort((a, b) => size(b) - size(a)).slice(0, MOST_FLOWS - 1));
  const others = groups.filter((group) => !large.has(group)).flatMap((group) => group.rows);
  return [...groups.filter((group) => large.has(group)), { label: summed("others", others), rows: others }];
}

function summed(name: string, rows: number[]): string {
  return rows.length > 1 ? `${name}, sum of ${rows.length.toLocaleString("en")} flows` : name;
}
