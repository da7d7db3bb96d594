"""Compile the scenarios of `bench.py` with profile-guided optimisation, as released wheels are.

An instrumented build runs scenarios of other sizes than those that are measured, and a second build uses its
counts. It needs `llvm-profdata` of the toolchain, which `rustup component add llvm-tools` brings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TODAY = "linux-6.1"
TRAINING = (
    "bulk flows=1 queue=3000 seconds=1",
    "bulk flows=300 queue=2000 seconds=1",
    f"bulk stack={TODAY} flows=1 queue=3000 seconds=2",
    f"bulk stack={TODAY} flows=300 queue=2000 seconds=1",
    "dumbbell hosts=60 seconds=1",
    "arrivals flows=3000",
    "sctp seconds=1 loss=1",
)


def build(drawn: Path) -> Path:
    """The program; `drawn`: scenarios as `bench.py` draws them, by a seed of the training's own."""
    tool = profdata()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "trained"
    counts = target / "counts"
    shutil.rmtree(counts, ignore_errors=True)
    program = compile_to(target / "counting", f"-Cprofile-generate={counts}")
    for words in (*TRAINING, f"drawn file={drawn} jobs=1"):
        subprocess.run([str(program), *words.split()], stdout=subprocess.DEVNULL, check=True)
    profile = target / "merged.profdata"
    raw = [str(path) for path in counts.glob("*.profraw")]
    subprocess.run([str(tool), "merge", "--output", str(profile), *raw], check=True)
    return compile_to(target / "final", f"-Cprofile-use={profile}")


def profdata() -> Path:
    """The tool that merges what was counted, of the compiler's own version."""
    found = subprocess.run(
        ["rustc", "--print", "target-libdir"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tool = Path(found.stdout.strip()).parent / "bin" / "llvm-profdata"
    if not tool.exists():
        raise SystemExit(f"bench: {tool} is missing: rustup component add llvm-tools")
    return tool


def compile_to(target: Path, flag: str) -> Path:
    """Compile for this machine, with one more flag for all but build scripts."""
    host = subprocess.run(["rustc", "--print", "host-tuple"], capture_output=True, text=True, check=True)
    triple = host.stdout.strip()
    command = ["cargo", "build", "--release", "--quiet", "-p", "rexmit-bench", "--bin", "scenarios"]
    environment = {**os.environ, "RUSTFLAGS": flag, "CARGO_TARGET_DIR": str(target)}
    subprocess.run([*command, "--target", triple], cwd=ROOT, env=environment, check=True)
    return target / triple / "release" / "scenarios"
