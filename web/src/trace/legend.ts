// The legend: what is drawn, by group; each may be hidden.

import { percent } from "../ui/units";
import type { Layer } from "./layer";
import { colourOf } from "./look";
import { heldKey, sharesOf } from "./panel-held";
import { groupKey } from "./sequence";

export interface Entry {
  /** What hides it. */
  key: string;
  label: string;
  /** A sign of one or a few letters that looks like it. */
  sign: string;
  colour: string;
  /** Its colour in the second of two traces, where that has another one. */
  second?: string;
}

/** What there is to hide of these layers, each once. */
export function entries(layers: Layer[]): Entry[] {
  const found = new Map<string, Entry>();
  const add = (key: string, label: string, sign: string, colour: string): void => {
    if (!found.has(key)) found.set(key, { key, label, sign, colour });
  };
  for (const { view, look } of layers)
    for (const group of view.head.groups)
      add(groupKey(group.letter), group.label, group.letter || "|", colourOf(look, group.colour));
  const [{ look }] = layers;
  const sctp = layers.every((layer) => layer.view.unit === "TSN");
  add("ack", sctp ? "cumulative TSN" : "ACK level", "⌐", colourOf(look, "ack"));
  if (layers.some(({ view }) => view.acks.edge))
    add("window", "advertised window", "⌐", colourOf(look, "window"));
  if (layers.some(({ view }) => view.sacks.t.length))
    add("sack", sctp ? "gap block" : "SACK block", "▌", colourOf(look, "sack"));
  if (layers.some(({ view }) => view.again.count))
    add("bracket", "from the transmission before", "┠┄", colourOf(look, "dim"));
  if (!sctp) add("flags", "SYN, FIN, RST", "◇", colourOf(look, "mark"));
  const dropped = ({ view, lostAcks, queue }: Layer): boolean =>
    view.segments.lost.size + lostAcks.t.length > 0 || (queue?.drops.some(({ t }) => t.length > 0) ?? false);
  if (layers.some(dropped)) add("lost", "dropped by the emulator", "⊗", colourOf(look, "again"));
  for (const { view } of layers)
    if (view.held) {
      const shares = sharesOf(view.held);
      view.held.words.forEach(({ label, letter, colour, hatched }, at) => {
        const told = layers.length > 1 ? "" : `, ${percent(shares[at])}`;
        add(heldKey(letter), `${label} (${letter})${told}`, hatched ? "▨" : "■", colourOn(look, colour));
      });
    }
  const second = layers.find((layer) => layer.look.second)?.look.names;
  for (const [key, name] of [["g", "segment"], ...["ack", "window", "sack"].map((one) => [one, one])]) {
    const entry = found.get(key);
    if (entry && second) entry.second = second[name];
  }
  return [...found.values()];
}

/** A colour of the band as a sign on the page's ground: what has none is drawn in ink. */
function colourOn(look: Layer["look"], colour: string): string {
  return colour === "#ffffff" ? look.ink : colour;
}

/** Fills an element with a box to tick for each entry. */
export function legend(host: HTMLElement, layers: Layer[], hidden: Set<string>, changed: () => void): void {
  host.replaceChildren(
    ...entries(layers).map(({ key, label, sign, colour, second }) => {
      const row = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = !hidden.has(key);
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(key);
        else hidden.add(key);
        changed();
      });
      const mark = document.createElement("b");
      mark.textContent = sign;
      mark.style.color = colour;
      mark.setAttribute("aria-hidden", "true");
      row.append(box, mark);
      if (second) {
        const other = mark.cloneNode(true) as HTMLElement;
        other.style.color = second;
        row.append(other);
      }
      row.append(label);
      return row;
    }),
  );
}
