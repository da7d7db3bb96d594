// The packets that a page has: in itself, or in files beside it.
import { type Block, decode } from "../block";
import type { StudyPage, TraceHead } from "../format";
import { type MountedTrace, mountTrace, readTrace, type TraceOptions } from "../trace";
import { OLD_BROWSER, reason } from "./data";

/** The block of a run. Rejects with an Error that says, for people, why it cannot be had. */
export async function loadRun(page: StudyPage, run: number): Promise<Block<TraceHead>> {
  const { block, file } = page.runs.embedded[run];
  if (typeof DecompressionStream === "undefined") throw new Error(OLD_BROWSER);
  const text = document.getElementById(block)?.textContent ?? (file ? await beside(block, file) : null);
  if (text === null)
    throw new Error(`The page has no block ${block}, which the packets of run ${run} should be in.`);
  try {
    return await decode<TraceHead>(text);
  } catch (error) {
    throw new Error(`The packets of run ${run} are damaged: ${reason(error)}.`);
  }
}

const waiting = new Map<string, (text: string) => void>();
const arrived = new Map<string, string>();

/** A file beside the page calls `rexmitBlock`: a script element is what a page from disk may load. */
function beside(block: string, file: string): Promise<string> {
  const known = arrived.get(block);
  if (known !== undefined) return Promise.resolve(known);
  const target = window as unknown as { rexmitBlock: (name: string, text: string) => void };
  target.rexmitBlock = (name, text) => {
    arrived.set(name, text);
    waiting.get(name)?.(text);
  };
  return new Promise((done, fail) => {
    waiting.set(block, done);
    const script = document.createElement("script");
    script.src = file;
    script.onerror = () =>
      fail(new Error(`The file ${file} is missing beside this page; it belongs where the page is.`));
    script.onload = () => {
      if (!arrived.has(block))
        fail(new Error(`The file ${file} beside this page does not have the block ${block}.`));
    };
    document.head.append(script);
  });
}

/** Shows one or two runs in `host`. */
export function mountRuns(
  host: HTMLElement,
  blocks: Block<TraceHead>[],
  options: TraceOptions,
): MountedTrace {
  return mountTrace(host, blocks.map(readTrace), options);
}
