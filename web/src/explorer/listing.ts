// What is charted as a table: to read, to hear, to keep.
import { el } from "../ui/dom";
import { count } from "../ui/units";
import { cellAt, ROLES, type Role } from "./group";
import { cellLevels, levelLabel, type Picture, valueText } from "./picture";

const SHOWN = 500;

/** Every cell with rows, in the order of the chart. */
export function cellsOf(picture: Picture): { cell: number; places: Record<Role, number> }[] {
  const { groups } = picture;
  const found: { cell: number; places: Record<Role, number> }[] = [];
  const { rows, columns, colour, x } = groups.levels;
  for (let r = 0; r < rows.length; r++)
    for (let c = 0; c < columns.length; c++)
      for (let k = 0; k < colour.length; k++)
        for (let at = 0; at < x.length; at++) {
          const cell = cellAt(groups, r, c, k, at);
          if (groups.start[cell] < groups.start[cell + 1])
            found.push({ cell, places: { rows: r, columns: c, colour: k, x: at } });
        }
  return found;
}

export function listing(picture: Picture, open: (places: Record<Role, number>) => void): HTMLElement {
  const { groups, summary, measure } = picture;
  const dims = ROLES.map((role) => groups.roles[role]).filter((dim) => dim !== null);
  const ends = measure === "median" ? ["least", "greatest"] : ["95 % from", "to"];
  const never = picture.source.unreached !== null;
  const heads = [...dims.map((dim) => dim.title), measure, ...ends, "runs", "no value"];
  if (never) heads.push("met no packet");
  const cells = cellsOf(picture);
  const rows = cells.slice(0, SHOWN).map(({ cell, places }) => {
    const levels = cellLevels(groups, places).map(([dim, level]) => levelLabel(dim, level));
    const values = [summary.value, summary.low, summary.high].map((column) =>
      valueText(picture, column[cell]),
    );
    const counts = [count(summary.n[cell]), count(summary.missing[cell])];
    if (never) counts.push(count(picture.unreached[cell]));
    const row = el("tr", {}, ...[...levels, ...values, ...counts].map((text) => el("td", {}, text)));
    row.append(el("td", {}, el("button", { type: "button", onclick: () => open(places) }, "Runs")));
    return row;
  });
  const table = el(
    "table",
    { class: "runs-table" },
    el("caption", {}, picture.caption),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)), el("th", {}, ""))),
    el("tbody", {}, ...rows),
  );
  const scroll = el(
    "div",
    { class: "table-scroll tall", tabIndex: 0, role: "region", "aria-label": "Charted values" },
    table,
  );
  const rest = cells.length - SHOWN;
  const more = rest > 0 ? el("p", { class: "soft" }, `${count(rest)} more rows are in the CSV.`) : null;
  return el("div", {}, scroll, ...(more ? [more] : []));
}

/** The charted values as CSV, in the units of the table. */
export function csv(picture: Picture): string {
  const { groups, summary, measure, column, state } = picture;
  const dims = ROLES.map((role) => groups.roles[role]).filter((dim) => dim !== null);
  const value = state.against
    ? `${column.name}_${state.against.how}_${measure}`
    : `${column.name}_${measure}`;
  const never = picture.source.unreached !== null;
  const heads = [...dims.map((dim) => dim.name), value, "low", "high", "runs", "without_value"];
  if (never) heads.push("unreached");
  const number = (one: number): string => (Number.isNaN(one) ? "" : String(one));
  const lines = cellsOf(picture).map(({ cell, places }) =>
    [
      ...cellLevels(groups, places).map(([dim, level]) => quoted(dim.labels[level])),
      number(summary.value[cell]),
      number(summary.low[cell]),
      number(summary.high[cell]),
      summary.n[cell],
      summary.missing[cell],
      ...(never ? [picture.unreached[cell]] : []),
    ].join(","),
  );
  return `${[heads.map(quoted).join(","), ...lines].join("\r\n")}\r\n`;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
