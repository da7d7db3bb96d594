// The queue of a link under the packets of one connection: how many packets were in it, or how long each was, and which
// were dropped.

import type { Layer } from "./layer";
import { dots, greatest, rowsInView } from "./lod";
import { colourOf } from "./look";
import type { Series } from "./model";
import type { Panel } from "./panels";
import type { Drops } from "./queue";
import { xOf, yOf, type Sheet } from "./sheet";
import { foot, line } from "./strokes";

/** Larger marks than this many would hide each other. */
const FEW = 60;

export const QUEUE: Panel = {
  name: "queue",
  title: ([layer]) =>
    layer.measure === "packets"
      ? `Packets in the queue of ${layer.queue?.title ?? "a link"}; crosses: dropped, ringed where of this connection`
      : `Time in the queue of ${layer.queue?.title ?? "a link"} (ms): of this connection blue, of others grey; crosses: dropped`,
  brief: "Queue, crosses dropped",
  share: 0.15,
  has: (layer) => layer.queue !== null,
  most(layer, t0, t1) {
    const { queue, measure } = layer;
    if (!queue) return 0;
    const parts =
      measure === "packets" ? [queue.length] : [queue.own, queue.others, ...queue.drops.map(levels("ms"))];
    return Math.max(...parts.map(({ t, v }) => greatest(t, v, t0, t1)));
  },
  draw(sheet, layer) {
    const { queue, measure } = layer;
    if (!queue) return;
    if (measure === "packets") line(sheet, layer, queue.length, "segment");
    else {
      waits(sheet, layer, queue.others, layer.look.dim);
      waits(sheet, layer, queue.own, colourOf(layer.look, "late"));
    }
    foot(sheet, layer);
    if (!sheet.hidden.has("lost"))
      for (const drops of [...queue.drops].reverse()) drawDrops(sheet, layer, drops);
  },
  series(layer) {
    const { queue, measure } = layer;
    if (!queue) return [];
    const drops = queue.drops.map((one) => ({
      series: levels(measure)(one),
      label: "",
      unit: "",
      say: (row: number) => `${one.own ? "this connection" : "another connection"}: ${one.why[row]}`,
    }));
    const rest =
      measure === "packets"
        ? [{ series: queue.length, label: "", unit: "", say: (row: number) => inside(queue.length.v[row]) }]
        : [
            { series: queue.own, label: "in the queue, this connection", unit: "ms" },
            { series: queue.others, label: "in the queue, another connection", unit: "ms" },
          ];
    return [...drops, ...rest];
  },
};

const levels =
  (measure: Layer["measure"]) =>
  ({ t, packets, waited }: Drops): Series => ({ t, v: measure === "packets" ? packets : waited });

function waits(sheet: Sheet, layer: Layer, { t, v }: Series, colour: string): void {
  const found = dots(t, v, rowsInView(t, sheet.t0, sheet.t1), [sheet.x, sheet.y], () => true);
  sheet.pen.marks("dot", found, layer.look.second ? 1.4 : 1.8, { colour, width: 1 });
}

function inside(packets: number): string {
  return `${packets} packet${packets === 1 ? "" : "s"} in the queue`;
}

/** Crosses where packets were dropped, in a ring those of the connection; those that would cover another are left out. */
function drawDrops(sheet: Sheet, layer: Layer, drops: Drops): void {
  const { t, v } = levels(layer.measure)(drops);
  const found: number[] = [];
  let last = Number.NaN;
  const [from, to] = rowsInView(t, sheet.t0, sheet.t1);
  for (let row = from; row < to; row++) {
    if (t[row] < sheet.t0 || t[row] > sheet.t1) continue;
    const x = xOf(sheet, t[row]);
    if (Math.abs(x - last) < 1.5) continue;
    last = x;
    // What stands at the edge of the graph would be cut.
    found.push(x, Math.max(yOf(sheet, v[row]), sheet.box.top + 6));
  }
  const few = found.length <= 2 * FEW;
  const colour = drops.own ? colourOf(layer.look, "again") : layer.look.dim;
  sheet.pen.marks("cross", found, few ? 5 : 3.5, { colour, width: 1.2 });
  if (drops.own && few) sheet.pen.marks("ring", found, 6, { colour, width: 1.4 });
}
