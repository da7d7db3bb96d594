"""Measures of connections and links: one number a run and measure, of all runs of a table at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rexmit.run.details import LINKS, LINKS_OVER_TIME, TRANSFERS, TRANSFERS_OVER_TIME, Detail
from rexmit.study import StudySpec
from rexmit.study.measures import LinkEnd, Measure
from rexmit.study.network import directions
from rexmit.study.ways import Ways, rate_of
from rexmit.tables.arrow import field

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class Measured:
    """The measures of a study, computed from the details that stand nested in rows of its runs."""

    def __init__(self, spec: StudySpec) -> None:
        self._measures = spec.measured
        self._ideal = _Ideal(spec)

    def beside(self, runs: pa.Table) -> pa.Table:
        """The table of some runs with a column for each measure."""
        if not self._measures:
            return runs
        rows = _Rows(runs)
        for one in self._measures:
            values = _OF[one.kind](one, rows, self._ideal)
            array = pa.array(values, mask=~np.isfinite(values))
            runs = runs.append_column(field(one.column, pa.float64()), array)
        return runs


class _Table:
    """The rows of a detail of all runs, each with the place of its run in the table of runs."""

    def __init__(self, runs: pa.Table, detail: Detail) -> None:
        if detail.column in runs.column_names:
            nested = runs.column(detail.column).combine_chunks()
        else:
            nested = pa.array([[]] * runs.num_rows, type=detail.nested)
        self.run: Integers = pc.list_parent_indices(nested).to_numpy(zero_copy_only=False).astype(np.int64)
        self._rows = pc.list_flatten(nested)

    def texts(self, name: str) -> pa.Array:
        return self._rows.field(name)

    def numbers(self, name: str) -> Floats:
        """Values of a column, not a number where there is none."""
        values = self._rows.field(name)
        kind = pa.uint8() if pa.types.is_boolean(values.type) else values.type
        found: Floats = values.cast(kind).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return found

    def where(self, name: str, among: Sequence[str]) -> Truths:
        """Which rows have one of these texts."""
        found: Truths = pc.is_in(self.texts(name), pa.array(among, type=pa.string())).to_numpy(
            zero_copy_only=False
        )
        return found


class _Rows:
    """The details of some runs as columns of numbers."""

    def __init__(self, runs: pa.Table) -> None:
        self._runs = runs
        self.count: int = runs.num_rows

    @cached_property
    def numbers(self) -> Integers:
        """The numbers of the runs."""
        found: Integers = self._runs.column("run").to_numpy().astype(np.int64)
        return found

    @cached_property
    def ends(self) -> Floats:
        """When each run ended, ns."""
        found: Floats = self._runs.column("virtual_ns").to_numpy().astype(np.float64)
        return found

    @cached_property
    def transfers(self) -> _Table:
        return _Table(self._runs, TRANSFERS)

    @cached_property
    def links(self) -> _Table:
        return _Table(self._runs, LINKS)

    @cached_property
    def over_time(self) -> _Table:
        return _Table(self._runs, TRANSFERS_OVER_TIME)

    @cached_property
    def links_over_time(self) -> _Table:
        return _Table(self._runs, LINKS_OVER_TIME)

    @cached_property
    def row_of(self) -> Integers:
        """For each row of `over_time` the row of its connection in `transfers`."""
        key = self.transfers.run * _CONNECTIONS + self.transfers.numbers("connection").astype(np.int64)
        order = np.argsort(key, kind="stable")
        asked = self.over_time.run * _CONNECTIONS + self.over_time.numbers("connection").astype(np.int64)
        places: Integers = order[np.searchsorted(key[order], asked)]
        return places

    def chosen(self, names: Sequence[str] | None) -> Truths:
        """The connections of these transfers."""
        if names is None:
            return np.ones(len(self.transfers.run), dtype=np.bool_)
        return self.transfers.where("transfer", names)

    def sums(self, values: Floats, which: Truths) -> Floats:
        """Sums of the values of some connections, run by run."""
        return np.bincount(self.transfers.run[which], values[which], self.count).astype(np.float64)

    def counts(self, which: Truths) -> Floats:
        """How many connections, run by run."""
        return np.bincount(self.transfers.run[which], minlength=self.count).astype(np.float64)


_CONNECTIONS = 1 << 32


def _delivered(one: Measure, rows: _Rows, column: str) -> tuple[Floats, Truths]:
    """What each connection delivered, in the window if there is one, and which were open then."""
    table = rows.transfers
    opened = table.numbers("opened_ns")
    if one.window is None:
        return table.numbers(column), ~np.isnan(opened)
    start, end = one.window[0], np.inf if one.window[1] is None else one.window[1]
    over = rows.over_time
    inside = (over.numbers("from_ns") >= start) & (over.numbers("to_ns") <= end)
    found = np.bincount(rows.row_of[inside], over.numbers("bytes")[inside], len(opened)).astype(np.float64)
    ended = opened + table.numbers("time_ns")
    return found, (opened < end) & ~(ended <= start)


def _jain(one: Measure, rows: _Rows, _: _Ideal) -> Floats:
    values, open_then = _delivered(one, rows, "goodput_bit_s")
    which = rows.chosen(one.transfers) & open_then
    total, squares = rows.sums(values, which), rows.sums(values * values, which)
    return _over(total * total, rows.counts(which) * squares)


def _ratio(one: Measure, rows: _Rows, _: _Ideal) -> Floats:
    values, open_then = _delivered(one, rows, "goodput_bit_s")
    means = []
    for names in (one.transfers, one.over):
        which = rows.chosen(names) & open_then
        means.append(_over(rows.sums(values, which), rows.counts(which)))
    return _over(*means)


def _share(one: Measure, rows: _Rows, ideal: _Ideal) -> Floats:
    values, open_then = _delivered(one, rows, "bytes")
    theirs = rows.sums(values, rows.chosen(one.transfers) & open_then)
    if one.link is None:
        return _over(theirs, rows.sums(values, open_then))
    ends = rows.ends if one.window is None or one.window[1] is None else np.minimum(rows.ends, one.window[1])
    length = np.maximum(ends - (0 if one.window is None else one.window[0]), 0)
    rates = ideal.rates(one.link, rows)
    return _over(theirs * 8e9, np.where(np.isfinite(rates), rates, np.nan) * length)


def _link_rows(link: LinkEnd, table: _Table, count: int) -> Integers:
    """The row of a direction of a link in each run, the first that fits; -1 where there is none."""
    fits = table.where("link", [link.name])
    for name, column in ((link.start, "from_point"), (link.end, "to_point")):
        if name is not None:
            fits &= table.where(column, [name])
    places = np.flatnonzero(fits)[::-1]
    found = np.full(count, -1, dtype=np.int64)
    found[table.run[places]] = places
    return found


def _of_link(one: Measure, rows: _Rows, column: str) -> Floats:
    assert one.link is not None, "a measure of a link has one"
    at = _link_rows(one.link, rows.links, rows.count)
    values = np.append(rows.links.numbers(column), np.nan)
    return values[at]


def _intervals_of_link(one: Measure, rows: _Rows) -> Truths:
    """The intervals of its link, in each run."""
    assert one.link is not None, "a measure of a link has one"
    at = _link_rows(one.link, rows.links, rows.count)
    over = rows.links_over_time
    own = over.where("link", [one.link.name])
    for column in ("from_point", "to_point"):
        meant, given = _codes(rows.links.texts(column), over.texts(column))
        own &= np.append(meant, -1)[at][over.run] == given
    return own


def _inside(window: tuple[int, int | None], over: _Table) -> Truths:
    """The intervals that lie in a window."""
    inside: Truths = over.numbers("from_ns") >= window[0]
    if window[1] is not None:
        inside &= over.numbers("to_ns") <= window[1]
    return inside


def _utilisation(one: Measure, rows: _Rows, _: _Ideal) -> Floats:
    whole = _of_link(one, rows, "utilisation")
    if one.window is None:
        return whole
    over, own = rows.links_over_time, _intervals_of_link(one, rows)
    lengths = over.numbers("to_ns") - over.numbers("from_ns")
    rates = []
    for which in (own & _inside(one.window, over), own):
        passed = np.bincount(over.run[which], over.numbers("passed_bytes")[which], rows.count)
        rates.append(_over(passed, np.bincount(over.run[which], lengths[which], rows.count)))
    # A link that passed nothing at all has passed nothing in the window.
    return np.where((whole == 0) & ~np.isnan(rates[0]), 0.0, whole * _over(*rates))


def _drops(one: Measure, rows: _Rows, _: _Ideal) -> Floats:
    if one.window is None:
        return _of_link(one, rows, f"drops_{one.reason}" if one.reason else "drops")
    over = rows.links_over_time
    which = _intervals_of_link(one, rows) & _inside(one.window, over)
    found = np.bincount(over.run[which], over.numbers("drops")[which], rows.count)
    return np.where(np.bincount(over.run[which], minlength=rows.count) > 0, found, np.nan)


def _queue(one: Measure, rows: _Rows, _: _Ideal) -> Floats:
    column = f"queue_packets_{one.stat}" if one.in_packets else f"queue_{one.stat}_ms"
    if one.window is None:
        return _of_link(one, rows, column)
    over = rows.links_over_time
    values = over.numbers(column)
    which = _intervals_of_link(one, rows) & _inside(one.window, over) & ~np.isnan(values)
    if one.stat == "max":
        most = np.full(rows.count, -np.inf)
        np.maximum.at(most, over.run[which], values[which])
        return np.where(np.isfinite(most), most, np.nan)
    lengths = over.numbers("to_ns") - over.numbers("from_ns")
    weighted = np.bincount(over.run[which], (values * lengths)[which], rows.count)
    return _over(weighted, np.bincount(over.run[which], lengths[which], rows.count))


def _completion(one: Measure, rows: _Rows, _: _Ideal) -> Floats:
    times = rows.transfers.numbers("time_ns")
    return _stat(one.stat, times / 1e6, _ended(one, rows, times), rows)


def _slowdown(one: Measure, rows: _Rows, ideal: _Ideal) -> Floats:
    times = rows.transfers.numbers("time_ns")
    which = _ended(one, rows, times)
    return _stat(one.stat, times / ideal.times(rows, which), which, rows)


def _ended(one: Measure, rows: _Rows, times: Floats) -> Truths:
    """The connections that ended, of these transfers and sizes."""
    size = rows.transfers.numbers("bytes")
    which = rows.chosen(one.transfers) & ~np.isnan(times) & (rows.transfers.numbers("completed") > 0)
    least, below = one.sizes
    return which & (size >= least) & (size < (np.inf if below is None else below))


def _stat(stat: str, values: Floats, which: Truths, rows: _Rows) -> Floats:
    """The mean, a quantile or the largest of some connections' values, run by run."""
    if stat == "mean":
        return _over(rows.sums(values, which), rows.counts(which))
    run, values = rows.transfers.run[which], values[which]
    order = np.lexsort((values, run))
    values = np.append(values[order], np.nan)
    counts = np.bincount(run, minlength=rows.count)
    first = np.cumsum(counts) - counts
    # Between two values, in proportion to where the quantile lies.
    at = _QUANTILES.get(stat, 1.0) * np.maximum(counts - 1, 0)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(counts - 1, 0))
    low_values, high_values = values[first + low], values[first + high]
    found = low_values + (high_values - low_values) * (at - low)
    return np.where(counts > 0, found, np.nan)


def _convergence(one: Measure, rows: _Rows, _: _Ideal) -> Floats:
    table, over = rows.transfers, rows.over_time
    opened = table.numbers("opened_ns")
    which = rows.chosen(one.transfers) & ~np.isnan(opened)
    last = np.full(rows.count, -np.inf)
    np.maximum.at(last, table.run[which], opened[which])
    own = which[rows.row_of]
    begins, ends = over.numbers("from_ns")[own], over.numbers("to_ns")[own]
    run, bytes_ = over.run[own], over.numbers("bytes")[own]
    # One entry an interval of a run in which any of them delivered something, in order.
    order = np.lexsort((begins, run))
    run, begins, ends, bytes_ = run[order], begins[order], ends[order], bytes_[order]
    new = np.append(True, (run[1:] != run[:-1]) | (begins[1:] != begins[:-1]))[: len(run)]
    at = np.flatnonzero(new)
    if not len(at):
        return np.full(rows.count, np.nan)
    run, begins, ends = run[at], begins[at], ends[at]
    fair = np.add.reduceat(bytes_, at) / rows.counts(which)[run]
    all_there = np.diff(np.append(at, len(bytes_))) == rows.counts(which)[run]
    most, least = np.maximum.reduceat(bytes_, at), np.minimum.reduceat(bytes_, at)
    # The last interval may be a moment long; a share of nothing is not a share.
    well = all_there & (most <= one.within * fair) & (least * one.within >= fair) & (begins >= last[run])
    follows = np.append(False, well[1:] & well[:-1] & (run[1:] == run[:-1]) & (begins[1:] == ends[:-1]))
    spell = np.maximum.accumulate(np.where(follows, 0, np.arange(len(run))))
    enough = np.flatnonzero(well & (ends - begins[spell] >= one.span))[::-1]
    found = np.full(rows.count, np.nan)
    found[run[enough]] = (begins[spell[enough]] - last[run[enough]]) / 1e9
    return found


class _Ideal:
    """The time in which each connection could have delivered its bytes, alone and without queues."""

    def __init__(self, spec: StudySpec) -> None:
        self._spec = spec
        self._ways: dict[int, Ways] = {}
        repeat = spec.design.runs
        self._places = []
        for factor in spec.design.factors:
            repeat //= len(factor.levels)
            if any(_is_of_network(name) for name in factor.settings or (factor.name,)):
                self._places.append((repeat, len(factor.levels)))

    def times(self, rows: _Rows, which: Truths) -> Floats:
        """Ideal completion times in ns of these connections, not a number for others and for unknown ones."""
        table, size = rows.transfers, rows.transfers.numbers("bytes")
        found = np.full(len(size), np.nan)
        places = np.flatnonzero(which)
        if not len(places):
            return found
        senders, receivers = table.texts("sender"), table.texts("receiver")
        variant = self._variants(rows.numbers)[table.run]
        sender, receiver = (_codes(one)[0] for one in (senders, receivers))
        # Connections with one way in scenarios that have the same links: looked up once.
        keys = np.stack([variant[places], sender[places], receiver[places]])
        _, first, of = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        ways = []
        for place in places[first]:
            number = int(rows.numbers[table.run[place]])
            known = self._of(int(variant[place]), number)
            ways.append(known.between(senders[int(place)].as_py(), receivers[int(place)].as_py()))
        rate = np.array([way.rate for way in ways])[of.ravel()]
        trip = np.array([way.round_trip for way in ways])[of.ravel()]
        found[places] = trip + size[places] * 8e9 / rate
        return np.where(found > 0, found, np.nan)

    def rates(self, link: LinkEnd, rows: _Rows) -> Floats:
        """The rate of a direction of a link in each run, bit/s; not a number where it is not known."""
        variants = self._variants(rows.numbers)
        known: dict[int, float] = {}
        for variant, run in zip(variants.tolist(), rows.numbers.tolist(), strict=True):
            if variant not in known:
                ways = directions(self._spec.scenario_of(run))
                known[variant] = next((rate_of(way.settings) for way in ways if link.is_of(way)), np.nan)
        return np.array([known[variant] for variant in variants.tolist()])

    def _of(self, variant: int, run: int) -> Ways:
        if variant not in self._ways:
            self._ways[variant] = Ways(self._spec.scenario_of(run))
        return self._ways[variant]

    def _variants(self, runs: Integers) -> Integers:
        """A number for each run; runs with the same number have the same links."""
        found = np.zeros(len(runs), dtype=np.int64)
        for repeat, levels in self._places:
            found = found * levels + runs // repeat % levels
        return found


def _is_of_network(setting: str) -> bool:
    return setting.split(".")[0] in ("links", "hosts", "path") and ".stack" not in setting


def _codes(*columns: pa.Array) -> list[Integers]:
    """Texts as numbers, the same text with the same number in all columns."""
    whole = pa.concat_arrays([column.cast(pa.string()) for column in columns]).dictionary_encode()
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])


def _over(numerator: Any, denominator: Any) -> Floats:
    """A quotient, not a number where nothing is divided by nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.asarray(numerator, dtype=np.float64) / np.asarray(denominator, dtype=np.float64)
    return found


_OF = {
    "jain": _jain,
    "ratio": _ratio,
    "share": _share,
    "utilisation": _utilisation,
    "drops": _drops,
    "queue": _queue,
    "completion": _completion,
    "slowdown": _slowdown,
    "convergence": _convergence,
}
