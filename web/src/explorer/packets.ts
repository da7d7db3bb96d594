// The open runs: what they are, their neighbours, and their packets.
import type { StudyPage } from "../format";
import { button, el, fill } from "../ui/dom";
import { spoken } from "../ui/units";
import { type Dim, reason, type Source } from "./data";
import { absent, neighbour, responseText, rowOfRun } from "./runs";
import type { State } from "./state";
import type { MountedTrace } from "../trace";
import { loadRun, mountRuns } from "./embedded";

export interface PacketWiring {
  /** Changes which runs are open, and how they are shown. */
  change: (part: Partial<State>) => void;
  /** The graphs say of their own state: it belongs into the link, and is not a step back. */
  traced: (trace: string) => void;
}

/** Keeps the graphs of the open runs, and shows others when the state asks for them. */
export class Packets {
  private mounted: MountedTrace | null = null;
  private shown = "";
  private turn = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly page: StudyPage,
    private readonly runs: Source,
    private readonly wiring: PacketWiring,
  ) {}

  async show(state: State): Promise<void> {
    const wanted = JSON.stringify([state.run, state.with, state.layout]);
    if (wanted === this.shown) {
      if (this.mounted && this.mounted.state() !== state.trace) this.mounted.restore(state.trace);
      return;
    }
    this.shown = wanted;
    const turn = ++this.turn;
    this.mounted?.destroy();
    this.mounted = null;
    if (state.run === null) {
      this.host.replaceChildren();
      return;
    }
    const open = [state.run, state.with].filter((run) => run !== null);
    const graphs = el("div", { class: "graphs" });
    fill(
      this.host,
      this.head(state, open),
      el("div", { class: "run-cards" }, ...open.map((run) => this.card(run, state))),
      graphs,
    );
    const blocks = [];
    for (const run of open) {
      if (!this.page.runs.embedded[run]) {
        graphs.append(absent(this.page, run));
        continue;
      }
      try {
        blocks.push(await loadRun(this.page, run));
      } catch (error) {
        graphs.append(el("p", { class: "fault", role: "alert" }, reason(error)));
      }
    }
    // Another choice may have been made while this one was unpacked.
    if (turn !== this.turn || blocks.length === 0) return;
    const place = el("div", {});
    graphs.prepend(place);
    try {
      this.mounted = mountRuns(place, blocks, {
        layout: state.layout,
        state: state.trace,
        onState: (trace) => this.wiring.traced(trace),
      });
    } catch (error) {
      place.replaceWith(
        el("p", { class: "fault", role: "alert" }, `The packets cannot be drawn: ${reason(error)}`),
      );
    }
  }

  private head(state: State, open: number[]): HTMLElement {
    const { change } = this.wiring;
    const parts: HTMLElement[] = [
      el(
        "h3",
        { id: "packets-title", tabIndex: -1 },
        open.length > 1 ? `Runs ${open.join(" and ")}` : `Run ${open[0]}`,
      ),
    ];
    if (open.length > 1) {
      const layouts = (["beside", "overlay"] as const).map((layout) =>
        button(layout === "beside" ? "Side by side" : "Overlaid", () => change({ layout }), {
          id: `layout-${layout}`,
          "aria-pressed": String(state.layout === layout),
        }),
      );
      parts.push(
        el("div", { class: "segments", role: "group", "aria-label": "layout" }, ...layouts),
        button("Swap", () => change({ run: state.with, with: state.run }), { id: "runs-swap" }),
        button("Only the first", () => change({ with: null }), { id: "runs-single" }),
      );
    }
    const shut = button("×", () => change({ run: null, with: null, trace: "" }), {
      class: "close",
      "aria-label": "Close the packets",
      title: "Close (Escape)",
    });
    return el("header", { class: "panel-head" }, ...parts, shut);
  }

  /** Levels and responses of a run, with a step to the runs beside it. */
  private card(run: number, state: State): HTMLElement {
    const row = rowOfRun(this.runs, run);
    if (row < 0) return el("p", { class: "fault", role: "alert" }, `This study has no run ${run}.`);
    const steps = this.runs.dims
      .filter((dim) => dim.labels.length > 1)
      .map((dim) => this.step(run, row, dim, state));
    const facts = this.runs.info.responses.map(({ name, meaning }) =>
      el(
        "div",
        { title: meaning },
        el("dt", {}, spoken(name)),
        el("dd", {}, responseText(this.runs, name, row)),
      ),
    );
    return el(
      "section",
      { class: "run-card", "aria-label": `Run ${run}` },
      el("h4", {}, `Run ${run}`, run === state.with ? el("span", { class: "soft" }, " (compared)") : null),
      el("div", { class: "steps" }, ...steps),
      el("dl", { class: "facts" }, ...facts),
    );
  }

  private step(run: number, row: number, dim: Dim, state: State): HTMLElement {
    const level = dim.codes[row];
    const first = run === state.run;
    const to = (by: number, sign: string, words: string): HTMLElement => {
      const other = neighbour(this.runs, run, dim, by);
      const label = other === null ? "" : `${dim.title} ${dim.labels[level]} → ${dim.labels[level + by]}`;
      const go = (event: Event): void => {
        const both = (event as MouseEvent).shiftKey;
        if (other !== null) this.wiring.change(first && !both ? { run: other } : { with: other });
      };
      return el(
        "button",
        {
          type: "button",
          id: `step-${first ? "a" : "b"}-${dim.name}-${words}`,
          disabled: other === null,
          onclick: go,
          title: `${label}${first ? " (with Shift: beside this run)" : ""}`,
          "aria-label": label || `no ${words} level of ${dim.title}`,
        },
        sign,
      );
    };
    const beside = neighbour(this.runs, run, dim, 1) ?? neighbour(this.runs, run, dim, -1);
    const against =
      first && state.with === null && beside !== null
        ? button("compare", () => this.wiring.change({ with: beside }), {
            class: "link",
            id: `beside-${dim.name}`,
            "aria-label": `Compare with the neighbour in ${dim.title}, run ${beside}`,
          })
        : null;
    return el(
      "div",
      { class: "step" },
      el("span", { class: "filter-name" }, dim.title),
      to(-1, "‹", "previous"),
      el("b", {}, dim.labels[level]),
      to(1, "›", "next"),
      against,
    );
  }
}
