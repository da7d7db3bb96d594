"""Fuzz every target, guided by coverage, all within one budget of time: `make fuzz`.

Builds the instrumented binaries with the stable compiler (in `target`, kept from run to run), then
gives each target of `fuzz/bodies` its share of the time, as many at once as there are cores. A target begins
with its stored corpus, `fuzz/corpus/NAME.tar.gz`, and with every input that ever failed. A crash, an input
that takes too long or too much memory becomes a file in `fuzz/regressions/NAME`, which `cargo test` runs from
then on, and one line here says how to see it again.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
# The binary of each target, as fuzz/src/lib.rs lists them.
KINDS = {
    name: kind
    for kind, listed in zip(
        ("small", "large"), (FUZZ / "src" / "lib.rs").read_text().split("pub const LARGE"), strict=True
    )
    for name in re.findall(r'with\("(\w+)"', listed)
}
TARGETS = list(KINDS)
# What is not watched is shared with `cargo test`.
BUILT = ROOT / "target"
# Checked as a test, and optimised. Level 2 takes a sixth longer to compile, and some targets a third more
# inputs a second.
LEVEL = "-Copt-level=1"

# What libFuzzer watches: edges, counted, and comparisons, whose operands it tries.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
]
# An input of a few thousand bytes takes milliseconds; these are for what hangs or takes all memory before the
# target's own bounds (fuzz/src/lib.rs) are looked at.
LIMITS = ["-timeout=20", "-rss_limit_mb=1024", "-malloc_limit_mb=512"]
LONGEST = 4096
# Longer ones are cut before they are stored.
LONGEST_STORED = 2048
# How far each stored corpus reaches; below this share of it, a corpus no longer fits the code.
EDGES = FUZZ / "coverage.toml"
FALLEN = 0.9


@dataclass(frozen=True)
class Result:
    """What became of one target: `failure` is the file that holds the failed input, `message` says why.

    `stored` and `coverage` are edges of its code that were reached: by the stored corpus, and in all.
    """

    target: str
    inputs: int
    per_second: int
    coverage: int
    corpus: str
    failure: Path | None = None
    message: str = ""
    stored: int = 0


def main() -> int:
    """Fuzz what was asked for; 1 if a target failed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default: all"
    )
    options.add_argument("--seconds", type=int, default=120, help="for all targets together (default: 120)")
    options.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="targets at once (default: cores)"
    )
    options.add_argument("--keep", action="store_true", help="store what was found in the corpora, minimised")
    options.add_argument("--input", type=Path, help="run this one file through one target, and nothing else")
    chosen = options.parse_args()
    unknown = [name for name in chosen.targets if name not in TARGETS]
    if unknown:
        options.error(f"{unknown[0]} is not a target; known: {', '.join(TARGETS)}")
    if chosen.input is not None and len(chosen.targets) != 1:
        options.error("--input needs one target: scripts/fuzz.py TARGET --input FILE")
    programs = build()
    if programs is None:
        return 1
    if chosen.input is not None:
        name = chosen.targets[0]
        return subprocess.run([programs[name], *LIMITS, str(chosen.input)], env=environment(name)).returncode
    names = chosen.targets or TARGETS
    jobs = max(1, min(chosen.jobs, len(names)))
    seconds = max(1, chosen.seconds * jobs // len(names))
    with tempfile.TemporaryDirectory(prefix="rexmit-fuzz-") as scratch:

        def one(name: str) -> Result:
            return fuzz(programs[name], name, seconds, Path(scratch))

        with ThreadPoolExecutor(jobs) as pool:
            results = list(pool.map(one, names))
        if chosen.keep:
            for name in names:
                keep(programs[name], name, Path(scratch))
            record_edges(results)
    return report(results)


def build() -> dict[str, Path] | None:
    """The instrumented binary of each target; None where they do not compile."""
    started = time.monotonic()
    wanted = {
        **os.environ,
        "RUSTC_WORKSPACE_WRAPPER": str(ROOT / "scripts" / "instrument.sh"),
        "REXMIT_INSTRUMENT": " ".join(instrumented()),
        "REXMIT_INSTRUMENT_FLAGS": " ".join([LEVEL, *COVERAGE]),
    }
    command = ["cargo", "build", "--quiet", "--locked", "--package=rexmit-fuzz", "--features=guided"]
    if subprocess.run([*command, "--target-dir", str(BUILT)], cwd=ROOT, env=wanted).returncode != 0:
        return None
    print(f"built in {time.monotonic() - started:.0f} s", flush=True)
    return {name: BUILT / "debug" / kind for name, kind in KINDS.items()}


def instrumented() -> list[str]:
    """The crates that libFuzzer watches: those whose code the bodies call, and the bodies."""
    manifest = tomllib.loads((FUZZ / "Cargo.toml").read_text())
    ours = [name for name in manifest["dependencies"] if name.startswith("rexmit-")]
    return [name.replace("-", "_") for name in [*ours, manifest["package"]["name"]]]


def environment(target: str) -> dict[str, str]:
    """What tells the binary which target it is."""
    return {**os.environ, "REXMIT_FUZZ": target, "RUST_BACKTRACE": "0"}


def fuzz(program: Path, target: str, seconds: int, scratch: Path) -> Result:
    """Fuzz one target for this long, beginning with all that is stored for it."""
    corpus, failed = scratch / target, scratch / f"{target}-failed"
    corpus.mkdir()
    failed.mkdir()
    unpack(FUZZ / "corpus" / f"{target}.tar.gz", corpus)
    for path in regressions(target):
        shutil.copy(path, corpus)
    budget = [
        f"-max_len={LONGEST}",
        f"-max_total_time={seconds}",
        "-print_final_stats=1",
        f"-artifact_prefix={failed}/",
    ]
    ran = subprocess.run(
        [program, *LIMITS, *budget, str(corpus)],
        env=environment(target),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    result = read_output(target, ran.stdout.decode(errors="replace"))
    if ran.returncode == 0:
        return result
    files = [path for path in sorted(failed.iterdir()) if not path.name.startswith("slow-unit")]
    kept = keep_failure(target, files[0]) if files else None
    message = result.message or f"libFuzzer ended with code {ran.returncode}"
    return replace(result, failure=kept, message=message)


def read_output(target: str, text: str) -> Result:
    """What libFuzzer said of itself, and of the failure if there was one."""
    states = re.findall(r"cov: (\d+) .*?corp: (\d+/\S+)", text)
    begun = re.search(r"INITED cov: (\d+)", text)
    coverage, corpus = states[-1] if states else ("0", "0/0b")
    inputs = re.search(r"stat::number_of_executed_units:\s+(\d+)", text)
    speed = re.search(r"stat::average_exec_per_sec:\s+(\d+)", text)
    panic = re.search(r"panicked at (.*):\n(.*)", text)
    error = re.search(r"ERROR: libFuzzer: (.*)", text)
    message = f"{panic[2]} ({panic[1]})" if panic else error[1] if error else ""
    return Result(
        target,
        int(inputs[1]) if inputs else 0,
        int(speed[1]) if speed else 0,
        int(coverage),
        corpus,
        message=message.strip()[:200],
        stored=int(begun[1]) if begun else 0,
    )


def keep_failure(target: str, path: Path) -> Path:
    """Move a failed input to where `cargo test` runs it from now on."""
    kind = path.name.split("-")[0]
    folder = FUZZ / "regressions" / target
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    # One that failed before, perhaps in another way, is there already.
    known = sorted(folder.glob(f"*-{digest}"))
    if known:
        return known[0]
    place = folder / f"{kind}-{digest}"
    shutil.copy(path, place)
    return place


def regressions(target: str) -> list[Path]:
    """Every input that once failed."""
    return sorted(path for path in (FUZZ / "regressions" / target).glob("*") if path.is_file())


def report(results: Sequence[Result]) -> int:
    """Print a line for each target, then one for each failure; 1 if there is any."""
    print(f"{'target':12} {'inputs':>12} {'a second':>9} {'edges':>6} {'new':>4} {'corpus':>12}")
    for r in results:
        new = max(0, r.coverage - r.stored)
        print(f"{r.target:12} {r.inputs:12,} {r.per_second:9,} {r.coverage:6,} {new:4,} {r.corpus:>12}")
    total = sum(r.inputs for r in results)
    failed = [r for r in results if r.failure is not None or r.message]
    print(f"{'all':12} {total:12,}")
    reached = edges_on_record()
    for r in results:
        if r.stored and r.stored < FALLEN * reached.get(r.target, 0):
            print(
                f"warning: {r.target}: its stored corpus reaches {r.stored:,} edges, where it reached "
                f"{reached[r.target]:,}; grow it: python scripts/fuzz.py {r.target} --seconds 600 --keep"
            )
    for r in failed:
        again = "no input was kept"
        if r.failure is not None:
            again = f"python scripts/fuzz.py {r.target} --input {r.failure.relative_to(ROOT)}"
        print(f"error: {r.target}: {r.message}; to see it again: {again}")
    print(f"fuzz: {len(results) - len(failed)} targets held, {len(failed)} failed")
    return 1 if failed else 0


# Coverage


def edges_on_record() -> dict[str, int]:
    """The edges that each target's stored corpus reached when it was stored."""
    return {str(name): int(edges) for name, edges in tomllib.loads(EDGES.read_text()).items()}


def record_edges(results: Sequence[Result]) -> None:
    """Note how far the corpora reach now."""
    known = edges_on_record() | {r.target: r.coverage for r in results if not r.message}
    head = EDGES.read_text().partition("\n\n")[0]
    EDGES.write_text("\n".join([head, "", *(f"{name} = {known[name]}" for name in sorted(known)), ""]))


# Corpora


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of a corpus into a folder; nothing where there is no corpus yet."""
    if not archive.exists():
        return
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")


def keep(program: Path, target: str, scratch: Path) -> None:
    """Store the fewest inputs that reach all that was reached."""
    fewest = scratch / f"{target}-fewest"
    fewest.mkdir()
    merge = [f"-max_len={LONGEST_STORED}", "-set_cover_merge=1", str(fewest), str(scratch / target)]
    command: list[str | Path] = [program, *LIMITS, *merge]
    ran = subprocess.run(command, env=environment(target), stdin=subprocess.DEVNULL, capture_output=True)
    if ran.returncode != 0:
        print(f"warning: the corpus of {target} stays as it was: it could not be minimised")
        return
    pack(fewest, FUZZ / "corpus" / f"{target}.tar.gz")


def pack(folder: Path, archive: Path) -> None:
    """Write the files of a folder as an archive whose bytes follow from theirs alone."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        found = (path.read_bytes() for path in folder.iterdir())
        for name, data in sorted((hashlib.sha256(data).hexdigest()[:16], data) for data in found):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    archive.parent.mkdir(exist_ok=True)
    archive.write_bytes(gzip.compress(plain.getvalue(), mtime=0))


if __name__ == "__main__":
    sys.exit(main())
