// Pointing at a chart: by mouse, by touch, by keys.
import { el, fill } from "../ui/dom";
import type { Chart } from "./chart";
import type { Mark } from "./frame";
import { cellLevels, levelLabel, levelText, type Picture } from "./picture";
import { pointText } from "./runs";

export interface PointerWiring {
  open: (mark: Mark) => void;
  /** What a listener should hear of the point. */
  say: (text: string) => void;
}

/** Farther from a point than this, in pixels, none is meant. */
const REACH = 60;

export class Pointer {
  private at: Mark | null = null;
  private readonly ring = el("div", { class: "ring", hidden: true });
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly stop = new AbortController();

  constructor(
    private readonly host: HTMLElement,
    private readonly chart: Chart,
    private readonly picture: Picture,
    private readonly wiring: PointerWiring,
  ) {
    host.append(this.ring, this.tip);
    const { signal } = this.stop;
    let pressed = [0, 0];
    host.addEventListener("pointerdown", (event) => (pressed = [event.clientX, event.clientY]), { signal });
    host.addEventListener("pointermove", (event) => this.move(event), { signal });
    host.addEventListener("pointerleave", () => this.show(null), { signal });
    host.addEventListener(
      "click",
      (event) => {
        // The end of a drag is not a click.
        if (Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 5) return;
        this.move(event);
        if (this.at) wiring.open(this.at);
      },
      { signal },
    );
    host.addEventListener("keydown", (event) => this.key(event), { signal });
  }

  /** The point that the state has chosen, marked on the chart. */
  mark(cell: number | null): void {
    this.host.querySelectorAll(".ring.chosen").forEach((one) => one.remove());
    for (const mark of this.chart.marks) {
      if (mark.cell !== cell) continue;
      const ring = el("div", { class: "ring chosen" });
      place(ring, mark);
      this.host.append(ring);
      // A distribution has a point at every value, and all of them are one.
      this.at ??= mark;
      break;
    }
  }

  destroy(): void {
    this.stop.abort();
  }

  private move(event: MouseEvent): void {
    const bounds = this.host.getBoundingClientRect();
    this.show(this.nearest(event.clientX - bounds.left, event.clientY - bounds.top));
  }

  private nearest(x: number, y: number): Mark | null {
    let found: Mark | null = null;
    let least = this.chart.near ? REACH : Number.POSITIVE_INFINITY;
    for (const mark of this.chart.marks) {
      const { box } = mark;
      if (box) {
        const inside = x >= box.x && x < box.x + box.w && y >= box.y - 3 && y < box.y + box.h + 3;
        if (!inside) continue;
      }
      const far = Math.hypot(mark.px - x, mark.py - y);
      if (far < least) [found, least] = [mark, far];
    }
    return found;
  }

  private show(mark: Mark | null): void {
    this.at = mark;
    this.ring.hidden = this.tip.hidden = mark === null;
    if (!mark) return;
    place(this.ring, mark);
    const levels = cellLevels(this.picture.groups, mark.places).map(([dim, level]) =>
      el("div", { class: "tip-level" }, el("span", {}, dim.title), el("b", {}, levelLabel(dim, level))),
    );
    const [value, ...rest] = pointText(this.picture, mark.cell).split(" · ");
    fill(
      this.tip,
      el("div", { class: "tip-value" }, value),
      el("div", { class: "soft" }, rest.join(" · ")),
      ...levels,
    );
    const wide = this.tip.offsetWidth;
    const right = mark.px + 16 + wide > this.host.clientWidth;
    this.tip.style.left = `${Math.max(0, right ? mark.px - wide - 16 : mark.px + 16)}px`;
    this.tip.style.top = `${Math.max(0, mark.py - this.tip.offsetHeight - 8)}px`;
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, [number, number]> = {
      ArrowRight: [1, 0],
      ArrowLeft: [-1, 0],
      ArrowUp: [0, 1],
      ArrowDown: [0, -1],
    };
    const step = steps[event.key];
    if (step) this.show(this.at ? this.towards(this.at, step) : (this.chart.marks[0] ?? null));
    else if (event.key === "PageDown" || event.key === "PageUp") this.turn(event.key === "PageDown" ? 1 : -1);
    else if (event.key === "Home" || event.key === "End") this.show(this.end(event.key === "Home"));
    else if (event.key === "Enter" && this.at) this.wiring.open(this.at);
    else if (event.key === "Escape" && this.at && !this.tip.hidden) this.show(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (this.at) {
      const levels = cellLevels(this.picture.groups, this.at.places);
      const where = levels.map(([dim, level]) => levelText(dim, level)).join(", ");
      this.wiring.say(`${where}: ${pointText(this.picture, this.at.cell)}`);
    }
  }

  /** The next point along the curve, or the next curve up or down at the same place. */
  private towards(from: Mark, [dx, dy]: [number, number]): Mark {
    let found = from;
    let least = Number.POSITIVE_INFINITY;
    for (const mark of this.chart.marks) {
      if (mark.panel !== from.panel || mark === from) continue;
      const along = (mark.px - from.px) * dx - (mark.py - from.py) * dy;
      const off = dx !== 0 ? mark.places.colour === from.places.colour : Math.abs(mark.px - from.px) < 0.5;
      if (along <= 0 && !(dy !== 0 && along === 0 && (mark.places.colour - from.places.colour) * dy > 0))
        continue;
      if (off && along < least) [found, least] = [mark, along];
    }
    return found;
  }

  private turn(by: number): void {
    const panels = this.chart.frame.panels.length;
    const to = ((this.at?.panel ?? -by) + by + panels) % panels;
    const there = this.chart.marks.filter((mark) => mark.panel === to);
    const { at } = this;
    const same = there.find(
      (mark) => at && mark.places.colour === at.places.colour && mark.places.x === at.places.x,
    );
    this.show(same ?? there[0] ?? at);
  }

  private end(first: boolean): Mark | null {
    const { at } = this;
    if (!at) return this.chart.marks[0] ?? null;
    const curve = this.chart.marks.filter(
      (mark) => mark.panel === at.panel && mark.places.colour === at.places.colour,
    );
    return (first ? curve[0] : curve.at(-1)) ?? at;
  }
}

function place(ring: HTMLElement, mark: Mark): void {
  const box = mark.box ?? { x: mark.px - 8, y: mark.py - 8, w: 16, h: 16 };
  ring.classList.toggle("square", mark.box !== undefined);
  Object.assign(ring.style, {
    left: `${box.x}px`,
    top: `${box.y}px`,
    width: `${box.w}px`,
    height: `${box.h}px`,
  });
}
