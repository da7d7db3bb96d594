"""What a capture shows, in a form that two backends can be compared in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rexmit.analyse.captures import SMALL, Options
from rexmit.report.analysis import read

PUSH = 8
"""The control bit that is not compared: it says how a sender cut its packets."""

FIELDS = ("side", "seq", "len", "flags", "ack")


@dataclass(frozen=True)
class Seen:
    """The packets at the server, in order.

    `times` are ns since the first packet. `packets` has a row for each: side (0 the client, 1 the server),
    relative sequence number, bytes of data, flags but PSH, relative acknowledgment number (-1 for none).
    `causes` gives the cause of each retransmission by its row, `numbers` how often its data had been sent.
    """

    times: npt.NDArray[np.int64]
    packets: npt.NDArray[np.int64]
    causes: dict[int, str]
    numbers: dict[int, int]
    needless: int


def read_capture(path: Path) -> Seen:
    """Reads a capture of one connection and judges its retransmissions."""
    found = read([path], Options(jobs=1, tables=(*SMALL, "segments")))
    rows = found.segments.sort("number")
    side = (rows["side"].cast(str) == "server").to_numpy().astype(np.int64)
    columns = [
        side,
        rows["seq"].to_numpy(),
        rows["len"].to_numpy(),
        rows["flags"].to_numpy() & ~np.uint8(PUSH),
        rows["ack"].fill_null(-1).to_numpy(),
    ]
    times = rows["time_ns"].to_numpy().astype(np.int64)
    index = {number: n for n, number in enumerate(rows["number"])}
    again = found.retransmissions
    return Seen(
        times - times[0],
        np.stack([column.astype(np.int64) for column in columns], axis=1),
        {index[number]: cause for number, cause in zip(again["number"], again["cause"], strict=True)},
        {index[number]: nth for number, nth in zip(again["number"], again["transmission"], strict=True)},
        int((again["need"].cast(str) != "needed").sum()),
    )
