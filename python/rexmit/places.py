"""Folders for what a process needs while it runs; those of processes that were killed are removed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "rexmit-"
_OURS = re.compile(r"rexmit-(\d+)-\w+")
_WITHOUT_BLANKS = Path("/tmp")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that goes with the context. Its path has no blanks: a kernel's command line splits there."""
    place = Path(tempfile.gettempdir())
    if re.search(r"\s", str(place)):
        place = _WITHOUT_BLANKS
    _tidy(place)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=place) as folder:
        yield Path(folder)


def _tidy(place: Path) -> None:
    """Removes the folders of processes that are no more."""
    with suppress(OSError):
        for folder in place.glob(f"{_PREFIX}*"):
            match = _OURS.fullmatch(folder.name)
            gone = match and not Path(f"/proc/{match[1]}").exists()
            if gone and folder.stat().st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)
