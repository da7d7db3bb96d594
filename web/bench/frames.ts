// Frames a second of a page of graphs, moved and enlarged by a real pointer in headless Chromium without a GPU.
//
// Usage: tsx bench/frames.ts PAGE SECONDS; prints JSON. `benches/pages.py` makes the page and says whether it is enough.

import { pathToFileURL } from "node:url";
import { chromium, type Page } from "playwright-core";

interface Measured {
  action: string;
  /** Frames in each second. */
  seconds: number[];
  /** Milliseconds of the longest frame, and of the frame that 99 of 100 are shorter than. */
  longest: number;
  p99: number;
}

const SIZE = { width: 1600, height: 1000 };

/** Notes the time of each frame until another list takes the place of this one. */
const COUNT = `
  window.frames = [];
  {
  const own = window.frames;
  const tick = (time) => {
    if (own !== window.frames) return;
    own.push(time);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  }
`;

async function main(): Promise<void> {
  const [path, seconds] = [process.argv[2], Number(process.argv[3] ?? 4)];
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const page = await browser.newPage({ viewport: SIZE });
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    const begun = Date.now();
    await page.goto(pathToFileURL(path).href);
    await page.waitForSelector("[data-ready]", { timeout: 120_000 });
    const opened = Date.now() - begun;
    const canvas = await page.locator("canvas").first().boundingBox();
    if (!canvas) throw new Error("the page has no graph");
    const middle = { x: canvas.x + canvas.width / 2, y: canvas.y + canvas.height / 2 };
    await page.mouse.move(middle.x, middle.y);
    const results = [
      await measured(page, "zoom out and in over everything", seconds, (n) =>
        page.mouse.wheel(0, n % 40 < 20 ? 30 : -30),
      ),
      await measured(page, "drag with everything in view", seconds, (n) => drag(page, middle, n), middle),
      await measured(page, "move over the graph", seconds, (n) =>
        page.mouse.move(middle.x + 300 * Math.sin(n / 15), middle.y + 200 * Math.cos(n / 11)),
      ),
      await measured(page, "zoom in to single segments and out", seconds, (n) =>
        page.mouse.wheel(0, n % 80 < 40 ? -160 : 160),
      ),
    ];
    await page.keyboard.press("0");
    for (let n = 0; n < 12; n++) await page.mouse.wheel(0, -160);
    results.push(
      await measured(
        page,
        "drag among some thousand segments",
        seconds,
        (n) => drag(page, middle, n),
        middle,
      ),
    );
    if (errors.length) throw new Error(errors.join("; "));
    console.log(JSON.stringify({ opened, browser: browser.version(), results }));
  } finally {
    await browser.close();
  }
}

async function drag(page: Page, middle: { x: number; y: number }, n: number): Promise<void> {
  await page.mouse.move(middle.x + 250 * Math.sin(n / 20), middle.y + 120 * Math.sin(n / 27));
}

/** Acts until the time is over, with the button held where `held` is given, and counts frames. */
async function measured(
  page: Page,
  action: string,
  seconds: number,
  act: (n: number) => Promise<void>,
  held?: { x: number; y: number },
): Promise<Measured> {
  await page.evaluate(COUNT);
  if (held) {
    await page.mouse.move(held.x, held.y);
    await page.mouse.down();
  }
  const end = Date.now() + 1000 * seconds;
  for (let n = 0; Date.now() < end; n++) await act(n);
  if (held) await page.mouse.up();
  const frames = await page.evaluate<number[]>("[window.frames, (window.frames = [])][0]");
  return { action, ...counted(frames) };
}

function counted(frames: number[]): Omit<Measured, "action"> {
  const lengths = frames.slice(1).map((time, at) => time - frames[at]);
  const seconds: number[] = [];
  for (let start = frames[0]; start + 1000 <= frames[frames.length - 1]; start += 1000)
    seconds.push(frames.filter((time) => time >= start && time < start + 1000).length);
  const sorted = [...lengths].sort((a, b) => a - b);
  return {
    seconds,
    longest: sorted[sorted.length - 1],
    p99: sorted[Math.floor(sorted.length * 0.99)],
  };
}

await main();
