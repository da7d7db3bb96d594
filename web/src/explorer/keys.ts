// What the keys do.
import { button, el } from "../ui/dom";

const KEYS: [string, string][] = [
  ["Tab", "from control to control, and to the chart"],
  ["← →", "in the chart: to the next point of a curve, or the next interval"],
  ["↑ ↓", "in the chart: to the next curve above or below"],
  ["Page ↑ ↓", "in the chart: to the next panel"],
  ["Home, End", "in the chart: to the ends of a curve"],
  ["Enter", "opens the runs of the point"],
  ["[ ]", "the open run: one level back or on along the x axis"],
  ["Shift + ‹ ›", "the neighbour of the open run beside it, to compare"],
  ["Escape", "closes what was opened last"],
  ["t", "light or dark"],
  ["?", "these keys"],
];

export function keysDialog(): void {
  if (document.querySelector("dialog.keys")) return;
  const dialog = el(
    "dialog",
    { class: "keys", "aria-labelledby": "keys-title" },
    el("h3", { id: "keys-title" }, "Keys"),
    el("dl", {}, ...KEYS.flatMap(([key, meaning]) => [el("dt", {}, key), el("dd", {}, meaning)])),
    el("p", { class: "soft" }, "Drag across the chart to zoom into it; “Whole axes” goes back."),
    button("Close", () => dialog.close()),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
