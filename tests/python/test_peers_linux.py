"""Judged causes beside a real kernel's own account of them."""

from __future__ import annotations

from collections import Counter

import pytest
import rexmit

from .peers import linux

# Of the retransmissions that a capture shows. The rest may be likely or unknown, never certain and wrong.
RIGHT = {"server": 0.99, "client": 0.95}
# Away from the sender only SYNs, FINs and probes are certain.
CERTAIN = {"server": 250, "client": 5}


def all_pairs(place: str) -> list[linux.Pair]:
    return [pair for name in linux.NAMES for pair in linux.pairs(name, place)]


@pytest.mark.parametrize("place", ["server", "client"])
def test_a_certain_judgement_is_never_wrong(place: str) -> None:
    certain = [p for p in all_pairs(place) if p.judged is not None and p.judged["confidence"] == "certain"]
    assert len(certain) >= CERTAIN[place]
    assert [str(pair) for pair in certain if not pair.right] == []


@pytest.mark.parametrize("place", ["server", "client"])
def test_nearly_every_cause_is_right(place: str) -> None:
    pairs = all_pairs(place)
    wrong = [str(pair) for pair in pairs if not pair.right]
    print(f"{place}: {len(pairs) - len(wrong)} of {len(pairs)} right", *wrong, sep="\n")
    assert 1 - len(wrong) / len(pairs) >= RIGHT[place]


@pytest.mark.parametrize("place", ["server", "client"])
def test_what_was_not_needed_is_never_called_so_wrongly(place: str) -> None:
    called = [
        pair
        for pair in all_pairs(place)
        if pair.truth is not None
        and pair.judged is not None
        and pair.judged["need"] in ("spurious", "unnecessary")
    ]
    assert len(called) > 20
    assert [str(pair) for pair in called if pair.truth is not None and pair.truth["needed"]] == []


def test_the_truth_is_what_the_kernel_counted() -> None:
    """The account by call stacks and the kernel's counters are two sources; they must agree."""
    for name in linux.NAMES:
        if name.startswith("offload"):
            continue  # A super-packet is one packet in the capture and several in the counter.
        found = linux.truth(name)
        rows = [row for row in found["retransmissions"] if row["side"] == "server"]
        causes = Counter(row["cause"] for row in rows)
        counted = found["counters"]["server"]
        sent_again = sum(causes.values()) - causes["syn-ack"] - causes["probe"]
        assert counted.get("TcpRetransSegs", 0) == sent_again + causes["syn-ack"], name
        assert counted.get("TCPSlowStartRetrans", 0) == causes["go-back-n"], name


@pytest.mark.parametrize(
    "name", [name for name in linux.NAMES if name.startswith(("zero-window", "keep-alive"))]
)
def test_probes_are_as_many_as_the_kernel_counted(name: str) -> None:
    counted = linux.truth(name)["counters"]["server"]
    rows = rexmit.analyze(linux.capture(name, "server")).retransmissions.to_dicts()
    causes = Counter(row["cause"] for row in rows if row["side"] == "server")
    assert causes["window-probe"] == counted.get("TCPWinProbe", 0)
    assert causes["keep-alive"] == counted.get("TCPKeepAlive", 0)
