"""Logs of QUIC stacks (qlog) beside captures."""

from __future__ import annotations

import json
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import rexmit

from .quic import STACKS, is_here, shown, study

__all__ = ["is_here"]

LOGGING = [code for code in STACKS if code != "quinn"]
"""quinn's feature for logs would change how JSON is written in all of rexmit (docs/guide/stacks.md)."""


def records(path: Path) -> list[dict[str, Any]]:
    """Those of a JSON text sequence (RFC 7464): each begins with a separator and ends with a line feed."""
    before, *texts = path.read_bytes().split(b"\x1e")
    assert before == b""
    assert all(text.endswith(b"\n") for text in texts)
    return [json.loads(text) for text in texts]


def captured(code: str, out: Path, **more: Any) -> Path:
    study(code, path={"down": {"drop": 12}}, **more).run(out, capture="all", progress=False)
    return out / "captures"


@pytest.mark.parametrize("code", LOGGING)
def test_a_log_has_the_packets_of_the_capture_at_their_times(code: str, tmp_path: Path) -> None:
    second = {
        "from": "client",
        "to": "server",
        "writes": "5 x 1000 bytes",
        "start": "1 s",
        "opened_by": "client",
    }
    first = {"from": "server", "to": "client", "writes": "20 x 1000 bytes"}
    folder = captured(code, tmp_path / "out", scenario={"transfers": [first, second]})
    assert {path.name for path in folder.glob("*.sqlog")} == {
        f"run-00000000-{host}-{connection}.sqlog" for host in ("server", "client") for connection in (0, 1)
    }
    asked = ("ip.src", "frame.time_epoch", "quic.packet_number", "udp.stream")
    frames = shown(folder / "run-00000000-server.pcapng", *asked)
    # The first packet comes within the first second, and captures begin at a whole one.
    begin = Decimal(int(Decimal(frames[0][1])))
    for connection in (0, 1):
        head, *events = records(folder / f"run-00000000-server-{connection}.sqlog")
        assert head["trace"]["vantage_point"]["type"] == "server"
        times = [event["time"] for event in events]
        assert times == sorted(times)
        logged = Counter(event["time"] for event in events if event["name"].endswith("packet_sent"))
        sent = Counter[float]()
        for source, time, numbers, stream in frames:
            if source == "10.0.2.1" and int(stream) == connection:
                sent[float(1000 * (Decimal(time) - begin))] += numbers.count(",") + 1
        assert sent.total() > 3
        assert logged == sent


@pytest.mark.parametrize("code", LOGGING)
def test_a_log_is_the_same_again_where_the_stack_is(code: str, tmp_path: Path) -> None:
    one, other = (captured(code, tmp_path / name) for name in ("one", "other"))
    for path in one.glob("*.sqlog"):
        again = other / path.name
        if code == "quic-go":
            # Its random numbers differ, and so do the connections' names.
            names = [
                [(event.get("time"), event.get("name")) for event in records(log)] for log in (path, again)
            ]
            assert names[0] == names[1]
        else:
            assert path.read_bytes() == again.read_bytes()


def test_nothing_is_logged_without_captures_or_by_who_has_no_log(tmp_path: Path) -> None:
    study("ngtcp2").run(tmp_path / "none", progress=False)
    assert not list((tmp_path / "none").rglob("*.sqlog"))
    folder = captured("quinn", tmp_path / "quinn")
    assert sorted(path.suffix for path in folder.iterdir()) == [".pcapng", ".pcapng"]


def test_a_capture_of_one_run_has_its_logs_beside_it(tmp_path: Path) -> None:
    results = study("ngtcp2").run(progress=False)
    results.capture(0, server=tmp_path / "mine.pcapng")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine-0.sqlog", "mine.pcapng"]
    assert len(records(tmp_path / "mine-0.sqlog")) > 50


ASKED = """    def connect(self, now: int) -> None:
        if self.run.qlog:
            self.add_qlog(b'\\x1e{"qlog_format":"JSON-SEQ"}\\n')
            self.add_qlog(b'\\x1e{"time":7,"name":"mine"}\\n')
"""


def test_a_program_logs_where_it_is_asked_to(tmp_path: Path) -> None:
    toy = tmp_path / "toy.py"
    text = Path(__file__).with_name("toy_over_udp.py").read_text()
    toy.write_text(text.replace("    def connect(self, now: int) -> None:\n", ASKED))
    own = {"program": f"{sys.executable} {toy}", "protocol": "quic"}
    given = {"from": "server", "to": "client", "writes": "3 x 1000 bytes", "start": "1500 us"}
    scenario = {
        "hosts": {"server": {"stack": own}, "client": {"stack": own}},
        "path": {"rate": "10 Mbit/s", "delay": "10 ms"},
        "transfers": [given],
    }
    out = tmp_path / "out"
    rexmit.Study.from_dict({"title": "toy", "scenario": scenario}).run(out, capture="all", progress=False)
    logs = list(out.rglob("*.sqlog"))
    assert [log.name for log in logs] == ["run-00000000-client-0.sqlog"]
    assert records(logs[0])[1] == {"time": 1.5, "name": "mine"}
