"""The runs whose packets a page has: those that were kept, and those that are run again for it."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from rexmit.errors import RexmitError, UsageError, one_line
from rexmit.files import remove_file
from rexmit.inputs import KEPT_CAPTURE, check_file
from rexmit.places import temporary_folder
from rexmit.plot.figures import readable
from rexmit.plot.trace import About, pack_trace
from rexmit.run import Results
from rexmit.run.again import Again, RowsByRun, numbers_of
from rexmit.run.capture import CAPTURE_NAME, capture_path, hosts_of
from rexmit.run.provenance import usable_cores
from rexmit.run.stopping import workers
from rexmit.run.tables import run_table, table_path
from rexmit.study.network import is_network
from rexmit.study.words import in_words, level_in_words

CHOICES = ("auto", "none", "kept", "first", "all")
"""Which runs a page has, beside lists of numbers."""

AUTO_RUNS = 400
"""Runs that a page has unless told otherwise: some five seconds of work."""

AHEAD = 4
"""Runs in hand at once, for each core."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RunsOptions:
    """Which runs a page has.

    `wanted` is one of `CHOICES`, numbers such as `17,18,40..60`, or a choice and numbers: `first,28`.
    `most_bytes` is how much their blocks may take, None without a limit. `page` is the file that is written,
    where it is not the folder's own.
    """

    wanted: str = "auto"
    most_bytes: int | None = None
    jobs: int | None = None
    progress: Progress | None = None
    page: Path | None = None


@dataclass
class RunBlocks:
    """The blocks of runs, by number; why some are not there; what runs one again."""

    blocks: dict[int, str] = field(default_factory=dict)
    note: str = ""
    command: tuple[str, str] | None = None
    """What stands before the run's number and after it."""
    remarks: list[str] = field(default_factory=list)


def run_blocks(results: Results, options: RunsOptions, responses: Sequence[str]) -> RunBlocks:
    """Packs the packets of the runs that are wanted. `responses` are the columns told with each.

    A run that cannot be had is left out with a remark. Raises UsageError for an unknown choice.
    """
    found = RunBlocks()
    kept = _kept(results)
    again, why_not = _again(results)
    numbers, whole = _chosen(results, options.wanted, kept, again is not None)
    if again is not None and results.folder is not None:
        before = "" if options.wanted == "none" else f"{options.wanted},"
        page = f" --out {shlex.quote(str(options.page))}" if options.page else ""
        found.command = (f"rexmit report {shlex.quote(str(results.folder))} --with-runs {before}", page)
    packer = _Packer(results, again, kept, responses)
    total, used, full = len(numbers), 0, False
    failed: list[str] = []
    _report(options, 0, total)
    for done, (number, block) in enumerate(packer.work(numbers, options.jobs or usable_cores()), start=1):
        _report(options, done, total)
        if isinstance(block, str):
            used += len(block)
            if options.most_bytes is not None and used > options.most_bytes:
                whole, full = False, True
                _report(options, total, total)
                break
            found.blocks[number] = block
        else:
            failed.append(one_line(block))
    if failed:
        many = f"{len(failed):,} runs are without packets; the first: " if len(failed) > 1 else ""
        found.remarks.append(f"{many}{failed[0]}.")
    if full and (options.wanted != "auto" or not found.blocks):
        told = f"Of {total:,} runs that were to be in the page, {len(found.blocks):,} fit its size."
        found.remarks.append(f"{told} Give a larger --max-size or --data beside.")
    found.note = _note(found, len(results), whole, why_not)
    return found


def _report(options: RunsOptions, done: int, total: int) -> None:
    if options.progress is not None and total:
        options.progress("packets of runs", done, total)


def _again(results: Results) -> tuple[Again | None, str]:
    """What runs them again, or why nothing does."""
    try:
        return Again(results), ""
    except RexmitError as error:
        return None, one_line(error)


def _kept(results: Results) -> dict[int, list[Path]]:
    """Captures in the folder by run: of each first the one at the host that sends."""
    if results.folder is None:
        return {}
    found: dict[int, list[Path]] = {}
    for host in _hosts(results):
        for path in sorted((results.folder / "captures").glob(f"run-*-{host}.pcapng")):
            match = CAPTURE_NAME.fullmatch(path.name)
            number = int(match[1]) if match else -1
            if path == capture_path(results.folder, number, host):
                check_file(path, KEPT_CAPTURE)
                found.setdefault(number, []).append(path)
    return dict(sorted(found.items()))


def sender_of(results: Results) -> str:
    """The host that sends most of the transfers: where it sends, retransmissions are judged best."""
    return _hosts(results)[0]


def _hosts(results: Results) -> list[str]:
    """The hosts whose packets a page may have: of two both, of a network those that send.

    What sends most comes first.
    """
    scenario = results.study["scenario"]
    transfers = scenario.get("transfers", [])
    senders = [str(one.get("from", "server")) for one in transfers]
    known = hosts_of(scenario)
    if not is_network(scenario):
        return sorted(known, key=lambda host: (-senders.count(host), host != "server"))
    # A group sends by each of its hosts; the first of them stands for it.
    first = {name.rpartition("-")[0]: name for name in reversed(known)}
    sending = dict.fromkeys(one if one in known else first.get(one, known[0]) for one in senders)
    return sorted(sending, key=lambda host: -sum(host in (one, first.get(one)) for one in senders))


def _chosen(results: Results, wanted: str, kept: Collection[int], repeatable: bool) -> tuple[list[int], bool]:
    """The numbers of the runs, in the order in which they are packed, and whether these are all."""
    runs = len(results)
    choice, comma, numbers = wanted.partition(",")
    if comma and choice in CHOICES:
        first, _ = _chosen(results, numbers, kept, repeatable)
        # Those that are named go first: they are what must fit.
        return list(dict.fromkeys([*first, *_chosen(results, choice, kept, repeatable)[0]])), False
    if wanted == "none":
        return [], False
    if wanted == "kept" or (wanted in CHOICES and not repeatable):
        return list(kept), len(kept) == runs
    if wanted not in CHOICES:
        last = results.spec().design.runs - 1
        try:
            return list(numbers_of(wanted, 0, last)), False
        except UsageError as error:
            raise UsageError(f"{one_line(error)}; or one of {', '.join(CHOICES)}") from None
    order = list(spread(results))
    if wanted == "all":
        return [*order, *sorted(set(range(runs)) - set(order))], True
    if wanted == "first":
        return order, len(order) == runs
    # Unless told otherwise, only what is quick: a kernel boots for each run.
    quick = str(results.study["backend"]) not in ("uml", "kernel")
    chosen = list(dict.fromkeys([*kept, *(order if quick else [])]))
    chosen = chosen[: max(AUTO_RUNS, len(kept))]
    return chosen, len(chosen) == runs


def spread(results: Results) -> Iterator[int]:
    """The first replication of each combination of levels, curve by curve.

    The runs of a curve (all levels of the factor with most of them, of positions first) follow each other;
    the curves come in an order in which any beginning is spread over the design.
    """
    table = results.table()
    there = set(table["run"].to_list())
    design = results.spec().design
    sizes = [len(factor.levels) for factor in design.factors]
    ranks = [(factor.is_position, len(factor.levels)) for factor in design.factors]
    along = ranks.index(max(ranks)) if ranks else 0
    curves = 1
    for place, size in enumerate(sizes):
        curves *= 1 if place == along else size
    for curve in _van_der_corput(curves):
        levels, rest = [0] * len(sizes), curve
        for place in reversed(range(len(sizes))):
            if place != along:
                rest, levels[place] = divmod(rest, sizes[place])
        for level in range(sizes[along] if sizes else 1):
            if sizes:
                levels[along] = level
            number = design.number(levels)
            if number in there:
                yield number


def _van_der_corput(count: int) -> Iterator[int]:
    """0 to count - 1, each once: any beginning is spread evenly."""
    bits = max(count - 1, 1).bit_length()
    for number in range(1 << bits):
        mirrored = int(f"{number:0{bits}b}"[::-1], 2)
        if mirrored < count:
            yield mirrored


class _Packer:
    """Makes the blocks of runs, some at a time, in the order in which they are asked for."""

    def __init__(
        self,
        results: Results,
        again: Again | None,
        kept: Mapping[int, Sequence[Path]],
        responses: Sequence[str],
    ) -> None:
        self._results, self._again, self._kept = results, again, kept
        self._design = results.spec().design
        self._rows = RowsByRun(results.table(), responses)
        self._hosts = _hosts(results)

    def work(self, numbers: Sequence[int], jobs: int) -> Iterator[tuple[int, str | RexmitError]]:
        """Yields each run's number and its block, or why there is none."""
        with temporary_folder() as folder, workers(jobs) as pool:
            waiting: list[tuple[int, Future[str | RexmitError]]] = []
            # Closing this generator leaves the pool by an error, which ends what is under way.
            for number in numbers:
                waiting.append((number, pool.submit(self._make, number, folder)))
                if len(waiting) >= AHEAD * jobs:
                    first, block = waiting.pop(0)
                    yield first, block.result()
            for number, block in waiting:
                yield number, block.result()

    def _make(self, number: int, folder: Path) -> str | RexmitError:
        try:
            if number in self._rows and self._again is not None:
                return self._made_again(self._again, number, folder / f"run-{number}.pcapng")
            about = self._about(number, self._stored(number))
            for path in self._kept.get(number, ()):
                with contextlib.suppress(UsageError):
                    return pack_trace(path, about)
        except RexmitError as error:
            return error
        if number in self._kept:
            return UsageError(f"run {number} has captures, but none with a connection that can be read")
        return UsageError(f"run {number} is not among these results, or its packets were not kept")

    def _made_again(self, again: Again, number: int, path: Path) -> str:
        """The run as the sending host saw it, or, where that saw nothing (a failed run), as the other did."""
        for host in self._hosts:
            try:
                made = again.run(number, {host: path})
                tables = {kind: pl.DataFrame(pl.from_arrow(table)) for kind, table in made.items()}
                about = self._about(number, tables)
                # What it raises for a capture without a connection names a file that nobody knows.
                with contextlib.suppress(UsageError):
                    return pack_trace(path, about)
            finally:
                remove_file(path)
        hosts = self._results.study["scenario"]["hosts"].values()
        if all(host["stack"]["protocol"] == "quic" for host in hosts):
            raise UsageError(f"run {number} has connections of QUIC alone, which are not drawn")
        raise UsageError(f"run {number} has no connection: no host saw a packet of one")

    def _stored(self, number: int) -> dict[str, pl.DataFrame]:
        folder = self._results.folder
        paths = {} if folder is None else {k: table_path(folder, number, k) for k in ("state", "verdicts")}
        return {kind: run_table(path) for kind, path in paths.items() if path.exists()}

    def _about(self, number: int, tables: dict[str, pl.DataFrame]) -> About:
        levels = self.labels(number)
        words = in_words(list(levels), self._results.study["scenario"])
        told = [level_in_words(words[name], label) for name, label in levels.items()]
        title = ", ".join(told) or self._results.title
        row = self._rows.of(number) if number in self._rows else {}
        return About(
            number, f"run {number}: {title}", levels, row, tables.get("state"), tables.get("verdicts")
        )

    def labels(self, number: int) -> dict[str, str]:
        """The label of each factor in a run."""
        levels = self._design.point(number).levels
        return {
            factor.name: readable(factor.labels[level])
            for factor, level in zip(self._design.factors, levels, strict=True)
        }


def _note(found: RunBlocks, runs: int, whole: bool, why_not: str) -> str:
    """What the page says of the runs that it has, and of the others."""
    here = len(found.blocks)
    if here == runs:
        return "The packets of every run are in this page."
    if why_not:
        return f"The packets of {here:,} of {runs:,} runs are in this page, those that were kept: {why_not}."
    if not here:
        return "No run's packets are in this page; the command runs one again and puts it in."
    limited = "" if whole else " More did not fit or were not asked for."
    return f"The packets of {here:,} of {runs:,} runs are in this page.{limited}"
