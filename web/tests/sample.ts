// A small study to test with, and numbers that look random and are the same each time.
import type { Numbers, Table, Texts } from "../src/block";
import type { Column, Factor, StudyPage, TableInfo, Unit } from "../src/format";
import { type Source, sourceOf } from "../src/explorer/data";
import { firstState, type State } from "../src/explorer/state";

export interface Made {
  page: StudyPage;
  source: Source;
  first: State;
}

export function factor(
  name: string,
  labels: string[],
  values: number[] | null = null,
  unit: Unit = "",
): Factor {
  return { name, labels, values, unit, position: false };
}

export function column(name: string, unit: Unit = "", kind: Column["kind"] = "number"): Column {
  return { name, meaning: "", unit, kind };
}

/** All combinations of the levels, one row each, replications last; `value` says what a row has in `time`. */
export function made(
  factors: Factor[],
  replications: number,
  value: (levels: number[], replication: number, row: number) => number,
  more: { columns?: Record<string, Numbers | Texts>; keys?: Column[]; responses?: Column[] } = {},
): Made {
  const rows = factors.reduce((product, { labels }) => product * labels.length, replications);
  const table: Table = { run: new Float64Array(rows), replication: new Uint8Array(rows) };
  const levels = factors.map(() => new Uint16Array(rows));
  const time = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    let rest = Math.floor(row / replications);
    for (let at = factors.length - 1; at >= 0; at--) {
      levels[at][row] = rest % factors[at].labels.length;
      rest = Math.floor(rest / factors[at].labels.length);
    }
    (table.run as Float64Array)[row] = row;
    (table.replication as Uint8Array)[row] = row % replications;
    time[row] = value(
      levels.map((codes) => codes[row]),
      row % replications,
      row,
    );
  }
  factors.forEach(({ name }, at) => (table[`level:${name}`] = levels[at]));
  Object.assign(table, { time }, more.columns);
  const info: TableInfo = {
    name: "runs",
    block: "runs",
    responses: [column("time", "s"), ...(more.responses ?? [])],
    keys: more.keys ?? [],
  };
  const page: StudyPage = {
    kind: "study",
    format: 1,
    version: "0",
    title: "",
    name: "made",
    backend: "model",
    factors,
    replications,
    tables: [info],
    first: { response: "time", x: factors[0]?.name ?? null, colour: null },
    runs: { embedded: {}, command: null, note: "" },
  };
  const source = sourceOf(page, info, table);
  return { page, source, first: firstState(page, source) };
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
