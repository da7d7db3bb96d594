"""Hash what rexmit answers, to hold a redesign against: `golden.py record FILE`, `golden.py check FILE`.

A redesign changes no result. What is hashed, each column of a table by itself, so that a change of layout is
told from a change of values:

- the rows of every study that the model runs, at a part of its grid (`RUNS` runs each, by --shard)
- for each profile, packets, verdicts, states and rows of `SCENARIOS` scenarios drawn from a fixed seed
- all tables that `analyze` makes of every capture in tests/captures
- the page of a study

`check` names every hash that differs, is gone or is new, and ends with 1 where one differs or is gone. The
file is of one machine's commit before the change; it is not kept in the tree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import rexmit
from all_studies import STUDIES
from rexmit.errors import RexmitError
from twins.scenarios import draw

ROOT = Path(__file__).resolve().parent.parent
RUNS = 30
SCENARIOS = 200
PROFILES = sorted(path.stem for path in (ROOT / "profiles").glob("*.toml"))
OF_SCTP = ("lksctp-2.6.15", "rfc9260")
MORE = {"asymmetric-today": ("model",)}
PAGE = "hurtig-2006/short"

Hashes = Iterator[tuple[str, str]]


def main() -> int:
    """Record, or check what was recorded."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("command", choices=["record", "check"])
    options.add_argument("file", type=Path)
    options.add_argument("--only", choices=list(KINDS), action="append", help="of `check`: this kind alone")
    chosen = options.parse_args()
    kinds = chosen.only or list(KINDS)
    if chosen.command == "record" and chosen.only:
        options.error("a file that is recorded has every kind")
    with tempfile.TemporaryDirectory(prefix="rexmit-golden-") as folder:
        now = {}
        for name, value in everything(Path(folder), kinds):
            now[name] = value
            if len(now) % 100 == 0 and sys.stderr.isatty():
                print(f"\rgolden: {len(now)} hashes", end="", file=sys.stderr, flush=True)
    if chosen.command == "record":
        chosen.file.write_text(json.dumps(now, indent=0, sort_keys=True))
        print(f"golden: {len(now)} hashes")
        return 0
    before = json.loads(chosen.file.read_text())
    return compare({name: value for name, value in before.items() if name.split()[0] in kinds}, now)


def compare(before: Mapping[str, str], now: Mapping[str, str]) -> int:
    """Name what differs; 1 if something differs or is gone."""
    differs = sorted(name for name in before.keys() & now.keys() if before[name] != now[name])
    gone = sorted(before.keys() - now.keys())
    new = sorted(now.keys() - before.keys())
    for word, names in (("differs", differs), ("gone", gone), ("new", new)):
        for name in names:
            print(f"{word}: {name}")
    print(f"golden: {len(now)} hashes, {len(differs)} differ, {len(gone)} gone, {len(new)} new")
    return 1 if differs or gone else 0


def everything(folder: Path, kinds: Sequence[str]) -> Hashes:
    """Every hash of these kinds, by a name that begins with its kind."""
    for kind in kinds:
        yield from KINDS[kind](folder)


def studies(folder: Path) -> Hashes:
    """The rows of every study."""
    for study, parts in (STUDIES | MORE).items():
        for part in parts:
            yield from rows_of(f"{study}/{part}", folder)


def profiles(folder: Path) -> Hashes:
    """Runs with every profile."""
    for profile in PROFILES:
        yield from scenarios_of(profile, folder)


def page(folder: Path) -> Hashes:
    """A report."""
    results, out = folder / PAGE.replace("/", "-"), folder / "page.html"
    if not results.exists():
        list(rows_of(PAGE, folder))
    rexmit_command("report", results, "--out", out)
    yield f"page {PAGE}", sha(out.read_bytes())


def rows_of(name: str, folder: Path) -> Hashes:
    """The rows of a part of a study."""
    out = folder / name.replace("/", "-")
    parts = max(1, rexmit.Study.load(name).runs // RUNS)
    rexmit_command("run", name, "--shard", f"1/{parts}", "--out", out, allowed=(0, 1))
    for file in sorted(out.glob("*.parquet")):
        yield from columns(f"study {name} {file.stem}", file)


def scenarios_of(profile: str, folder: Path) -> Hashes:
    """Rows, packets, and tables of scenarios with this profile at both ends: a hash of all for each kind."""

    def one(number: int) -> dict[str, str]:
        out = folder / f"{profile}-{number}"
        out.mkdir()
        table = draw(number).table(profile, {})
        if profile in OF_SCTP:
            for host in table["hosts"].values():
                host["stack"] = profile
        study = rexmit.Study.from_dict({"scenario": {**table, "messages": True}}, "golden")
        study.run(
            out / "out", progress=False, capture="all", state="all", verdicts="all", transmissions="all"
        )
        found = {}
        for file in sorted((out / "out").rglob("*")):
            if file.suffix == ".pcapng":
                found[file.name] = sha(file.read_bytes())
            elif file.suffix == ".parquet":
                found |= dict(columns(file.stem, file))
        return found

    with ThreadPoolExecutor() as pool:
        each = list(pool.map(one, range(SCENARIOS)))
    for name in sorted(set().union(*each)):
        yield f"profile {profile} {name}", sha("".join(found.get(name, "-") for found in each).encode())


def judged(folder: Path) -> Hashes:
    """Every table of every capture in the tree."""
    place = ROOT / "tests" / "captures"

    def one(capture: Path) -> list[tuple[str, str]]:
        name = capture.relative_to(place)
        out = folder / "judged" / name
        rexmit_command("analyze", capture, "--tables", out, "--only", "all", allowed=(0, 1))
        files = sorted(out.glob("*.parquet"))
        return [each for file in files for each in columns(f"capture {name} {file.stem}", file)]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(one, sorted(place.rglob("*.pcap*"))):
            yield from found


def columns(name: str, file: Path) -> Hashes:
    """A hash of each column's values."""
    table = pl.read_parquet(file)
    for column in table.columns:
        yield f"{name}.{column}", sha(table[column].to_frame().write_json().encode())


def sha(data: bytes) -> str:
    """16 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()[:16]


def rexmit_command(*words: Any, allowed: tuple[int, ...] = (0,)) -> None:
    """Run a command of rexmit."""
    command = [sys.executable, "-m", "rexmit", *map(str, words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in allowed:
        raise RexmitError(f"{' '.join(command)}: {done.stderr.strip()}")


KINDS: dict[str, Callable[[Path], Hashes]] = {
    "study": studies,
    "profile": profiles,
    "capture": judged,
    "page": page,
}
"""What is hashed; a hash's name begins with its kind."""


if __name__ == "__main__":
    sys.exit(main())
