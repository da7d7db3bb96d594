"""Measure how smoothly the page of a capture of 200,000 segments moves: `make bench`.

A bulk transfer in virtual time gives capture and page, with the states of the sender and the emulator's
verdicts. Headless Chromium without a GPU opens it and gets real wheel turns and drags; what is printed are
frames a second: the median of the seconds and the worst of them. A line says MISSED where the worst is below
30. Everything is also written to `build/bench/pages.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import rexmit
from bench import OUT, ROOT, machine
from rexmit.plot.page import write_page
from rexmit.plot.trace import About, Part

WANTED = 30
"""Frames a second."""

STUDY = """
title = "A bulk transfer of {segments} segments"

[scenario]
hosts.server.stack = "linux-6.1"
hosts.client.stack = "linux-6.1"
path.rate = "100 Mbit/s"
path.delay = "10 ms"
path.queue = "170 packets"
path.down.loss = "0.05 %"

[[scenario.transfers]]
from = "server"
to = "client"
bulk = "{size} bytes"
"""

PAYLOAD = 1448


def main() -> int:
    """Make the page, move it, print."""
    options = argparse.ArgumentParser(description="Measure frames a second of the page of a capture.")
    options.add_argument("--segments", type=int, default=200_000, help="segments of the transfer")
    options.add_argument("--seconds", type=float, default=5, help="how long each action takes")
    chosen = options.parse_args()
    chromium, node = shutil.which("chromium"), shutil.which("node")
    if not chromium or not node or not (ROOT / "web" / "node_modules").is_dir():
        print("pages: not measured: chromium, node or web/node_modules is missing")
        return 0
    OUT.mkdir(parents=True, exist_ok=True)
    path, facts = make(chosen.segments)
    command = [node, "--import", "tsx", "bench/frames.ts", str(path), str(chosen.seconds)]
    done = subprocess.run(
        command,
        cwd=ROOT / "web",
        env={**os.environ, "CHROMIUM": chromium},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        print("pages: the browser did not get through", file=sys.stderr)
        return 1
    told = json.loads(done.stdout)
    show(facts, told)
    record = {"machine": machine(), "version": rexmit.__version__, "page": facts, **told}
    (OUT / "pages.json").write_text(json.dumps(record, indent=2) + "\n")
    return 0


def make(segments: int) -> tuple[Path, dict[str, Any]]:
    """The page of a transfer of so many segments, and what making it took."""
    study = OUT / "pages.toml"
    study.write_text(STUDY.format(segments=segments, size=segments * PAYLOAD))
    results = rexmit.Study.load(study).run(progress=False)
    capture = OUT / "pages.pcapng"
    results.capture(0, server=capture, snap_len=96)
    tables = results.trace(0)
    begun = time.perf_counter()
    about = About(0, f"{segments:,} segments", state=tables["state"], verdicts=tables["verdicts"])
    path = write_page(capture, OUT / "pages.html", Part(), about)
    taken = time.perf_counter() - begun
    capture.unlink()
    sizes = {"page_mb": path.stat().st_size / 1e6, "written_s": taken}
    return path, {"segments": segments, "verdicts": tables["verdicts"].height, **sizes}


def show(facts: dict[str, Any], told: dict[str, Any]) -> None:
    """The table for people."""
    size, written = facts["page_mb"], facts["written_s"]
    print(f"A page of {facts['segments']:,} segments: {size:.1f} MB, written in {written:.1f} s")
    print(f"Chromium {told['browser']} without GPU opens it in {told['opened'] / 1e3:.1f} s\n")
    print(f"{'frames a second':<40} {'median':>7} {'worst':>7} {'99 % within':>12} {'longest':>9}")
    for row in told["results"]:
        median, worst = statistics.median(row["seconds"]), min(row["seconds"])
        missed = "  MISSED" if worst < WANTED else ""
        frames = f"{median:>7.0f} {worst:>7.0f} {row['p99']:>9.0f} ms {row['longest']:>6.0f} ms"
        print(f"{row['action']:<40} {frames}{missed}")


if __name__ == "__main__":
    sys.exit(main())
