"""Studies on real kernels: the guest whose clock is virtual, and this machine's own."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.errors import RexmitError, StudyError, UsageError
from rexmit.run.agents import Done
from rexmit.run.backends import open_backend
from rexmit.run.real import KernelBackend

SCENARIO: dict[str, Any] = {
    "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
    "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
    "transfers": [{"from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes"}],
    "limit": "1 min",
}


def study(**vary: list[Any]) -> rexmit.Study:
    levels = {name.replace("__", "."): value for name, value in vary.items()}
    return rexmit.Study.from_dict(
        {"scenario": SCENARIO, "vary": levels, "design": {"replications": 1}}, "real"
    )


def run(backend: str, what: rexmit.Study, out: Path | None = None, **options: Any) -> pl.DataFrame:
    return what.run(out, backend=backend, progress=False, **options).table()


@pytest.mark.usefixtures("guest")
class TestGuest:
    """`--backend uml`."""

    def test_a_loss_at_each_position_is_repaired_as_linux_does(self) -> None:
        table = run("uml", study(path__down__drop=list(range(21))))
        assert table["completed"].all()
        assert table["bytes"].unique().to_list() == [25_000]
        assert table["error"].null_count() == 21
        # The emulator is exact where the clock stands while code runs and timers go off at the nanosecond.
        assert table["late_max_ns"].max() == 0
        time = [ns / 1e6 for ns in table["time_ns"]]
        # 34 ms of waiting for others and 215 of sending; the SYN-ACK's timer is 1 s (RFC 6298 section 2.1).
        assert 248 < time[0] < 250
        assert 1000 < time[1] - time[0] < 1064
        # Ten segments leave at once and two more with each ACK: there are duplicates up to the last three.
        assert all(cost - time[0] < 1 for cost in time[2:14])
        assert table["timeouts_server"].to_list()[2:17] == [0] * 15

    def test_order_and_company_change_nothing(self, tmp_path: Path) -> None:
        # Each twenty times, among others, in other orders, on one guest and on two.
        base = study(path__down__drop=[0, 9, 17, 18, 19])
        positions = [0, 9, 17, 18, 19]
        whole = run("uml", base)
        for seed in range(20):
            shuffled = random.Random(seed).sample(positions, k=5)
            again = run("uml", study(path__down__drop=shuffled), jobs=1 + seed % 2).sort("path.down.drop")
            same = whole.sort("path.down.drop").drop("run")
            assert same.equals(again.drop("run")), seed

    def test_one_scenario_a_hundred_times(self) -> None:
        # The queue never holds so many packets: all are one scenario. The kernel's random numbers differ.
        queues = random.Random(4).sample([f"{n} packets" for n in range(100, 200)], k=100)
        fixed = study(path__queue=queues, path__down__drop=[18]).set("hosts.server.tick_phase", "3 ms")
        found = run("uml", fixed).drop("run", "replication", "path.queue")
        assert (found.height, found.unique().height) == (100, 1)

    def test_captures_are_the_same_packets_at_the_same_times(self, tmp_path: Path) -> None:
        seen = []
        for jobs in (1, 2):
            out = tmp_path / str(jobs)
            run("uml", study(path__down__drop=[0, 18]), out, jobs=jobs, capture="all")
            files = sorted((out / "captures").iterdir())
            assert len(files) == 4
            seen.append([file.read_bytes() for file in files])
        assert seen[0] == seen[1]

    def test_the_emulators_verdict_is_the_packets_comment(self, tmp_path: Path) -> None:
        run("uml", study(path__down__drop=[18]), tmp_path, capture="all", verdicts="all", state="all")
        capture = (tmp_path / "captures" / "run-00000000-server.pcapng").read_bytes()
        assert b"dropped by pattern at position 18" in capture
        verdicts = pl.read_parquet(tmp_path / "tables" / "run-00000000-verdicts.parquet")
        dropped = verdicts.filter("dropped")
        assert dropped.select("direction", "position").rows() == [("down", 18)]
        state = pl.read_parquet(tmp_path / "tables" / "run-00000000-state.parquet")
        server = state.filter(pl.col("host") == "server")
        assert server["cwnd"].max() > 10 * 1448 - 1
        assert {"FIN-WAIT-1", "open", "recovery"} <= {*server["state"], *server["phase"]}

    @pytest.mark.parametrize("rate", ["100 kbit/s", "10 Mbit/s"])
    @pytest.mark.parametrize("delay", ["0 ms", "10 ms", "100 ms"])
    def test_netem_and_our_emulator_agree(self, rate: str, delay: str) -> None:
        both = study(path__emulator=["rexmit", "netem"], path__rate=[rate], path__delay=[delay])
        ours, theirs = run("uml", both.set("path.queue", "999 packets")).rows(named=True)
        for name in ("time_ns", "bytes", "packets_down", "retransmits", "drops_down"):
            assert ours[name] == theirs[name], name

    def test_a_discipline_of_the_kernel_stands_before_the_bottleneck(self) -> None:
        limits = ["pfifo limit 3", "pfifo limit 1000", "bfifo limit 4600", "codel", "fq_codel", "pie", "cake"]
        queues = study(path__emulator=["netem"], path__qdisc=limits).set(
            "transfers.0.writes", "40 x 2500 bytes"
        )
        queues = queues.set("path.overhead", "14 bytes")
        rows = run("uml", queues).rows(named=True)
        assert [row["error"] for row in rows] == [None] * len(limits)
        drops = {row["path.qdisc"]: row["drops_down"] for row in rows}
        # Ten segments leave at once: a few places lose some, many none; 4600 bytes hold three frames of 1514.
        assert drops["pfifo limit 3"] == drops["bfifo limit 4600"] > 0
        assert drops["pfifo limit 1000"] == 0
        # The bottleneck counts frames of 1514 bytes for 1448 bytes of data.
        assert rows[1]["time_ns"] > 40 * 2500 * 8 * 1000 * 1514 // 1448

    def test_a_connection_keeps_its_hash_before_a_discipline(self) -> None:
        """Between namespaces a hash travels with the packet; one that changes would split a flow's queue."""
        two_way = rexmit.Study.load("asymmetric-today/disciplines").set("path.up.qdisc", ["cake"])
        for key, value in {
            "link": "3000/100",
            "congestion": "cubic",
            "offset": "0 ms",
            "transfers.0.bulk": "70 s",
            "transfers.1.bulk": "30 s",
            # A timeout changes the hash, and in few phases of the ticks is there one that matters.
            "design.replications": 12,
        }.items():
            two_way = two_way.set(key, value)
        changing = {"net.core.txrehash": 1}
        again = two_way.set("hosts.client.linux.sysctl", changing).set("hosts.server.linux.sysctl", changing)
        kept, changed = (
            max(each.run(None, backend="uml", progress=False).table()["timeouts"])
            for each in (two_way, again)
        )
        assert 10 * kept < changed

    def test_a_discipline_with_a_timer_and_random_drops_gives_the_same_whatever_ran_before(self) -> None:
        queue = study(path__delay=["10 ms", "23 ms", "31 ms"]).set("path.overhead", "14 bytes")
        queue = queue.set("path.emulator", "netem").set("path.qdisc", "pie")
        bulk = {"from": "server", "to": "client", "bulk": "20 s"}
        queue = queue.set("transfers.0", bulk)
        whole = run("uml", queue)
        assert whole["drops_down"].min() > 0
        for order in (["31 ms", "10 ms", "23 ms"], ["23 ms", "31 ms", "10 ms"]):
            again = run("uml", queue.set("vary.path.delay", order), jobs=1).sort("path.delay")
            assert again.drop("run").equals(whole.sort("path.delay").drop("run"))

    def test_a_discipline_that_is_not_there_or_not_linux_is_told(self) -> None:
        with pytest.raises(
            StudyError, match=r"path\.down\.qdisc: a discipline .* path\.emulator = \"netem\""
        ):
            run("uml", study(path__qdisc=["fq_codel"]))
        with pytest.raises(StudyError, match=r"path\.qdisc: \"fq_kodel\" .*allowed: pfifo, .*, fq_codel, "):
            run("uml", study(path__emulator=["netem"], path__qdisc=["fq_kodel"]))
        with pytest.raises(StudyError, match=r"path\.qdisc: codel: .targett. is not an option; allowed"):
            run("uml", study(path__emulator=["netem"], path__qdisc=["codel targett 5ms"]))
        with pytest.raises(RexmitError, match=r"path\.qdisc: .*cake nat: No conntrack support in kernel"):
            run("uml", study(path__emulator=["netem"], path__qdisc=["cake nat"]))
        with pytest.raises(StudyError, match=r"path\.down\.overhead: 38 bytes; .* leave it out, or write"):
            run("uml", study(path__emulator=["netem"], path__qdisc=["fq_codel"], path__overhead=["38 bytes"]))
        with pytest.raises(StudyError, match=r"path\.qdisc: .*not a queueing discipline"):
            run("uml", study(path__emulator=["netem"], path__qdisc=["fq; reboot"]))

    def test_what_netem_cannot_do_is_refused(self) -> None:
        with pytest.raises(
            StudyError, match=r"path\.down\.drop has no effect here; leave .* --allow-unsupported"
        ):
            run("uml", study(path__emulator=["netem"], path__down__drop=[3]))

    def test_a_congestion_control_that_is_not_there_is_told_with_those_that_are(self) -> None:
        with pytest.raises(StudyError, match=r'no congestion control "cubik"; it has reno, bbr'):
            run("uml", study(hosts__server__linux__congestion=["cubik"]))

    def test_the_least_timeout_is_heeded(self) -> None:
        plain = {"early_retrans": 0, "recovery": 0}
        late = study(hosts__server__linux__rto_min=["200 ms", "1 s", "3 s"], path__down__drop=[19])
        for key, value in plain.items():
            late = late.set(f"hosts.server.linux.{key}", value)
        found = run("uml", late)
        assert found["timeouts"].to_list() == [1, 1, 1]
        # With the rest of the transfer; a round trip is added, and the wheel rounds up by an eighth at most.
        for time, least in zip(found["time_ns"], (0.2e9, 1e9, 3e9), strict=True):
            assert least <= time <= 1.125 * (least + 0.3e9) + 0.25e9

    def test_a_sysctl_of_the_machine_is_refused(self) -> None:
        with pytest.raises(StudyError, match=r"vm\.swappiness does not belong to a host's network"):
            run("uml", study().set("hosts.server.linux.sysctl", {"vm.swappiness": 60}))

    def test_no_sysctl_of_that_name(self) -> None:
        wrong = study(hosts__server__linux__sysctl=[{"net.ipv4.tcp_magic": 1}])
        with pytest.raises(
            StudyError, match=r"hosts\.server\.linux: Linux \S+ has no sysctl net\.ipv4\.tcp_magic"
        ):
            run("uml", wrong)

    def test_what_varies_in_a_profile_reaches_the_kernel(self, tmp_path: Path) -> None:
        sack = study(hosts__server__stack__options__sack=[True, False])
        run("uml", sack, tmp_path, capture="all")
        offers = []
        for number in (0, 1):
            capture = tmp_path / "captures" / f"run-{number:08d}-client.pcapng"
            told = subprocess.run(
                ["tshark", "-r", str(capture), "-Y", "tcp.flags.syn==1 && tcp.flags.ack==1", "-V"],
                capture_output=True,
                text=True,
                check=True,
            )
            offers.append("SACK permitted" in told.stdout)
        assert offers == [True, False]

    def test_a_setting_without_a_knob_is_refused_or_recorded(self, tmp_path: Path) -> None:
        ticking = study(hosts__server__stack__clock__tick=["10 ms"])
        with pytest.raises(StudyError, match=r"hosts\.server\.stack\.clock\.tick has no effect here"):
            run("uml", ticking)
        results = ticking.run(tmp_path, backend="uml", allow_unsupported=True, progress=False)
        warnings = results.provenance()["sessions"][0]["warnings"]
        assert any("stack.clock.tick" in text for text in warnings)

    def test_the_record_names_the_kernel(self, tmp_path: Path) -> None:
        results = study().run(tmp_path, backend="uml", progress=False)
        assert results.study["backend"] == "uml"
        assert results.study["kernel"].startswith("6.")
        assert results.study["hz"] in (100, 250, 1000)

    def test_no_reason_for_each_packet_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="says why it sends a packet"):
            run("uml", study(), tmp_path, transmissions="all")
        assert not list(tmp_path.iterdir())

    def test_state_at_an_interval_is_what_held_then(self, tmp_path: Path) -> None:
        results = study(path__down__drop=[18]).run(
            tmp_path / "grid", backend="uml", progress=False, state="all", state_at="5 ms"
        )
        run("uml", study(path__down__drop=[18]), tmp_path / "changes", state="all")
        tables = [tmp_path / name / "tables" / "run-00000000-state.parquet" for name in ("grid", "changes")]
        grid, changes = (pl.read_parquet(table).filter(host="server") for table in tables)
        assert grid["time_ns"].to_list() == [grid["time_ns"][0] + n * 5_000_000 for n in range(grid.height)]
        for row in grid.iter_rows(named=True):
            last = changes.filter(pl.col("time_ns") <= row["time_ns"]).row(-1, named=True)
            # What Linux has counted of time goes on between changes.
            counted = dict.fromkeys(("busy_ns", "rwnd_limited_ns", "sndbuf_limited_ns"))
            assert {**last, "time_ns": row["time_ns"], **counted} == {**row, **counted}
        assert results.trace(0).keys() == {"state", "verdicts", "messages"}

    def test_bulk_for_a_time_in_both_directions_at_once(self) -> None:
        there = {"from": "server", "to": "client", "bulk": "5 s"}
        back = {"from": "client", "to": "server", "bulk": "5 s", "start": "1 s"}
        both = study().set("transfers", [there, back])
        (row,) = run("uml", both).rows(named=True)
        assert row["completed"]
        # 125,000 bytes a second each way with headers, and what the buffers took before the time was over.
        assert 1_150_000 < row["bytes"] < 2_500_000

    def test_a_run_has_more_connections_than_a_process_has_files(self) -> None:
        many = {"from": "server", "to": "client", "bulk": "100 bytes", "connections": 1500, "stagger": "1 ms"}
        (row,) = run("uml", study().set("transfers", [many])).rows(named=True)
        assert (row["completed"], row["bytes"], row["error"]) == (True, 150_000, None)

    def test_a_run_that_reaches_its_limit_says_so(self) -> None:
        endless = study().set("transfers", [{"from": "server", "to": "client", "bulk": "10 min"}])
        (row,) = run("uml", endless.set("limit", "5 s")).rows(named=True)
        assert not row["completed"]
        assert row["error"] == "not complete after 5 s of virtual time"


@pytest.mark.real_time
@pytest.mark.usefixtures("namespaces")
class TestKernel:
    """`--backend kernel`."""

    def test_a_transfer_in_real_time(self, tmp_path: Path) -> None:
        before = namespaces_there()
        (row,) = run("kernel", study(), tmp_path, capture="all").rows(named=True)
        assert row["completed"]
        assert row["bytes"] == 25_000
        # Sending alone takes 215 ms, and no machine is so slow that it takes a minute.
        assert 0.24e9 < row["time_ns"] < 60e9
        assert row["packets_down"] >= 20
        assert len(list((tmp_path / "captures").iterdir())) == 2
        assert namespaces_there() == before
        with pytest.raises(UsageError, match="keep its tables as it runs"):
            rexmit.open_results(tmp_path).trace(0)

    def test_only_failed_runs_are_kept_where_that_was_asked(self, tmp_path: Path) -> None:
        short = study().set("limit", "10 s")
        run("kernel", short, tmp_path, capture="failed")
        assert list((tmp_path / "captures").iterdir()) == []

    def test_without_a_kernel_built_one_line_says_what_to_do(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REXMIT_CACHE", str(tmp_path))
        with pytest.raises(RexmitError, match="rexmit kernel build"):
            run("uml", study())


@pytest.mark.real_time
@pytest.mark.parametrize("backend", ["uml", "kernel"])
@pytest.mark.usefixtures("guest", "namespaces")
def test_a_pattern_that_met_no_packet_is_counted_as_the_model_counts_it(backend: str) -> None:
    what = study(path__down__drop=[0, 3, 500], path__up__mark=[1, 700])
    counts = ["unreached_down", "unreached_up"]
    assert run(backend, what).select(counts).equals(run("model", what).select(counts))
    assert run("model", what).select(counts).rows() == [(0, 0), (0, 1)] * 2 + [(1, 0), (1, 1)]


def test_the_model_refuses_what_only_a_kernel_has() -> None:
    kernels = study(hosts__server__linux__recovery=[0, 1])
    with pytest.raises(StudyError, match=r"hosts\.server\.linux\.recovery has no effect here"):
        run("model", kernels)
    assert run("model", kernels, allow_unsupported=True).height == 2


def test_a_run_without_an_answer_is_a_row_that_says_why() -> None:
    backend = open_backend("kernel", study(path__delay=["10 ms", "20 ms"]).spec)
    assert isinstance(backend, KernelBackend)
    done = {run: Done(run, failed="the agent did not survive it") for run in (0, 1)}
    ((runs, table),) = backend._pieces(done)
    assert (runs, table.num_rows) == (range(2), 2)
    assert table.column("error").to_pylist() == ["the agent did not survive it"] * 2
    assert table.column("late").to_pylist() == table.column("completed").to_pylist() == [False, False]


def namespaces_there() -> set[str]:
    """Every network namespace that a process is in."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add(os.readlink(process / "ns" / "net"))
        except OSError:
            continue
    return found
