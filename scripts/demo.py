"""The published study hurtig-2006, from nothing to figures: `make demo`.

Runs both halves of the study, draws the figures of both side by side, and sets the published numbers
beside ours. Ends with the places where everything lies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("results") / "demo"
PARTS = {"short": "hurtig-2006/short", "long": "hurtig-2006/long"}


def main() -> int:
    """Run, compare, draw; stops at the first command that fails."""
    started = time.monotonic()
    # The folder is the demo's own, and each demo starts afresh.
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    folders = [str(OUT / part) for part in PARTS]
    for folder, study in zip(folders, PARTS.values(), strict=True):
        rexmit("run", study, "--out", folder)
    with ThreadPoolExecutor(min(len(folders), os.cpu_count() or 1)) as pool:
        list(pool.map(draw, folders))
    within = rexmit("compare", *folders, allowed=(0, 1)) == 0
    print(f"\nmake demo: done in {time.monotonic() - started:.0f} s")
    if not within:
        print("  some numbers lie outside their tolerance: studies/hurtig-2006/README.md says why")
    for folder in folders:
        for what, place in (("table", "runs.parquet"), ("figures", "figures/"), ("report", "report.html")):
            print(f"  {what:8} {folder}/{place}")
    return 0


def draw(folder: str) -> None:
    """Draw the figures of one half and write its report; shows each command once it has ended."""
    for command in ("plot", "report"):
        done = subprocess.run(
            ["rexmit", command, folder],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        print(f"\n$ rexmit {command} {folder}\n{done.stdout}", end="", flush=True)
        if done.returncode != 0:
            raise SystemExit(done.returncode)


def environment() -> dict[str, str]:
    """An environment in which `rexmit` is the command beside the Python that runs this."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def rexmit(*arguments: str, allowed: tuple[int, ...] = (0,)) -> int:
    """Run one command of rexmit as a user would, and show it."""
    print(f"\n$ rexmit {' '.join(arguments)}", flush=True)
    with subprocess.Popen(["rexmit", *arguments], cwd=ROOT, env=environment()) as running:
        try:
            code = running.wait()
        except KeyboardInterrupt:
            # The terminal has told the command as well, which says so itself.
            code = running.wait()
    if code not in allowed:
        raise SystemExit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
