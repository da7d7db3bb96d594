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
}

export interface MountedTrace {
  /** What is in view, as a short text for the fragment of a URL. */
  state(): string;
  restore(state: string): void;
  destroy(): void;
}

/** Shows one or two traces in an element. */
export function mountTrace(host: HTMLElement, traces: Trace[], options: TraceOptions = {}): MountedTrace {
  return new Instrument(host, traces, options);
}
