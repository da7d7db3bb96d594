// The report of a real study in a browser: from all runs to a curve, from a point to its runs, from a run to its
// packets. The study is run and its report written by the package itself.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { compare } from "./shots";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const skip = existsSync(CHROMIUM) ? false : "chromium is not installed";
const REXMIT = process.env.REXMIT ?? fileURLToPath(new URL("../../.venv/bin/rexmit", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "rexmit-report-"));
const inside = join(folder, "inside.html");
const beside = join(folder, "beside.html");
const SIZE = { width: 1300, height: 900 };
/** Loss of packet 9 at 320 kbit/s and 300 ms, over all three replications. */
const NINE = "#explorer?colour=none&only.path.rate=320+kbit%2Fs&only.path.delay=300+ms&at.path.down.drop=9";

let browser: Browser;
const faults: string[] = [];

const rexmit = (...words: string[]): string => execFileSync(REXMIT, words, { cwd: folder, encoding: "utf8" });

before(async () => {
  if (skip) return;
  const some = ["--set", 'path.rate=["320 kbit/s", "1 Mbit/s"]', "--set", 'path.delay=["100 ms", "300 ms"]'];
  rexmit("run", "hurtig-2006/short", ...some, "--out", "study");
  rexmit("report", "study", "--with-runs", "first", "--out", inside);
  rexmit("report", "study", "--with-runs", "27,30", "--data", "beside", "--out", beside);
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
  assert.deepEqual(faults, []);
});

async function open(path: string, fragment = "", dark = false): Promise<Page> {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: dark ? "dark" : "light" });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) faults.push(`the page asks for ${request.url()}`);
  });
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) faults.push(message.text());
  });
  await page.goto(pathToFileURL(path).href + fragment);
  await page.waitForSelector("#explorer .caption:not(:empty)");
  return page;
}

const hash = (page: Page): Promise<string> => page.evaluate("location.hash");
const graph = (page: Page): ReturnType<Page["locator"]> => page.locator('canvas[data-panel="sequence"]');

test(
  "a narrow screen has all of the page across, and a chart without a selection no dot",
  { skip },
  async () => {
    const page = await open(inside);
    await page.setViewportSize({ width: 420, height: 900 });
    await page.waitForSelector("#explorer .u-select", { state: "attached" });
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 420);
    for (const filter of await page.locator("#explorer .filter summary").all()) {
      await filter.click();
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 420);
      await filter.click();
    }
    const [width, height] = (await page.evaluate(
      "(({ offsetWidth, offsetHeight }) => [offsetWidth, offsetHeight])(document.querySelector('.u-select'))",
    )) as number[];
    assert.deepEqual([width, height], [0, 0]);
    await page.close();
  },
);

test("from a curve to a point, to its runs, to the packets of one", { skip }, async () => {
  const page = await open(inside, NINE.replace(/&at.*/, ""));
  const chart = page.locator("#explorer .chart");
  await chart.scrollIntoViewIfNeeded();
  const box = (await chart.boundingBox())!;
  // Somewhere below the curve: the nearest point is meant.
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForSelector("#runs-title");
  assert.match(
    await page.locator("#runs-title").innerText(),
    /^3 runs at dropped packet, server to client \d+$/,
  );
  assert.match(await hash(page), /at\.path\.down\.drop=\d+/);
  await page.locator("#runs").getByText("embedded", { exact: true }).first().waitFor();
  await page.locator('#runs button:text-is("Open")').first().click();
  await graph(page).waitFor();
  assert.match(await page.locator("#packets-title").innerText(), /^Run \d+$/);
  assert.match(await page.locator("#packets").innerText(), /Sent again \(\d+\)[\s\S]*What the emulator did/);
  await page.close();
});

test("what a link says is what is shown, and going back undoes one step", { skip }, async () => {
  const page = await open(inside, `${NINE}&run=27`);
  await graph(page).waitFor();
  const words = await page.locator("#packets").innerText();
  assert.match(words, /fast/);
  assert.match(words, /dropped/);
  assert.ok((await page.locator(".rx-list").last().locator(".rx-row").count()) > 10, "rows of the list");
  const before = await hash(page);
  await page.locator("#beside-path\\.down\\.drop").click();
  await page.waitForFunction(() => location.hash.includes("with=30"));
  assert.equal(await page.locator("#packets-title").innerText(), "Runs 27 and 30");
  const both = await hash(page);
  const again = await open(inside, both);
  await graph(again).first().waitFor();
  assert.equal(await again.locator("#packets-title").innerText(), "Runs 27 and 30");
  assert.equal(
    await again.locator("#explorer .caption").innerText(),
    await page.locator("#explorer .caption").innerText(),
  );
  await again.close();
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("with="));
  assert.equal(await page.locator("#packets-title").innerText(), "Run 27");
  assert.match(await hash(page), new RegExp(before.slice(0, 40).replace(/[.?+]/g, "\\$&")));
  await page.close();
});

test("two runs stand side by side, or over each other", { skip }, async () => {
  const page = await open(inside, `${NINE}&run=27&with=30`);
  await graph(page).first().waitFor();
  assert.equal(await graph(page).count(), 2);
  await page.locator("#layout-overlay").click();
  await page.waitForFunction(() => document.querySelectorAll('canvas[data-panel="sequence"]').length === 1);
  assert.match(await hash(page), /layout=overlay/);
  await page.close();
});

test("keys alone lead from the chart to the packets, and back", { skip }, async () => {
  const page = await open(inside, NINE.replace(/&at.*/, ""));
  for (let press = 0; press < 80; press++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement?.classList.contains("chart"))) break;
  }
  for (let press = 0; press < 4; press++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "runs-title");
  for (let press = 0; press < 4; press++) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.classList.contains("close")), false);
    if (await page.evaluate(() => document.activeElement?.id.startsWith("open-"))) break;
  }
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /run=\d/.test(location.hash));
  await graph(page).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("run="));
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("at."));
  await page.close();
});

test("the table has the values of the chart, and CSV those of the table", { skip }, async () => {
  const page = await open(inside, NINE.replace(/&at.*/, ""));
  const waiting = page.waitForEvent("download");
  await page.locator("#tool-csv").click();
  const csv = readFileSync(await (await waiting).path(), "utf8");
  const rows = csv.trim().split("\n");
  assert.equal(rows.length, 1 + 21);
  assert.match(rows[0], /^path\.down\.drop,/);
  await page.locator("#tool-view").click();
  assert.equal(await page.locator("#explorer .chart tbody tr").count(), 21);
  assert.match(await hash(page), /view=table/);
  await page.close();
});

test("a drag shows a part of the axes, which the link keeps and a button gives back", { skip }, async () => {
  const page = await open(inside, NINE.replace(/&at.*/, ""));
  const plot = page.locator("#explorer .u-over");
  await plot.hover({ position: { x: 200, y: 100 } });
  await page.waitForTimeout(100);
  const box = (await plot.boundingBox())!;
  const at = (x: number, y: number): Promise<void> => page.mouse.move(box.x + x, box.y + y);
  await at(201, 101);
  await page.mouse.down();
  // The chart looks where the pointer is once a frame.
  for (const way of [40, 120, 200]) {
    await at(200 + way, 100 + 0.75 * way);
    await page.waitForTimeout(60);
  }
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes("zoom="));
  await page.locator("#tool-zoom").click();
  await page.waitForFunction(() => !location.hash.includes("zoom="));
  await page.close();
});

test("filters that leave nothing say so, and are undone by one button", { skip }, async () => {
  const none = "#explorer?not.path.rate=320+kbit%2Fs&not.path.rate=1+Mbit%2Fs";
  const page = await open(inside, none);
  assert.match(await page.locator("#explorer .nothing").innerText(), /filters leave no run/);
  await page.locator("#undo-filters").click();
  await page.waitForSelector("#explorer .chart canvas");
  assert.equal(await hash(page), "#explorer?");
  await page.close();
});

test("the drawing that is saved has the curves, the axes and the words", { skip }, async () => {
  const page = await open(inside, NINE.replace(/&at.*/, ""));
  const saved = async (tool: string): Promise<Buffer> => {
    const waiting = page.waitForEvent("download");
    await page.locator(tool).click();
    return readFileSync(await (await waiting).path());
  };
  const svg = (await saved("#tool-svg")).toString("utf8");
  assert.match(svg, /^<svg xmlns/);
  // One curve needs no legend: a marker for each of its 21 positions.
  assert.equal(svg.match(/a3\.4 3\.4 0 1 0 6\.8 0/g)?.length, 21);
  for (const words of [
    "Fast retransmit inhibitions",
    "dropped packet, server to client",
    "time (s)",
    "Student’s t",
  ])
    assert.ok(svg.includes(words), words);
  const png = await saved("#tool-png");
  assert.equal(png.subarray(1, 4).toString("latin1"), "PNG");
  assert.equal(png.readUInt32BE(16), 1800);
  await page.close();
});

test("intervals and other tables beside the runs are charted alike", { skip }, async () => {
  rexmit("run", "merritt-2010/two-way", "--set", 'path.up.queue=["15 packets"]', "--out", "ways");
  rexmit("report", "ways", "--with-runs", "none", "--out", "ways.html");
  const page = await open(join(folder, "ways.html"), "#explorer?table=intervals");
  const caption = await page.locator("#explorer .caption").innerText();
  assert.match(caption, /by interval from/);
  assert.match(caption, /in panels by host/);
  assert.equal(await page.locator("#explorer .chart canvas").count(), 2);
  const again = await open(join(folder, "ways.html"), await hash(page));
  assert.equal(await again.locator("#explorer .caption").innerText(), caption);
  await again.close();
  await page.close();
});

const NETWORK = fileURLToPath(new URL("../../examples/networks/dumbbell.toml", import.meta.url));
const network = join(folder, "network.html");

/** The report of a network of two flows, with the packets of one run; written once. */
function networkPage(): string {
  if (existsSync(network)) return network;
  // Longer than the 5 s from which fairness is measured.
  const short = ["0", "1"].flatMap((at) => ["--set", `transfers.${at}.bulk="6 s"`]);
  const measured = ["--set", 'measure.every="200 ms"', "--set", 'links.bottleneck.aqm=["none", "codel"]'];
  rexmit("run", NETWORK, ...short, ...measured, "--out", "network");
  rexmit("report", "network", "--with-runs", "0", "--out", network);
  return network;
}

const sized = join(folder, "sized.html");

/** The report of the same network, whose flows complete by themselves; written once. */
function sizedPage(): string {
  if (existsSync(sized)) return sized;
  const short = ["0", "1"].flatMap((at) => ["--set", `transfers.${at}.bulk="400 kB"`]);
  const measured = ["--set", 'measure.every="200 ms"', "--set", 'links.bottleneck.aqm=["none", "codel"]'];
  rexmit("run", NETWORK, ...short, ...measured, "--out", "sized");
  rexmit("report", "sized", "--with-runs", "none", "--out", sized);
  return sized;
}

test(
  "flows of a run stand over the queue of a link, by pointer, by keys and by address",
  { skip },
  async () => {
    const page = await open(networkPage());
    await page.locator("#chart-flows").click();
    await page.waitForFunction(() => /kind=flows/.test(location.hash));
    const caption = page.locator("#explorer .caption");
    assert.match(await caption.innerText(), /^Run 0 .*bottleneck, left to right/);
    await page.locator("#choice-aqm-of-link-bottleneck").selectOption({ label: "codel" });
    await page.waitForFunction(() => /of=2/.test(location.hash));
    assert.match(await caption.innerText(), /^Run 2 .*codel/);
    await page.locator("#choice-link").selectOption({ label: "bottleneck, right to left" });
    const chart = page.locator("#explorer .chart");
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const spoken = await page.locator("#explorer .sr-only").innerText();
    assert.match(spoken, /^0\.2 to 0\.4 s: near .*bit\/s, far .*queue, mean/);
    const box = (await chart.boundingBox())!;
    await page.mouse.move(box.x + 300, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 500, box.y + 100, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /zoom=/.test(location.hash));
    const again = await open(network, await hash(page));
    assert.equal(await again.locator("#explorer .caption").innerText(), await caption.innerText());
    assert.equal(await again.locator("#tool-zoom").count(), 1);
    await again.close();
    await page.locator("#tool-view").click();
    assert.ok((await page.locator("#explorer .chart tbody tr").count()) > 10);
    await page.locator("#flows-packets").click();
    await page.waitForFunction(() => /[&?]run=2/.test(location.hash));
    await page.close();
  },
);

test("completion times and fairness are a click away, and any response is a heat map", { skip }, async () => {
  const page = await open(networkPage());
  await page.locator("#preset-fairness").click();
  await page.waitForFunction(() => /kind=heat/.test(location.hash));
  assert.match(await page.locator("#explorer .caption").innerText(), /^Mean fairness by /);
  await page.locator("#choice-response").selectOption("queue_p95");
  assert.match(await page.locator("#explorer .caption").innerText(), /^Mean queue p95 by /);
  // Its flows end by the clock.
  assert.equal(await page.locator("#preset-completion").count(), 0);
  await page.close();
  const complete = await open(sizedPage());
  await complete.locator("#preset-completion").click();
  await complete.waitForFunction(() => /table=transfers/.test(location.hash));
  const words = await complete.locator("#explorer .figure").innerText();
  assert.match(words, /^Distribution of completion time, one curve for each/);
  assert.match(words, /share of flows up to a value/);
  await complete.close();
});

test("what was not measured is said, with what to write", { skip }, async () => {
  const page = await open(inside, "#explorer?kind=flows");
  assert.match(await page.locator("#explorer .faults").innerText(), /measure\.every/);
  assert.equal(await page.locator("#chart-flows").count(), 0);
  assert.match(await page.locator("#explorer .hint").innerText(), /measure\.every = "500 ms"/);
  await page.waitForSelector("#explorer .chart canvas");
  await page.close();
});

test(
  "the queue of a link lies under the packets, chosen by lists, kept in the address",
  { skip },
  async () => {
    const page = await open(networkPage(), "#explorer?run=0");
    await graph(page).waitFor();
    const queue = page.locator('canvas[data-panel="queue"]');
    assert.match(
      (await queue.getAttribute("aria-label"))!,
      /^Packets in the queue of bottleneck, left to right/,
    );
    await page.getByLabel("what of the queue is shown").selectOption("ms");
    await page
      .getByLabel("the link whose queue is shown")
      .selectOption({ label: "bottleneck, right to left" });
    await page.waitForFunction(() => /qms%2Cbottleneck/.test(location.hash));
    assert.match(
      (await queue.getAttribute("aria-label"))!,
      /^Time in the queue of bottleneck, right to left/,
    );
    const again = await open(network, await hash(page));
    await graph(again).waitFor();
    assert.match(
      (await again.locator('canvas[data-panel="queue"]').getAttribute("aria-label"))!,
      /^Time in the queue of bottleneck, right to left \(ms\)/,
    );
    await again.close();
    await page.close();
  },
);

test("a link to what is not there says so, and shows what there is", { skip }, async () => {
  const page = await open(inside, "#explorer?response=nothing&x=path.colour&run=99999");
  const told = await page.locator("#explorer .faults").innerText();
  assert.match(told, /nothing/);
  assert.match(told, /path\.colour/);
  assert.match(await page.locator("#packets").innerText(), /no run 99999/);
  await page.waitForSelector("#explorer .chart canvas");
  await page.close();
});

test("a run that is not embedded comes with the command that embeds it", { skip }, async () => {
  const page = await open(inside, `${NINE}&run=28`);
  const words = await page.locator("#packets").innerText();
  assert.match(words, /rexmit report study --with-runs first,28 --out \S+inside\.html/);
  await page.close();
});

test("packets in files beside the page are loaded; a missing file is named", { skip }, async () => {
  const page = await open(beside, `${NINE}&run=27`);
  await graph(page).waitFor();
  await page.close();
  rmSync(join(folder, "beside-data", "run-30.js"));
  const other = await open(beside, `${NINE}&run=30`);
  const fault = other.locator("#packets .fault");
  await fault.waitFor();
  assert.match(await fault.innerText(), /beside-data\/run-30\.js is missing/);
  await other.close();
});

test(
  "a script that somebody put into the page does not run, beside files that it loads",
  { skip },
  async () => {
    for (const path of [inside, beside]) {
      const text = readFileSync(path, "utf8");
      const evil = join(folder, "evil.html");
      writeFileSync(join(folder, "evil.js"), "document.title = 'taken'");
      writeFileSync(
        evil,
        text.replace(
          "<main",
          '<script src="evil.js"></script><script>document.title = "taken"</script><main',
        ),
      );
      const page = await open(evil);
      assert.notEqual(await page.title(), "taken");
      await page.close();
      assert.equal(
        faults.filter((fault) => fault.includes("Content Security Policy")).length,
        2,
        faults.join("\n"),
      );
      faults.length = 0;
    }
  },
);

test("a link to another part of the page leaves the explorer as it is", { skip }, async () => {
  const page = await open(inside, "#explorer?kind=heat");
  await page.locator('.contents a[href="#figures"]').click();
  await page.waitForFunction(() => location.hash === "#figures");
  assert.equal(await page.locator("#chart-heat").getAttribute("aria-pressed"), "true");
  await page.close();
});

test("a damaged block is one sentence, not an empty page", { skip }, async () => {
  const text = readFileSync(inside, "utf8");
  const path = join(folder, "damaged.html");
  writeFileSync(path, text.replace(/(id="runs">)[\s\S]{200}/, "$1"));
  const page = await browser.newPage();
  await page.goto(pathToFileURL(path).href);
  await page.locator("#explorer .fault").waitFor();
  assert.match(await page.locator("#explorer .fault").innerText(), /explorer cannot be shown/);
  assert.match(await page.locator("#figures").innerText(), /Transmission time/);
  await page.close();
});

test("dark as the system is, light as the switch says, and light on paper", { skip }, async () => {
  const page = await open(inside, "", true);
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.match(await ground(), /rgb\((\d|[1-4]\d), /);
  await page.locator("#theme").click();
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await page.locator("#theme").click();
  await page.emulateMedia({ media: "print" });
  assert.equal(await ground(), "rgb(255, 255, 255)");
  assert.equal(await page.locator("#explorer .controls").isVisible(), false);
  await page.close();
});

test("on paper the chart stays through another width, and lists are whole tables", { skip }, async () => {
  const page = await open(inside, `${NINE}&run=27`);
  await graph(page).waitFor();
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 700, height: 900 });
  const drawing = page.locator("#explorer .paper svg");
  await drawing.waitFor();
  await page.waitForTimeout(300);
  assert.ok(await drawing.isVisible());
  assert.equal(await page.locator(".rx-scroll").first().isVisible(), false);
  const list = page.locator(".rx-paper").first();
  assert.match(await list.innerText(), /evidence/);
  const [inner, outer] = await list.evaluate((one) => [one.scrollWidth, one.clientWidth]);
  assert.ok(inner <= outer, "no column is cut");
  await page.close();
});

test("on a narrow screen levels are read, and the button hides no word of the title", { skip }, async () => {
  const page = await open(inside);
  await page.setViewportSize({ width: 400, height: 800 });
  const [title, theme] = await Promise.all(
    ["h1", "#theme"].map(async (name) => (await page.locator(name).boundingBox())!),
  );
  assert.ok(theme.y + theme.height <= title.y, "the button stands above the title");
  const cells = page.locator(".factors td:last-child");
  for (const cell of await cells.all()) {
    const box = (await cell.boundingBox())!;
    assert.ok(box.x >= 0 && box.x + box.width <= 400, "the levels are within the screen");
    assert.ok(box.width > 200, "and wide enough to be read");
  }
  assert.ok((await page.locator(".factors").boundingBox())!.height < 600, "without a screen of white");
  await page.close();
});

test("the chart, the heat map and the graph look as they did", { skip }, async () => {
  const page = await open(inside, NINE.replace(/&at.*/, ""));
  await compare(browser, page.locator("#explorer .chart canvas").first(), "lines");
  await page.goto(`${pathToFileURL(inside).href}#explorer?kind=heat`);
  await page.locator("#explorer .chart svg").first().waitFor();
  await compare(browser, page.locator("#explorer .chart"), "heat", 0.06);
  await page.goto(`${pathToFileURL(inside).href}${NINE}&run=27`);
  await graph(page).waitFor();
  await compare(browser, graph(page), "packets", 0.03);
  const flows = await open(networkPage(), "#explorer?kind=flows");
  await compare(browser, flows.locator("#explorer .chart"), "flows", 0.06);
  await flows.close();
  const queue = await open(network, "#explorer?run=0");
  await graph(queue).waitFor();
  await compare(browser, queue.locator('canvas[data-panel="queue"]'), "queue", 0.03);
  await queue.close();
  await page.close();
});

test("narrow screens and paper look as they did", { skip }, async () => {
  const page = await open(inside, NINE.replace(/&at.*/, ""));
  await page.setViewportSize({ width: 400, height: 800 });
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 400);
  await compare(browser, page.locator("#answer"), "narrow-answer", 0.04);
  await compare(browser, page.locator("#explorer .controls"), "narrow-controls", 0.04);
  await compare(browser, page.locator("#study"), "narrow-study", 0.04);
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 720, height: 1000 });
  await page.locator("#explorer .paper svg").waitFor();
  await page.waitForTimeout(300);
  await compare(browser, page.locator(".masthead"), "print-masthead", 0.04);
  await compare(browser, page.locator("#answer"), "print-answer", 0.04);
  await compare(browser, page.locator("#explorer"), "print-explorer", 0.04);
  await page.close();
});

test(
  "keys lead from the title to the answer and into the explorer, and each stop is seen",
  { skip },
  async () => {
    const page = await open(inside);
    // Buttons of the page itself come first, then the way past the title.
    let at = "";
    for (let press = 0; press < 4 && at !== "skip"; press++) {
      await page.keyboard.press("Tab");
      at = await page.evaluate("document.activeElement.className");
    }
    assert.equal(at, "skip");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("location.hash"), "#main");
    const stops: string[] = [];
    for (let press = 0; press < 12; press++) {
      await page.keyboard.press("Tab");
      const [where, seen] = (await page.evaluate(`(() => {
      const one = document.activeElement, box = one.getBoundingClientRect();
      return [one.closest("section")?.id ?? one.tagName, box.width > 0 && box.height > 0];
    })()`)) as [string, boolean];
      assert.ok(seen, `a stop in ${where} is there to be seen`);
      stops.push(where);
    }
    assert.ok(stops.includes("explorer"), stops.join(" "));
    await page.close();
  },
);
