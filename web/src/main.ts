// The script of every page: finds out what kind of page it is in, and shows it.
import "./style.css";
import { FORMAT, type Page } from "./format";
import { showCapture } from "./trace/page";

function start(): void {
  const given = document.getElementById("rexmit-page");
  if (!given) return;
  const page = JSON.parse(given.textContent ?? "") as Page;
  if (page.format !== FORMAT)
    throw new Error(`this page has the format ${page.format}, its script ${FORMAT}`);
  document.body.dataset.kind = page.kind;
  if (page.kind === "capture") void showCapture();
}

start();
