"""What merritt-2010's rule for an uplink's buffer asks for, measured: from captures, or from states of runs.

The RTT of the download alone, and the largest windows of the download and of the upload while both run
(section 6.4 of the study). What makes a value doubtful is said with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rexmit.analyse.quantities import share, size
from rexmit.errors import UsageError, printable
from rexmit.units import plural

FAR, TOO_FAR = 0.1, 0.5
"""Shares of the RTT between a capture and a sender: above the first a value is doubted, above the second an
RTT is refused."""

UNFILLED = 1.25
"""A congestion window this many times what was ever in flight limited nothing."""


@dataclass(frozen=True)
class Measured:
    """A value in seconds or bytes, where it comes from, and what makes it doubtful."""

    value: float
    source: str
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class UplinkMeasured:
    """The measured inputs of the rule."""

    rtt: Measured
    max_window_down: Measured
    max_window_up: Measured


@dataclass(frozen=True)
class CapturedFlows:
    """The tables of a capture, and its name for messages."""

    name: str
    connections: pl.DataFrame
    segments: pl.DataFrame
    rtt: pl.DataFrame


@dataclass(frozen=True)
class _Flow:
    """A connection's data in one direction: who sends, and what the capture shows of it."""

    capture: CapturedFlows
    sender: str
    receiver: str
    row: dict[str, Any]
    side: str

    def of(self, column: str) -> Any:
        return self.row[f"{self.side}_{column}"]

    @property
    def label(self) -> str:
        return f"{printable(self.capture.name)}, connection {self.row['connection']}"

    def own(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rows of a table that are of this connection and side."""
        return table.filter((pl.col("connection") == self.row["connection"]) & (pl.col("side") == self.side))

    @property
    def begin(self) -> int:
        """When its first data were seen, ns."""
        data = self.own(self.capture.segments).filter(pl.col("len") > 0)["time_ns"]
        return int(data.min())  # type: ignore[arg-type]

    @property
    def distance(self) -> float | None:
        """The share of the round-trip time that lies between the capture and the sender."""
        client = self.row["vantage_client_share"]
        if client is None:
            return None
        return float(client if self.side == "client" else 1 - client)


def uplink_from_captures(alone: CapturedFlows, both: Sequence[CapturedFlows]) -> UplinkMeasured:
    """The inputs from a capture of the download alone and captures, at one or both ends, of both transfers.

    The download is the flow with most data in the first; in the others it is the one with most data in the
    same direction, the upload the one with most data in the other. A capture may hold both times, one after
    the other: the RTT is taken before the upload's first data there, the windows from these on. Raises
    UsageError where a flow is not there, or where the first capture is too far from the sender to show its
    RTT.
    """
    download = _largest(_flows(alone), alone.name, "a download")
    flows = [_flows(capture) for capture in both]
    names = ", ".join(printable(capture.name) for capture in both)
    there, back = (download.sender, download.receiver), (download.receiver, download.sender)
    down, up = (
        [[flow for flow in of_one if (flow.sender, flow.receiver) == way] for of_one in flows]
        for way in (there, back)
    )
    begins = [_begin(of_one) for of_one in up]
    return UplinkMeasured(
        _rtt(download, _begin([flow for flow in _flows(alone) if (flow.sender, flow.receiver) == back])),
        _outstanding(down, begins, names, f"the download from {there[0]} to {there[1]}"),
        _outstanding(up, begins, names, f"an upload from {back[0]} to {back[1]}"),
    )


def uplink_from_state(table: pl.DataFrame, scenario: dict[str, Any], where: str) -> UplinkMeasured:
    """The inputs from the table of state of one run, whose scenario says which connection is which.

    The download is sent by the server, the upload by the client. The RTT is the mean of the sender's smoothed
    RTT over the rows before the upload's first one, the windows are the largest cwnd from that one on: the
    slow start with which the download began says nothing of it (section 6.4 starts the upload after it, but
    the study's own script takes the whole log). Raises UsageError where the run does not have one of each, or
    the upload began before the download had an RTT.
    """
    download, upload = (_only_connection(scenario, sender, where) for sender in ("server", "client"))
    down = _rows(table, "server", download)
    up = _rows(table, "client", upload)
    if down.is_empty() or up.is_empty():
        raise UsageError(
            f"{where}: has no rows of the {'download' if down.is_empty() else 'upload'}'s sender"
        )
    begin = up["time_ns"].min()
    alone = down.filter((pl.col("time_ns") < begin) & (pl.col("srtt_ns").is_not_null()))["srtt_ns"]
    if alone.is_empty():
        raise UsageError(
            f"{where}: the upload began before the download had an RTT; start it later, or give --rtt"
        )
    mean = alone.cast(pl.Float64).mean()
    assert isinstance(mean, float)
    source = f"{where}: mean of {alone.len():,} smoothed RTTs of the download before the upload began"
    return UplinkMeasured(
        Measured(mean / 1e9, source),
        _largest_cwnd(down.filter(pl.col("time_ns") >= begin), where, "download"),
        _largest_cwnd(up, where, "upload"),
    )


def _begin(flows: Sequence[_Flow]) -> int | None:
    """When the flow with most data began; None where none has any."""
    found = max(flows, key=_data, default=None)
    return found.begin if found is not None and _data(found) else None


def _rtt(download: _Flow, until: int | None) -> Measured:
    far = download.distance
    if far is not None and far > TOO_FAR:
        raise UsageError(
            f"{download.label}: was captured {share(far)} of the RTT away from the download's sender, where "
            "ACKs show no RTT; capture at the sender, or give --rtt"
        )
    count, mean = download.of("rtt_count"), download.of("rtt_mean_ns")
    before = ""
    if until is not None:
        samples = download.own(download.capture.rtt).filter(pl.col("method") == "ack")
        alone = samples.filter(pl.col("time_ns") < until)["rtt_ns"]
        count, mean, before = alone.len(), alone.mean(), " before the upload began"
    if not count:
        raise UsageError(f"{download.label}: has no RTT sample of the download{before}; give --rtt")
    doubts = []
    if far is None:
        doubts.append("it does not show how far from the sender it was made; the RTT counts from there")
    elif far > FAR:
        doubts.append(
            f"the capture lies {share(far)} of the RTT away from the sender, which the RTT does not include"
        )
    return Measured(mean / 1e9, f"{download.label}: mean of {count:,} RTT samples{before}", tuple(doubts))


def _outstanding(
    flows: Sequence[Sequence[_Flow]], begins: Sequence[int | None], names: str, what: str
) -> Measured:
    """The most outstanding from the upload's start on, in any capture: one at the sender shows all."""
    largest = []
    for of_one, begin in zip(flows, begins, strict=True):
        if any(map(_data, of_one)):
            found = _largest(of_one, names, what)
            sent = found.own(found.capture.segments).filter(pl.col("len") > 0)
            seen = sent.filter(pl.col("time_ns") >= (begin or 0))["outstanding"].to_list()
            largest.append((max(seen, default=0), found))
    if not any(most for most, _ in largest):
        raise UsageError(f"{names}: holds no TCP data of {what} while both run; give the capture that does")
    most, widest = max(largest, key=lambda entry: entry[0])
    doubts = []
    if widest.distance is None:
        doubts.append("it does not show how far from the sender it was made; more may be outstanding there")
    elif widest.distance > FAR:
        doubts.append(
            f"the capture lies {share(widest.distance)} of the RTT away from the sender, and what is on its "
            "way between them is not counted: capture at that end, too (--both may be given twice)"
        )
    return Measured(float(most), f"{widest.label}: most bytes outstanding while both run", tuple(doubts))


def _flows(capture: CapturedFlows) -> list[_Flow]:
    found = []
    for row in capture.connections.iter_rows(named=True):
        hosts = {side: _host(row[f"{side}_address"]) for side in ("client", "server")}
        for side, other in (("client", "server"), ("server", "client")):
            found.append(_Flow(capture, hosts[side], hosts[other], row, side))
    return found


def _largest(flows: Sequence[_Flow], names: str, what: str) -> _Flow:
    found = max(flows, key=_data, default=None)
    if found is None or not _data(found):
        raise UsageError(f"{names}: holds no TCP data of {what}; give the capture that does")
    return found


def _data(flow: _Flow) -> int:
    return int(flow.of("unique_bytes"))


def _host(address: str) -> str:
    """The address without its port; printable, as anything from a capture."""
    return printable(address.rpartition(":")[0].strip("[]"))


def _only_connection(scenario: dict[str, Any], sender: str, where: str) -> int:
    number = 0
    found: list[int] = []
    for transfer in scenario.get("transfers", []):
        count = int(transfer.get("connections", 1))
        if transfer.get("from", "server") == sender:
            found += range(number, number + count)
        number += count
    if len(found) != 1:
        what = plural(len(found), "download" if sender == "server" else "upload")
        raise UsageError(f"{where}: has {what} from the {sender}, and the rule is for one; give numbers")
    return found[0]


def _rows(table: pl.DataFrame, host: str, connection: int) -> pl.DataFrame:
    return table.filter((pl.col("host") == host) & (pl.col("connection") == connection))


def _largest_cwnd(rows: pl.DataFrame, where: str, what: str) -> Measured:
    known = rows.filter(pl.col("cwnd").is_not_null())
    if known.is_empty():
        option = "--max-window-down" if what == "download" else "--max-window-up"
        raise UsageError(f"{where}: knows no cwnd of the {what}; give {option}")
    most, flights = max(known["cwnd"].to_list()), known["in_flight"].drop_nulls().to_list()
    doubts: tuple[str, ...] = ()
    if flights and most > UNFILLED * (flight := max(flights)):
        doubts = (
            f"at most {size(flight)} were ever in flight: cwnd grew beyond what was sent, and something else "
            "(a window, a buffer, the application) was the limit",
        )
    return Measured(float(most), f"{where}: largest cwnd of the {what} while both run", doubts)
