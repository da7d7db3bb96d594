"""What tcptrace counts on the same captures: equal, or different for a reason that is known and shown."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from .peers import against_tcptrace, linux, sampled, tcptrace, tshark

pytestmark = pytest.mark.skipif(
    not (tcptrace.THERE and tshark.THERE), reason="needs tcptrace and tshark (make setup says how)"
)
# Link layers that tcptrace cannot read.
UNREADABLE = ("cooked",)
RECORDED = [
    linux.capture(n, place) for n in linux.NAMES if n not in UNREADABLE for place in ("server", "client")
]
PUBLIC = [
    path
    for path in sorted((linux.CAPTURES / "public").glob("*.pcap"))
    # No TCP, or of a link layer or tunnel that one of us does not read.
    if not path.name.startswith(("forces", "isup", "ipoib", "geneve", "test_loopback", "mptcp"))
]


@pytest.mark.parametrize("path", sampled([*RECORDED, *PUBLIC]), ids=lambda path: path.name)
def test_every_difference_is_known(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unknown = [str(line) for line in against_tcptrace.compare(path) if line.difference is None]
    assert unknown == []
