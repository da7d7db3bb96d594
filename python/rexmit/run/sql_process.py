"""The process that answers questions in SQL (`sql_engine.py`), as whoever asks sees it.

It is started before what it answers with is loaded here: both take a second.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from rexmit.errors import RexmitError, StoreError, UsageError
from rexmit.places import temporary_folder
from rexmit.run.processes import leashed

MEMORY = 1 << 30
"""Bytes that a query may take in all."""

WRONG = "wrong"
"""File that says what is wrong: a digit, which is the exit code, then one line."""


class EngineProcess:
    """A process that answers one question, and its `folder`. Use it in a `with` block, which ends it."""

    def __enter__(self) -> EngineProcess:
        self._stack = ExitStack()
        self.folder: Path = self._stack.enter_context(temporary_folder())
        # From this package wherever it is, and nothing from the working directory.
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            leashed([sys.executable, "-P", "-m", "rexmit.run.sql_main", str(self.folder)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Arrow's own allocator would take a gigabyte at a time.
            env={**os.environ, "PYTHONPATH": path, "ARROW_DEFAULT_MEMORY_POOL": "system"},
            start_new_session=True,
        )
        self._stack.callback(self._end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def ask(self, question: Mapping[str, Any]) -> IO[bytes]:
        """Asks, and returns where the answer comes. Raises BrokenPipeError where the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.close()
        # Python's own waiting, which a signal ends: Arrow's reading is deaf to it during the query.
        select.select([self._process.stdout], [], [])
        return self._process.stdout

    def failed(self) -> bool:
        """Waits for its end, and returns whether it has failed."""
        return self._process.wait() != 0

    def wrong(self) -> RexmitError:
        """Why there is no answer, or no more of it."""
        self._process.wait()
        try:
            told = (self.folder / WRONG).read_text(encoding="utf-8")
        except OSError:
            # It could not even say so.
            return UsageError(too_large())
        return (UsageError if told[:1] == str(UsageError.exit_code) else StoreError)(told[1:])

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def too_large(why: str = "") -> str:
    """That a query takes more memory than it may."""
    because = f" ({why})" if why else ""
    most = f"{MEMORY >> 20} MiB"
    return f"query: takes more than the {most} of memory that a query may{because}; ask for less at once"
