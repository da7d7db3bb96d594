// Pointer, wheel and keys on a graph, as moves of what is in view.

import type { Sheet } from "./sheet";

export interface Actions {
  sheet(): Sheet | null;
  /** Moves the view by so many pixels; values only where the graph's values are chosen by the user. */
  move(dx: number, dy: number): void;
  /** Stretches it about a place in pixels; `what` says whether time, values or both. */
  zoom(x: number, y: number, factor: number, what: "time" | "values" | "both"): void;
  /** Shows a frame given in pixels. */
  frame(x0: number, y0: number, x1: number, y1: number): void;
  /** Shows the frame that is being drawn, null for none. */
  framing(rect: DOMRect | null): void;
  hover(at: { x: number; y: number; clientX: number; clientY: number } | null): void;
  all(): void;
  /** The next retransmission, or the one before. */
  step(by: 1 | -1): void;
  turn(): void;
}

export function listen(canvas: HTMLCanvasElement, actions: Actions): void {
  let drag: { x: number; y: number; frame: boolean } | null = null;
  const pointers = new Map<number, { x: number; y: number }>();
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      // Shift turns the wheel sideways in some browsers.
      const turn = (event.deltaY || event.deltaX) * lines;
      if (event.altKey) actions.move(-event.deltaX * lines, -event.deltaY * lines);
      else if (Math.abs(event.deltaX) > 2 * Math.abs(event.deltaY) && !event.shiftKey)
        actions.move(-event.deltaX * lines, 0);
      else {
        const what = event.shiftKey ? "time" : event.ctrlKey ? "values" : "both";
        actions.zoom(event.offsetX, event.offsetY, Math.exp(turn * 0.0015), what);
      }
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    drag = { x: event.offsetX, y: event.offsetY, frame: event.shiftKey };
    actions.hover(null);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    if (pointers.size === 2 && pointers.has(event.pointerId)) pinch(event.pointerId, x, y);
    else if (drag?.frame) actions.framing(rect(drag, x, y));
    else if (drag) {
      actions.move(x - drag.x, y - drag.y);
      drag = { x, y, frame: false };
    } else actions.hover({ x, y, clientX: event.clientX, clientY: event.clientY });
  });
  const end = (event: PointerEvent): void => {
    pointers.delete(event.pointerId);
    if (drag?.frame) {
      const { x, y, width, height } = rect(drag, event.offsetX, event.offsetY);
      actions.framing(null);
      if (width > 4) actions.frame(x, y, x + width, y + height);
    }
    drag = null;
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => actions.hover(null));
  canvas.addEventListener("dblclick", () => actions.all());
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !pressed(event, canvas, actions)) return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** Two fingers: apart stretches, together moves. */
  function pinch(id: number, x: number, y: number): void {
    const other = [...pointers].find(([known]) => known !== id)?.[1];
    const before = pointers.get(id);
    if (!other || !before) return;
    const was = Math.hypot(before.x - other.x, before.y - other.y);
    const is = Math.hypot(x - other.x, y - other.y);
    pointers.set(id, { x, y });
    drag = null;
    if (was > 10 && is > 10) actions.zoom((x + other.x) / 2, (y + other.y) / 2, was / is, "both");
    actions.move((x - before.x) / 2, (y - before.y) / 2);
  }
}

function pressed(event: KeyboardEvent, canvas: HTMLCanvasElement, actions: Actions): boolean {
  const arrows: Record<string, [number, number]> = {
    ArrowLeft: [60, 0],
    ArrowRight: [-60, 0],
    ArrowUp: [0, 60],
    ArrowDown: [0, -60],
  };
  const arrow = arrows[event.key];
  if (arrow) {
    const far = event.shiftKey ? 5 : 1;
    actions.move(arrow[0] * far, arrow[1] * far);
    return true;
  }
  const middle: [number, number] = [canvas.clientWidth / 2, canvas.clientHeight / 2];
  switch (event.key) {
    case "+":
    case "=":
      actions.zoom(...middle, 0.7, "both");
      return true;
    case "-":
    case "_":
      actions.zoom(...middle, 1 / 0.7, "both");
      return true;
    case "0":
      actions.all();
      return true;
    case "[":
      actions.step(-1);
      return true;
    case "]":
      actions.step(1);
      return true;
    case "d":
      actions.turn();
      return true;
    default:
      return false;
  }
}

function rect(from: { x: number; y: number }, x: number, y: number): DOMRect {
  return new DOMRect(Math.min(from.x, x), Math.min(from.y, y), Math.abs(x - from.x), Math.abs(y - from.y));
}
