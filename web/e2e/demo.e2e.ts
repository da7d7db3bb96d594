// The live demo in a browser, from disk, and its model beside the native one: the same packets, byte for byte.
//
// Its files are those of `scripts/live_demo.py`. `REXMIT_SHOTS=update` writes the picture in the documentation anew.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { Model } from "../src/demo/model";
import { FIRST, scenarioOf, type Setting } from "../src/demo/setting";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const BUILT = new URL("../../.cache/demo/", import.meta.url);
const FILES = ["demo.js", "demo.css", "demo-model.js"];
const isBuilt = FILES.every((name) => existsSync(new URL(name, BUILT)));
const module = isBuilt ? false : "scripts/live_demo.py has built no demo here";
const skip = module || (existsSync(CHROMIUM) ? false : "chromium is not installed");
const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "rexmit-demo-"));

/** Runs scenarios natively, each with a capture at each host, and prints where they are. */
const NATIVE = `
import json, sys
from rexmit._native import run_one
folder = sys.argv[1]
for number, scenario in enumerate(json.load(sys.stdin)):
    files = {f"capture_{host}": f"{folder}/{number}-{host}.pcapng" for host in ("server", "client")}
    run_one(json.dumps(scenario), 1, "", json.dumps(files))
`;

let browser: Browser;
const errors: string[] = [];

before(async () => {
  if (skip) return;
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  for (const name of FILES) copyFileSync(new URL(name, BUILT), join(folder, name));
});
after(async () => {
  await browser?.close();
  assert.deepEqual(errors, []);
});

interface Look {
  width?: number;
  scheme?: "default" | "slate";
  fragment?: string;
  /** Runs before the page's own scripts. */
  first?: string;
}

async function open({
  width = 1000,
  scheme = "default",
  fragment = "",
  first = "",
}: Look = {}): Promise<Page> {
  const path = join(folder, "page.html");
  const colours = scheme === "slate" ? "background:#1e2129;color:#e2e4e9" : "background:#fff;color:#222";
  writeFileSync(
    path,
    `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
    <link rel="stylesheet" href="demo.css"><style>body{font:16px sans-serif;${colours}}</style>
    <body data-md-color-scheme="${scheme}"><div id="rexmit-demo" data-model="demo-model.js">
    <p id="picture">a picture</p></div><script>${first}</script><script src="demo.js" defer></script>`,
  );
  const page = await browser.newPage({ viewport: { width, height: 950 } });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(pathToFileURL(path).href + fragment);
  await page.waitForSelector("[data-ready]", { timeout: 60_000 });
  return page;
}

const answer = (page: Page): Promise<string> => page.locator(".rd-answer").innerText();
const slider = (page: Page, label: string) => page.getByLabel(label);

test("the module gives the packets of the native model, byte for byte", { skip: module }, async () => {
  const settings: Setting[] = [
    FIRST,
    { ...FIRST, lost: 1, stack: "freebsd-6.0", control: "" },
    { ...FIRST, lost: 21, packets: 20, rate: 320e3, delay: 300 },
    { ...FIRST, lost: 30, packets: 100, queue: 5, control: "reno" },
    { ...FIRST, lost: 30, packets: 200, queue: 5, control: "bbr" },
    { ...FIRST, lost: 12, packets: 50, stack: "rfc", control: "cubic" },
    { ...FIRST, lost: 0, packets: 200, rate: 100e6, queue: 10, stack: "linux-2.6.15", control: "" },
  ];
  // Random numbers, too, and the other protocol.
  const random = {
    ...scenarioOf(FIRST),
    path: {
      rate: "2 Mbit/s",
      delay: "30 ms",
      queue: "20 packets",
      down: { loss: "5 %" },
      up: { loss: "2 %" },
    },
  };
  const sctp = {
    ...random,
    hosts: { server: { stack: "rfc9260" }, client: { stack: "rfc9260" } },
  };
  const scenarios = [...settings.map((setting) => scenarioOf(setting)), random, sctp];
  execFileSync(PYTHON, ["-c", NATIVE, folder], { input: JSON.stringify(scenarios), encoding: "utf8" });
  const model = await Model.load(readFileSync(new URL("rexmit_web.wasm", BUILT)));
  for (const [number, scenario] of scenarios.entries()) {
    const bytes = model.ask({ scenario, wanted: "captures" });
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    for (const host of ["server", "client"]) {
      const length = view.getUint32(at, true);
      const own = Buffer.from(bytes.subarray(at + 4, at + 4 + length));
      at += 4 + length;
      const native = readFileSync(join(folder, `${number}-${host}.pcapng`));
      assert.ok(native.length > 2000, `scenario ${number} has packets`);
      assert.ok(
        own.equals(native),
        `scenario ${number} at the ${host}: ${own.length} and ${native.length} bytes`,
      );
    }
    assert.equal(at, bytes.length);
  }
});

test("what is wrong is told in one line, and the next request is answered", { skip: module }, async () => {
  const model = await Model.load(readFileSync(new URL("rexmit_web.wasm", BUILT)));
  const wrong = { ...scenarioOf(FIRST), path: { rate: "1 Mbit" } };
  assert.throws(() => model.ask({ scenario: wrong }), /^Error: path\.rate: "1 Mbit" is not a rate/);
  assert.ok(model.ask({ scenario: scenarioOf(FIRST) }).length > 1000);
});

test("sliders move by keys; the answer and the graph follow", { skip }, async () => {
  const page = await open();
  const lost = slider(page, "Lost packet");
  assert.match(
    await answer(page),
    /^The client has read it all after \d+ ms, .* than without the loss\. Sent again: 1 × /,
  );
  assert.match(await page.locator(".rx-legend").innerText(), /fast retransmit \(F\)/);
  await lost.focus();
  await page.keyboard.press("End");
  await page.waitForFunction(() =>
    /timeout|probe/.test(document.querySelector(".rd-answer")?.textContent ?? ""),
  );
  assert.equal(await lost.getAttribute("aria-valuetext"), "21: data 20 of 20, the last");
  assert.match(await page.locator(".rx-legend").innerText(), /timeout \(T\)|tail loss probe/);
  await page.keyboard.press("Home");
  await page.waitForFunction(() =>
    /after \d+ ms\.$/.test(document.querySelector(".rd-answer")?.textContent ?? ""),
  );
  assert.match(await page.evaluate("location.hash"), /^#demo=0,1000000,20,50,20,linux-6\.1,cubic$/);
  await page.close();
});

test("an address brings its setting; choices are those of the stack", { skip }, async () => {
  const page = await open({ fragment: "#demo=19,320000,300,50,20,linux-6.1,reno" });
  assert.equal(await slider(page, "Rate").getAttribute("aria-valuetext"), "320 kbit/s");
  const control = page.getByLabel("Congestion control");
  assert.equal(await control.inputValue(), "reno");
  assert.match(
    (await page.locator(".rd-file code").first().textContent()) ?? "",
    /congestion\.algorithm = "reno"/,
  );
  await page.getByLabel("Stack").selectOption("freebsd-6.0");
  assert.equal(await control.isDisabled(), true);
  await page.waitForFunction(() => /timeout/.test(document.querySelector(".rd-answer")?.textContent ?? ""));
  await page.close();
});

test("a change of a flow of 100 packets is answered within 50 ms", { skip }, async () => {
  const page = await open({ fragment: "#demo=30,5000000,50,50,100,linux-6.1,cubic" });
  const lost = slider(page, "Lost packet");
  await lost.focus();
  const took: number[] = [];
  for (let press = 0; press < 15; press++) {
    const last = await page.locator("#rexmit-demo").getAttribute("data-runs");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((runs) => document.getElementById("rexmit-demo")?.dataset.runs !== runs, last);
    took.push(Number(await page.locator("#rexmit-demo").getAttribute("data-took")));
  }
  took.sort((one, other) => one - other);
  console.log(`# answered in ${took[7]} ms (median of 15), ${took[14]} ms at most`);
  // The median: a neighbour on this machine may hold one of them up.
  assert.ok(took[7] < 50, `median ${took[7]} ms, at most ${took[14]} ms`);
  await page.close();
});

test("it fits a narrow page, and follows light and dark", { skip }, async () => {
  const page = await open({ width: 360, scheme: "slate" });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 360, `the page is ${wide} pixels wide`);
  assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
  await page.evaluate(() => (document.body.dataset.mdColorScheme = "default"));
  await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
  if (process.env.REXMIT_SHOTS === "update")
    await page.screenshot({ path: join(tmpdir(), "demo-narrow.png") });
  await page.close();
});

test("without WebAssembly the picture stays, with a line that says so", { skip }, async () => {
  const page = await open({ first: "delete window.WebAssembly" });
  assert.equal(await page.locator("#picture").innerText(), "a picture");
  const note = await page.locator(".rd-note").innerText();
  assert.match(
    note,
    /^This is a picture of the demo; live it needs WebAssembly \(this browser has no WebAssembly\)\.$/,
  );
  await page.close();
});

test("the documentation's picture is of the demo", { skip }, async () => {
  const picture = new URL("../../docs/img/live-demo.png", import.meta.url);
  if (process.env.REXMIT_SHOTS === "update") {
    const page = await open();
    await page.locator("#rexmit-demo").screenshot({ path: fileURLToPath(picture) });
    await page.close();
  }
  assert.ok(existsSync(picture));
});
