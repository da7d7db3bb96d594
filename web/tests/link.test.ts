import assert from "node:assert/strict";
import { test } from "node:test";
import { prefersLog, fromFragment, type State, tableOf, toFragment, withRole } from "../src/explorer/state";
import { dimOf } from "../src/explorer/data";
import { ROLES } from "../src/explorer/group";
import { column, factor, made, randoms } from "./sample";

const ODD = [
  "plain",
  "a,b",
  "a~b",
  "~",
  "1+1",
  "50 %",
  "%20",
  "&at.x=1",
  "a=b#c?d",
  " leading and  two ",
  "é ü 漢字 🚀",
  "'\"<b>\\",
  "line\nbreak",
  "none",
  "",
];
const many = Array.from({ length: 1000 }, (_, at) => `${at}`);
const { source, first } = made(
  [
    factor("path.rate", ["1 Mbit/s", "2 Mbit/s", "50 Mbit/s"], [1e6, 2e6, 5e7], "bit/s"),
    factor("odd label, ~+%é", ODD),
    factor("many", many, many.map(Number)),
  ],
  2,
  () => 1,
  { responses: [column("replication")] },
);
const through = (state: State): { state: State; faults: string[] } =>
  fromFragment(toFragment(state, first, source), first, source);

test("what is as at first needs no words in a link", () => {
  assert.equal(toFragment(first, first, source), "explorer?");
  assert.deepEqual(through(first), { state: first, faults: [] });
});

/** A state in which every choice may be any. */
function anyState(random: () => number): State {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)];
  const level = (name: string): number => Math.floor(random() * dimOf(source, name)!.labels.length);
  const names = source.dims.map((dim) => dim.name).sort(() => random() - 0.5);
  const [x, colour, rows, columns] = names.map((name) => (random() < 0.3 ? null : name));
  const filters: State["filters"] = {};
  for (const { name, labels } of source.dims) {
    const share = random();
    const levels = [...labels.keys()].filter(() => random() < share);
    if (random() < 0.4 && levels.length < labels.length) filters[name] = levels;
  }
  const ends = [random(), random(), random(), random()].map((end) => (end - 0.3) * 10 ** (random() * 12 - 4));
  const zoom = [...ends.slice(0, 2).sort((a, b) => a - b), ...ends.slice(2).sort((a, b) => a - b)];
  const at = Object.fromEntries(
    [x, colour].filter((name) => name !== null).map((name) => [name, level(name)]),
  );
  const dim = pick(names);
  return {
    table: "runs",
    response: pick(["time", "replication"]),
    kind: pick(["line", "heat", "spread", "flows"] as const),
    ...{ x, colour, rows, columns },
    measure: pick(["mean", "median"] as const),
    shape: pick(["ecdf", "histogram", "box"] as const),
    logX: random() < 0.5,
    logY: random() < 0.5,
    zoom: random() < 0.5 ? zoom : null,
    against: random() < 0.5 ? { dim, level: level(dim), how: pick(["difference", "ratio"] as const) } : null,
    filters,
    at: random() < 0.5 ? at : null,
    run: random() < 0.5 ? Math.floor(random() * 1e6) : null,
    with: random() < 0.5 ? Math.floor(random() * 1e6) : null,
    layout: pick(["beside", "overlay"] as const),
    trace: pick(["", "v1-server;t1.234:1.236;hg%3F", "a b+c&d=e~", "none"]),
    view: pick(["chart", "table"] as const),
    of: random() < 0.5 ? Math.floor(random() * 1e6) : null,
    link: random() < 0.5 ? pick(ODD) : null,
  };
}

test("a link restores any state", () => {
  const random = randoms(1);
  for (let turn = 0; turn < 2000; turn++) {
    const state = anyState(random);
    const back = through(state);
    assert.deepEqual(back.faults, []);
    const { zoom, ...rest } = back.state;
    const { zoom: wanted, ...others } = state;
    assert.deepEqual(rest, others, toFragment(state, first, source));
    assert.equal(zoom === null, wanted === null);
    zoom?.forEach((end, place) => {
      const span = wanted![place < 2 ? 1 : 3] - wanted![place < 2 ? 0 : 2];
      assert.ok(Math.abs(end - wanted![place]) <= 1e-3 * span, `${zoom} for ${wanted}`);
    });
  }
});

test("a link goes through a browser's address as it is", () => {
  const random = randoms(2);
  for (let turn = 0; turn < 200; turn++) {
    const fragment = toFragment(anyState(random), first, source);
    const url = new URL(`file:///report.html#${fragment}`);
    assert.equal(url.hash, `#${fragment}`);
    assert.deepEqual(fromFragment(url.hash, first, source), fromFragment(fragment, first, source));
  }
});

test("a narrow part far from 0 stays a part", () => {
  const zoom = [1_700_000_000.25, 1_700_000_000.75, -1e-7, 1e-7];
  const back = through({ ...first, zoom }).state.zoom!;
  back.forEach((end, at) => assert.ok(Math.abs(end - zoom[at]) < 1e-9 * (at < 2 ? 1e6 : 1), `${back}`));
});

test("a link of 999 levels of 1,000 says the one that is out", () => {
  const fragment = toFragment({ ...first, filters: { many: [...many.keys()].slice(1) } }, first, source);
  assert.equal(fragment, "explorer?not.many=0");
});

test("a point on a chart of no dimension is a point", () => {
  const state = { ...first, x: null, colour: null, at: {} };
  assert.deepEqual(through(state).state.at, {});
});

const faulty: [string, RegExp][] = [
  ["x=gone", /asks for gone as x, which the table runs/],
  ["colour=gone", /asks for gone as colour/],
  ["response=gone", /response gone/],
  ["kind=pie", /kind=pie; known are line, heat, spread/],
  ["measure=mode", /known are mean, median/],
  ["view=", /known are chart, table/],
  ["logx=yes", /logx=yes; known are 0, 1/],
  ["against=difference~path.rate~3 Mbit/s", /against 3 Mbit\/s of path.rate/],
  ["against=less~path.rate~1 Mbit/s", /against 1 Mbit\/s/],
  ["against=", /against/],
  ["only.path.rate=3 Mbit/s", /3 Mbit\/s of path.rate/],
  ["only.gone=1", /1 of gone/],
  ["not.path.rate=3 Mbit/s", /3 Mbit\/s of path.rate/],
  ["at.gone=1", /1 of gone/],
  ["at.path.rate=", /of path.rate/],
  ["run=first", /run first, which is not a number/],
  ["with=-1", /run -1/],
  ["run=1e3", /run 1e3/],
  ["zoom=1~2~3", /part 1~2~3 of the axes/],
  ["zoom=~~~", /part ~~~ of the axes/],
  ["zoom=2~1~0~1", /part 2~1~0~1/],
  ["zoom=0~1~0~x", /part 0~1~0~x/],
];
for (const [said, fault] of faulty)
  test(`${said} in a link is a fault, and all else is as at first`, () => {
    const { state, faults } = fromFragment(`#explorer?${said.replaceAll("+", "%2B")}`, first, source);
    assert.equal(faults.length, 1, faults.join("; "));
    assert.match(faults[0], fault);
    assert.deepEqual(state.filters["path.rate"] ?? [0, 1, 2], [0, 1, 2]);
    assert.deepEqual({ ...state, filters: {} }, first);
  });

test("what a link says beside its faults holds", () => {
  const { state, faults } = fromFragment(
    "explorer?only.path.rate=gone&only.path.rate=2+Mbit/s&kind=heat",
    first,
    source,
  );
  assert.equal(faults.length, 1);
  assert.deepEqual(state.filters, { "path.rate": [1] });
  assert.equal(state.kind, "heat");
});

test("a fragment of something else says nothing", () => {
  for (const fragment of ["", "#", "#figure-4-01", "#explorer", "explore?x=gone"]) {
    assert.deepEqual(fromFragment(fragment, first, source), { state: first, faults: [] });
    assert.equal(tableOf(fragment), undefined);
  }
  assert.equal(tableOf("#explorer?x=many"), null);
  assert.equal(tableOf("#explorer?table=messages&x=many"), "messages");
});

test("no two roles ever have one dimension", () => {
  const random = randoms(4);
  let state = first;
  for (let turn = 0; turn < 500; turn++) {
    const role = ROLES[Math.floor(random() * 4)];
    const names = [null, ...source.dims.map((dim) => dim.name)];
    const name = names[Math.floor(random() * names.length)];
    state = withRole(state, source, role, name);
    assert.equal(state[role], name);
    const used = ROLES.map((one) => state[one]).filter((one) => one !== null);
    assert.equal(new Set(used).size, used.length);
  }
  const both = fromFragment("explorer?x=many&colour=many", first, source).state;
  assert.equal([both.x, both.colour].filter((name) => name === "many").length, 1);
});

test("a logarithmic axis is for levels that lie far apart, above 0", () => {
  const axis = (values: number[]): boolean => {
    const labels = values.map(String);
    return prefersLog(made([factor("f", labels, values)], 1, () => 1).source.dims[0]);
  };
  assert.equal(axis([1, 10, 100]), true);
  assert.equal(axis([1, 2, 3]), false);
  assert.equal(axis([0, 10, 100]), false);
  assert.equal(axis([1, 100]), false);
  assert.equal(prefersLog(null), false);
});
