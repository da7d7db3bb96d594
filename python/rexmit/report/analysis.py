"""What an analysis of captures found, as tables."""

from __future__ import annotations

import importlib
import os
import stat
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from rexmit.analyse.arrow import schemas, to_batch
from rexmit.analyse.captures import SMALL, TABLES, Options, Progress, Reading, Summary
from rexmit.analyse.held import answers
from rexmit.analyse.pairs import PAIR_TABLES, Paired
from rexmit.analyse.rows import Row
from rexmit.analyse.words import evidence, sctp_evidence
from rexmit.errors import RexmitError, UsageError, nearest, one_line, printable
from rexmit.tables.arrow import words_of

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]


class Analysis:
    """The tables that an analysis of a capture gives, as Polars tables; `arrow` and `to_pandas` give others.

    Times are ns since 1970 and delays ns; sequence numbers count from the SYN, which is 0; `number` is the
    packet's number in the capture, as in Wireshark. Tables with one row per packet (`segments`, `sacks`,
    `rtt`, `chunks`, `sctp_sacks`, `sctp_rtt`) that were not asked for are read from the capture when they are
    used first. What each column means is in `meaning`.
    """

    def __init__(self, paths: Sequence[Path], options: Options, progress: Progress | None = None) -> None:
        self._paths, self._options = list(paths), options
        self._schemas = schemas()
        self._tables: dict[str, pa.Table] = {}
        self._states = [_state(path) for path in self._paths]
        self.summary: Summary = self._read(tuple(dict.fromkeys((*SMALL, *options.tables))), progress)

    def arrow(self, name: str) -> pa.Table:
        """A table as Arrow.

        Raises UsageError for an unknown name, RexmitError where the capture has to be read for it and is not
        what it was.
        """
        if name not in TABLES:
            raise UsageError(f"no table {name!r}{nearest(name, TABLES)}")
        if name not in self._tables:
            self._check_unchanged(f"tables={name!r}")
            self._read((name,), None)
        return self._tables[name]

    def to_pandas(self, name: str) -> pd.DataFrame:
        """A table as pandas. Raises RexmitError where pandas is not installed."""
        try:
            importlib.import_module("pandas")
        except ImportError as error:
            text = f"to_pandas needs pandas ({one_line(error)}); install it with `pip install pandas`"
            raise RexmitError(text) from None
        return self.arrow(name).to_pandas()

    @property
    def captures(self) -> list[Path]:
        """The files that were read."""
        return list(self._paths)

    @property
    def connections(self) -> pl.DataFrame:
        """One row per TCP connection."""
        return self._polars("connections")

    @property
    def segments(self) -> pl.DataFrame:
        """One row per TCP packet."""
        return self._polars("segments")

    @property
    def sacks(self) -> pl.DataFrame:
        """One row per SACK block of TCP."""
        return self._polars("sacks")

    @property
    def retransmissions(self) -> pl.DataFrame:
        """One row per retransmission of TCP: its cause, delays and evidence."""
        return self._polars("retransmissions")

    @property
    def rtt(self) -> pl.DataFrame:
        """One row per RTT sample of TCP."""
        return self._polars("rtt")

    @property
    def loss_events(self) -> pl.DataFrame:
        """One row per loss event of TCP."""
        return self._polars("loss_events")

    @property
    def held(self) -> pl.DataFrame:
        """One row per period in which one thing held a side of a TCP connection back."""
        return self._polars("held")

    def why(self, connection: int) -> dict[str, str]:
        """What held each side of a TCP connection back, a sentence per side with data.

        Raises UsageError where there is no such connection.
        """
        for row in self.connections.filter(pl.col("connection") == connection).iter_rows(named=True):
            return answers(row)
        raise UsageError(f"no connection {connection}; the table connections lists them")

    @property
    def associations(self) -> pl.DataFrame:
        """One row per SCTP association."""
        return self._polars("associations")

    @property
    def paths(self) -> pl.DataFrame:
        """One row per path of an association and direction."""
        return self._polars("paths")

    @property
    def streams(self) -> pl.DataFrame:
        """One row per stream of an association and direction."""
        return self._polars("streams")

    @property
    def chunks(self) -> pl.DataFrame:
        """One row per transmission of a DATA chunk of SCTP."""
        return self._polars("chunks")

    @property
    def sctp_sacks(self) -> pl.DataFrame:
        """One row per SACK of SCTP."""
        return self._polars("sctp_sacks")

    @property
    def sctp_retransmissions(self) -> pl.DataFrame:
        """One row per retransmission of a DATA chunk: its class by sctp_trace, cause, delays and evidence."""
        return self._polars("sctp_retransmissions")

    @property
    def sctp_controls(self) -> pl.DataFrame:
        """One row per control chunk of SCTP that was sent again."""
        return self._polars("sctp_controls")

    @property
    def sctp_rtt(self) -> pl.DataFrame:
        """One row per RTT sample of SCTP."""
        return self._polars("sctp_rtt")

    @property
    def warnings(self) -> list[str]:
        """What makes the answers less than certain, such as a capture that breaks off."""
        return self.summary.warnings

    def meaning(self, name: str) -> dict[str, str]:
        """What each column of a table means. Raises UsageError for an unknown name."""
        if name not in TABLES:
            raise UsageError(f"no table {name!r}{nearest(name, TABLES)}")
        return {field.name: words_of(field) for field in self._schemas[name]}

    def explain(self, row: Row) -> str:
        """What the judgement of a retransmission rests on; `row` is one of its table, as a dict.

        Raises UsageError for one that is not a whole row of `retransmissions` or `sctp_retransmissions`.
        """
        try:
            return sctp_evidence(row) if "tsn" in row else evidence(row)
        except (KeyError, TypeError, AttributeError) as error:
            lacks = f"it has no {error}" if isinstance(error, KeyError) else "this is not one"
            raise UsageError(
                f"explain takes a whole row of retransmissions as a dict, and {lacks}; give such as "
                "found.retransmissions.row(0, named=True)"
            ) from None

    def plot(
        self,
        out: str | os.PathLike[str],
        *,
        graph: str = "tsg",
        connection: int = 1,
        direction: str | None = None,
        t: tuple[float, float] | None = None,
    ) -> list[Path]:
        """Draws a graph of a connection and returns the files.

        `graph` is `tsg`, `outstanding`, `rtt`, `throughput`, or `all` for a page. `out` ends in `.svg`,
        `.png`, `.pdf`, `.html` or `.xpl`, or is a name without ending for SVG and PNG. Raises UsageError
        for what is not there, StoreError where a file cannot be written.
        """
        from rexmit.plot.graphs import View, draw

        self._check_unchanged("no pipe")
        view = View(direction=direction, t=t)
        return draw(self._paths[0], Path(out), graph, connection, view, self._options)

    def _polars(self, name: str) -> pl.DataFrame:
        frame = pl.from_arrow(self.arrow(name))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _check_unchanged(self, instead: str) -> None:
        """Raises RexmitError where a capture cannot be read again as it was."""
        for path, before in zip(self._paths, self._states, strict=True):
            if before is None:
                raise RexmitError(f"{path}: can be read once only; give analyze {instead}")
            if _state(path) != before:
                raise RexmitError(f"{path}: is not what it was when it was analysed; call analyze again")

    def _read(self, names: tuple[str, ...], progress: Progress | None) -> Summary:
        reading = Reading(self._paths, replace(self._options, tables=names), progress)
        parts: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        for tables in reading:
            for name in names:
                parts[name].append(to_batch(tables[name], self._schemas[name]))
        for name in names:
            self._tables[name] = pa.Table.from_batches(parts[name], schema=self._schemas[name])
        return reading.summary

    def __repr__(self) -> str:
        names = printable(", ".join(path.name for path in self._paths))
        counts = ", ".join(
            f"{name} {table.num_rows:,}" for name, table in self._tables.items() if table.num_rows
        )
        return f"<Analysis of {names}: {self.summary.packets:,} packets; {counts or 'no TCP and no SCTP'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: each direction with data, what was sent again by cause, and warnings."""
        from rexmit.report.shown import analysis_html

        return analysis_html(self)


def _state(path: Path) -> tuple[int, int, int] | None:
    """What tells whether a file is still the same: which it is, size, time. None for what is not a file."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def read(paths: Sequence[str | Path], options: Options, progress: Progress | None = None) -> Analysis:
    """Analyses captures; warns (UserWarning) of what could not be read."""
    found = Analysis([Path(path) for path in paths], options, progress)
    for text in found.warnings:
        warnings.warn(f"{paths[0]}: {text}", stacklevel=3)
    return found


class PairAnalysis:
    """What two captures of the same packets give together: tables, and how the clocks stand.

    All times are those of the first capture's clock.
    """

    def __init__(self, paths: Sequence[Path], paired: Paired) -> None:
        self._paths, self._paired = list(paths), paired
        self._schemas = schemas()

    def arrow(self, name: str) -> pa.Table:
        """A table as Arrow. Raises UsageError for an unknown name."""
        if name not in PAIR_TABLES:
            raise UsageError(f"two captures give no table {name!r}{nearest(name, PAIR_TABLES)}")
        batch = to_batch(self._paired.tables[name], self._schemas[name])
        return pa.Table.from_batches([batch], schema=self._schemas[name])

    @property
    def pairs(self) -> pl.DataFrame:
        """One row per direction of each connection in both captures: delays, and what was lost where."""
        return self._polars("pairs")

    @property
    def retransmissions(self) -> pl.DataFrame:
        """One row per retransmission, judged by both captures."""
        return self._polars("pair_retransmissions")

    @property
    def crossings(self) -> pl.DataFrame:
        """One row per packet: when it was in each capture, and what became of it."""
        return self._polars("crossings")

    @property
    def clock(self) -> dict[str, Any]:
        """The second clock against the first: `offset_ns`, `skew_ppm`, their bounds, how they are known."""
        return self._paired.clock

    @property
    def warnings(self) -> list[str]:
        """What makes the answers less than certain."""
        named = zip(self._paths, self._paired.captures, strict=True)
        found = [f"{path}: {text}" for path, summary in named for text in summary.warnings]
        return found + self._paired.warnings

    def _polars(self, name: str) -> pl.DataFrame:
        frame = pl.from_arrow(self.arrow(name))
        assert isinstance(frame, pl.DataFrame)
        return frame
