import assert from "node:assert/strict";
import { test } from "node:test";
import type { Against } from "../src/explorer/against";
import {
  firstState,
  fromFragment,
  prefersLog,
  type State,
  toFragment,
  withRole,
} from "../src/explorer/state";
import { dimOf } from "../src/explorer/data";
import { made, PAGE } from "./made";
import { factor, made as sample } from "./sample";

const source = made();
const first = firstState(PAGE, source);

/** The same numbers in every run of the tests. */
function draws(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function anyState(draw: (below: number) => number): State {
  const one = <T>(choices: readonly T[]): T => choices[draw(choices.length)];
  const names = [...source.dims.map((dim) => dim.name), null, null, null, null];
  // A dimension has one role at most.
  const roles: (string | null)[] = [];
  for (let role = 0; role < 4; role++) roles.push(...names.splice(draw(names.length), 1));
  const filters: State["filters"] = {};
  for (const dim of source.dims) {
    if (draw(2)) continue;
    const levels = dim.labels.map((_, level) => level).filter(() => draw(2) === 1);
    if (levels.length < dim.labels.length) filters[dim.name] = levels;
  }
  const held = one(source.dims);
  const against: Against = {
    dim: held.name,
    level: draw(held.labels.length),
    how: one(["difference", "ratio"] as const),
  };
  const chosen = one(source.dims);
  return {
    ...first,
    response: one(source.responses).name,
    kind: one(["line", "heat", "spread", "flows"] as const),
    x: roles[0],
    colour: roles[1],
    rows: roles[2],
    columns: roles[3],
    measure: one(["mean", "median"] as const),
    shape: one(["ecdf", "histogram", "box"] as const),
    logX: draw(2) === 1,
    logY: draw(2) === 1,
    zoom: draw(2) ? [0, 0.25 * (1 + draw(9)), -12.5, 1e9] : null,
    against: draw(2) ? against : null,
    filters,
    at: draw(2) ? { [chosen.name]: draw(chosen.labels.length) } : null,
    run: draw(2) ? draw(1000) : null,
    with: draw(2) ? 1000 + draw(1000) : null,
    layout: one(["beside", "overlay"] as const),
    trace: one(["", "1-server;0~2.5;hide=a b&c"]),
    view: one(["chart", "table"] as const),
    of: draw(2) ? draw(1000) : null,
    link: draw(2) ? "bottleneck, left to right" : null,
  };
}

test("a link restores every choice", () => {
  const draw = draws(7);
  for (let turn = 0; turn < 2000; turn++) {
    const state = anyState(draw);
    const fragment = toFragment(state, first, source);
    const { state: read, faults } = fromFragment(`#${fragment}`, first, source);
    assert.deepEqual(faults, [], fragment);
    assert.deepEqual(read, state, fragment);
  }
});

test("the state to begin with needs no words", () => {
  assert.equal(toFragment(first, first, source), "explorer?");
  assert.deepEqual(fromFragment("#figures", first, source), { state: first, faults: [] });
});

test("what a link asks for in vain is said, the rest is shown", () => {
  const asked =
    "#explorer?x=path.colour&response=nothing&kind=pie&only.path.rate=9+Mbit%2Fs&run=x&measure=median";
  const { state, faults } = fromFragment(asked, first, source);
  assert.equal(faults.length, 5);
  for (const word of ["path.colour", "nothing", "pie", "9 Mbit/s", "run x"])
    assert.ok(
      faults.some((fault) => fault.includes(word)),
      word,
    );
  assert.deepEqual(state, { ...first, measure: "median" });
});

test("a dimension that gets a second role leaves its first to what was there", () => {
  const swapped = withRole(first, source, "x", "path.rate");
  assert.deepEqual([swapped.x, swapped.colour], ["path.rate", "path.drop"]);
  const { state } = fromFragment("#explorer?x=path.rate&colour=path.rate", first, source);
  assert.equal(state.x, "path.rate");
  assert.equal(state.colour, null);
});

test("levels that are far apart lie on a logarithmic axis, positions never do", () => {
  const rate = dimOf(source, "path.rate")!;
  const values = [40_000, 1_000_000, 10_000_000];
  assert.equal(prefersLog({ ...rate, labels: ["a", "b", "c"], values }), true);
  assert.equal(prefersLog({ ...rate, values: [10_000, 20_000, 30_000] }), false);
  assert.equal(prefersLog({ ...rate, values: [0, 1, 1000] }), false);
  assert.equal(prefersLog({ ...rate, position: true, values: [1, 10, 1000] }), false);
  assert.equal(prefersLog(dimOf(source, "hosts.stack")), false);
});

test("a study without factors begins with what it has", () => {
  const bare = { ...source, dims: [] };
  const state = firstState(PAGE, bare);
  assert.deepEqual([state.x, state.colour, state.response], [null, null, "time_ns"]);
});

test("without factors the runs are a distribution, and one run is a dot", () => {
  const bare = { ...PAGE, factors: [], first: { response: "time_ns", x: null, colour: null } };
  const many = sample([], 5, (_, replication) => replication);
  assert.equal(firstState(bare, many.source).kind, "spread");
  const one = sample([], 1, () => 3);
  assert.equal(firstState(bare, one.source).kind, "line");
  const varied = sample([factor("a", ["x", "y"])], 5, ([a]) => a);
  assert.equal(firstState(varied.page, varied.source).kind, "line");
});
