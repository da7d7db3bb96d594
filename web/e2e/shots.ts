// Screenshots beside committed ones. REXMIT_SHOTS=update writes them anew.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Browser, Locator } from "playwright-core";

const FOLDER = new URL("./shots/", import.meta.url);

/** How much a channel of a pixel may differ: edges are smoothed otherwise on other machines. */
const CHANNEL = 48;

/** Holds what is in `part` against the picture of this name: so great a share of its pixels may differ. */
export async function compare(
  browser: Browser,
  part: Locator,
  name: string,
  tolerance = 0.02,
): Promise<void> {
  const file = new URL(`${name}.png`, FOLDER);
  await toWholePixels(part);
  const shot = await part.screenshot({ animations: "disabled" });
  if (process.env.REXMIT_SHOTS === "update" || !existsSync(file)) {
    assert.equal(
      process.env.REXMIT_SHOTS,
      "update",
      `there is no ${name}.png; REXMIT_SHOTS=update writes it`,
    );
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, shot);
    return;
  }
  const differing = await share(browser, readFileSync(file), shot);
  if (differing > tolerance) writeFileSync(new URL(`${name}.differs.png`, FOLDER), shot);
  const words = `${(100 * differing).toFixed(2)} % of ${name} differ: look at ${name}.differs.png`;
  assert.ok(differing <= tolerance, words);
}

/**
 * Moves `part` to a whole pixel: between two, the words above it would decide where its edges
 * are smoothed and whether its picture is a pixel higher.
 */
async function toWholePixels(part: Locator): Promise<void> {
  await part.evaluate((one) => {
    const { style } = one as HTMLElement;
    style.translate = ""; // of an earlier picture
    const { left, top } = one.getBoundingClientRect();
    const [x, y] = [left + window.scrollX, top + window.scrollY];
    style.translate = `${Math.round(x) - x}px ${Math.round(y) - y}px`;
  });
}

/** The share of pixels that differ; 1 where the sizes do. */
async function share(browser: Browser, before: Buffer, now: Buffer): Promise<number> {
  const page = await browser.newPage();
  const urls = [before, now].map((one) => `data:image/png;base64,${one.toString("base64")}`);
  try {
    // What turns TypeScript into JavaScript notes the names of functions with this.
    await page.evaluate("globalThis.__name = (one) => one");
    return await page.evaluate(
      async ([first, second, channel]) => {
        // Without a name: a named function asks for a helper that only node has.
        const [a, b] = await Promise.all(
          [first, second].map(async (url) => {
            const image = new Image();
            image.src = String(url);
            await image.decode();
            const canvas = new OffscreenCanvas(image.width, image.height);
            const context = canvas.getContext("2d")!;
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, image.width, image.height);
          }),
        );
        if (a.width !== b.width || a.height !== b.height) return 1;
        let count = 0;
        for (let at = 0; at < a.data.length; at += 4)
          for (let one = 0; one < 3; one++)
            if (Math.abs(a.data[at + one] - b.data[at + one]) > Number(channel)) {
              count++;
              break;
            }
        return count / (a.data.length / 4);
      },
      [urls[0], urls[1], CHANNEL] as const,
    );
  } finally {
    await page.close();
  }
}
