"""Programs of PyPI that one script needs, in an environment of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def programs(pins: Path, folder: Path) -> Path:
    """The folder of the programs of an environment with what `pins` lists, made where it is not there.

    Raises CalledProcessError.
    """
    wanted, stamp = pins.read_text(), folder / "made-from"
    found = folder / "bin"
    if not stamp.is_file() or stamp.read_text() != wanted:
        quiet = ["--disable-pip-version-check", "install", "--quiet"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [str(found / "python"), "-m", "pip", *quiet, "--requirement", str(pins)],
        ):
            subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
        stamp.write_text(wanted)
    return found
