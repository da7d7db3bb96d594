"""What a run in real time writes down while it happens: it could not be run again to the same effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rexmit.run.capture import HOSTS, capture_path
from rexmit.run.columns import table_of
from rexmit.run.files import TEMPORARY, store_error, write_whole
from rexmit.run.meanings import SINGLE_RUNS
from rexmit.run.tables import table_path


@dataclass(frozen=True)
class Keep:
    """Of which runs captures and tables are kept in the results folder `out`: `none`, `failed` or `all`."""

    out: Path
    capture: str = "none"
    state: str = "none"
    verdicts: str = "none"
    state_at: str = "changes"

    def options(self, run: int) -> dict[str, Any]:
        """What the agent is asked for."""
        chosen: dict[str, Any] = {"verdicts": self.verdicts != "none"}
        if self.state != "none":
            chosen["state"] = self.state_at
        if self.capture != "none":
            self._folder(capture_path(self.out, run, HOSTS[0]))
            chosen["captures"] = [str(self._temporary(run, host).resolve()) for host in HOSTS]
        return chosen

    def settle(self, run: int, failed: bool, tables: Mapping[str, Any]) -> None:
        """Gives the files of a finished run their names, or removes those of a run that is not kept."""
        for host in HOSTS if self.capture != "none" else ():
            temporary = self._temporary(run, host)
            if not temporary.exists():
                continue
            if self.capture == "all" or failed:
                temporary.replace(capture_path(self.out, run, host))
            else:
                temporary.unlink()
        for kind, columns in tables.items():
            if getattr(self, kind) == "all" or failed:
                path = table_path(self.out, run, kind)
                self._folder(path)
                write_whole(path, partial(pq.write_table, table_of(columns, SINGLE_RUNS[kind])))

    def _temporary(self, run: int, host: str) -> Path:
        path = capture_path(self.out, run, host)
        return path.with_name(path.name + TEMPORARY)

    def _folder(self, path: Path) -> None:
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise store_error(path.parent, error) from None
