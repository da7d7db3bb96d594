// What a visitor has chosen: the scenario that it is, the study file that it would be, and a short text for addresses.

export interface Setting {
  /** Position of the lost packet among those of the server, 0 for none. */
  lost: number;
  /** bit/s. */
  rate: number;
  /** One way, in ms. */
  delay: number;
  /** Packets that the queue holds. */
  queue: number;
  /** Segments of data. */
  packets: number;
  stack: string;
  /** Congestion control, where the stack leaves a choice. */
  control: string;
}

/** Values of the sliders that have steps of their own. */
export const STEPS = {
  rate: [40e3, 80e3, 160e3, 320e3, 640e3, 1e6, 2e6, 5e6, 10e6, 20e6, 50e6, 100e6],
  delay: [1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300],
  queue: [2, 3, 5, 7, 10, 15, 20, 30, 50, 99],
  packets: [5, 10, 20, 30, 50, 75, 100, 150, 200],
} as const;

export type Stepped = keyof typeof STEPS;

/** Bytes of data in a full segment of each stack: 1500 bytes less the headers and the timestamps. */
const SEGMENT = 1448;

/** Stacks by their profiles, with the congestion controls that may be chosen. */
export const STACKS: Record<string, { title: string; controls: string[] }> = {
  "linux-6.1": { title: "Linux 6.1", controls: ["cubic", "reno", "bbr"] },
  "linux-2.6.15": { title: "Linux 2.6.15", controls: [] },
  "freebsd-7.2": { title: "FreeBSD 7.2", controls: [] },
  "freebsd-6.0": { title: "FreeBSD 6.0", controls: [] },
  rfc: { title: "RFCs of today", controls: ["cubic", "reno"] },
  "rfc-2014": { title: "RFCs of 2014", controls: ["reno", "cubic"] },
};

export const FIRST: Setting = {
  lost: 18,
  rate: 1e6,
  delay: 20,
  queue: 50,
  packets: 20,
  stack: "linux-6.1",
  control: "cubic",
};

/** The last position that can be lost: the SYN-ACK is the first packet of the server, and its data follow. */
export function lastPosition(setting: Setting): number {
  return setting.packets + 1;
}

/** The scenario, with the loss or without. */
export function scenarioOf(setting: Setting, lossy = true): Record<string, unknown> {
  const controls = STACKS[setting.stack].controls;
  const own = controls.includes(setting.control) && setting.control !== controls[0];
  const profile = own
    ? { inherits: setting.stack, congestion: { algorithm: setting.control } }
    : setting.stack;
  return {
    hosts: { server: { stack: profile }, client: { stack: setting.stack } },
    path: {
      rate: rateText(setting.rate),
      delay: `${setting.delay} ms`,
      queue: `${setting.queue} packets`,
      ...(lossy && setting.lost ? { down: { drop: setting.lost } } : {}),
    },
    transfers: [{ from: "server", to: "client", writes: `1 x ${setting.packets * SEGMENT} bytes` }],
  };
}

/** The same as a study file. */
export function studyOf(setting: Setting): string {
  const controls = STACKS[setting.stack].controls;
  const own = controls.includes(setting.control) && setting.control !== controls[0];
  const server = own
    ? `{ inherits = "${setting.stack}", congestion.algorithm = "${setting.control}" }`
    : `"${setting.stack}"`;
  return [
    `title = "From the page"`,
    "",
    "[scenario]",
    `hosts.server.stack = ${server}`,
    `hosts.client.stack = "${setting.stack}"`,
    `path.rate = "${rateText(setting.rate)}"`,
    `path.delay = "${setting.delay} ms"`,
    `path.queue = "${setting.queue} packets"`,
    ...(setting.lost ? [`path.down.drop = ${setting.lost}`] : []),
    "",
    "[[scenario.transfers]]",
    `from = "server"`,
    `to = "client"`,
    `writes = "1 x ${setting.packets * SEGMENT} bytes"`,
    "",
    "[design]",
    "replications = 1",
    "",
  ].join("\n");
}

/** A rate as people and study files write it. */
export function rateText(rate: number): string {
  return rate < 1e6 ? `${rate / 1e3} kbit/s` : `${rate / 1e6} Mbit/s`;
}

/** What is lost, in words. */
export function lostText(setting: Setting): string {
  if (setting.lost === 0) return "none";
  if (setting.lost === 1) return "1: SYN-ACK";
  const last = setting.lost === lastPosition(setting) ? ", the last" : "";
  return `${setting.lost}: data ${setting.lost - 1} of ${setting.packets}${last}`;
}

const ORDER: (keyof Setting)[] = ["lost", "rate", "delay", "queue", "packets", "stack", "control"];

/** A setting as the fragment of an address. */
export function toFragment(setting: Setting): string {
  return `demo=${ORDER.map((name) => setting[name]).join(",")}`;
}

/** What a fragment says; null where it is not of this page. What is not to be had is as at the beginning. */
export function fromFragment(text: string): Setting | null {
  const found = /^#?demo=([^&]*)$/.exec(text);
  if (!found) return null;
  const given = found[1].split(",");
  const setting: Setting = { ...FIRST };
  for (const name of ["rate", "delay", "queue", "packets"] as const) {
    const value = Number(given[ORDER.indexOf(name)]);
    if ((STEPS[name] as readonly number[]).includes(value)) setting[name] = value;
  }
  const [stack, control] = [given[ORDER.indexOf("stack")], given[ORDER.indexOf("control")]];
  if (Object.hasOwn(STACKS, stack)) setting.stack = stack;
  if (STACKS[setting.stack].controls.includes(control)) setting.control = control;
  const lost = Number(given[0]);
  if (Number.isInteger(lost) && lost >= 0) setting.lost = Math.min(lost, lastPosition(setting));
  return setting;
}
