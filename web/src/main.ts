// The script of every page: finds out what kind of page it is in, and shows it.
import "./style.css";
import { mountExplorer } from "./explorer";
import { FORMAT, type Page } from "./format";
import { showCapture } from "./trace/page";
import { el } from "./ui/dom";
import { themeButton } from "./ui/theme";

function start(): void {
  const given = document.getElementById("rexmit-page");
  if (!given) return;
  const page = JSON.parse(given.textContent ?? "") as Page;
  document.body.dataset.kind = page.kind;
  const host = document.getElementById("explorer") ?? document.getElementById("trace-host") ?? document.body;
  if (page.format !== FORMAT) {
    const words = `This page has the format ${page.format} and its script reads ${FORMAT}: write the page again.`;
    host.append(el("p", { class: "fault", role: "alert" }, words));
    return;
  }
  if (page.kind === "capture") {
    void showCapture();
  } else {
    document.body.prepend(themeButton());
    void mountExplorer(host, page);
  }
}

start();
