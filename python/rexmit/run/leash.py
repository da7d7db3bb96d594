"""Programs that do not outlive this process, even if it is killed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_LEASH = Path(__file__).resolve().parents[1] / "_leash.py"


def leashed(command: Sequence[str], core: int | None = None) -> list[str]:
    """The command that is killed when the thread that started it ends; it stays on a core if given one."""
    words = (os.getpid(), "any" if core is None else core)
    return [sys.executable, "-ISB", str(_LEASH), *map(str, words), *command]
