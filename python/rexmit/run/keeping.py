"""What a run in real time writes down while it happens: it could not be run again to the same effect."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rexmit.files import make_folder, move_in, remove_file
from rexmit.places import temporary_folder
from rexmit.run.capture import HostNames, capture_path
from rexmit.run.tables import store_table, table_path
from rexmit.tables import single
from rexmit.tables.arrow import from_lists


@dataclass
class Keep:
    """Which runs' captures and tables are kept in the results folder `out`: `none`, `failed` or `all`.

    Use it as a context: captures are made in a temporary folder, and what is kept goes into `out`.
    """

    out: Path
    hosts: HostNames
    capture: str = "none"
    state: str = "none"
    verdicts: str = "none"
    state_at: str = "changes"
    _stack: ExitStack = field(default_factory=ExitStack)
    _folder: Path = field(default_factory=Path)

    def __enter__(self) -> Keep:
        if self.capture != "none":
            make_folder(self.out / "captures", root=self.out)
            self._folder = self._stack.enter_context(temporary_folder())
        return self

    def __exit__(self, *what: object) -> None:
        self._stack.close()

    def options(self, run: int) -> dict[str, Any]:
        """What the agent is asked for."""
        chosen: dict[str, Any] = {"verdicts": self.verdicts != "none"}
        if self.state != "none":
            chosen["state"] = self.state_at
        if self.capture != "none":
            chosen["captures"] = [str(self._made(run, host)) for host in self.hosts.of(run)]
        return chosen

    def settle(self, run: int, failed: bool, tables: Mapping[str, Any] | None) -> None:
        """Keeps the files of a finished run, or removes those of a run that is not kept.

        Without `tables`, not even empty ones, the run has given no answer: its captures may be cut short.
        """
        for host in self.hosts.of(run) if self.capture != "none" else ():
            made = self._made(run, host)
            if not made.exists():
                continue
            if tables is not None and (self.capture == "all" or failed):
                move_in(made, capture_path(self.out, run, host), self.out)
            else:
                remove_file(made)
        for kind, columns in (tables or {}).items():
            if getattr(self, kind) == "all" or failed:
                table = from_lists(columns, single(kind))
                store_table(table_path(self.out, run, kind), table, self.out)

    def _made(self, run: int, host: str) -> Path:
        return self._folder / capture_path(self.out, run, host).name
