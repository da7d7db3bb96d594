"""Why a transfer is not faster: the sentence, its evidence, and the columns behind both."""

from __future__ import annotations

from pathlib import Path

import pytest
import rexmit
from rexmit.analyse.held import GROUPS, HELD, answers, held, held_ns
from rexmit.analyse.quantities import percent
from rexmit.analyse.rows import Row


def row(**times: int) -> Row:
    """A row of `connections` whose server was held back for these times, in ms; a half of each is certain."""
    found: Row = {
        "handshake_server_rtt_ns": 79_000_000,
        "handshake_client_rtt_ns": 1_000_000,
        "server_bytes": 10,
        "client_bytes": 0,
        "server_held_ns": sum(times.values()) * 1_000_000,
        "client_held_ns": 0,
        "client_max_window": 65_536,
        "server_max_outstanding": 30_000,
        "server_loss_events": 2,
        "server_retransmitted_packets": 3,
        "server_goodput_bit_s": 2e6,
        "server_acked_bytes": 10,
    }
    for by in HELD:
        name = by.replace("-", "_")
        found[f"server_held_{name}_ns"] = times.get(name, 0) * 1_000_000
        found[f"server_held_{name}_certain_ns"] = times.get(name, 0) * 500_000
    return found


def test_the_sentence_names_the_greatest_share_and_what_it_allows() -> None:
    told = answers(row(receive_window=830, slow_start=120, timer=50))["server"]
    assert told.startswith(
        "the client's receive window (65.5 kB at most) held the server back for 83 % of 1 s"
    )
    assert "at a round trip of 80 ms that allows 6.55 Mbit/s" in told
    assert told.endswith("(certain for 50 % of that); then congestion window 12 %, losses 5.0 %")


@pytest.mark.parametrize("by", HELD)
def test_each_cause_has_words(by: str) -> None:
    [told] = answers(row(**{by.replace("-", "_"): 100})).values()
    assert "server" in told or "path" in told
    assert sum(by in group for group in GROUPS.values()) == 1


def test_reasons_of_one_answer_count_together() -> None:
    told = answers(row(receive_window=400, after_loss=350, slow_start=250))["server"]
    assert told.startswith("the server's congestion window (lowered by 2 loss events) held it back for 60 %")


def test_shares_add_up_to_all() -> None:
    found = row(application=1, path_rate=2, recovery=3)
    assert sum(part.ns for part in held(found, "server")) == held_ns(found, "server")
    assert [part.by for part in held(found, "server")] == ["recovery", "path-rate", "application"]


def test_shares_are_worded_to_a_tenth_below_ten_per_cent() -> None:
    words = [percent(value) for value in (0.0, 0.0004, 0.0006, 0.05, 0.0994, 0.0996, 0.124, 1.0)]
    assert words == ["0 %", "< 0.1 %", "0.1 %", "5.0 %", "9.9 %", "10 %", "12 %", "100 %"]


def test_bbr_on_a_link_that_it_fills_is_held_by_no_send_buffer(tmp_path: Path) -> None:
    """Its data leave evenly, with no more outstanding for long: neither pauses nor a queue need show."""
    study = rexmit.Study.from_dict(
        {
            "title": "BBR alone",
            "scenario": {
                "hosts": {
                    "server": {"stack": {"inherits": "linux-6.1", "congestion": {"algorithm": "bbr"}}},
                    "client": {"stack": "linux-6.1"},
                },
                "path": {"rate": "20 Mbit/s", "delay": "20 ms"},
                "transfers": [{"from": "server", "to": "client", "bulk": "3 s"}],
            },
            "vary": {"path.queue": ["30 ms", "1000 packets"]},
        }
    )
    results = study.run(progress=False)
    for run in range(2):
        results.capture(run, server=tmp_path / "server.pcapng")
        (row,) = rexmit.analyze(tmp_path / "server.pcapng").connections.iter_rows(named=True)
        parts = {part.by: part.ns for part in held(row, "server")}
        assert parts.get("send-buffer", 0) < 0.05 * held_ns(row, "server")
        assert parts["unknown"] + parts.get("path-rate", 0) > 0.5 * held_ns(row, "server")
