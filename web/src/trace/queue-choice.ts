// Which link's queue is shown, and what of it.

import { linkFor, type Layer, type QueueChoice, type QueueMeasure } from "./layer";

/** Two lists, where the run's log knows queues. */
export function queueChoice(
  layers: Layer[],
  now: QueueChoice,
  changed: (choice: QueueChoice) => void,
): HTMLElement[] {
  const [{ trace, view }] = layers;
  const shown = linkFor(trace, view, now.link);
  if (!shown) return [];
  const heads = new Map(
    layers.flatMap((layer) => layer.trace.links).map(({ head }) => [head.direction, head.title]),
  );
  const measures: [QueueMeasure, string][] = [
    ["packets", "packets in it"],
    ["ms", "ms in it"],
  ];
  const choice = { ...now };
  const tell = (): void => changed({ ...choice });
  return [
    list("the link whose queue is shown", "queue of", [...heads], shown.head.direction, (direction) => {
      choice.link = direction;
      tell();
    }),
    list("what of the queue is shown", "", measures, now.measure, (measure) => {
      choice.measure = measure === "ms" ? "ms" : "packets";
      tell();
    }),
  ];
}

function list(
  what: string,
  words: string,
  options: [string, string][],
  chosen: string,
  act: (value: string) => void,
): HTMLElement {
  const label = document.createElement("label");
  label.className = "rx-choose";
  const select = document.createElement("select");
  select.setAttribute("aria-label", what);
  for (const [value, text] of options) select.append(new Option(text, value, false, value === chosen));
  select.addEventListener("change", () => act(select.value));
  label.append(words ? `${words} ` : "", select);
  return label;
}
