"""What of this machine's kernel a study meets without naming it, and what a small send buffer holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.run import this_kernel
from rexmit.run.this_kernel import unnamed_congestion

SEGMENT = 1448
"""Bytes of a full segment with timestamps."""


def study(vary: Mapping[str, Any] | None = None, **server: Any) -> rexmit.Study:
    """A bulk transfer whose sender's buffer holds 11 segments by its number."""
    return rexmit.Study.from_dict(
        {
            "scenario": {
                "hosts": {
                    "server": {"stack": "linux-6.1", "linux": {"send_buffer": "8 kB", **server}},
                    "client": {"stack": "linux-6.1"},
                },
                "path": {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "200 packets"},
                "transfers": [{"from": "server", "to": "client", "bulk": "1500 kB"}],
            },
            **({"vary": dict(vary)} if vary else {}),
            "design": {"replications": 1},
        }
    )


def with_settings(settings: Mapping[str, Any]) -> rexmit.Study:
    """With these settings, or, under `vary.`, with factors."""
    factors = {key.removeprefix("vary."): value for key, value in settings.items() if key.startswith("vary.")}
    changed = study(factors)
    for key, value in settings.items():
        changed = changed if key.startswith("vary.") else changed.set(key, value)
    return changed


@pytest.fixture
def of_bbr(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose default is BBR."""
    monkeypatch.setattr(this_kernel, "machine_congestion", lambda: "bbr")


@pytest.mark.usefixtures("of_bbr")
def test_a_default_of_the_machine_that_guests_have_not_is_told() -> None:
    (told,) = unnamed_congestion(study().spec)
    assert told.startswith("backend kernel: TCP has bbr, this machine's default")
    assert told.endswith("guests of backend uml have cubic: set hosts.X.linux.congestion")


@pytest.mark.usefixtures("of_bbr")
@pytest.mark.parametrize(
    "settings",
    [
        {"hosts.server.linux.congestion": "reno"},
        {"vary.hosts.server.linux.congestion": ["reno", "cubic"]},
        {"vary.hosts.server.linux": [{"congestion": "reno"}, {"congestion": "cubic"}]},
        {"hosts.server.linux.sysctl": {"net.ipv4.tcp_congestion_control": "cubic"}},
        {"hosts.server.stack.congestion.algorithm": "reno"},
        {"transfers.0.congestion": "cubic"},
    ],
    ids=str,
)
def test_a_congestion_control_that_is_named_is_not_told(settings: dict[str, Any]) -> None:
    named = with_settings(settings)
    assert unnamed_congestion(named.spec) == []


@pytest.mark.usefixtures("of_bbr")
@pytest.mark.parametrize(
    "settings",
    [
        {"hosts.client.linux.congestion": "reno"},
        {"vary.hosts.server.linux": [{"congestion": "reno"}, {"sack": False}]},
        {"vary.hosts.server.linux.sack": [True, False]},
    ],
    ids=str,
)
def test_one_that_the_sender_does_not_always_have_is_told(settings: dict[str, Any]) -> None:
    named = with_settings(settings)
    assert len(unnamed_congestion(named.spec)) == 1


def test_a_machine_with_the_default_of_guests_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in ("cubic", None):
        monkeypatch.setattr(this_kernel, "machine_congestion", lambda found=found: found)
        assert unnamed_congestion(study().spec) == []


@pytest.mark.usefixtures("guest")
def test_a_full_window_lets_a_sender_queue_more_than_its_buffer(tmp_path: Path) -> None:
    """tcp_sendmsg_locked looks for room only before it begins a super-packet.

    Of one that is not sent whole, the rest takes more data.
    """

    def most(congestion: str) -> float:
        where = tmp_path / congestion
        study(congestion=congestion).run(where, backend="uml", state="all", progress=False)
        table = pl.read_parquet(where / "tables" / "run-00000000-state.parquet").filter(host="server")
        assert table["sndbuf_limited_ns"].max() == 0, "Linux counts no time in which the window was full"
        queued: float = table.select(pl.max("send_queue")).item() / SEGMENT
        return queued

    # Paced, so that each super-packet leaves whole: one of 45 segments beside what is on its way.
    assert most("bbr") < 60
    assert most("cubic") > 100
