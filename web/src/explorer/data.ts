// The tables of a study as the explorer asks for them: dimensions, which have levels, and responses.
import { decode, numbers, type Numbers, type Table } from "../block";
import type { Column, Factor, StudyPage, TableInfo, Unit } from "../format";
import { spoken } from "../ui/units";

/** What rows can be told apart by: a factor, the replication, or a key of a table such as the interval. */
export interface Dim {
  name: string;
  /** Its name for people. */
  title: string;
  labels: string[];
  /** Where its levels stand on an axis of numbers; null where they are names. */
  values: number[] | null;
  unit: Unit;
  position: boolean;
  /** Level of each row. */
  codes: Numbers;
  kind: "factor" | "replication" | "key";
}

export interface Source {
  info: TableInfo;
  table: Table;
  rows: number;
  dims: Dim[];
  /** Columns of the table that can be charted. */
  responses: Column[];
  /** 1 for rows of a run in which a pattern met no packet: what it stands for never happened. Null where all met. */
  unreached: Numbers | null;
}

/** More distinct values than this make a key no dimension. */
const MOST_LEVELS = 100_000;

/** Reads a table of the page. Rejects with an Error that says what is wrong with it, for people. */
export async function load(page: StudyPage, info: TableInfo): Promise<Source> {
  return sourceOf(page, info, await loadTable(info));
}

/** The columns of a table of the page, as they are. Rejects with an Error that says what is wrong with it. */
export async function loadTable(info: TableInfo): Promise<Table> {
  const element = document.getElementById(info.block);
  if (!element) throw new Error(`this page has no block ${info.block}`);
  return readBlock(element.textContent ?? "", info.block);
}

async function readBlock(text: string, name: string): Promise<Table> {
  if (typeof DecompressionStream === "undefined") throw new Error(OLD_BROWSER);
  try {
    const { tables } = await decode(text);
    const [table] = Object.values(tables);
    if (!table) throw new Error("it has no table");
    return table;
  } catch (error) {
    throw new Error(`the block ${name} of this page is damaged: ${reason(error)}`);
  }
}

export const OLD_BROWSER =
  "This browser cannot unpack what the page has: Chrome and Edge can from version 80, Firefox from 113, " +
  "Safari from 16.4.";

/** What an error says, in one line. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The dimensions and responses of a table. Throws an Error where a column that it must have is missing. */
export function sourceOf(page: StudyPage, info: TableInfo, table: Table): Source {
  const rows = numbers(table, "run").length;
  const dims: Dim[] = page.factors.map((factor) => ofFactor(factor, numbers(table, `level:${factor.name}`)));
  if (page.replications > 1) dims.push(ofReplication(page.replications, numbers(table, "replication")));
  for (const key of info.keys) {
    // The end of an interval says no more than its beginning.
    const dim = key.name === "to_ns" ? null : ofKey(key, table);
    if (dim) dims.push(dim);
  }
  const responses = info.responses.filter(
    (column) => column.kind !== "text" && isNumbers(table, column.name),
  );
  const unreached = info.unreached === undefined ? null : numbers(table, info.unreached);
  return { info, table, rows, dims: withoutTwins(dims), responses, unreached };
}

/** Without keys that number what another key with a unit measures, such as intervals beside their beginnings. */
function withoutTwins(dims: Dim[]): Dim[] {
  return dims.filter((dim) => {
    if (dim.kind !== "key" || dim.values === null || dim.unit !== "") return true;
    return !dims.some((other) => other.kind === "key" && other.unit !== "" && sameLevels(dim, other));
  });
}

function sameLevels(one: Dim, other: Dim): boolean {
  if (one.labels.length !== other.labels.length) return false;
  for (let row = 0; row < one.codes.length; row++) if (one.codes[row] !== other.codes[row]) return false;
  return true;
}

export function dimOf(source: Source, name: string | null): Dim | null {
  return source.dims.find((dim) => dim.name === name) ?? null;
}

function isNumbers(table: Table, name: string): boolean {
  const column = table[name];
  return column !== undefined && !("words" in column);
}

function ofFactor(factor: Factor, codes: Numbers): Dim {
  const { name, labels, values, unit, position } = factor;
  return {
    name,
    title: factor.title ?? name,
    labels,
    values: ascending(values),
    unit,
    position,
    codes,
    kind: "factor",
  };
}

function ofReplication(count: number, codes: Numbers): Dim {
  const values = Array.from({ length: count }, (_, at) => at);
  const labels = values.map(String);
  return {
    name: "replication",
    title: "replication",
    labels,
    values,
    unit: "",
    position: false,
    codes,
    kind: "replication",
  };
}

function ofKey(key: Column, table: Table): Dim | null {
  const column = table[key.name];
  if (column === undefined) return null;
  const title = key.name === "from_ns" ? "interval from" : spoken(key.name);
  const common = { name: key.name, title, unit: key.unit, position: false, kind: "key" as const };
  if ("words" in column) {
    const labels = column.words.map((word) => word ?? "none");
    return { ...common, labels, values: null, codes: column.codes };
  }
  const found = new Set(column);
  // Rows that have no value of the key are a level of its own, which has no place on an axis of numbers.
  const none = found.delete(Number.NaN);
  const values = [...found].sort((a, b) => a - b);
  if (values.length > MOST_LEVELS) return null;
  const places = new Map(values.map((value, place) => [value, place]));
  const codes = Uint32Array.from(column, (value) => places.get(value) ?? values.length);
  if (none) return { ...common, labels: [...values.map(String), "none"], values: null, codes };
  return { ...common, labels: values.map(String), values, codes };
}

/** Values that can be an axis of numbers: finite, no two alike. */
function ascending(values: number[] | null): number[] | null {
  if (!values || new Set(values).size !== values.length) return null;
  return values.every((value) => Number.isFinite(value)) ? values : null;
}
