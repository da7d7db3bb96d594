"""`rexmit diff` of two systems: what parts, in which kinds of ways, and the smallest case of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rexmit
from click.testing import CliRunner
from rexmit.cli import cli
from rexmit.diff.mechanism import first_difference, mechanism_of
from rexmit.diff.packets import Packet, Seen
from rexmit.diff.pages import write_found
from rexmit.diff.pairs import PACKETS, TIMES, WINDOWS, Pair, compare
from rexmit.diff.search import Found, search, smallest_cases
from rexmit.diff.shrink import shrink
from rexmit.diff.systems import System
from rexmit.errors import RexmitError, UsageError

MODEL = System.parse("linux-6.1")
HASTY = System.parse("linux-6.1,hosts.server.stack.recovery.dupack_threshold=1")
SEED = 7


def drawn(number: int) -> dict[str, Any]:
    return rexmit.draw_scenario(number, seed=SEED, family="losses")


def found_of(systems: tuple[System, System], count: int) -> Found:
    return search(systems, ((number, drawn(number)) for number in range(count)), count)


def on(system: System, scenario: dict[str, Any], folder: Path) -> Any:
    folder.mkdir()
    return system.run({0: scenario}, folder)[0]


def test_a_system_differs_from_itself_in_nothing() -> None:
    found = found_of((MODEL, System.parse("linux-6.1")), 20)
    assert found.clusters == []
    assert len(found.pairs) == 20


def test_where_a_setting_matters_the_first_packet_that_differs_is_found() -> None:
    found = found_of((MODEL, HASTY), 40)
    assert 0 < found.levels.total() < 40
    for pair in found.pairs.values():
        same = pair.rows[0] == pair.rows[1]
        assert same or pair.level is not None
        if pair.level == PACKETS:
            assert pair.first is not None
            assert pair.first.texts[0] != pair.first.texts[1]
    # The first duplicate makes B send again, where A sends and acknowledges on.
    assert all(
        "before fast; B: the other way round" in one.kind for one in found.clusters if one.level == PACKETS
    )


def test_causes_of_what_is_sent_again_are_counted_at_the_sender() -> None:
    fast, probes = {"path": {"down": {"drop": 9}}}, {"path": {"down": {"drop": 29}}}
    base = {
        "hosts": {name: {"stack": "linux-6.1-no-rack"} for name in ("server", "client")},
        "transfers": [{"from": "server", "to": "client", "writes": "28 x 1448 bytes"}],
    }
    road = {"rate": "10 Mbit/s", "delay": "20 ms"}
    scenarios = [base | {"path": road | one["path"]} for one in (fast, probes)]
    model = System.parse("linux-6.1-no-rack")
    without = System.parse("linux-6.1-no-rack,hosts.server.stack.recovery.dupack_threshold=90")
    found = search((model, without), enumerate(scenarios), 2)
    assert found.pairs[0].causes[0] == {"fast": 1}
    assert "fast" not in found.pairs[0].causes[1]
    assert found.other_causes == 1
    (kind,) = [one for one in found.clusters if one.pairs[0].number == 0]
    assert kind.causes["fast"] == -1
    assert sum(kind.causes.values()) == 0, "one retransmission, for another cause"


def packets(*given: tuple[int, str, int]) -> Seen:
    """Packets with a time, what they are and a window."""
    return [Packet(time, (text,), window, text, text) for time, text, window in given]


@pytest.fixture
def pair_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Compares what two systems show at the server; the clients see nothing."""

    def compared(left: Seen, right: Seen) -> Pair:
        from rexmit.diff import pairs
        from rexmit.diff.systems import Ran

        shown = {}
        ran = []
        for name, seen in (("a", left), ("b", right)):
            files = (tmp_path / f"{name}-server", tmp_path / f"{name}-client")
            files[0].write_text(name)
            files[1].write_text("")
            shown[files[0]], shown[files[1]] = seen, packets()
            ran.append(Ran({"time_ns": 1, "completed": True}, files))
        monkeypatch.setattr(pairs, "read_packets", shown.__getitem__)
        return compare(0, *ran)

    return compared


def test_the_kind_of_a_difference_says_what_one_system_sends_and_the_other_does_not(pair_of: Any) -> None:
    common = (0, "SYN", 10), (5, "ACK", 10)
    cases = [
        (
            packets(*common, (9, "data", 1)),
            packets(*common, (8, "probe", 1), (9, "data", 1)),
            "only B: probe, before data",
        ),
        (
            packets(*common, (8, "probe", 1), (9, "data", 1)),
            packets(*common, (9, "data", 1)),
            "only A: probe, before data",
        ),
        (
            packets(*common, (7, "x", 1), (8, "y", 1)),
            packets(*common, (7, "y", 1), (8, "x", 1)),
            "A: x before y; B: the other way round",
        ),
        (packets(*common, (7, "x", 1)), packets(*common, (7, "y", 1)), "A: x; B: y"),
        (packets(*common), packets(*common, (7, "y", 1)), "only B goes on, with y"),
        (
            packets((0, "SYN", 10), (5, "ACK", 11), (7, "x", 1)),
            packets(*common, (7, "y", 1)),
            "A: x; B: y, after another window",
        ),
    ]
    for left, right, kind in cases:
        pair = pair_of(left, right)
        assert (pair.level, pair.kind) == (PACKETS, kind)


def test_times_and_windows_count_where_packets_are_the_same(pair_of: Any) -> None:
    left = packets((100, "SYN", 10), (105, "ACK", 10), (107, "data", 10))
    pair = pair_of(left, packets((0, "SYN", 10), (5, "ACK", 10), (9, "data", 10)))
    assert (pair.level, pair.kind) == (TIMES, "the same packets, data sooner in A")
    assert pair.first is not None
    assert pair.first.times_ns == (7, 9)
    pair = pair_of(left, packets((0, "SYN", 10), (5, "ACK", 12), (7, "data", 10)))
    assert (pair.level, pair.kind) == (WINDOWS, "the same packets, ACK with a larger window in B")
    assert pair_of(left, packets((0, "SYN", 10), (5, "ACK", 10), (7, "data", 10))).level is None


def test_the_smallest_case_parts_in_the_same_way_and_has_no_more_than_it_needs(tmp_path: Path) -> None:
    found = found_of((MODEL, HASTY), 40)
    cluster = next(one for one in found.clusters if one.level == PACKETS)
    start = cluster.pairs[0]
    scenario, pair = shrink(drawn(start.number), start, found.systems)
    assert (pair.level, pair.kind) == (start.level, start.kind)
    assert len(json.dumps(scenario)) < len(json.dumps(drawn(start.number)))
    again = compare(
        0, *(on(one, scenario, tmp_path / name) for name, one in zip("ab", found.systems, strict=True))
    )
    assert (again.level, again.kind) == (pair.level, pair.kind)
    # A host has nothing left that could go.
    assert "tick_phase" not in json.dumps(scenario) or pair.number != 0


def test_state_says_what_differed_before_the_packets_did() -> None:
    systems = (MODEL, System.parse("linux-6.1,stack.initial_window=4"))
    scenario = {
        "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
        "path": {"rate": "10 Mbit/s", "delay": "10 ms"},
        "transfers": [{"from": "server", "to": "client", "bulk": "30 kB"}],
    }
    found = search(systems, [(0, scenario)], 1)
    pair = found.pairs[0]
    assert pair.level == PACKETS
    why = mechanism_of(scenario, pair, systems)
    assert any((one.host, one.column) == ("server", "cwnd") for one in why.changes)
    assert all(one.values[0] != one.values[1] for one in why.changes)


def row(time_ns: int, **values: object) -> dict[str, object]:
    return {"time_ns": time_ns, "state": "ESTABLISHED", **values}


def test_states_are_compared_at_moments_of_both_and_not_by_their_number() -> None:
    # A kernel notes one row where the model notes each step, 1 us later, and counts a FIN in its own way.
    kernel = [
        row(0, state="SYN-SENT", cwnd=5240),
        row(8_000, cwnd=14480, send_queue=101),
        row(9_999_000, cwnd=20000),
    ]
    model = [
        row(0, state="SYN-SENT", cwnd=1460),
        row(9_000, cwnd=1460, send_queue=0),
        row(9_000, cwnd=14480, send_queue=100),
        row(5_000_000, cwnd=15000),
        row(9_999_500, cwnd=17000),
    ]
    ((name, before, after),) = first_difference(kernel, model)
    assert (name, before["cwnd"], after["cwnd"]) == ("cwnd", 20000, 17000)


def test_what_a_stack_does_not_tell_is_no_difference_of_state() -> None:
    systems = (System.parse("usrsctp"), System.parse("rfc9260"))
    scenario = {
        "hosts": {"server": {"stack": "rfc9260"}, "client": {"stack": "rfc9260"}},
        "path": {"rate": "2 Mbit/s", "delay": "5 ms"},
        "transfers": [{"from": "server", "to": "client", "bulk": "100 kB"}],
    }
    pair = search(systems, [(0, scenario)], 1).pairs[0]
    assert pair.level == PACKETS
    assert not [one for one in mechanism_of(scenario, pair, systems).changes if None in one.values]


def test_a_case_is_a_study_that_shows_the_difference_again(tmp_path: Path) -> None:
    found = smallest_cases(found_of((MODEL, HASTY), 40), drawn, 2)
    page = write_found(found, tmp_path / "out", "40 scenarios")
    text = page.read_text()
    assert "Content-Security-Policy" in text
    assert text.count("<svg") == 2
    assert "<script" not in text
    record = json.loads((tmp_path / "out/diff.json").read_text())
    assert record["scenarios"] == 40
    assert sum(len(one["scenarios"]) for one in record["clusters"]) == sum(record["levels"].values())
    for number, case in enumerate(found.cases, start=1):
        path = tmp_path / f"out/case-{number}.toml"
        if case.pair.number == 0:
            result = CliRunner().invoke(
                cli,
                [*("diff", MODEL.text, HASTY.text, "--study", str(path)), *("--cases", "0", "--json")],
            )
            (cluster,) = json.loads(result.stdout)["clusters"]
            assert cluster["kind"] == case.pair.kind


def test_the_command_shows_kinds_and_ends_with_1_where_a_condition_holds(study_file: Path) -> None:
    arguments = ["diff", MODEL.text, HASTY.text, "--scenarios", "10", "--seed", "7", "--cases", "1"]
    result = CliRunner().invoke(cli, [*arguments, "--fail", "changed > 0 overall"])
    assert result.exit_code == 1, result.output
    for text in (
        "kinds of differences, of B against A",
        "case 1: ",
        "of 10 scenarios differ",
        "conditions that hold",
    ):
        assert text in result.output
    fine = CliRunner().invoke(cli, [*arguments, "--markdown", "--fail", "p99(time) > 1000x"])
    assert fine.exit_code == 0, fine.output
    assert "### kinds of differences" in fine.output
    study = CliRunner().invoke(
        cli, ["diff", MODEL.text, "rfc-2014", "--study", str(study_file), "--cases", "0"]
    )
    assert "of 16 scenarios differ" in study.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["linux-6.2", "linux-6.1"], "'linux-6.2' is not a folder of results, kernel, profile or stack"),
        (["linux-6.1,nagle", "linux-6.1"], "'nagle' is not a setting; write KEY=VALUE"),
        (["linux-6.1", "linux-6.1", "--cells", "3"], "--cells does not apply to two systems"),
        (
            ["linux-6.1", "linux-6.1", "--study", "klaver-2005/window", "--seed", "1"],
            "--seed says what is drawn",
        ),
        (["linux-6.1", "linux-6.1,hosts.server.stack.nothing=1", "--scenarios", "1"], "nothing"),
        (["linux-6.1", ".", "--scenarios", "1"], "linux-6.1: is not a folder of results, and . is a folder"),
        ([".", ".", "--scenarios", "1"], "--scenarios does not apply to two folders"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(arguments: list[str], text: str) -> None:
    result = CliRunner().invoke(cli, ["diff", *arguments])
    assert isinstance(result.exception, RexmitError)
    assert text in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_kernel_that_is_not_built_is_told_with_what_builds_it() -> None:
    with pytest.raises(RexmitError, match="only Linux 6"):
        System.parse("linux:5.4").check()
    with pytest.raises(UsageError, match="not a folder of results"):
        System.parse("kernel:6.1")


@pytest.mark.usefixtures("guest")
def test_a_setting_of_a_kernel_is_found_on_the_kernel() -> None:
    plain = "linux:6.1,linux.recovery=0,linux.early_retrans=0"
    same = (System.parse(plain), System.parse(f"{plain},linux.sysctl.net.ipv4.tcp_mtu_probe_floor=60"))
    assert found_of(same, 20).clusters == []
    other = found_of((System.parse(plain), System.parse("linux:6.1,linux.recovery=0")), 40)
    assert any("tail-probe" in one.kind for one in other.clusters)
    (case,) = smallest_cases(other, drawn, 1).cases
    assert (case.pair.level, case.pair.kind) == (case.cluster.level, case.cluster.kind)


def test_a_study_of_programs_is_refused(tmp_path: Path) -> None:
    study = tmp_path / "own.toml"
    study.write_text('[scenario.hosts.client]\nprogram = "/bin/true"\n')
    result = CliRunner().invoke(cli, ["diff", "linux-6.1", "rfc-2014", "--study", str(study)])
    assert "its hosts run programs" in str(result.exception)
