// Small parts of pages.

import type { Hit } from "./hit";

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = "",
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className) made.className = className;
  return made;
}

export function button(text: string, title: string, act: () => void): HTMLButtonElement {
  const made = element("button");
  made.type = "button";
  made.textContent = text;
  made.title = title;
  made.addEventListener("click", act);
  return made;
}

/** What lies under the pointer, in a box beside it. */
export class Tip {
  readonly element = element("div", "rx-tip");

  constructor() {
    this.element.setAttribute("role", "status");
    this.element.hidden = true;
  }

  show(hit: Hit | null, at: { clientX: number; clientY: number } | null): void {
    this.element.hidden = !hit;
    if (!hit || !at) return;
    if (this.element.textContent !== hit.text) this.element.textContent = hit.text;
    const { offsetWidth, offsetHeight } = this.element;
    this.element.style.left = `${Math.min(at.clientX + 16, window.innerWidth - offsetWidth - 8)}px`;
    this.element.style.top = `${Math.min(at.clientY + 16, window.innerHeight - offsetHeight - 8)}px`;
  }
}
