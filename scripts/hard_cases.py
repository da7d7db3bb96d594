"""Rewrite the table of docs/guide/hard-cases.md: `hard_cases.py [--captures]`.

Needs tshark and tcptrace. `--captures` first records the model's captures again into tests/captures/hard
(the kernel's come from record_linux.py).
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CAPTURES = ROOT / "tests" / "captures" / "hard"


def main() -> int:
    """Write what was asked for; 2 if a program is missing."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--captures", action="store_true", help="record the model's captures anew")
    if options.parse_args().captures:
        record()
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    cases = importlib.import_module("peers.hard_cases")
    if not cases.there():
        print("hard_cases: needs tshark and tcptrace; make setup says how", file=sys.stderr)
        return 2
    cases.PAGE.write_text(cases.page())
    return 0


def record() -> None:
    """Run the model's hard cases and pack their captures."""
    with tempfile.TemporaryDirectory(prefix="rexmit-hard-") as folder:
        command = ["cargo", "run", "--release", "-p", "rexmit-sim", "--example", "hard_cases", "--", folder]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        CAPTURES.mkdir(exist_ok=True)
        for path in Path(folder).glob("*.pcapng"):
            (CAPTURES / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        for path in Path(folder).glob("*.truth.jsonl"):
            (CAPTURES / path.name).write_text(path.read_text())


if __name__ == "__main__":
    sys.exit(main())
