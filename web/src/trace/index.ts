// The graphs of one capture, or of two beside each other: `readTrace` reads a block, `mountTrace` shows it.

import type { Trace } from "./model";
import { Instrument } from "./instrument";
import "./trace.css";

export { readTrace, type Trace } from "./model";

export interface TraceOptions {
  /** As `state()` gave it. */
  state?: string;
  /** Told when what is in view has changed. */
  onState?: (state: string) => void;
  /** How two traces stand; side by side unless given. */
  layout?: "beside" | "overlay";
  /** Height of the graphs in pixels; by the height of the window unless given. */
  height?: () => number;
  /** Without the lists under the graphs. */
  bare?: boolean;
}

export interface MountedTrace {
  /** What is in view, as a short text for the fragment of a URL. */
  state(): string;
  restore(state: string): void;
  /** Shows as many other traces in the place of these; what is hidden and folded stays so. */
  replace(traces: Trace[]): void;
  destroy(): void;
}

/** Shows one or two traces in an element. */
export function mountTrace(host: HTMLElement, traces: Trace[], options: TraceOptions = {}): MountedTrace {
  return new Instrument(host, traces, options);
}
