// The sliders and choices of the demo. Each is a native control, so keys and screen readers know what to do with it.

import { el, fill } from "../ui/dom";
import { lastPosition, lostText, rateText, STACKS, STEPS, type Setting, type Stepped } from "./setting";

export interface Controls {
  element: HTMLElement;
  /** Shows a setting without telling anybody. */
  show(setting: Setting): void;
}

interface Slider {
  element: HTMLElement;
  show(setting: Setting): void;
}

/** The controls for a setting; `tell` is called with each new one. */
export function controls(first: Setting, tell: (setting: Setting) => void): Controls {
  let setting = { ...first };
  const change = (part: Partial<Setting>): void => {
    setting = { ...setting, ...part };
    setting.lost = Math.min(setting.lost, lastPosition(setting));
    tell(setting);
  };
  const stepped = (name: Stepped, label: string, words: (value: number) => string): Slider =>
    slider(label, (at) => change({ [name]: STEPS[name][at] }), {
      most: () => STEPS[name].length - 1,
      at: (of) => (STEPS[name] as readonly number[]).indexOf(of[name]),
      words: (of) => words(of[name]),
    });
  const sliders = [
    slider("Lost packet", (lost) => change({ lost }), {
      most: lastPosition,
      at: (of) => of.lost,
      words: lostText,
    }),
    stepped("rate", "Rate", rateText),
    stepped("delay", "Delay, one way", (value) => `${value} ms`),
    stepped("packets", "Length of the flow", (value) => `${value} segments`),
    stepped("queue", "Queue", (value) => `${value} packets`),
  ];
  const stack = choice("Stack", (value) =>
    change({ stack: value, control: STACKS[value].controls[0] ?? "" }),
  );
  fill(stack.select, ...Object.entries(STACKS).map(([value, { title }]) => el("option", { value }, title)));
  const control = choice("Congestion control", (value) => change({ control: value }));
  const show = (given: Setting): void => {
    setting = { ...given };
    for (const one of sliders) one.show(setting);
    stack.select.value = setting.stack;
    const { controls } = STACKS[setting.stack];
    const offered = controls.length ? controls : ["its own"];
    fill(control.select, ...offered.map((value) => el("option", { value }, value)));
    control.select.disabled = controls.length < 2;
    control.select.value = controls.includes(setting.control) ? setting.control : offered[0];
  };
  show(first);
  const parts = [...sliders.map((one) => one.element), stack.element, control.element];
  return { element: el("form", { class: "rd-controls", onsubmit: stay }, ...parts), show };
}

function slider(
  label: string,
  tell: (value: number) => void,
  of: {
    most: (setting: Setting) => number;
    at: (setting: Setting) => number;
    words: (setting: Setting) => string;
  },
): Slider {
  const input = el("input", { type: "range", min: "0", step: "1" });
  const output = el("output");
  input.addEventListener("input", () => tell(Number(input.value)));
  return {
    element: el("label", { class: "rd-control" }, el("span", {}, label), input, output),
    show(setting) {
      input.max = String(of.most(setting));
      input.value = String(of.at(setting));
      output.value = of.words(setting);
      input.setAttribute("aria-valuetext", output.value);
    },
  };
}

function choice(
  label: string,
  tell: (value: string) => void,
): { element: HTMLElement; select: HTMLSelectElement } {
  const select = el("select");
  select.addEventListener("change", () => tell(select.value));
  return { element: el("label", { class: "rd-control" }, el("span", {}, label), select), select };
}

function stay(event: Event): void {
  event.preventDefault();
}
