// Lists under the graphs: what was sent again and why, and what the emulator did to each packet. Only the rows in
// view are in the page, so that 200,000 cost no more than 20.

import { element } from "./dom";
import { colourOf } from "./look";
import type { Layer } from "./layer";
import { groupOf, type Verdicts } from "./model";
import { count, duration } from "./ranges";

const MOST_ROWS = 10;
/** Rows on paper, where nothing scrolls. */
const MOST_PRINTED = 100;
const ROW = 25;
/** Browsers do not make elements much higher. */
const MOST_HEIGHT = 8_000_000;

interface Content {
  name: string;
  columns: [string, string][];
  count: number;
  cells: (row: number) => { text: string; colour?: string }[];
  open: (row: number) => void;
}

export class Lists {
  readonly element = element("div", "rx-lists");
  private readonly again: (VirtualList | null)[] = [];

  constructor(
    private readonly goTo: (layer: number, row: number) => void,
    private readonly centre: (layer: number, clock: number) => void,
  ) {}

  show(layers: Layer[]): void {
    this.again.length = 0;
    const parts: HTMLElement[] = [];
    layers.forEach((layer, at) => {
      const of = layers.length > 1 ? ` of ${layer.trace.head.title}` : "";
      const retransmissions = this.retransmissions(layer, at, of);
      this.again.push(retransmissions);
      parts.push(retransmissions.element);
      if (layer.trace.verdicts) parts.push(this.verdicts(layer, at, of));
    });
    this.element.replaceChildren(...parts);
  }

  /** Marks the row of a retransmission that the graph has gone to. */
  mark(layer: number, row: number): void {
    this.again.forEach((list, at) => list?.mark(at === layer ? row : -1));
  }

  private retransmissions(layer: Layer, at: number, of: string): VirtualList {
    const { again, segments, unit } = layer.view;
    const delay = (seconds: number): string => (seconds < 0 ? "" : duration(seconds));
    return new VirtualList({
      name: `Sent again${of}`,
      columns: [
        ["packet", "5rem"],
        ["time", "7rem"],
        [unit === "TSN" ? "TSN" : "sequence number", "8rem"],
        ["cause", "15rem"],
        ["sure", "5rem"],
        ["since before", "7rem"],
        ["since first", "7rem"],
        ["evidence", "minmax(18rem, 1fr)"],
      ],
      count: again.count,
      cells: (n) => {
        const row = again.row[n];
        const group = groupOf(layer.view, row);
        return [
          { text: String(segments.number[row]) },
          { text: `${segments.t[row].toFixed(6)} s` },
          { text: count(segments.low[row]) },
          { text: group.label, colour: colourOf(layer.look, group.colour) },
          { text: again.confidence(n) },
          { text: delay(again.previous[n]) },
          { text: delay(again.first[n]) },
          { text: again.why(n) },
        ];
      },
      open: (n) => this.goTo(at, n),
    });
  }

  private verdicts(layer: Layer, at: number, of: string): HTMLElement {
    const log = layer.trace.verdicts as Verdicts;
    const dropped: number[] = [];
    for (let row = 0; row < log.count; row++) if (log.dropped[row]) dropped.push(row);
    const content = (rows: number[] | null): Content => ({
      name: `What the emulator did${of}`,
      columns: [
        ["time", "8rem"],
        ["direction", "6rem"],
        ["position", "5rem"],
        ["packet", "minmax(14rem, 1fr)"],
        ["verdict", "minmax(14rem, 1fr)"],
      ],
      count: rows ? rows.length : log.count,
      cells: (n) => {
        const row = rows ? rows[n] : n;
        const colour = log.dropped[row] ? { colour: colourOf(layer.look, "again") } : {};
        return [
          { text: `${log.t[row].toFixed(6)} s` },
          { text: log.direction(row) },
          { text: String(log.position[row]) },
          { text: packetText(log, row) },
          { text: log.verdict(row), ...colour },
        ];
      },
      open: (n) => this.centre(at, log.t[rows ? rows[n] : n]),
    });
    const list = new VirtualList(content(null));
    const label = element("label", "rx-filter");
    const box = element("input");
    box.type = "checkbox";
    box.addEventListener("change", () => list.fill(content(box.checked ? dropped : null)));
    label.append(box, `only the ${count(dropped.length)} dropped`);
    list.head.append(label);
    return list.element;
  }
}

const FLAGS: [number, string][] = [
  [2, "SYN"],
  [1, "FIN"],
  [4, "RST"],
  [8, "PSH"],
];

function packetText(log: Verdicts, row: number): string {
  const names = FLAGS.filter(([bit]) => log.flags[row] & bit).map(([, name]) => name);
  if (log.payload[row]) names.push(`${count(log.payload[row])} bytes of data`);
  if (log.seq && (log.payload[row] || log.flags[row] & 3)) names.push(`from ${count(log.seq[row])}`);
  if (log.ack && log.ack[row] >= 0) names.push(`ACK ${count(log.ack[row])}`);
  return `${count(log.bytes[row])} bytes: ${names.join(", ") || "no data"}`;
}

/** A list of which only the rows in view exist. */
class VirtualList {
  readonly element = element("section", "rx-list");
  readonly head = element("header");
  private readonly title = element("h3");
  private readonly scroller = element("div", "rx-scroll");
  private readonly body = element("div", "rx-rows");
  private readonly paper = element("div", "rx-paper");
  private marked = -1;
  private focus = 0;

  constructor(private content: Content) {
    this.head.append(this.title);
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "grid");
    this.scroller.append(this.body);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.pressed(event));
    this.element.append(this.head, this.scroller, this.paper);
    this.fill(content);
  }

  fill(content: Content): void {
    this.content = content;
    this.title.textContent = `${content.name} (${count(content.count)})`;
    this.scroller.setAttribute("aria-label", content.name);
    this.scroller.setAttribute("aria-rowcount", String(content.count));
    this.scroller.hidden = content.count === 0;
    this.body.style.height = `${Math.min((content.count + 1) * ROW, MOST_HEIGHT)}px`;
    this.scroller.style.height = `${(this.visible + 1) * ROW + 4}px`;
    this.scroller.scrollTop = 0;
    [this.marked, this.focus] = [-1, 0];
    this.draw();
    this.paper.replaceChildren(...this.printed());
  }

  /** The first rows as a table whose cells wrap: what is printed in place of the part in view. */
  private printed(): HTMLElement[] {
    const { columns, cells, count: rows } = this.content;
    if (rows === 0) return [];
    const table = element("table");
    const head = table.createTHead().insertRow();
    for (const [name] of columns) {
      const cell = element("th");
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (let row = 0; row < Math.min(rows, MOST_PRINTED); row++) {
      const line = body.insertRow();
      for (const { text, colour } of cells(row)) {
        const cell = line.insertCell();
        cell.textContent = text;
        if (colour) cell.style.color = colour;
      }
    }
    if (rows <= MOST_PRINTED) return [table];
    const more = element("p");
    more.textContent = `${count(rows - MOST_PRINTED)} more are in the page.`;
    return [table, more];
  }

  mark(row: number): void {
    this.marked = this.focus = row;
    if (row >= 0) this.reveal(row);
    this.draw();
  }

  /** Rows in view below the names: not measured, for a list that is not in the page yet has no height. */
  private get visible(): number {
    return Math.max(Math.min(this.content.count, MOST_ROWS), 1);
  }

  /** The first row in view: where the body is shorter than all rows, scrolling is in proportion. */
  private get first(): number {
    const height = this.body.offsetHeight - this.scroller.clientHeight;
    const rows = this.content.count - this.visible;
    if (rows <= 0 || height <= 0) return 0;
    if ((this.content.count + 1) * ROW <= MOST_HEIGHT) return Math.floor(this.scroller.scrollTop / ROW);
    return Math.round((this.scroller.scrollTop / height) * rows);
  }

  private reveal(row: number): void {
    const first = this.first;
    if (row >= first && row < first + this.visible) return;
    const whole = (this.content.count + 1) * ROW <= MOST_HEIGHT;
    const height = this.body.offsetHeight - this.scroller.clientHeight;
    const target = Math.max(row - 3, 0);
    this.scroller.scrollTop = whole
      ? target * ROW
      : (target / Math.max(this.content.count - this.visible, 1)) * height;
  }

  private draw(): void {
    const first = this.first;
    const last = Math.min(first + this.visible + 4, this.content.count);
    const columns = this.content.columns.map(([, width]) => width).join(" ");
    const top = element("div", "rx-row rx-names");
    top.setAttribute("role", "row");
    top.style.gridTemplateColumns = columns;
    top.append(
      ...this.content.columns.map(([name]) => {
        const cell = element("span");
        cell.setAttribute("role", "columnheader");
        cell.textContent = name;
        return cell;
      }),
    );
    const rows: HTMLElement[] = [top];
    for (let row = first; row < last; row++) rows.push(this.row(row, row - first, columns));
    this.body.replaceChildren(...rows);
  }

  private row(row: number, place: number, columns: string): HTMLElement {
    const line = element("div", `rx-row${row === this.marked ? " rx-marked" : ""}`);
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(row + 1));
    line.style.gridTemplateColumns = columns;
    const whole = (this.content.count + 1) * ROW <= MOST_HEIGHT;
    line.style.top = `${whole ? (row + 1) * ROW : this.scroller.scrollTop + (place + 1) * ROW}px`;
    for (const { text, colour } of this.content.cells(row)) {
      const cell = element("span");
      cell.setAttribute("role", "gridcell");
      cell.textContent = text;
      cell.title = text;
      if (colour) cell.style.color = colour;
      line.append(cell);
    }
    line.addEventListener("click", () => {
      this.marked = this.focus = row;
      this.content.open(row);
      this.draw();
    });
    return line;
  }

  private pressed(event: KeyboardEvent): void {
    const step: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: this.visible,
      PageUp: -this.visible,
    };
    if (event.key in step) {
      this.focus = Math.min(Math.max(this.focus + step[event.key], 0), this.content.count - 1);
      this.marked = this.focus;
      this.reveal(this.focus);
      this.draw();
    } else if (event.key === "Enter" && this.marked >= 0) this.content.open(this.marked);
    else return;
    event.preventDefault();
  }
}
