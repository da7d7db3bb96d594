// Elements in one line each.

type Child = Node | string | null;
type Props = Record<string, unknown>;

/** An element with properties (`class`, `on...`, `aria-...`, `data-...` and properties proper) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") made.className = String(value);
    else if (key.startsWith("on") && typeof value === "function")
      made.addEventListener(key.slice(2), value as EventListener);
    else if (key.includes("-") || key === "role" || key === "for") made.setAttribute(key, String(value));
    else Object.assign(made, { [key]: value });
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A button with words on it; `title` says more. */
export function button(words: string, act: () => void, props: Props = {}): HTMLButtonElement {
  return el("button", { type: "button", onclick: act, ...props }, words);
}

/** Puts `children` in the place of what `host` has. */
export function fill(host: HTMLElement, ...children: Child[]): void {
  host.replaceChildren(...children.filter((child) => child !== null));
}

/** Offers `content` as a file to keep. */
export function download(name: string, content: Blob | string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies a text; where the browser does not let a page from disk, the old way. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { value: text, class: "sr-only" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** Reads out `text`, where somebody listens. */
export function say(host: HTMLElement, text: string): void {
  if (host.textContent !== text) host.textContent = text;
}
