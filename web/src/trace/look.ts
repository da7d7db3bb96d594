// Colours of the graphs: those of rexmit's figures, told apart with every common form of colour blindness together
// with letters, dashes and shapes.

export interface Look {
  ground: string;
  ink: string;
  dim: string;
  grid: string;
  /** By the names that groups use. */
  names: Record<string, string>;
  dark: boolean;
  /** True for the second of two traces in one graph: another family of colours, and dashed levels. */
  second: boolean;
}

const LIGHT: Look = {
  ground: "#ffffff",
  ink: "#1a1a1a",
  dim: "#666666",
  grid: "#e8e8e8",
  dark: false,
  second: false,
  names: {
    segment: "#1a1a1a",
    ack: "#008f68",
    window: "#e08e00",
    sack: "#8e3fa8",
    late: "#0072b2",
    again: "#d5231e",
    mark: "#0072b2",
    cwnd: "#0072b2",
    ssthresh: "#c65a00",
    rto: "#c65a00",
  },
};

const DARK: Look = {
  ground: "#0b0d10",
  ink: "#f2f2f2",
  dim: "#a0a4a8",
  grid: "#25292e",
  dark: true,
  second: false,
  names: {
    segment: "#ffffff",
    ack: "#2fd08c",
    window: "#f5e04a",
    sack: "#d08cf0",
    late: "#6cc4ff",
    again: "#ff5a4f",
    mark: "#6cc4ff",
    cwnd: "#6cc4ff",
    ssthresh: "#ffa057",
    rto: "#ffa057",
  },
};

/** What the second of two traces has instead. */
const SECOND = {
  light: { segment: "#a8427f", ack: "#6b9a00", window: "#c7a500", sack: "#d36bb0", cwnd: "#56b4e9" },
  dark: { segment: "#ff9bd0", ack: "#a6d94a", window: "#c9a94a", sack: "#f0b6e0", cwnd: "#a8dcff" },
};

export function lookOf(dark: boolean, second = false): Look {
  const base = dark ? DARK : LIGHT;
  if (!second) return base;
  return { ...base, second: true, names: { ...base.names, ...SECOND[dark ? "dark" : "light"] } };
}

/** The colour of a name or of a group; colours of causes are lighter on dark ground. */
export function colourOf(look: Look, name: string): string {
  if (!name.startsWith("#")) return look.names[name] ?? look.ink;
  return look.dark ? lighter(name) : name;
}

function lighter(colour: string): string {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const mixed = parts.map((part) => Math.round(part + (255 - part) * 0.42));
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
