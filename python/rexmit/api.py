"""The Python side of the commands: load a study, change it, run it, take its table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rexmit import _native
from rexmit.errors import StoreError, StudyError, UsageError, one_line
from rexmit.run import Results, RunOptions, run_study
from rexmit.run.backends import to_json
from rexmit.run.progress import shown_progress, shown_study
from rexmit.run.runner import Progress
from rexmit.run.tables import TABLE_KINDS
from rexmit.study import StudySpec, load_spec
from rexmit.study.profiles import inline_stacks
from rexmit.study.settings import Table, with_setting
from rexmit.study.spec import parse_spec
from rexmit.study.traces import place_traces
from rexmit.units import parse_bytes, plural

if TYPE_CHECKING:
    import polars as pl

    from rexmit.plot.connections import Connection
    from rexmit.report.analysis import Analysis, PairAnalysis
    from rexmit.report.friendly import TcpFriendly


class Study:
    """A study: one scenario, what varies, and the design.

    ```python
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"])
    study.run().table()
    ```
    """

    def __init__(self, spec: StudySpec) -> None:
        self.spec = spec

    @classmethod
    def load(cls, study: str | Path) -> Study:
        """A study of the package by its name (`hurtig-2006/short`), or of a TOML file.

        Raises StudyError, of one line that names the file, the key and what is allowed.
        """
        return cls(load_spec(study))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], name: str = "study") -> Study:
        """A study from the tables that its file would hold: `scenario`, `vary`, `design`.

        A profile's file is named as seen from the working directory. Raises StudyError, of one line that
        names the key and what is allowed.
        """
        if not isinstance(table, Mapping):
            raise StudyError(f"{name}: {one_line(repr(table))} is not a table; give a dict with 'scenario'")
        return cls(parse_spec(dict(table), name, None))

    def set(self, key: str, value: Any) -> Study:
        """Returns a study with one setting changed; this one stays as it is.

        `key` is a dotted name: of the scenario (`path.rate`,
        `hosts.server.stack.recovery.dupack_threshold`), of a factor (a list replaces its levels, a single
        value leaves just that one), `vary.NAME` for a new factor, `design.seed` or `design.replications`.
        Values are as in the file: text with its unit; but a profile's file is named as seen from the
        working directory.
        """
        return Study(self.spec.with_set(key, value))

    @property
    def runs(self) -> int:
        """How many runs the design has."""
        return self.spec.design.runs

    def run(
        self,
        out: str | Path | None = None,
        *,
        backend: str = "model",
        jobs: int | None = None,
        progress: bool | Progress = True,
        resume: bool = False,
        capture: str = "none",
        state: str = "none",
        state_at: str = "changes",
        verdicts: str = "none",
        transmissions: str = "none",
        allow_unsupported: bool = False,
        kernel: str | None = None,
        shard: tuple[int, int] | None = None,
        cluster: str | None = None,
    ) -> Results:
        """Runs every run and returns the results.

        `out` is the results folder (None keeps the results in memory), `backend` is `model`, `uml` or
        `kernel`, `jobs` the number of threads or guests (None: every core; one run at a time on `kernel`, in
        real time). `kernel` names the kernel of guests whose hosts name none, such as `6.12`. With
        `allow_unsupported`, settings that the backend cannot have are left out. `capture`, `state`,
        `verdicts` and `transmissions` (`none`, `failed` or `all`) say of which runs captures, tables of state
        over time, of verdicts and of why each packet was sent are kept in the folder; `state_at` says when
        state is noted: at all `changes`, after each of the application's `writes`, or every `10 ms`. `shard`
        is `(3, 16)` for the third of 16 parts of the runs, which `rexmit merge` joins. `cluster` is the
        address of a Dask cluster (`tcp://HOST:PORT`, or a scheduler's file) whose workers run it; `jobs` is
        then for each of their threads. With `progress` a bar shows on standard error; a function is called
        with (stage, done, total) instead. The answer is the same for any number of jobs.

        Raises StudyError for a wrong study, StoreError for a folder that cannot be used, Interrupted after
        a signal, when finished runs have been stored and `resume=True` goes on.
        """
        options = RunOptions(
            backend=backend,
            allow_unsupported=allow_unsupported,
            kernel=kernel,
            jobs=jobs,
            resume=resume,
            capture=capture,
            state=state,
            state_at=state_at,
            verdicts=verdicts,
            transmissions=transmissions,
            shard=shard,
            cluster=cluster,
        )
        if callable(progress):
            return self._run(out, replace(options, progress=progress))
        with shown_study(self.spec.design, bool(progress)) as shown:
            return self._run(out, replace(options, progress=shown.report, on_rows=shown.rows))

    def _run(self, out: str | Path | None, options: RunOptions) -> Results:
        return run_study(self.spec, None if out is None else Path(out), options)

    def __repr__(self) -> str:
        factors = ", ".join(f"{f.name} ({len(f.levels)})" for f in self.spec.design.factors) or "nothing"
        return f"<Study {self.spec.name}: {plural(self.runs, 'run')}, varies {factors}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the question, the runs, the factors and their levels."""
        from rexmit.run.shown import study_html

        return study_html(self.spec)


def run_one(
    scenario: Study | str | Path | Mapping[str, Any],
    *,
    seed: int | None = None,
    run_key: str = "",
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Runs one run and returns its row, and on request tables of what happened and captures.

    `scenario` is a study (its own scenario without what varies), its name or file, or a table
    `{"hosts": ..., "path": ..., "transfers": ...}`. `settings` change it; write a dotted name with double
    underscores: `path__rate="1 Mbit/s"`. `options` may have `capture_server` and `capture_client` (files
    to write, pcapng), `state`, `verdicts`, `transmissions` and `messages` (True adds these tables: the hosts'
    state over time, what the path did to each packet, why each was sent and whether what it repeats had
    arrived, and when each message was written and delivered).
    `state` may also say when it is noted: `"changes"`, which True stands for, `"writes"`, or an interval such
    as `"10 ms"`.

    Returns `{"row": {...}, "warnings": [...], "state": DataFrame, "verdicts": DataFrame, "transmissions":
    DataFrame, "messages": DataFrame}`, the last four where asked for. Raises StudyError for a wrong
    setting, of one line.
    """
    table, own_seed = _scenario(scenario)
    for name, value in settings.items():
        table = with_setting(table, name.replace("__", "."), value)
    table = place_traces(inline_stacks(table, Path()), Path())
    given = {key: str(value) if isinstance(value, Path) else value for key, value in (options or {}).items()}
    if isinstance(given.get("state"), bool):
        given["state"] = "changes" if given["state"] else None
    if "linux" in to_json(table.get("hosts")):
        from rexmit.run.kernel_stacks import provide_for

        provide_for(table)
    try:
        answer = _native.run_one(
            to_json(table), own_seed if seed is None else seed, run_key, json.dumps(given)
        )
    except ValueError as error:
        raise StudyError(one_line(error)) from None
    except OSError as error:
        raise StoreError(one_line(error.strerror)) from None
    tables = (*TABLE_KINDS, "messages")
    return {key: _frame(key, value) if key in tables else value for key, value in answer.items()}


def write_report(
    results: Results | str | Path,
    out: str | Path,
    *,
    runs: str | Iterable[int] = "auto",
    max_size: str | int | None = "10 MB",
    beside: bool = False,
    jobs: int | None = None,
    progress: bool | Progress = False,
) -> Path:
    """Writes the report of a study, as `rexmit report` does, and returns its file.

    `results` are results or a results folder, which need not be finished. `out` ends in `.html` (one page
    that needs no other file), `.pdf` or `.md`; what follows is for the page. `runs` are the runs whose
    packets it has: `auto`, `none`, `kept`, `first` (of each combination of levels the first replication),
    `all`, or numbers, as text such as `17,18,40..60` or each. `max_size` is the most that the page may be, in
    bytes or as text, None without limit; `beside` puts the packets into a folder beside it, without limit.
    `jobs` is the number of runs at the same time, None for every core. With `progress` a bar shows on
    standard error; a function is called with (stage, done, total) instead.

    Warns (UserWarning) of each thing that is missing, which the report says as well. Raises UsageError for a
    wrong argument, StoreError for a folder that is not one and a file that cannot be written.
    """
    from rexmit.report.runs import RunsOptions
    from rexmit.report.sources import open_folder
    from rexmit.report.write import ReportOptions, write_any

    found = results if isinstance(results, Results) else open_folder(Path(results))
    wanted = runs if isinstance(runs, str) else ",".join(map(str, runs)) or "none"
    most = _max_size(max_size)
    target = Path(out)
    with nullcontext(progress) if callable(progress) else shown_progress(bool(progress)) as report:
        options = ReportOptions(runs=RunsOptions(wanted, None, jobs, report), most_bytes=most, beside=beside)
        remarks = write_any(found, target, options)
    for remark in remarks:
        warnings.warn(remark, stacklevel=2)
    return target


def _max_size(given: str | int | None) -> int | None:
    if given is None:
        return None
    try:
        return parse_bytes(str(given) if isinstance(given, str) else f"{given} bytes")
    except ValueError as error:
        raise UsageError(f"max_size: {error}") from None


def analyze(
    path: str | Path,
    *,
    filter: str | None = None,  # noqa: A002 - the field's word
    tables: str | Sequence[str] = (),
    loss_event_rtts: float = 2.0,
    sctp_threshold: int = 3,
    jobs: int | None = None,
) -> Analysis:
    """Judges every retransmission of TCP and SCTP in a capture (pcapng or pcap, also packed).

    `filter` keeps some packets only, such as `tcp.port == 5001`. `tables` names tables with one row per
    packet that will be wanted (`segments`, `sacks`, `rtt`, `chunks`, `sctp_sacks`, `sctp_rtt`, or `all`);
    others are read when they are used. Losses within `loss_event_rtts` RTTs are one loss event.
    `sctp_threshold` missing reports make sctp_trace call a retransmission fast. `jobs` is the number of
    threads, None for every core.

    Warns (UserWarning) of a capture that breaks off, after all that could be read. Raises UsageError for a
    file that is not a capture and for a wrong argument.
    """
    from rexmit.analyse.captures import Options, table_names
    from rexmit.report.analysis import read

    names = table_names([tables] if isinstance(tables, str) else list(tables))
    options = Options(filter, loss_event_rtts, sctp_threshold, jobs, names)
    return read([path], options)


def analyze_pair(
    first: str | Path,
    second: str | Path,
    *,
    filter: str | None = None,  # noqa: A002 - the field's word
    same_clock: bool = False,
    whole: bool = False,
) -> PairAnalysis:
    """Judges two captures of the same packets together, made at two places.

    `same_clock` says that one clock made both, `whole` that both ran from before the first packet until after
    the last one, so that a packet in one of them only was lost. Warns (UserWarning) of a capture that breaks
    off. Raises UsageError for a file that is not a capture.
    """
    from rexmit.analyse.captures import Options
    from rexmit.analyse.pairs import PairOptions, read_pair
    from rexmit.report.analysis import PairAnalysis

    paths = [Path(first), Path(second)]
    about = PairOptions(same_clock, whole, crossings=True)
    found = PairAnalysis(paths, read_pair(paths, Options(filter=filter), about))
    for text in found.warnings:
        warnings.warn(text, stacklevel=2)
    return found


def tcp_friendly(
    captures: str | Path | Analysis | Sequence[str | Path],
    *,
    connection: int | None = None,
    filter: str | None = None,  # noqa: A002 - the field's word
) -> TcpFriendly:
    """Says of the flows of captures whether the TCP-friendly formula may be applied, and measures them.

    `captures` are files (pcapng or pcap), made at the sender, or an open analysis (`rexmit.analyze`). Each
    direction with at least 100 segments is judged; of a `connection`, each that carries data. The answer has
    the tables `flows` (the verdict, and p, rate, RTT and F over whole cycles in equilibrium, with 95 %
    intervals over cycles), `cycles`, `conditions` (klaver-2005, chapter 2, with the evidence), and
    `predictions` (what each formula gives for the measured p). `filter` keeps some packets only.

    ```python
    found = rexmit.tcp_friendly("sender.pcapng")
    print(found.flows["applies", "failed", "p", "f"], found.predictions["formula", "f", "error"])
    ```

    Warns (UserWarning) of a capture that breaks off. Raises UsageError for a file that is not a capture and
    for a connection that is not there.
    """
    from rexmit.report.friendly import tcp_friendly as put

    return put(captures, connection, filter)


def tcp_friendly_runs(
    results: Results,
    runs: Sequence[int] | None = None,
    *,
    sender: str = "server",
    each: Callable[[int, TcpFriendly], None] | None = None,
) -> pl.DataFrame:
    """Puts the runs of a study to the TCP-friendly formula: all of them, or those of these numbers.

    Each is measured as by `tcp_friendly`, from the capture at the host `sender` in the results folder, else
    from one of a repetition of the run. Returns the table of runs with the columns of `flows` added
    (`segments` as `sent_segments`, `failed` as `failed_conditions`), and for each of `models.FORMULAS` a
    column `error_NAME`, such as `error_mathis`: how much more it gives for p_delivered than the F that
    was measured, as a fraction; `error_klaver` is of klaver-2005's formula for the parity of W. A run with
    fewer than 100 segments has nulls there, one without a measurement window in most. `each` is called with
    the number of a run and all that was found of it, from several threads.
    """
    from rexmit.report.friendly_runs import tcp_friendly_runs as put

    return put(results, runs, sender, each=each)


def read_capture(capture: str | Path) -> list[Connection]:
    """The TCP connections of a capture (pcapng or pcap), in the order of their first packets.

    Each has the sides `client` and `server`, each with numpy columns of the segments that it sent and of
    the acknowledgments that it received; times in ns. Raises UsageError where the file cannot be read.
    """
    # Imported late: drawing takes long to load, and most commands draw nothing.
    from rexmit.plot.connections import read

    return read(capture)


def schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, from its one definition: for editors, and for other programs."""
    found: dict[str, Any] = json.loads(_native.schema())
    return found


def profiles() -> dict[str, str]:
    """The protocol stacks that come with the package: name and one-line description."""
    return dict(_native.profiles())


def profile(name: str) -> dict[str, Any]:
    """A stack's constants and choices, everything that it inherits included.

    Raises StudyError for an unknown name, naming the nearest.
    """
    try:
        found: dict[str, Any] = json.loads(_native.profile(name))
    except ValueError as error:
        raise StudyError(one_line(error)) from None
    return found


def _scenario(given: Study | str | Path | Mapping[str, Any]) -> tuple[Table, int]:
    if isinstance(given, str | Path):
        given = Study.load(given)
    if isinstance(given, Study):
        return given.spec.scenario, given.spec.design.seed
    return dict(given), 1


def _frame(kind: str, columns: Any) -> Any:
    import polars as pl

    from rexmit.tables import single
    from rexmit.tables.arrow import from_native

    return pl.from_arrow(from_native(columns, single(kind)))
