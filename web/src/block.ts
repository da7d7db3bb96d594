// A block: named tables of columns in few bytes, as `rexmit.plot.pack` writes them.
//
// base64 of gzip of: "RXB1", the length of the head as u32, the head as JSON (padded to 8 bytes), and the columns,
// each at a multiple of 8 bytes from the end of the head. Numbers are little-endian.

export type Numbers = Float64Array | Float32Array | Uint8Array | Uint16Array | Uint32Array;

/** A column of texts: what is said more than once is there once. */
export interface Texts {
  codes: Numbers;
  words: (string | null)[];
}

export type Table = Record<string, Numbers | Texts>;

export interface Block<Head = unknown> {
  head: Head;
  tables: Record<string, Table>;
}

interface Layout {
  type: keyof typeof TYPES;
  at: number;
  count: number;
  /** Each value is what it is more than the one before. */
  delta?: boolean;
  /** What the whole numbers are to be multiplied by. */
  scale?: number;
  /** What is to be added to them. */
  base?: number;
  words?: (string | null)[];
}

const TYPES = {
  f8: Float64Array,
  f4: Float32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
};

/** Reads a block. Rejects with an Error that says what is wrong with it. */
export async function decode<Head>(text: string): Promise<Block<Head>> {
  return readBlock(await unpack(fromBase64(text)));
}

/** Reads the bytes of a block that is not compressed. Throws an Error that says what is wrong with it. */
export function readBlock<Head>(bytes: Uint8Array): Block<Head> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, false) !== 0x52584231) {
    throw new Error("this is not a block of rexmit, or one of another version");
  }
  const length = view.getUint32(4, true);
  const whole = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const columns = bytes.subarray(8 + length);
  const tables: Record<string, Table> = {};
  for (const [name, layouts] of Object.entries(whole.tables as Record<string, Record<string, Layout>>)) {
    const table: Table = {};
    for (const [column, layout] of Object.entries(layouts)) table[column] = read(columns, layout);
    tables[name] = table;
  }
  return { head: whole.head as Head, tables };
}

/** A column of numbers. Throws where the table has none of this name. */
export function numbers(table: Table, name: string): Numbers {
  const column = table[name];
  if (column === undefined || "words" in column) throw new Error(`there is no column of numbers ${name}`);
  return column;
}

/** The text of a row of a column of texts, null where there is none. */
export function textAt(table: Table, name: string, row: number): string | null {
  const column = table[name];
  if (column === undefined || !("words" in column)) throw new Error(`there is no column of texts ${name}`);
  return column.words[column.codes[row]] ?? null;
}

function read(columns: Uint8Array, layout: Layout): Numbers | Texts {
  const kind = TYPES[layout.type];
  const end = layout.at + layout.count * kind.BYTES_PER_ELEMENT;
  if (end > columns.length) throw new Error("the block breaks off");
  // A copy: the view of a slice would keep all columns, and need not be aligned.
  const values: Numbers = new kind(columns.slice(layout.at, end).buffer);
  if (layout.words) return { codes: values, words: layout.words };
  if (!layout.delta && layout.scale === undefined && !layout.base) return values;
  const given = new Float64Array(values.length);
  const scale = layout.scale ?? 1;
  let sum = layout.base ?? 0;
  for (let row = 0; row < values.length; row++) {
    if (layout.delta) {
      sum += values[row];
      given[row] = sum * scale;
    } else {
      given[row] = (values[row] + sum) * scale;
    }
  }
  return given;
}

/** The bytes that a text in base64 stands for. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** What was compressed by gzip. */
export async function unpack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
