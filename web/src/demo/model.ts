// The model as WebAssembly: a scenario in, a block or captures out. `crates/web` says what its functions do.

/** What the module exports. */
interface Exports {
  memory: WebAssembly.Memory;
  rexmit_input(length: number): number;
  rexmit_run(): number;
  rexmit_output(): number;
  rexmit_output_len(): number;
}

/** What is asked of it: one run of a scenario, as a study file has it. */
export interface Request {
  scenario: unknown;
  seed?: number;
  run_key?: string;
  wanted?: "block" | "captures";
}

export class Model {
  private constructor(private readonly of: Exports) {}

  /** Compiles the module. Rejects where a browser has no WebAssembly, or forbids it. */
  static async load(bytes: Uint8Array<ArrayBuffer>): Promise<Model> {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Model(instance.exports as unknown as Exports);
  }

  /** What the model answers. Throws an Error with its one line where the scenario is wrong. */
  ask(request: Request): Uint8Array {
    const text = new TextEncoder().encode(JSON.stringify(request));
    const at = this.of.rexmit_input(text.length);
    // The memory may have grown, and its buffer with it: it is asked for each time.
    new Uint8Array(this.of.memory.buffer, at, text.length).set(text);
    const failed = this.of.rexmit_run() !== 0;
    const [from, length] = [this.of.rexmit_output(), this.of.rexmit_output_len()];
    const answer = new Uint8Array(this.of.memory.buffer, from, length).slice();
    if (failed) throw new Error(new TextDecoder().decode(answer));
    return answer;
  }
}
