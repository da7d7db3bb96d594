// The page of a capture in a browser: pointer, keys, legend, lists, files, address, dark and print.
//
// The blocks are those of the unit tests; the script and the style are the built ones.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const skip = existsSync(CHROMIUM) ? false : "chromium is not installed";
const folder = mkdtempSync(join(tmpdir(), "rexmit-page-"));
const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const WRITE =
  "import sys; from rexmit.plot.page import page; print(page(sys.stdin.read(), sys.argv[1]), end='')";
const fixture = (name: string): string => readFileSync(new URL(`../tests/${name}`, import.meta.url), "utf8");

let browser: Browser;
const errors: string[] = [];
/** What the pages' policy has refused: nothing, but what a test puts in. */
const refused: string[] = [];

before(async () => {
  if (!skip)
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
});
after(async () => {
  await browser?.close();
  assert.deepEqual(errors, []);
  assert.deepEqual(refused, []);
});

const pages = new Map<string, string>();

/** The page of a block, as `rexmit.plot.page` writes it: once, however many tests open it. */
function written(block: string, title: string): string {
  const key = JSON.stringify([block, title]);
  const page =
    pages.get(key) ??
    execFileSync(PYTHON, ["-c", WRITE, title], {
      input: fixture(block),
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
  pages.set(key, page);
  return page;
}

/** Opens the page of a block; `change` may put something into it. */
async function open(
  block: string,
  fragment = "",
  dark = false,
  change: (text: string) => string = (text) => text,
  title = "a run",
): Promise<Page> {
  const path = join(folder, `${block}.html`);
  writeFileSync(path, change(written(block, title)));
  const page = await browser.newPage({
    viewport: { width: 1200, height: 900 },
    colorScheme: dark ? "dark" : "light",
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) refused.push(message.text());
  });
  await page.goto(pathToFileURL(path).href + fragment);
  await page.waitForSelector("[data-ready]");
  return page;
}

const graph = (page: Page): Locator => page.locator('canvas[data-panel="sequence"]');

async function fragment(page: Page, wanted: RegExp): Promise<string> {
  await page.waitForFunction((source) => new RegExp(source).test(location.hash), wanted.source, {
    timeout: 5000,
  });
  return page.evaluate("location.hash");
}

/** The colour of the pixel in the corner of the graph, as red + green + blue. */
const brightness = (page: Page): Promise<number> =>
  graph(page).evaluate((canvas) => {
    const data = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(2, 2, 1, 1).data ?? [0, 0, 0];
    return data[0] + data[1] + data[2];
  });

test("the graphs stand under each other, the lists under them", { skip }, async () => {
  const page = await open("trace.txt");
  const names = await page.locator("canvas").evaluateAll((all) => all.map((one) => one.dataset.panel));
  assert.deepEqual(names, ["sequence", "held", "outstanding", "cwnd", "rtt", "throughput"]);
  const lists = await page.locator(".rx-list h3").allTextContents();
  assert.equal(await page.locator(".rx-tip").isVisible(), false);
  assert.deepEqual(lists, ["Sent again (1)", "What the emulator did (5)"]);
  await page.getByText("only the 2 dropped").click();
  assert.equal(await page.locator(".rx-list").last().locator(".rx-row:not(.rx-names)").count(), 2);
  await page.close();
});

test("keys move, zoom, and go to the retransmission; the address keeps it", { skip }, async () => {
  const page = await open("trace.txt");
  await graph(page).focus();
  await page.keyboard.press("]");
  const there = await fragment(page, /^#v1-server;t0\.0076/);
  await page.keyboard.press("ArrowLeft");
  const moved = await fragment(page, /^#v1-server;t0\.00[0-6]/);
  assert.notEqual(moved, there);
  await page.keyboard.press("+");
  await fragment(page, /t0\.0[01]/);
  await page.keyboard.press("0");
  await fragment(page, /^#v1-server$/);
  await page.close();
  const again = await open("trace.txt", there);
  await graph(again).focus();
  await again.keyboard.press("ArrowRight");
  await again.keyboard.press("ArrowLeft");
  assert.equal(await fragment(again, /^#v1-server;t/), there);
  await again.close();
});

test("the wheel zooms about the pointer, a drag moves, a double click shows all", { skip }, async () => {
  const page = await open("trace.txt");
  const box = await graph(page).boundingBox();
  assert.ok(box);
  const middle = [box.x + box.width / 2, box.y + box.height / 2] as const;
  await page.mouse.move(...middle);
  await page.mouse.wheel(0, -400);
  const zoomed = await fragment(page, /;t/);
  await page.mouse.down();
  await page.mouse.move(middle[0] + 80, middle[1]);
  await page.mouse.up();
  await page.waitForFunction((before) => location.hash !== before, zoomed);
  await page.mouse.dblclick(...middle);
  await fragment(page, /^#v1-server$/);
  await page.close();
});

test("the pointer on a packet says what it is and why", { skip }, async () => {
  const page = await open("trace.txt");
  await graph(page).focus();
  await page.keyboard.press("]");
  await fragment(page, /;t/);
  const box = await graph(page).boundingBox();
  assert.ok(box);
  // The retransmission stands where the range about it says: at (1 + 0.6) / 2.2 of the time.
  const x = box.x + 78 + (box.width - 92) * (1.6 / 2.2);
  for (let y = box.y + 30; y < box.y + box.height; y += 8) {
    await page.mouse.move(x, y);
    if ((await page.locator(".rx-tip").textContent())?.includes("fast retransmit")) break;
  }
  const tip = (await page.locator(".rx-tip").textContent()) ?? "";
  assert.match(
    tip,
    /packet 13[\s\S]*fast retransmit \(F\)[\s\S]*24 ms after the transmission before; certain/,
  );
  await page.close();
});

test("the legend hides what it names, and a graph may be folded away", { skip }, async () => {
  const page = await open("trace.txt");
  await page.locator(".rx-legend").getByText("SACK block").click();
  await page.locator(".rx-bar").getByText("RTT").click();
  await fragment(page, /^#v1-server;hsack;xrtt$/);
  assert.equal(await page.locator("canvas").count(), 5);
  await page.close();
});

test("the band under the packets says what held the sender back", { skip }, async () => {
  const page = await open("trace.txt");
  const why = await page.locator(".rx-why").textContent();
  assert.match(why ?? "", /^Why not faster\? Not held back by the network: the server's application/);
  await page.locator(".rx-legend").getByText("the application had nothing to send (A), 96 %").waitFor();
  const band = page.locator('canvas[data-panel="held"]');
  const box = await band.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 78 + (box.width - 92) * 0.45, box.y + 30);
  await page.locator(".rx-tip", { hasText: "the application had nothing to send" }).waitFor();
  await page.close();
});

test("a click in the list shows the retransmission", { skip }, async () => {
  const page = await open("trace.txt");
  await page.locator(".rx-row", { hasText: "fast retransmit" }).click();
  await fragment(page, /;t0\.0076/);
  assert.equal(await page.locator(".rx-marked").count(), 1);
  await page.close();
});

test("what is in view is saved as SVG and PNG under its name", { skip }, async () => {
  const page = await open("trace.txt");
  const files: Record<string, Buffer> = {};
  for (const form of ["SVG", "PNG"]) {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByText(`save ${form}`).click(),
    ]);
    const name = download.suggestedFilename();
    assert.equal(name, `rexmit-run-7-1-server-0.0000-0.0826s.${form.toLowerCase()}`);
    await download.saveAs(join(folder, name));
    files[form] = readFileSync(join(folder, name));
  }
  assert.match(files.SVG.toString(), /<svg [\s\S]*<g class="sequence"[\s\S]*fast retransmit \(F\)/);
  assert.equal(files.PNG.subarray(1, 4).toString(), "PNG");
  // Twice the size of the graphs.
  assert.ok(files.PNG.readUInt32BE(16) > 2000);
  await page.close();
});

test("dark where the browser is, turned by its switch, light on paper", { skip }, async () => {
  const page = await open("trace.txt", "", true);
  assert.ok((await brightness(page)) < 100);
  await page.getByText("dark / light").click();
  await page.waitForFunction("document.documentElement.dataset.theme === 'light'");
  await page.waitForTimeout(50);
  assert.ok((await brightness(page)) > 700);
  await page.getByText("dark / light").click();
  await page.waitForTimeout(50);
  assert.ok((await brightness(page)) < 100);
  await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  assert.ok((await brightness(page)) > 700);
  await page.close();
});

test("an association is shown, and a wrong address is as none", { skip }, async () => {
  const page = await open("trace-sctp.txt", "#v9-nobody;t5:1");
  assert.match((await page.locator(".rx-facts").textContent()) ?? "", /DATA chunks/);
  assert.ok((await page.locator(".rx-row").count()) > 3);
  await page.close();
});

test("a block that is not whole is told of", { skip }, async () => {
  const path = join(folder, "broken.html");
  const whole = written("trace.txt", "broken");
  writeFileSync(path, whole.replace(/(id="trace">)[^<]*/, `$1${btoa("no block")}`));
  const page = await browser.newPage();
  await page.goto(pathToFileURL(path).href);
  await page.waitForSelector('[role="alert"]');
  assert.match((await page.locator('[role="alert"]').textContent()) ?? "", /^The graphs cannot be shown: /);
  await page.close();
});

test("a script that is not the page's own does not run", { skip }, async () => {
  const injected =
    `<script>document.title = "taken"</script><img src="x:" onerror="document.title = 'taken'">` +
    `<script src="data:text/javascript,document.title='taken'"></script><style>h1 { color: red }</style>` +
    `<base href="https://example.org/"><form action="https://example.org/"></form>`;
  const page = await open("trace.txt", "", false, (text) => text.replace("<main", `${injected}<main`));
  assert.equal(await page.title(), "a run");
  assert.notEqual(await page.locator("h1").evaluate((one) => getComputedStyle(one).color), "rgb(255, 0, 0)");
  assert.ok(!((await page.evaluate("document.baseURI")) as string).startsWith("https:"));
  await graph(page).waitFor();
  assert.ok(refused.length >= 4, refused.join("\n"));
  refused.length = 0;
  await page.close();
});

test("a capture named as a script is a name", { skip }, async () => {
  const title = "<!--<script>.pcapng</script>\u2028--><img src=x onerror=alert(1)>";
  const page = await open("trace.txt", "", false, undefined, title);
  assert.match(await page.locator("h1").innerText(), /^<!--<script>\.pcapng<\/script>/);
  assert.match(await page.title(), /^<!--<script>\.pcapng/);
  await graph(page).waitFor();
  await page.close();
});
