// Pictures that everybody draws of flows, each one click away: what they are is a state like any other.
import type { StudyPage } from "../format";
import { type Dim, dimOf, type Source } from "./data";
import type { State } from "./state";

export interface Preset {
  id: string;
  words: string;
  /** What it shows, for who hesitates. */
  title: string;
  table: string;
  /** The state, from the one that its table begins with. */
  of: (first: State, source: Source) => State;
}

/** Those that this page has the values for. */
export function presetsOf(page: StudyPage): Preset[] {
  const found: Preset[] = [];
  const transfers = page.tables.find(({ name }) => name === "transfers");
  if (transfers?.responses.some(({ name, timed }) => name === "time_ns" && !timed?.all))
    found.push({
      id: "completion",
      words: "Completion times",
      title: "The share of flows that took no longer than a time; Colour tells apart the levels of a factor",
      table: "transfers",
      of: completion,
    });
  const fairness = page.flows?.fairness;
  if (fairness && several(page.factors.map(({ labels }) => labels)) > 1)
    found.push({
      id: "fairness",
      words: "Fairness",
      title: "Jain’s index over two factors; Response has others",
      table: "runs",
      of: (first, source) => heat(first, source, fairness),
    });
  return found;
}

function several(labels: string[][]): number {
  return labels.filter((one) => one.length > 1).length;
}

/** The distribution of completion times, a curve for each level of the factor with most. */
function completion(first: State, source: Source): State {
  const factors = factorsOf(source);
  const transfer = dimOf(source, "transfer");
  const apart = factors[0] ?? transfer;
  const colour = apart && apart.labels.length > 1 ? apart.name : null;
  const timed = new Set(source.responses.find(({ name }) => name === "time_ns")?.timed?.names);
  const levels = transfer?.labels.flatMap((label, level) => (timed.has(label) ? [] : [level])) ?? [];
  const filters: State["filters"] = timed.size > 0 && transfer ? { transfer: levels } : {};
  const blank = { x: null, rows: null, columns: null, filters };
  return { ...first, ...blank, kind: "spread", shape: "ecdf", response: "time_ns", colour, logX: true };
}

/** A response over the two factors with most levels, quantities before names. */
function heat(first: State, source: Source, response: string): State {
  const factors = factorsOf(source).sort((a, b) => Number(b.values !== null) - Number(a.values !== null));
  const [x, y] = factors.map(({ name }) => name);
  return {
    ...first,
    kind: "heat",
    response,
    x,
    colour: y,
    rows: null,
    columns: null,
    filters: {},
    logX: false,
  };
}

/** Factors that vary, those with most levels first. */
function factorsOf(source: Source): Dim[] {
  const factors = source.dims.filter((dim) => dim.kind === "factor" && dim.labels.length > 1);
  return factors.sort((a, b) => b.labels.length - a.labels.length);
}
