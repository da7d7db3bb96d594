"""The examples run, and say what their text says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path) -> str:
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [], "an example leaves nothing behind"
    return done.stdout


def test_tail_loss(tmp_path: Path) -> None:
    lines = [
        " ".join(line.replace("┆", " ").strip("│ ").split())
        for line in run("tail_loss.py", tmp_path).splitlines()
    ]
    for row in ("3 true 16 17 18 19", "3 false 17 18 19", "2 true 18 19", "1 false 18 19"):
        assert row in lines, row
    assert any(line.endswith("dropped by pattern at position 18") for line in lines)
