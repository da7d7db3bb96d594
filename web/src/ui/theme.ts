// Light and dark: as the system says, until somebody chooses.
import { button } from "./dom";
import type { Theme } from "./palette";

const KEPT = "rexmit-theme";

export function theme(): Theme {
  const { theme } = document.documentElement.dataset;
  if (theme === "light" || theme === "dark") return theme;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Calls `act` whenever the theme is another. */
export function onTheme(act: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", act);
  document.addEventListener(KEPT, act);
}

/** A button that turns the theme round; takes up what was chosen before. */
export function themeButton(): HTMLElement {
  const kept = remembered();
  if (kept) document.documentElement.dataset.theme = kept;
  const made = button("", () => {
    const next = theme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    remember(next);
    document.dispatchEvent(new Event(KEPT));
  });
  const label = (): void => {
    made.textContent = theme() === "dark" ? "☀ Light" : "☾ Dark";
    made.title = "Turn the page light or dark (t)";
  };
  label();
  onTheme(label);
  made.id = "theme";
  made.className = "theme-button";
  return made;
}

// A page from disk may have no storage; then the choice holds as long as the page is open.
function remembered(): Theme | null {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null;
  }
}

function remember(chosen: Theme): void {
  try {
    localStorage.setItem(KEPT, chosen);
  } catch {
    // Nothing is lost but the memory of it.
  }
}
