// Where words lie in a graph, so that none covers another or a symbol.
import type { Box } from "./pen";

type Test = (box: Box) => boolean;
const never: Test = () => false;

/** Boxes that are taken. */
export class Places {
  private readonly taken: Box[] = [];

  /** Takes the place of a text around `x` whose foot is at `y`. */
  text(x: number, y: number, text: string, size: number): void {
    this.taken.push(boxOf(x, y, text, size));
  }

  /** Takes the place of a symbol with this radius. */
  mark(x: number, y: number, radius: number): void {
    this.taken.push({ left: x - radius, top: y - radius, width: 2 * radius, height: 2 * radius });
  }

  /** Takes the first of these places of a text that is free; one on lines (`isCrossed`) only where all others are
   * taken, by words, symbols or what the asker knows of (`isTaken`). Null where there is none. */
  first(
    spots: [number, number][],
    text: string,
    size: number,
    { isTaken = never, isCrossed = never }: { isTaken?: Test; isCrossed?: Test } = {},
  ): [number, number] | null {
    const free = spots.filter(([x, y]) => {
      const own = boxOf(x, y, text, size);
      return !this.taken.some((box) => meet(box, own)) && !isTaken(own);
    });
    const found = free.find(([x, y]) => !isCrossed(boxOf(x, y, text, size))) ?? free[0];
    if (!found) return null;
    this.text(...found, text, size);
    return found;
  }
}

/** The width of a letter, as a share of its height: rather too much than too little. */
const LETTER = 0.62;
/** How far letters reach up from their foot, likewise. */
const HIGH = 0.8;

function boxOf(x: number, y: number, text: string, size: number): Box {
  const width = text.length * size * LETTER;
  return { left: x - width / 2, top: y - size * HIGH, width, height: size * HIGH + 1 };
}

function meet(one: Box, other: Box): boolean {
  return (
    one.left < other.left + other.width &&
    other.left < one.left + one.width &&
    one.top < other.top + other.height &&
    other.top < one.top + one.height
  );
}
