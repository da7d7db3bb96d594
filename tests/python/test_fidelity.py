"""A slice of `make fidelity`: scenarios that are the same on the model and on a real kernel stay so."""

from pathlib import Path

import pytest
from rexmit.diff.systems import System
from rexmit.kernel import KernelError, find_kernel

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

SAME = {
    "plain": (1, 2, 3, 5, 6, 15, 38, 40, 56, 190, 205, 254),
    "default": (
        4,
        13,
        16,
        29,
        30,
        37,
        53,
        84,
        110,
        144,
        176,
        202,
        242,
        288,
        297,
        307,
        330,
        382,
        429,
        498,
        499,
    ),
}
"""Numbers of scenarios by the kernel's settings; together they have every cause that the table shows."""

BBR = (0, 4, 14, 21, 28, 30, 48, 58, 75, 114, 189, 191)
"""Numbers of scenarios that are the same with BBR, some of them with one first phase alone."""

ECN = (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 19)
"""Numbers of scenarios with marks that are the same, of Reno, CUBIC and DCTCP."""

NEAR_NS = 1_000


@pytest.mark.parametrize("group", SAME)
def test_the_model_sends_what_linux_sends(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        kernel = find_kernel()
    except KernelError as error:
        pytest.skip(str(error))
    if not kernel.version.startswith("6.1."):
        pytest.skip(f"the profile is of Linux 6.1, the kernel is {kernel.version}")
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins import runs  # type: ignore[import-not-found]
    from twins.compare import row_of
    from twins.scenarios import PLAIN_PROFILE, WHOLE, draw, table_of

    profile = WHOLE if group == "default" else PLAIN_PROFILE
    tables = [table_of(draw(number), profile, group) for number in SAME[group]]
    real, model = (
        runs.on(system, tables, tmp_path, lambda _: None) for system in (runs.LINUX, System.parse(profile))
    )
    for number, one, other in zip(SAME[group], real, model, strict=True):
        row = row_of(one, other, ("uml", "model"))
        assert row["identical"], f"{number}: {row['kind']} at {row['first_packet']}: {row}"
        assert row["times_off_ns"] <= NEAR_NS, f"{number}: times differ by {row['times_off_ns']} ns"
        assert row["uml_causes"] == row["model_causes"]
        assert abs(row["difference_ms"]) * 1e6 <= NEAR_NS


def test_bbr_sends_what_linux_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        kernel = find_kernel()
    except KernelError as error:
        pytest.skip(str(error))
    if not kernel.version.startswith("6.1."):
        pytest.skip(f"the profile is of Linux 6.1, the kernel is {kernel.version}")
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins import bbr, runs
    from twins.compare import row_of
    from twins.scenarios import GROUPS, draw_bbr

    drawn = [draw_bbr(number) for number in BBR]
    tables = [one.table("linux-6.1", GROUPS["default"]) for one in drawn]
    real = runs.on(runs.LINUX, tables, tmp_path, lambda _: None)
    model = bbr.nearest(drawn, real, tmp_path, lambda _: None)
    for one, left, right in zip(drawn, real, model, strict=True):
        row = row_of(left, right, bbr.NAMES)
        assert row["identical"], f"{one.number}: {row['kind']} at {row['first_packet']}: {row}"
        assert row["times_off_ns"] <= NEAR_NS, f"{one.number}: times differ by {row['times_off_ns']} ns"


def test_ecn_and_dctcp_send_what_linux_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        kernel = find_kernel()
    except KernelError as error:
        pytest.skip(str(error))
    if not kernel.version.startswith("6.1."):
        pytest.skip(f"the profile is of Linux 6.1, the kernel is {kernel.version}")
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins import ecn, runs
    from twins.compare import row_of
    from twins.scenarios import WHOLE, draw_ecn, system_of, table_of

    drawn = [draw_ecn(number) for number in ECN]
    real = ecn.on_linux(drawn, tmp_path, lambda _: None)
    model = runs.on(system_of(WHOLE), [table_of(one, WHOLE) for one in drawn], tmp_path, lambda _: None)
    echoes = 0
    for one, left, right in zip(drawn, real, model, strict=True):
        row = row_of(left, right, ecn.NAMES)
        assert row["identical"], f"{one.number}: {row['kind']} at {row['first_packet']}: {row}"
        echoes += int((left.seen.packets[2:, 3] & 0x40 > 0).sum())
    assert {one.algorithm for one in drawn} == {"reno", "cubic", "dctcp"}
    assert echoes > 100


def test_a_scenario_is_drawn_for_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins.scenarios import draw

    drawn = draw(0)
    assert drawn == draw(0) != draw(1)
    assert (drawn.algorithm, drawn.rate_bit_s, drawn.delay_us, drawn.queue) == ("reno", 1283176, 2906, 24)
    assert (drawn.writes, drawn.lost_down, drawn.lost_up) == ((134858,), (73,), ())


def test_first_differences_have_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    import numpy as np
    from twins.compare import confusion, first_difference
    from twins.packets import Seen

    def seen(*packets: tuple[int, int, int, int, int], causes: dict[int, str] | None = None) -> Seen:
        causes = causes or {}
        times = np.arange(len(packets)) * 1_000_000
        return Seen(times, np.array(packets), causes, dict.fromkeys(causes, 2), 0)

    data, again, ack, later = (1, 1, 100, 16, 1), (1, 1, 100, 16, 1), (0, 1, 0, 16, 101), (0, 1, 0, 16, 201)
    names = ("uml", "model")
    assert first_difference(seen(data, ack), seen(data, ack), names) is None
    found = first_difference(seen(data, ack), seen(data, later), names)
    assert found is not None
    assert (found.index, found.kind, found.what) == (
        1,
        "uml: an acknowledgment more",
        ("client ACK 101", "client ACK 201"),
    )
    probe = first_difference(seen(data, again, causes={1: "tail-probe"}), seen(data, ack), names)
    assert probe is not None
    assert probe.kind == "uml: a tail probe"
    short = first_difference(seen(data), seen(data, ack), names)
    assert short is not None
    assert short.what == ("nothing", "client ACK 101")
    pairs = confusion(seen(data, again, causes={1: "timeout"}), seen(data, again, causes={1: "fast"}))
    assert list(pairs) == [("timeout", "fast")]


WIDE = {
    "slow-readers": (2, 7, 17, 42, 44, 87, 96),
    "requests": (0, 21, 37, 61, 106),
    "sysctls": (27, 63, 79, 97),
    "thin": (25,),
}
"""Numbers of scenarios of the wide set that found rules of the receiver (LK-WIN-6 to LK-WIN-9, LK-ACK-9)."""


@pytest.mark.parametrize("group", WIDE)
def test_the_receiver_acknowledges_as_linux_does(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        kernel = find_kernel()
    except KernelError as error:
        pytest.skip(str(error))
    if not kernel.version.startswith("6.1."):
        pytest.skip(f"the profile is of Linux 6.1, the kernel is {kernel.version}")
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins import wide

    of_group = wide.draw([group], max(WIDE[group]) + 1, wide.SEED)[group]
    table = wide.compare({group: {n: of_group[n] for n in WIDE[group]}}, tmp_path, lambda _: None)
    for row in table.to_dicts():
        assert row["identical"], f"{row['scenario']}: {row['kind']} at {row['first_packet']}: {row}"
        assert row["times_off_ns"] <= NEAR_NS, f"{row['scenario']}: {row['times_off_ns']} ns"


def test_a_paced_read_comes_before_a_packet_of_the_same_instant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins.packets import read_capture

    stack = {"inherits": "linux-6.1", "delayed_ack": {"quick_credit": 0}}
    read = {"size": "1448 bytes", "rate": "5792 kbit/s"}
    scenario = {
        "hosts": {name: {"stack": stack, "tick_phase": "0 us"} for name in ("server", "client")},
        "path": {"rate": "12 Mbit/s", "delay": "1 ms", "queue": "100 packets"},
        "transfers": [{"from": "server", "to": "client", "writes": "14480 bytes", "read": read}],
    }
    ran = System.parse("linux-6.1").run({0: scenario}, tmp_path)[0]
    assert ran.captures is not None
    seen = read_capture(ran.captures[1])
    arrived = [int(time) for time, packet in zip(seen.times, seen.packets, strict=True) if packet[0] == 1]
    acknowledged = [(int(t), int(p[4])) for t, p in zip(seen.times, seen.packets, strict=True) if p[0] == 0]
    # The second segment is read, and acknowledged, at the very moment at which the third comes.
    assert (arrived[3], 2 * 1448 + 1) in acknowledged
