// The live demo: sliders over the model, which runs in the page, and the graphs of what it gives.
//
// The module stands beside this script in one of its own, as text that a script tag loads: so the page works from disk, too.

import { fromBase64, unpack } from "../block";
import { mountTrace, type MountedTrace } from "../trace";
import { el, fill } from "../ui/dom";
import { controls, type Controls } from "./controls";
import "./demo.css";
import { Model } from "./model";
import { runSetting, told, type Causes, type Ran } from "./run";
import { FIRST, fromFragment, studyOf, toFragment, type Setting } from "./setting";

declare global {
  interface Window {
    /** The module, compressed, in base64. */
    rexmitModel?: string;
  }
}

/** Put in when this is built, from `rexmit.analyse.words` and `rexmit.plot.causes`. */
declare const REXMIT_CAUSES: Causes;

/** Height of the graphs, in pixels. */
const HEIGHT = { narrow: 380, wide: 520 };

class Demo {
  private setting: Setting;
  private readonly controls: Controls;
  private readonly answer = el("p", { class: "rd-answer", role: "status", "aria-live": "polite" });
  private readonly graphs = el("div", { class: "rd-graphs" });
  private readonly file = el("code");
  private mounted: MountedTrace | null = null;
  private without: { key: string; ran: Ran } | null = null;
  private waiting = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly model: Model,
  ) {
    this.setting = fromFragment(location.hash) ?? { ...FIRST };
    this.controls = controls(this.setting, (setting) => this.choose(setting));
    const file = el(
      "details",
      { class: "rd-file" },
      el("summary", {}, "The same as a study file"),
      el("pre", {}, this.file),
      el(
        "p",
        {},
        "Save it as mine.toml, then: ",
        el("code", {}, "rexmit run mine.toml --out mine --capture all"),
      ),
    );
    fill(host, this.controls.element, this.answer, this.graphs, file);
    // What is compiled is compiled before somebody waits for it.
    this.show();
    this.show();
    window.addEventListener("hashchange", () => {
      const told = fromFragment(location.hash);
      if (told) this.choose(told);
    });
    host.dataset.ready = "true";
  }

  /** Several changes before the next picture are one. */
  private choose(setting: Setting): void {
    this.setting = setting;
    this.controls.show(setting);
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.show();
      history.replaceState(null, "", `#${toFragment(this.setting)}`);
    });
  }

  private show(): void {
    const began = performance.now();
    try {
      const without = this.lossless();
      const ran = this.setting.lost ? runSetting(this.model, this.setting, REXMIT_CAUSES) : without;
      this.answer.textContent = told(ran, without, this.setting);
      if (this.mounted) this.mounted.replace([ran.trace]);
      else this.mounted = this.mount(ran);
      this.graphs.hidden = false;
    } catch (error) {
      this.answer.textContent = error instanceof Error ? error.message : String(error);
      this.graphs.hidden = true;
    }
    this.file.textContent = studyOf(this.setting);
    // Until the model has answered and the graphs are built; they are painted with the next frame.
    this.host.dataset.took = (performance.now() - began).toFixed(1);
    this.host.dataset.runs = String(Number(this.host.dataset.runs ?? 0) + 1);
  }

  private mount(ran: Ran): MountedTrace {
    return mountTrace(this.graphs, [ran.trace], {
      // What a narrow page has room for; a visitor may unfold the others.
      state: "v1-server;xqueue,outstanding,throughput",
      height: () => (window.innerWidth < 700 ? HEIGHT.narrow : HEIGHT.wide),
      bare: true,
    });
  }

  private lossless(): Ran {
    const key = toFragment({ ...this.setting, lost: 0 });
    if (this.without?.key !== key)
      this.without = { key, ran: runSetting(this.model, this.setting, REXMIT_CAUSES, false) };
    return this.without.ran;
  }
}

/** Light and dark as the documentation has them, which its own attribute says. */
function followScheme(): void {
  const root = document.documentElement;
  const follow = (): void => {
    const scheme = document.body.dataset.mdColorScheme;
    if (scheme) root.dataset.theme = scheme === "slate" ? "dark" : "light";
  };
  follow();
  new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}

/** Loads the module's script, which stands beside the page's. */
function moduleText(source: string): Promise<string> {
  return new Promise((done, fail) => {
    const script = el("script", { src: source, async: true });
    script.onload = () => (window.rexmitModel ? done(window.rexmitModel) : fail(new Error("it is empty")));
    script.onerror = () => fail(new Error(`${source} cannot be loaded`));
    document.head.append(script);
  });
}

async function start(host: HTMLElement): Promise<void> {
  const note = el("p", { class: "rd-note", role: "status" }, "The model is being loaded …");
  host.after(note);
  try {
    if (typeof WebAssembly !== "object") throw new Error("this browser has no WebAssembly");
    const bytes = await unpack(fromBase64(await moduleText(host.dataset.model ?? "")));
    const model = await Model.load(bytes);
    followScheme();
    new Demo(host, model);
    note.remove();
  } catch (error) {
    // The picture that stands in the page stays.
    const why = error instanceof Error ? error.message : String(error);
    note.textContent = `This is a picture of the demo; live it needs WebAssembly (${why}).`;
    host.dataset.ready = "picture";
  }
}

/** Loads the model once somebody is near enough to want it. */
function startWhenNear(host: HTMLElement): void {
  if (fromFragment(location.hash)) {
    void start(host).then(() => host.scrollIntoView());
    return;
  }
  const near = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      void start(host);
    },
    { rootMargin: "600px" },
  );
  near.observe(host);
}

const host = document.getElementById("rexmit-demo");
if (host) startWhenNear(host);
