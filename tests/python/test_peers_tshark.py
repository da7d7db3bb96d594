"""What tshark says of the same captures: equal, or different for a reason that is known and shown."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

import pytest

from .peers import against_tshark, linux, sampled, tshark

pytestmark = pytest.mark.skipif(not tshark.THERE, reason="needs tshark (make setup says how)")
RECORDED = [linux.capture(name, place) for name in linux.NAMES for place in ("server", "client")]
PUBLIC = [
    path
    for path in sorted((linux.CAPTURES / "public").glob("*.pcap*"))
    # No TCP, or of a link layer or tunnel that one of us does not read.
    if not path.name.startswith(
        ("forces", "isup", "ipoib", "geneve", "test018", "test102", "test202", "test901")
    )
]


def compared(path: Path) -> list[against_tshark.Compared]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            line
            for side in against_tshark.sides(path)
            for compare in (against_tshark.counts, against_tshark.handshake, against_tshark.repeated)
            for line in compare(path.name, side)
        ]


@pytest.mark.parametrize("path", sampled([*RECORDED, *PUBLIC]), ids=lambda path: path.name)
def test_every_difference_is_known(path: Path) -> None:
    found = compared(path)
    assert found
    assert [str(line) for line in found if line.difference is None] == []
    if path in RECORDED:
        assert against_the_kernel(path, found) == []


def against_the_kernel(path: Path, found: list[against_tshark.Compared]) -> list[str]:
    """Packets sent again in the eyes of one of the two, where the kernel is not on our side."""
    name, place = path.name.split(".")[:2]
    truth = linux.truth(name)["retransmissions"]
    again = {row["packet"] for row in truth if row["side"] == place}
    again |= {row["arrivals"][0] for row in truth if row["side"] != place and row["arrivals"]}
    packets = [(line, re.search(r"packet (\d+) ", line.what)) for line in found if line.difference]
    return [str(line) for line, number in packets if number and (int(number[1]) in again) != line.ours]


def test_the_differences_are_of_all_kinds() -> None:
    """A difference that no capture shows any more has no place in the docs."""
    names = ("zero-window", "duplicated", "alternate", "acks-and-data-lost", "fin-lost-client")
    paths = [linux.capture(name, place) for name in names for place in ("server", "client")]
    kinds = Counter(line.difference for path in paths for line in compared(path) if line.difference)
    assert set(kinds) >= {"probes", "called out of order", "called sent again"}
