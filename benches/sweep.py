"""Measure a sweep of a million runs: `make bench`.

A synthetic study of very short runs (1000 rates by 1000 delays, one write of 1000 bytes each) is run as a
user runs it, `rexmit run`, in a process of its own. Its results folder is watched for progress: speed in the
first and in the last tenth of the runs, the most memory that the process ever had, and the size of the
folder. A long and slow sweep makes many small parts, so as many runs are also stored in chunks of 100,
without being run; their speed is by the processor's time, for a disk that others use says nothing. All is
written to `build/bench/sweep.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from bench import OUT, machine

MOST_BYTES = 1 << 30
SLOWER = 0.1
"""How much slower the last tenth of the runs may be than the first."""
CHUNK = 100
"""Runs of a chunk of a slow sweep."""

STUDY = """
title = "A sweep of very short runs"
[scenario]
hosts.server.stack = "linux-6.1"
hosts.client.stack = "linux-6.1"
path = {{ rate = "10 Mbit/s", delay = "5 ms", queue = "100 packets" }}
[[scenario.transfers]]
from = "server"
to = "client"
writes = "1 x 1000 bytes"
[vary]
"path.rate" = {{ range = "1..{rates}", unit = "Mbit/s" }}
"path.delay" = {{ range = "1..{delays}", unit = "ms" }}
"""


@dataclass(frozen=True)
class Measured:
    """What a sweep took. Tenths are in runs a second."""

    what: str
    runs: int
    seconds: float
    first_tenth: float
    last_tenth: float
    peak_bytes: int
    folder_bytes: int
    most_files: int


def swept(rates: int, delays: int, work: Path) -> Measured:
    """`rexmit run` in a process of its own."""
    study, out = work / "sweep.toml", work / "out"
    study.write_text(STUDY.format(rates=rates, delays=delays))
    code = "from rexmit.cli import main; main()"
    command = [sys.executable, "-c", code, "run", str(study), "--out", str(out)]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen: list[tuple[float, int]] = []
    files = 0
    while process.poll() is None:
        names = os.listdir(out / "parts") if (out / "parts").exists() else []
        files = max(files, len(names))
        done = stored(names)
        if done and (not seen or done > seen[-1][1]):
            seen.append((time.monotonic(), done))
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"rexmit run: exit code {process.returncode}")
    seconds = time.monotonic() - began
    runs = rates * delays
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return Measured("run", runs, seconds, *tenths(seen, runs), peak, size(out), files)


def stored(names: list[str]) -> int:
    """The runs that parts of these names hold."""
    found = [re.fullmatch(r"part-(\d+)-(\d+)\.parquet", name) for name in names]
    return max((int(match[2]) for match in found if match), default=0)


def tenths(seen: list[tuple[float, int]], runs: int) -> tuple[float, float]:
    """Runs a second in the first and in the last tenth, from (time, runs done) rising."""
    times, done = np.array(seen).T
    first, second, ninth, last = (np.interp(share * runs, done, times) for share in (0.02, 0.12, 0.88, 0.98))
    return 0.1 * runs / max(second - first, 1e-9), 0.1 * runs / max(last - ninth, 1e-9)


def size(folder: Path) -> int:
    """Bytes of all its files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def kept(runs: int, work: Path) -> None:
    """The store alone, in this process: chunks of a slow sweep one after another; prints its numbers."""
    from rexmit.run.store import Store
    from rexmit.study.spec import parse_spec

    vary = {"path.down.drop": {"position": f"1..{runs}"}}
    spec = parse_spec({"scenario": {"path": {}}, "vary": vary}, "kept", None)
    out = work / "kept"
    out.mkdir()
    store = Store(out, spec.design)
    store.begin({"runs": runs}, {}, resume=False)
    began = time.monotonic()
    seen, files = [], 0
    for start in range(0, runs, CHUNK):
        store.add(range(start, start + CHUNK), rows(start))
        seen.append((time.process_time(), start + CHUNK))
        if start % (50 * CHUNK) == 0:
            files = max(files, len(os.listdir(out / "parts")))
    store.finish()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = time.monotonic() - began
    found = Measured("store", runs, seconds, *tenths(seen, runs), peak, size(out), files)
    print(json.dumps(asdict(found)))


def rows(start: int) -> pa.Table:
    """Rows such as a sweep gives."""
    runs = np.arange(start, start + CHUNK, dtype=np.uint32)
    numbers = {f"number_{n}": (runs * 2654435761 % (n + 97)).astype(np.uint64) for n in range(14)}
    return pa.table(
        {
            "run": runs,
            "replication": np.zeros(CHUNK, dtype=np.uint32),
            "completed": np.ones(CHUNK, dtype=bool),
            **numbers,
            "error": pa.array([None] * CHUNK, type=pa.string()),
        }
    )


def told(found: Measured) -> str:
    """A line about a measurement."""
    slower = 1 - found.last_tenth / found.first_tenth
    missed = []
    if found.peak_bytes >= MOST_BYTES:
        missed.append("memory")
    if slower > SLOWER:
        missed.append(f"{100 * slower:.0f} % slower at its end")
    verdict = f"MISSED: {', '.join(missed)}" if missed else "as asked"
    return (
        f"{found.what}: {found.runs:,} runs in {found.seconds:.1f} s; first tenth {found.first_tenth:,.0f}/s,"
        f" last tenth {found.last_tenth:,.0f}/s; {found.peak_bytes / 2**20:,.0f} MiB at most; "
        f"folder {found.folder_bytes / 1e6:.1f} MB, {found.most_files} parts at most: {verdict}"
    )


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rates", type=int, default=1000)
    options.add_argument("--delays", type=int, default=1000)
    options.add_argument("--store", metavar="FOLDER", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    runs = chosen.rates * chosen.delays
    if chosen.store:
        kept(runs, Path(chosen.store))
        return 0
    print(f"\na sweep of very short runs, {machine()}")
    found = []
    with tempfile.TemporaryDirectory() as work:
        found.append(swept(chosen.rates, chosen.delays, Path(work)))
        print(told(found[-1]), flush=True)
        again = [sys.executable, __file__, "--store", work]
        sizes = ["--rates", str(chosen.rates), "--delays", str(chosen.delays)]
        done = subprocess.run([*again, *sizes], check=True, capture_output=True, text=True)
        found.append(Measured(**json.loads(done.stdout)))
        print(told(found[-1]))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "sweep.json").write_text(json.dumps([asdict(one) for one in found], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
