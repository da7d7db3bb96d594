"""Results of a study, in memory or in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from rexmit.errors import StoreError, StudyError, UsageError, nearest, one_line
from rexmit.files import move_in, store_error
from rexmit.places import temporary_folder
from rexmit.run.added import Given, store, with_column
from rexmit.run.backends import as_recorded, open_backend
from rexmit.run.capture import HOSTS, hosts_of, qlogs_beside
from rexmit.run.columns import SEED_COLUMNS
from rexmit.run.details import (
    INTERVALS,
    LINKS,
    LINKS_OVER_TIME,
    MESSAGES,
    RETRANSMISSIONS,
    TRANSFERS,
    TRANSFERS_OVER_TIME,
    Detail,
)
from rexmit.run.parquet import ROWS_A_GROUP, table_file, table_metadata, table_schema, whole_table
from rexmit.run.parts import read_pieces
from rexmit.run.provenance import read_provenance
from rexmit.run.record import STUDY_JSON, check_columns, design_of, read_record
from rexmit.run.shard import Shard, shard_of, told
from rexmit.run.store import PROVENANCE, RUNS
from rexmit.run.watch import NOT_COMPLETE, kind_of
from rexmit.study import Design, StudySpec
from rexmit.units import plural

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars as pl


class Results:
    """The table of a study's runs and the study that gave it.

    Columns: `run`, `replication` (both from 0); one for each factor under its dotted name, as written, and
    `NAME_bit_s` or `NAME_ns` where its levels are rates or times; then the responses: `completed`, `time_ns`
    (from the client's connect() to the end of the stream), `bytes`, `packets_down` and `packets_up` (offered
    to the path, server to client and back), `data_segments`, `retransmits`, `timeouts`,
    `timeouts_server`, `fast_retransmits`, `drops_down`, `drops_up`, `unreached_down` and
    `unreached_up` (patterns that met no packet), `deliveries`, `virtual_ns`, `error` (null where the run went
    well).
    """

    def __init__(
        self,
        table: pa.Table | None,
        study: dict[str, Any],
        folder: Path | None,
        new_runs: int = 0,
        details: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self._given = table
        self._details = dict(details or {})
        self.study = study
        """The content of study.json: the resolved scenario, factors and levels, replications, seed."""
        self.folder = folder
        """The results folder, None for results in memory."""
        self.new_runs = new_runs
        """How many runs the call that returned this ran: fewer than all after a resume, none when opened."""

    def __len__(self) -> int:
        if self._given is None:
            return _rows_of(self._path)
        return int(self._given.num_rows)

    def __repr__(self) -> str:
        where = f" in {self.folder}" if self.folder else ""
        part = f", {told(self.shard)}" if self.shard else ""
        return f"<Results of {self.name}{part}: {plural(len(self), 'run')}{where}>"

    @property
    def shard(self) -> Shard | None:
        """`(3, 16)` for the third of 16 parts of a study's runs, None for all of them.

        A part has the numbers of its runs in the whole; :func:`rexmit.run.merge_results` joins all parts.
        """
        return shard_of(self.study)

    def _repr_html_(self) -> str:
        """What a notebook shows: the factors, and means of the main responses."""
        from rexmit.run.shown import results_html

        return results_html(self)

    @property
    def name(self) -> str:
        """The study's name, such as `hurtig-2006/short`."""
        return str(self.study["name"])

    @property
    def title(self) -> str:
        """The study's title."""
        return str(self.study.get("title") or self.name)

    @property
    def factors(self) -> Sequence[str]:
        """Names of the factors, in the order of the design."""
        return [factor["name"] for factor in self.study["factors"]]

    def arrow(self) -> pa.Table:
        """The table for any library that takes Arrow. One in a folder is read when it is first asked for."""
        if self._given is None:
            self._given = _read_table(self._path)
        return self._given

    def batches(self, columns: Sequence[str] | None = None, rows: int = ROWS_A_GROUP) -> Iterator[pa.Table]:
        """The table in pieces of up to `rows` rows, with these of its columns (all where it is None).

        Memory holds one piece of a table in a folder, however large that is. Columns that it lacks are left
        out.
        """
        known = self.column_names
        names = known if columns is None else [name for name in columns if name in known]
        if self._given is not None:
            for start in range(0, self._given.num_rows, rows):
                yield self._given.slice(start, rows).select(names)
            return
        yield from read_pieces(self._path, rows, names)

    @property
    def column_names(self) -> list[str]:
        """The names of the table's columns."""
        names: list[str] = _schema_of(self._path).names if self._given is None else self._given.column_names
        return names

    @property
    def _path(self) -> Path:
        assert self.folder is not None, "results in memory have their table"
        return self.folder / RUNS

    def table(self) -> pl.DataFrame:
        """The table for Polars: one row per run, sorted by run."""
        import polars as pl

        frame = pl.from_arrow(self.arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def add_column(
        self,
        name: str,
        values: Given,
        *,
        unit: str = "",
        label: str = "",
        meaning: str = "",
        replace: bool = False,
    ) -> Results:
        """Adds a response of your own to each run, and returns these results.

        `values` is a list, array or series with a number for each run in the order of the table, a dict by
        the number of the run, an expression of Polars over the table, or a function that is called with the
        row of each run (a dict by column). None, and not a number, stand for no value; True and False are 1
        and 0. `unit` is as in other columns (`ns`, `ms`, `bit/s`, `bytes`, or any other), `label` what people
        call it, `meaning` a line about it. With `replace`, a column that was added before is replaced.

        For results in a folder, the column is kept in its `runs.parquet`: figures, reports, SQL and whatever
        reads the file have it. Raises UsageError of one line for a name that is taken, a wrong number of
        values, what is not a number, and a study that is not finished; StoreError where the folder cannot be
        written.
        """
        about = {"unit": unit, "label": label, "meaning": meaning or label}
        table = with_column(self.arrow(), name, values, about, replace=replace)
        if self.folder is not None:
            store(table, self.folder)
        self._given = table
        return self

    def intervals(self) -> pl.DataFrame:
        """What was measured by intervals: one row per interval and sender, with the factors of its run.

        Columns besides those of the factors: `run`, `replication`, `interval`, `from_ns`, `to_ns`,
        `connection`, `host` (who sends), `bytes` (read by the other end's application), `goodput_bit_s`,
        `written`, `data_segments`, `retransmits`, `timeouts`, `fast_retransmits`, and of the state after each
        write, weighted by its bytes: `cwnd_mean`, `cwnd_max`, `srtt_mean_ns`, `srtt_sd_ns`. Raises UsageError
        where the scenario has no `intervals`.
        """
        return self._frame_of(INTERVALS)

    def retransmissions(self) -> pl.DataFrame:
        """What was sent again, as the packets at the sender's interface show it, with the factors of its run.

        A row for each sender, number of the retransmission and class. Columns besides those of the factors:
        `run`, `replication`, `connection`, `host` (who sent them), `protocol`, `number` (1 for the first
        retransmission of a segment or chunk), `class` (for TCP the cause, for SCTP what sctp_trace calls it),
        `count`, `not_needed`, `bundled_in_fast` (chunks bundled into a fast retransmit of another one), and
        the delays since the first transmission (`cumulative_`) and since the one before (`consecutive_`):
        `min_ms`, `max_ms`, `mean_ms`, `std_ms`. :func:`rexmit.analyse.retransmission_delays` pools rows.
        Raises UsageError where the scenario has no `retransmissions`.
        """
        return self._frame_of(RETRANSMISSIONS)

    def messages(self) -> pl.DataFrame:
        """How late messages were, with the factors of their run: one row per connection with a sender.

        Each write of an application is a message, whatever the transport; its latency is from the write to
        the moment at which the other application has read its last byte. Columns besides the factors':
        `run`, `replication`, `connection`, `host` (who sends), `written`, `delivered`, and `latency_min_ms`,
        `latency_mean_ms`, `latency_std_ms`, `latency_max_ms`, `latency_p50_ms`, `latency_p90_ms`,
        `latency_p95_ms`, `latency_p98_ms`, `latency_p99_ms`, `latency_p999_ms`, not a number where nothing
        was delivered. Raises UsageError where the scenario has no `messages`.
        """
        return self._frame_of(MESSAGES)

    def transfers(self, *, over_time: bool = False) -> pl.DataFrame:
        """What each connection did, with the factors of its run: one row per connection.

        With `over_time`, what each delivered, one row per interval and connection. Columns are as in the
        tables `transfers` and `transfers_over_time`. Raises UsageError where the scenario does not have it
        measured.
        """
        return self._frame_of(TRANSFERS_OVER_TIME if over_time else TRANSFERS)

    def links(self, *, over_time: bool = False) -> pl.DataFrame:
        """What each link did, with the factors of its run: one row per direction of a link.

        With `over_time`, one row per interval and direction. Columns are those of the tables `links` and
        `links_over_time`. Raises UsageError where the scenario does not have it measured.
        """
        return self._frame_of(LINKS_OVER_TIME if over_time else LINKS)

    def detail(self, detail: Detail) -> pa.Table | None:
        """A table beside that of the runs, for Arrow; None where the study has none."""
        if detail.name not in self._details and self.folder is not None:
            path = self.folder / detail.file
            if path.exists():
                self._details[detail.name] = _read_table(path)
        return self._details.get(detail.name)

    def _frame_of(self, detail: Detail) -> pl.DataFrame:
        table = self.detail(detail)
        if table is None:
            raise UsageError(f"{self.name}: {detail.nothing}; give the scenario {detail.hint}")
        import polars as pl

        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def sql(self, query: str) -> pl.DataFrame:
        """The answer to a query in SQL over the tables of these results, as `rexmit sql` gives it.

        Tables: `runs`, with the columns of `table()`; `intervals`, `retransmissions` and `messages` where the
        study has them; `factors` and `columns`; for results in a folder also `captures`, and `state`,
        `verdicts` and `transmissions` of the runs for which they were kept. A name with a dot needs double
        quotes: `"path.rate"`. Raises UsageError for a query that cannot be answered.
        """
        if not isinstance(query, str):
            raise UsageError(f"sql: {one_line(repr(query))[:60]} is not a query; give a text")
        # Loaded when something is asked: DuckDB takes long to load.
        from rexmit.run.sql import ask

        return ask(self, query)

    def to_pandas(self) -> pd.DataFrame:
        """The table for pandas. Raises UsageError where pandas is not installed."""
        try:
            import pandas  # noqa: F401 - pyarrow's own error would be a traceback deep in there
        except ImportError:
            raise UsageError(
                "pandas is not installed; install it, or take table() for Polars or arrow() for Arrow"
            ) from None
        return self.arrow().to_pandas()

    def spec(self) -> StudySpec:
        """The study as it was run, every default filled in."""
        return StudySpec(
            self.name, None, {"title": self.title}, self.study["scenario"], design_of(self.study)
        )

    def run_number(self, **levels: object) -> int:
        """The number of the run (first replication) at these levels; write `path.rate` as `path__rate`.

        Levels are as in the table; a factor with one level may be left out. Raises StudyError for an unknown
        factor or level.
        """
        design = self.spec().design
        wanted = {name.replace("__", "."): level for name, level in levels.items()}
        for name in wanted:
            if name not in self.factors:
                raise StudyError(f"{name!r} is not a factor of {self.name}{nearest(name, self.factors)}")
        indices = []
        for factor in design.factors:
            level = wanted.get(factor.name, factor.labels[0] if len(factor.labels) == 1 else None)
            if level not in factor.labels:
                known = ", ".join(map(str, factor.labels))
                raise StudyError(
                    f"{factor.name}: {level!r} is not a level of {self.name}; its levels: {known}"
                )
            indices.append(factor.labels.index(level))
        return design.number(indices)

    def capture(
        self,
        run: int,
        *,
        server: str | Path | None = None,
        client: str | Path | None = None,
        at: Mapping[str, str | Path] | None = None,
        snap_len: int | None = None,
    ) -> dict[str, Any]:
        """Runs one run again, exactly as it was, and writes its captures (pcapng) to these files.

        `at` has those of hosts of a network, by their names. `snap_len` is the most bytes of a packet that
        are kept, all where it is None; 128 hold every header. Where a host's code logs its connections
        (qlog), `a-0.sqlog` of connection 0 and so on stand beside `a.pcapng`.
        Returns the row of the run.
        """
        spec, own = self._as_run(run)
        backend = open_backend(self.study["backend"], spec, as_recorded(self.study, self.new_runs > 0))
        with temporary_folder() as folder:
            named = {**dict(zip(HOSTS, (server, client), strict=True)), **(at or {})}
            paths = {host: Path(path) for host, path in named.items() if path is not None}
            known = hosts_of(spec.scenario_of(own))
            for host in paths:
                if host not in known:
                    raise UsageError(f"{host!r} is not a host of {self.name}{nearest(host, known)}")
            made = {host: folder / f"{host}.pcapng" for host in paths}
            try:
                row = backend.capture(own, made, snap_len)
            except OSError as error:
                raise store_error(folder, error, resumable=False) from None
            for host, path in paths.items():
                move_in(made[host], path)
                for log in qlogs_beside(made[host]):
                    move_in(log, path.with_name(path.stem + log.name.removeprefix(host)))
        numbers = {"run": run, "replication": run % self.study["replications"]}
        return {name: numbers.get(name, value) for name, value in row.items()}

    def trace(self, run: int) -> dict[str, pl.DataFrame]:
        """Runs one run again, exactly as it was, for its tables.

        These are `state` over time, `verdicts`, a model's `transmissions` (why each packet was sent), and the
        applications' `messages` (when each was written and delivered).

        Raises UsageError for a run in real time, which is never the same again, or of another kernel.
        """
        spec, own = self._as_run(run)
        backend = open_backend(self.study["backend"], spec, as_recorded(self.study, self.new_runs > 0))
        if backend.real_time:
            text = "took real time, and no run would be the same again"
            raise UsageError(
                f'run {run} {text}; keep its tables as it runs, with state="all", verdicts="all"'
            )
        other = [
            f"{k} {self.study.get(k)}, not {v}" for k, v in backend.facts().items() if self.study.get(k) != v
        ]
        if other:
            raise UsageError(f"run {run} was run with {'; '.join(other)}: it would not be the same again")
        import polars as pl

        tables = backend.tables(own, backend.table_kinds)
        return {kind: pl.DataFrame(pl.from_arrow(table)) for kind, table in tables.items()}

    def _as_run(self, run: int) -> tuple[StudySpec, int]:
        """The study and the number under which a run was run: for merged results, those of its own seed."""
        spec = self.spec()
        levels = spec.design.point(run).levels
        if SEED_COLUMNS[0] not in self.column_names:
            return spec, run
        row = self.arrow().filter(pc.field("run") == run)
        if not row.num_rows:
            raise StudyError(f"run {run} is not among these results of {self.name}")
        seed, replication = (int(row.column(name)[0].as_py()) for name in SEED_COLUMNS)
        design = Design(spec.design.factors, replication + 1, seed)
        return replace(spec, design=design), design.number(levels, replication)

    def provenance(self) -> dict[str, Any]:
        """What ran it, on what, when: the content of provenance.json; empty for results in memory."""
        if self.folder is None:
            return {}
        path = self.folder / PROVENANCE
        try:
            return read_provenance(path)
        except FileNotFoundError:
            raise _no_results(self.folder, PROVENANCE) from None
        except OSError as error:
            raise _unreadable(path, error) from None


@dataclass(frozen=True)
class Failures:
    """What did not go well in a table of runs: how many failed, which one first and why."""

    count: int = 0
    first: int | None = None
    why: str = ""
    late: int | None = None
    """Runs flagged in the column `late`; None where there is no such column."""
    alike: bool = False
    """Whether several failed, all for the same reason but for its numbers."""


def failures_of(results: Results) -> Failures:
    """Counts failures piece by piece, in whatever memory a piece takes."""
    count, first, why, kinds = 0, None, "", set[str]()
    late = 0 if "late" in results.column_names else None
    for table in results.batches(("run", "completed", "late", "error")):
        failed = table.filter(did_fail(table))
        if first is None and failed.num_rows:
            first = failed.column("run")[0].as_py()
            why = failed.column("error")[0].as_py() or NOT_COMPLETE
        if len(kinds) < 2:
            kinds |= {kind_of(text or NOT_COMPLETE) for text in failed.column("error").unique().to_pylist()}
        count += failed.num_rows
        if late is not None:
            late += pc.sum(table.column("late")).as_py() or 0
    return Failures(count, first, why, late, alike=count > 1 and len(kinds) == 1)


def did_fail(table: pa.Table) -> pa.ChunkedArray:
    """For each run, whether it failed or did not complete."""
    return pc.or_(pc.invert(table.column("completed")), pc.is_valid(table.column("error")))


def open_results(folder: str | Path) -> Results:
    """Opens the results folder of a finished study.

    Raises StoreError where the folder is not one, or the study is not finished yet.
    """
    folder = Path(folder)
    study = read_study(folder)
    path = folder / RUNS
    if not path.exists():
        raise StoreError(f"{folder}: is not finished; repeat its `rexmit run` with --out {folder} --resume")
    check_table(path, study)
    return Results(None, study, folder)


def check_table(path: Path, study: Mapping[str, Any]) -> None:
    """Raises StoreError unless the table of runs is one of this study."""
    try:
        with table_file(path) as file:
            check_columns(file.schema_arrow, study, path)
            numbers = file.read(["run"]).column("run")
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None
    if numbers.null_count or (
        len(numbers) and not 0 <= pc.min(numbers).as_py() <= pc.max(numbers).as_py() < _MOST
    ):
        raise StoreError(f"{path}: its column run has an entry that is not a run number")


_MOST = 1 << 53
"""Runs below this are told apart even where a number is a double."""


def read_study(folder: Path) -> dict[str, Any]:
    """The study.json of a results folder, finished or not.

    Raises StoreError where there is none, where a newer version has written the folder in another layout, and
    for a wrong value, naming its key.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder}: is not a folder; name the results folder that `rexmit run` wrote")
    try:
        return read_record(folder)
    except FileNotFoundError:
        raise _no_results(folder, STUDY_JSON) from None
    except OSError as error:
        raise _unreadable(folder / STUDY_JSON, error) from None


def _read_table(path: Path) -> pa.Table:
    try:
        return whole_table(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def _rows_of(path: Path) -> int:
    try:
        return int(table_metadata(path).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def _schema_of(path: Path) -> pa.Schema:
    try:
        return table_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> StoreError:
    return StoreError(f"{path}: cannot be read: {one_line(error)}")


def _no_results(folder: Path, name: str) -> StoreError:
    return StoreError(f"{folder}: is not a results folder: it holds no {name}")
