"""Captures that Debian packages ship: each has an origin, and holds as many packets for us as for tshark."""

from __future__ import annotations

import subprocess
import tomllib
import warnings
from pathlib import Path

import pytest
import rexmit

from .peers import linux, tshark

PUBLIC = linux.CAPTURES / "public"
FILES = sorted(PUBLIC.glob("*.pcap*"))
# Packets that only tshark takes for TCP, and why.
OTHERS = {
    "geneve.pcap": "TCP inside a tunnel",
    "ipoib.pcap": "a link layer that we do not know",
    "dpkt-nb6-http.pcap": "TCP inside PPP over L2TP",
}


def test_every_capture_has_an_origin() -> None:
    origins = tomllib.loads((PUBLIC / "origins.toml").read_text())
    assert sorted(row["file"] for row in origins["captures"]) == [path.name for path in FILES]
    for row in origins["captures"]:
        package = origins["packages"][row["from"]]
        assert package["version"]
        assert row["path"]
        assert (PUBLIC / package["licence"].split()[-1]).is_file()


@pytest.mark.skipif(not tshark.THERE, reason="needs tshark (make setup says how)")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_holds_as_many_packets(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = rexmit.analyze(path).summary
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-e", "frame.protocols"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    # tshark shows blocks of the file that are not packets as if they were some.
    frames = [line.split(":") for line in done.stdout.splitlines() if line not in ("data", "")]
    assert summary.packets == len(frames)
    assert summary.sctp == sum("sctp" in frame for frame in frames)
    more = sum("tcp" in frame for frame in frames) - summary.tcp
    assert (more > 0) == (path.name in OTHERS)
