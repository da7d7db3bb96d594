// The page of a capture: its graphs, with what is in view in the fragment of its address.

import { decode } from "../block";
import type { TraceHead } from "../format";
import { button } from "./dom";
import { mountTrace, readTrace } from "./index";

export async function showCapture(): Promise<void> {
  const host = document.getElementById("trace-host");
  const given = document.getElementById("trace");
  if (!host || !given) throw new Error("the page has no block of graphs");
  try {
    const trace = readTrace(await decode<TraceHead>(given.textContent ?? ""));
    const fragment = (): string => location.hash.slice(1);
    const mounted = mountTrace(host, [trace], {
      state: fragment() || (host.dataset.state ?? ""),
      onState: (state) => history.replaceState(null, "", `#${state}`),
    });
    window.addEventListener("hashchange", () => {
      if (fragment() !== mounted.state()) mounted.restore(fragment());
    });
    host.before(themeSwitch());
    host.dataset.ready = "true";
  } catch (error) {
    const told = document.createElement("p");
    told.setAttribute("role", "alert");
    told.textContent = `The graphs cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    host.replaceChildren(told);
    throw error;
  }
}

/** Turns the page dark or light, whatever the browser prefers. */
function themeSwitch(): HTMLElement {
  const root = document.documentElement;
  const made = button("◐ dark / light", "turns the page dark or light", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  made.className = "rx-theme";
  return made;
}
