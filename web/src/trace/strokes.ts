// What several graphs draw alike.

import type { Layer } from "./layer";
import { rowsInView, steps } from "./lod";
import { colourOf } from "./look";
import type { Series } from "./model";
import { groupKey } from "./sequence";
import { xOf, type Sheet } from "./sheet";

/** A level that holds from each time to the next. */
export function line(sheet: Sheet, layer: Layer, series: Series, look: string, dash?: number[]): void {
  const range = rowsInView(series.t, sheet.t0, sheet.t1);
  const last = series.t.length ? xOf(sheet, series.t[series.t.length - 1]) : 0;
  const end = range[1] < series.t.length ? sheet.box.left + sheet.box.width : last;
  const given = dash ?? (layer.look.second ? [6, 3] : undefined);
  sheet.pen.path(steps(series.t, series.v, range, [sheet.x, sheet.y], end), {
    colour: colourOf(layer.look, look),
    width: 1.3,
    ...(given ? { dash: given } : {}),
  });
}

/** A tick for each retransmission at the foot of the graph, in the colour of its cause. */
export function foot(sheet: Sheet, { view, look }: Layer): void {
  const bottom = sheet.box.top + sheet.box.height;
  view.head.groups.forEach((group, at) => {
    if (!group.again || sheet.hidden.has(groupKey(group.letter))) return;
    const found: number[] = [];
    let last = Number.NaN;
    for (const row of view.segments.rows[at]) {
      const t = view.segments.t[row];
      if (t < sheet.t0 || t > sheet.t1) continue;
      const x = xOf(sheet, t);
      if (Math.floor(x) === last) continue;
      last = Math.floor(x);
      found.push(x, bottom, x, bottom - 9);
    }
    sheet.pen.lines(found, { colour: colourOf(look, group.colour), width: 1.5 });
  });
}
