"""Every run of a study put to the TCP-friendly formula, each by a capture at its sender."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rexmit.analyse.rows import Row
from rexmit.inputs import KEPT_CAPTURE, check_file
from rexmit.models.tcp_friendly import FORMULAS
from rexmit.report.friendly import FLOWS, TcpFriendly, look, open_capture
from rexmit.run import Results
from rexmit.run.capture import capture_path
from rexmit.run.provenance import usable_cores
from rexmit.run.stopping import workers

SNAP_LEN = 128
"""Bytes kept of each packet: every header."""

_RENAMED = {"segments": "sent_segments", "failed": "failed_conditions"}
"""Columns of flows whose name says less in a table of runs."""


def tcp_friendly_runs(
    results: Results,
    runs: Sequence[int] | None = None,
    sender: str = "server",
    jobs: int | None = None,
    each: Callable[[int, TcpFriendly], None] | None = None,
) -> pl.DataFrame:
    """Measures the runs of a study; see `rexmit.tcp_friendly_runs`. `each` sees what was found of a run."""
    table = results.table()
    wanted = table["run"].to_list() if runs is None else list(runs)

    def measure(run: int) -> list[Row]:
        found = _of_run(results, run, sender)
        if each is not None:
            each(run, found)
        return [{"run": run, **row} for row in _rows(found)]

    with workers(jobs or usable_cores()) as pool:
        rows = [row for part in pool.map(measure, wanted) for row in part]
    measured = pl.DataFrame(rows, {"run": table.schema["run"], **_schema()})
    chosen = table.filter(pl.col("run").is_in(wanted))
    return chosen.join(measured, on="run", how="left", maintain_order="left_right")


def meanings() -> dict[str, str]:
    """What each column means that a table of runs does not have."""
    own = {_RENAMED.get(name, name): about for name, (_, about) in _flow_columns()}
    for name, formula in FORMULAS.items():
        own[_error(name)] = f"how much more {formula.title} gives for p_delivered than F, as a share"
    own["error_klaver"] = "the same of klaver-2005's formula for the parity of W; of mixed W, their mean"
    return own


def _of_run(results: Results, run: int, sender: str) -> TcpFriendly:
    """By its capture in the results folder; without one, the run is repeated with a short one."""
    if results.folder is not None:
        kept = capture_path(results.folder, run, sender)
        if kept.exists():
            check_file(kept, KEPT_CAPTURE)
            return _look(kept)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sender.pcapng"
        results.capture(run, at={sender: path}, snap_len=SNAP_LEN)
        return _look(path)


def _look(path: Path) -> TcpFriendly:
    return TcpFriendly([look(open_capture(path), path.name)])


def _rows(found: TcpFriendly) -> Iterable[Row]:
    predictions = found.predictions
    for row in found.flows.iter_rows(named=True):
        same = predictions.filter(connection=row["connection"], side=row["side"])
        errors = dict(same.select("formula", "error_delivered").iter_rows())
        own: Row = {_RENAMED.get(name, name): row[name] for name, _ in _flow_columns()}
        own |= {_error(name): errors.get(name) for name in FORMULAS}
        yield own | {"error_klaver": _by_parity(row["parity"], errors)}


def _by_parity(parity: str | None, errors: dict[str, float | None]) -> float | None:
    """The error of the formula that is meant for W; where W is now odd, now even, the mean of both."""
    names = {"odd": ["klaver-odd"], "even": ["klaver-even"], "mixed": ["klaver-odd", "klaver-even"]}
    own = [errors.get(name) for name in names.get(parity or "", [])]
    known = [error for error in own if error is not None]
    return sum(known) / len(known) if known and len(known) == len(own) else None


def _error(name: str) -> str:
    return f"error_{name.replace('-', '_')}"


def _flow_columns() -> list[tuple[str, tuple[Any, str]]]:
    return [(name, about) for name, about in FLOWS.items() if name not in ("capture", "connection")]


def _schema() -> dict[str, Any]:
    own: dict[str, Any] = {_RENAMED.get(name, name): kind for name, (kind, _) in _flow_columns()}
    own |= {_error(name): pl.Float64 for name in FORMULAS}
    return own | {"error_klaver": pl.Float64}
