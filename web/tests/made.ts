// A study that tests make up: three factors, two replications, a response that is told by its levels.
import type { Table } from "../src/block";
import { type Source, sourceOf } from "../src/explorer/data";
import type { Column, Factor, StudyPage, TableInfo } from "../src/format";

const factor = (name: string, labels: string[], values: number[] | null, unit: Factor["unit"]): Factor => ({
  name,
  labels,
  values,
  unit,
  position: name === "path.drop",
});
const number = (name: string, unit: Column["unit"]): Column => ({
  name,
  meaning: name,
  unit,
  kind: "number",
});

const INFO: TableInfo = {
  name: "runs",
  block: "runs",
  responses: [number("time_ns", "ns"), { name: "completed", meaning: "", unit: "", kind: "truth" }],
  keys: [],
};

export const PAGE: StudyPage = {
  format: 1,
  version: "0",
  title: "Made up",
  kind: "study",
  name: "made/up",
  backend: "model",
  factors: [
    factor("path.rate", ["40 kbit/s", "1 Mbit/s"], [40_000, 1_000_000], "bit/s"),
    factor("path.drop", ["0", "1", "2"], [0, 1, 2], ""),
    factor("hosts.stack", ["reno, as it was", "cubic~5"], null, ""),
  ],
  replications: 2,
  tables: [INFO],
  first: { response: "time_ns", x: "path.drop", colour: "path.rate" },
  runs: { embedded: {}, command: ["rexmit report made --with-runs ", ""], note: "None is kept." },
};

/** Time of a run: 100 for each rate, 10 for each position, 1 for each stack, and 0.5 for the second replication. */
export function timeOf(rate: number, drop: number, stack: number, replication: number): number {
  return 100 * (rate + 1) + 10 * drop + stack + 0.5 * replication;
}

/** All 24 runs; `change` may put in other times. */
export function made(change: (time: number, run: number) => number = (time) => time): Source {
  const columns: Record<string, number[]> = {};
  const put = (name: string, value: number): void => void (columns[name] ??= []).push(value);
  let run = 0;
  for (const rate of [0, 1])
    for (const drop of [0, 1, 2])
      for (const stack of [0, 1])
        for (const replication of [0, 1]) {
          const time = change(timeOf(rate, drop, stack, replication), run);
          put("run", run++);
          put("replication", replication);
          put("level:path.rate", rate);
          put("level:path.drop", drop);
          put("level:hosts.stack", stack);
          put("time_ns", time);
          put("completed", Number.isNaN(time) ? 0 : 1);
        }
  const table: Table = Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)]),
  );
  return sourceOf(PAGE, INFO, table);
}

/** The same where the packet of position 2 never came. */
export function madeUnreached(): Source {
  const source = made();
  const drop = source.table["level:path.drop"] as Float64Array;
  const table = { ...source.table, unreached: drop.map((level) => (level === 2 ? 1 : 0)) };
  return sourceOf(PAGE, { ...INFO, unreached: "unreached" }, table);
}
