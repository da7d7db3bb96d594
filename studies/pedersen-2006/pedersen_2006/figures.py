"""The figures of pedersen-2006."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
from rexmit import Results
from rexmit.analyse import load_published, retransmission_delays

from . import charts, rtts
from .causes import draw_clocks, draw_window
from .charts import CLASSES, EXTENSIONS, Cell, Group
from .linux_cells import PARTS
from .messages import draw_switches, draw_today
from .single import figure_3_9, figure_4_3, figure_5_1

PUBLISHED = Path(__file__).parent.parent / "published.csv"
_QUANTITIES = {
    "retransmissions": "number",
    "least delay": "min",
    "greatest delay": "max",
    "mean delay": "avg",
}
_THIN = {"0 ms": "3-03", "100 ms": "3-04", "200 ms": "3-05", "400 ms": "3-06"}
_SACK_DELAY = "hosts.server.stack.sack.delay"
_READINGS = {
    "+reduce RTO+FR": "",
    "all but restart": "+reduce RTO+FR",
    "+reduce RTO+FR, restart": "+reduce RTO+FR",
    "+FR bundling, restart": "+FR bundling",
}
"""Levels that published rows of another name are compared with; none is for the literal reading."""


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    part = results.name.partition("/")[2]
    drawings: Mapping[str, Callable[[Results, Path, Sequence[str]], list[Path]]] = {
        "thin": _thin,
        "thick": _thick,
        "tcp-thin": _tcp_thin,
        "tcp-thick": _tcp_thick,
        "tcp-thin-reno": _tcp_thin,
        "tcp-thick-reno": _tcp_thick,
        "figure-4-03": figure_4_3,
        "figure-5-01": figure_5_1,
        "enhancements": _enhancements,
        "burst": _burst,
        "restart": _restart,
        "window": draw_window,
        "clocks": draw_clocks,
        "rto": _rto,
        "switches": draw_switches,
        "switches-today": draw_switches,
        "today": draw_today,
        "linux": draw_today,
        "linux-tcp": draw_today,
        "usrsctp": draw_today,
    }
    on_linux = {name: drawings[stood_for] for stood_for, name in PARTS.items()}
    return {**drawings, **on_linux}[part](results, out, formats)


def _thin(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    published, files = _Published("thin"), []
    frame, runs = results.retransmissions(), results.table()
    for rtt in runs["rtt"].unique(maintain_order=True):
        own = frame.filter(pl.col("rtt") == rtt)
        numbers = [number for number in (1, 2, 3, 4) if number in own["number"].unique()]
        groups = [
            Group(
                label,
                {
                    float(n): Cell(
                        _by_run(own.filter((pl.col("number") == n) & (pl.col("class") == kind))),
                        published.of(
                            rtt_ms=rtt.removesuffix(" ms"), retransmission=str(n), **{"class": kind}
                        ),
                    )
                    for n in numbers
                },
            )
            for kind, label in CLASSES.items()
        ]
        number = _THIN.get(rtt, "3-x")
        title = f"Figure {_figure(number)}: SCTP, thin stream, RTT {rtt}"
        place = out / f"figure-{number}-thin-rtt-{rtt.removesuffix(' ms')}"
        ticks = {float(n): f"{n}." for n in numbers}
        axis = "Number of the retransmission of a chunk; delays since its first transmission"
        files += charts.draw_delays(groups, ticks, axis, title, place, formats)
    return files + _thin_counts(results, published, out, formats)


def _thin_counts(results: Results, published: _Published, out: Path, formats: Sequence[str]) -> list[Path]:
    frame, runs = results.retransmissions(), results.table()
    rtts = runs["rtt"].unique(maintain_order=True).to_list()
    first = frame.filter(pl.col("number") == 1)
    groups = []
    for kind, label in CLASSES.items():
        cells = {}
        for place, rtt in enumerate(rtts):
            counted = _by_run(first.filter((pl.col("rtt") == rtt) & (pl.col("class") == kind)))
            every = runs.filter(pl.col("rtt") == rtt).select("run")
            counted = every.join(counted, on="run", how="left").with_columns(pl.col("count").fill_null(0))
            values = published.of(rtt_ms=rtt.removesuffix(" ms"), retransmission="1", **{"class": kind})
            cells[float(place)] = Cell(counted, values)
        groups.append(Group(label, cells))
    ticks = {float(place): rtt for place, rtt in enumerate(rtts)}
    title = "Tables 3.2 to 3.5: what makes SCTP send a chunk of a thin stream again"
    return charts.draw_counts(groups, ticks, "RTT", title, out / "counts-thin", formats)


def _thick(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    published, frame = _Published("thick"), results.retransmissions()
    panels = {}
    for rtt in results.table()["rtt"].unique(maintain_order=True):
        own = frame.filter(pl.col("rtt") == rtt)
        cells = {
            float(n): Cell(
                _by_run(own.filter(pl.col("number") == n)),
                published.of(rtt_ms=rtt.removesuffix(" ms"), retransmission=str(n)),
            )
            for n in range(1, 6)
        }
        panels[f"RTT {rtt}"] = [Group("retransmissions of all kinds", cells)]
    ticks = {float(n): f"{n}." for n in range(1, 6)}
    title = "Figure 3.2: SCTP, thick stream, delay since the first transmission"
    place = out / "figure-3-02-thick"
    drawn = charts.draw_panels(panels, ticks, "Number of the retransmission", title, place, formats)
    if results.name.endswith(PARTS["thick"]):
        return drawn
    return drawn + figure_3_9(results, out, formats)


def _tcp_thin(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    return _tcp(results, "Figure 3.8: {}, thin stream", out / "figure-3-08", formats)


def _tcp_thick(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    return _tcp(results, "Figure 3.7: {}, thick stream", out / "figure-3-07", formats)


def _tcp(results: Results, title: str, place: Path, formats: Sequence[str]) -> list[Path]:
    part = results.name.partition("/")[2]
    published, frame = (
        _Published(part.removeprefix("linux-").removesuffix("-reno")),
        results.retransmissions(),
    )
    rtts = results.table()["rtt"].unique(maintain_order=True).to_list()
    groups = []
    for name in EXTENSIONS:
        cells = {}
        for at, rtt in enumerate(rtts):
            own = frame.filter((pl.col("rtt") == rtt) & (pl.col("extension") == name))
            values = published.of(rtt_ms=rtt.removesuffix(" ms"), variant=name)
            cells[float(at)] = Cell(_by_run(own, "consecutive"), {"avg": values["avg"]} if values else {})
        groups.append(Group(name, cells))
    ticks = {float(at): f"RTT {rtt}" for at, rtt in enumerate(rtts)}
    title = (
        title.format("TCP with Reno" if part.endswith("-reno") else "TCP")
        + ", mean delay since the transmission before"
    )
    return charts.draw_means(groups, ticks, title, place.with_name(f"{place.name}-{part}"), formats)


def _enhancements(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    title = "Figure 5.2: the enhancements, timeouts and fast retransmits together"
    return _rows(results, _READINGS, title, out / "figure-5-02-enhancements", formats)


def _burst(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    title = "Figure 5.3: bursts of four, timeouts and fast retransmits together"
    return _rows(results, _READINGS, title, out / "figure-5-03-bursts", formats)


def _rows(
    results: Results, readings: Mapping[str, str], title: str, place: Path, formats: Sequence[str]
) -> list[Path]:
    published, frame = _Published(results.name.partition("/")[2]), results.retransmissions()
    both = frame.filter(pl.col("class").is_in(["timeout", "fast"]))
    numbers = range(1, min(max(both["number"].to_list(), default=1), 4) + 1)
    groups = []
    for name in results.table()["enhancements"].unique(maintain_order=True):
        own = both.filter(pl.col("enhancements") == name)
        cells = {}
        for n in numbers:
            values = published.of(
                retransmission=str(n), variant=readings.get(name, name), **{"class": "timeout or fast"}
            )
            cells[float(n)] = Cell(_by_run(own.filter(pl.col("number") == n)), values)
        groups.append(Group(name, cells))
    ticks = {float(n): f"{n}." for n in numbers}
    axis = "Number of the retransmission of a chunk; delays since its first transmission"
    return charts.draw_delays(groups, ticks, axis, title, place, formats)


def _restart(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    column, groups = "hosts.client.stack.timer.restart_less_age", []
    for less_age, label in ((False, "restarted with the RTO"), (True, "with the RTO less the chunk's age")):
        own = results.retransmissions().filter(pl.col(column) == less_age)
        cells = {
            float(at): Cell(
                _by_run(own.filter((pl.col("number") == 1) & (pl.col("class") == kind))),
                {},
            )
            for at, kind in enumerate(CLASSES)
        }
        groups.append(Group(label, cells))
    ticks = {float(at): label for at, label in enumerate(CLASSES.values())}
    title = "Section 4.3.3: the restart of the timer, and nothing else, RTT 200 ms"
    return charts.draw_delays(
        groups, ticks, "First retransmission of a chunk", title, out / "restart", formats
    )


def _rto(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    files = []
    for number, delay in (("4-01", "200 ms"), ("4-02", "0 ns")):
        runs = results.table().filter(pl.col(_SACK_DELAY) == delay)["run"]
        if runs.is_empty():
            continue
        words = "with" if delay == "200 ms" else "without"
        title = f"Figure {_figure(number)}: calculated RTO on a thin stream, {words} SACK delay"
        name = f"figure-{number}-rto-{words}-sack-delay"
        files += charts.draw_timer(*timer(results, int(runs[0])), 208, title, out / name, formats)
    return files


def timer(results: Results, run: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The RTT samples of a run's sender and the calculated RTO, both with columns `time_s` and `ms`."""
    own = rtts.samples(results, run)
    measured = own.select((pl.col("time_ns") / 1e9).alias("time_s"), (pl.col("rtt_ns") / 1e6).alias("ms"))
    state = results.trace(run)["state"].filter((pl.col("host") == "client") & pl.col("srtt_ns").is_not_null())
    # What the timer would be without its least and greatest value, and without backoff.
    calculated = pl.col("srtt_ns") + 4 * pl.col("rttvar_ns")
    rto = state.select((pl.col("time_ns") / 1e9).alias("time_s"), (calculated / 1e6).alias("ms"))
    return measured, rto.filter(pl.col("ms") != pl.col("ms").shift(1).fill_null(0))


def _by_run(frame: pl.DataFrame, kind: str = "cumulative") -> pl.DataFrame:
    return retransmission_delays(frame, ["run"], kind)


class _Published:
    """The published delays and counts of a part, by their place."""

    def __init__(self, part: str) -> None:
        rows = load_published(PUBLISHED)
        self._rows = [row for row in rows if row.place["part"] == part and row.kind == "table"]

    def of(self, **place: str) -> dict[str, float]:
        """`number`, `min`, `max`, `avg` as far as they are published at this place."""
        found = [row for row in self._rows if all(row.place[key] == value for key, value in place.items())]
        return {
            _QUANTITIES[row.quantity]: float(row.value)
            for row in found
            if row.value and row.quantity in _QUANTITIES
        }


def _figure(number: str) -> str:
    chapter, figure = number.split("-")
    return f"{chapter}.{int(figure)}" if figure.isdigit() else number
