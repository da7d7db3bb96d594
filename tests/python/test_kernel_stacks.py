"""Linux as the stack of a host, beside itself and beside others, each host in a guest of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit import Study
from rexmit.errors import RexmitError, StudyError
from rexmit.kernel import KernelError, kernels

NAMED = ("hosts.client.stack", "hosts.server.stack")
PHASE = "1234567 ns"
SAMPLE = 16

COLUMNS = ["completed", "bytes", "packets_down", "packets_up", "timeouts_server", "timeouts"]
COLUMNS += ["fast_retransmits", "drops_down", "drops_up", "error"]

pytestmark = pytest.mark.usefixtures("guest")


def study(tmp_path: Path, server: str, client: str, vary: str = "") -> Study:
    """20 packets over 1 Mbit/s, each host's tick at the same phase."""
    file = tmp_path / f"{len(list(tmp_path.iterdir()))}.toml"
    file.write_text(f"""
title = "Linux beside others"

[scenario]
hosts.server = {{ stack = "{server}", tick_phase = "{PHASE}" }}
hosts.client = {{ stack = "{client}", tick_phase = "{PHASE}" }}
path.rate = "1 Mbit/s"
path.delay = "20 ms"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "27000 bytes"

[vary]
{vary or '"path.down.drop.position" = [1, 3, 10, 19, 20]'}

[design]
replications = 1
seed = 1
""")
    return Study.load(str(file))


def drawn(count: int) -> Iterator[dict[str, Any]]:
    """Scenarios of TCP whose kernels draw no random number that two guests would draw otherwise."""
    number = 0
    while count:
        scenario: dict[str, Any] = dict(rexmit.draw_scenario(number, seed=12, family="tcp"))
        number += 1
        text = json.dumps(scenario)
        # An engine ends a run over which nobody closes by a rule of its own.
        if any(word in text for word in ('"bbr"', '"cdg"', '"netem"', '"close": false')):
            continue
        for host in scenario["hosts"].values():
            host["tick_phase"] = PHASE
        count -= 1
        yield scenario


def test_two_guests_do_what_one_kernel_with_both_hosts_does() -> None:
    for number, scenario in enumerate(drawn(SAMPLE)):
        one = Study.from_dict({"title": "one", "scenario": scenario, "design": {"seed": 7}})
        wanted = one.run(backend="uml", progress=False).table().row(0, named=True)
        both = one.set("hosts.server.code", "linux").set("hosts.client.code", "linux")
        found = both.run(progress=False).table().row(0, named=True)
        assert {name: found[name] for name in COLUMNS} == {name: wanted[name] for name in COLUMNS}, number
        assert found["time_ns"] == wanted["time_ns"], number


def packets(capture: Path) -> list[tuple[float, str]]:
    """Each packet's time and bytes."""
    fields = [
        "-T",
        "fields",
        "-e",
        "frame.time_relative",
        "-e",
        "tcp.payload",
        "-e",
        "tcp.flags",
        "-e",
        "tcp.options",
    ]
    told = subprocess.run(["tshark", "-r", capture, *fields], capture_output=True, text=True, check=True)
    return [
        (float(time), rest) for time, _, rest in (line.partition("\t") for line in told.stdout.splitlines())
    ]


def test_captures_are_those_of_one_kernel(tmp_path: Path) -> None:
    both = study(tmp_path, "linux:6.1", "linux:6.1", vary='"path.down.drop.position" = [10]')
    both.run(tmp_path / "two", capture="all", progress=False)
    both.run(tmp_path / "one", backend="uml", capture="all", progress=False)
    for host in ("server", "client"):
        name = f"captures/run-00000000-{host}.pcapng"
        two, one = packets(tmp_path / "two" / name), packets(tmp_path / "one" / name)
        assert [rest for _, rest in two] == [rest for _, rest in one]
        assert max(abs(a - b) for (a, _), (b, _) in zip(two, one, strict=True)) < 1e-6


@pytest.mark.parametrize("other", ["freebsd-6.0", "linux-2.6.9", "rfc-2014"])
def test_linux_speaks_with_models_and_the_same_again_on_any_number_of_threads(
    tmp_path: Path, other: str
) -> None:
    for server, client in (("linux:6.1", other), (other, "linux:6.1")):
        mixed = study(tmp_path, server, client)
        alone = mixed.run(jobs=1, progress=False).table()
        assert alone["completed"].to_list() == [True] * 5
        assert alone["bytes"].to_list() == [27000] * 5
        assert mixed.run(jobs=2, progress=False).table().equals(alone)


def test_what_linux_writes_is_checked_by_its_place(tmp_path: Path) -> None:
    """Requests and several connections, both ways; a model counts each byte that is not in its place."""
    table = {
        "hosts": {"server": {"stack": "linux:"}, "client": {"stack": "freebsd-6.0"}},
        "path": {"rate": "2 Mbit/s", "delay": "5 ms", "loss": 0.02},
        "transfers": [
            {
                "from": "client",
                "to": "server",
                "requests": {"count": 5, "request": "300 bytes", "response": "9000 bytes"},
            },
            {"from": "server", "to": "client", "bulk": "200 kB", "connections": 3},
        ],
    }
    answer = rexmit.run_one(table, options={"state": True})
    assert answer["row"]["error"] is None
    assert answer["row"]["completed"]
    states = answer["state"]
    assert "ESTABLISHED" in states.filter(states["host"] == "server")["state"].to_list()
    assert states.filter(states["host"] == "server")["cwnd"].max() > 10 * 1448


def test_a_kernel_is_a_level_of_a_factor(tmp_path: Path) -> None:
    vary = '"hosts.server.stack" = ["linux:6.1", "freebsd-6.0"]\n"path.down.drop.position" = [20]'
    results = study(tmp_path, "rfc-2014", "linux:6.1", vary=vary).run(tmp_path / "out", progress=False)
    waits = dict(zip(results.table()["hosts.server.stack"], results.table()["timeouts_server"], strict=True))
    assert waits == {"linux:6.1": 0, "freebsd-6.0": 1}, "Linux probes the tail, FreeBSD waits"
    record = json.loads((tmp_path / "out" / "study.json").read_text())
    assert record["linux"].startswith("6.1.")
    assert len(record["hash"]) == 16


def test_a_kernel_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"no kernel 5\.4 .*; only Linux 6\.x can have one"):
        study(tmp_path, "linux:5.4", "rfc-2014").run(progress=False)
    with pytest.raises(
        StudyError, match=r'hosts.server.code: "model" contradicts `stack`, which says "linux"'
    ):
        study(tmp_path, "linux:6.1", "rfc-2014").set("hosts.server.code", "model").run(progress=False)
    with pytest.raises(RexmitError, match=r"hosts\.server\.linux: .*no congestion control"):
        rexmit.run_one(study(tmp_path, "linux:6.1", "rfc-2014").set("hosts.server.linux.congestion", "vegan"))


def test_a_guest_that_dies_is_named_and_the_sweep_goes_on(tmp_path: Path) -> None:
    """The guests of the first run are killed while it runs; the runs after it have others."""
    long = study(tmp_path, "linux:6.1", "linux:6.1", vary='"transfers.0.bulk" = ["200 MB", "20 kB"]')
    long = long.set("transfers.0.writes", None).set("path.rate", "1 Gbit/s")
    killed: list[int] = []

    def kill() -> None:
        while not killed:
            time.sleep(0.5)
            for pid in guests_of(os.getpid()):
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    table = long.run(jobs=1, progress=False).table()
    thread.join()
    first, second = table["error"].to_list()
    assert first.startswith("the guest with Linux 6.1.")
    assert first.endswith(" ended: signal: 9 (SIGKILL)")
    assert second is None
    assert table["completed"].to_list() == [False, True]


def test_a_guest_that_dies_between_two_runs_fails_neither(tmp_path: Path) -> None:
    mixed = study(tmp_path, "linux:6.1", "rfc-2014", vary='"path.down.drop.position" = [10]')
    first = mixed.run(jobs=1, progress=False).table()
    waiting = guests_of(os.getpid())
    assert waiting
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
    while any(lives(pid) for pid in waiting):
        time.sleep(0.01)
    assert mixed.run(jobs=1, progress=False).table().equals(first)


def lives(pid: int) -> bool:
    """Whether a process has not ended, though nobody may have asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def guests_of(parent: int) -> list[int]:
    """The guests in steps that a process has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"umid=stepped-{parent}-" in words:
            found.append(int(folder.name))
    return found


@pytest.mark.second_kernel
@pytest.mark.skipif(not any(one.version.startswith("6.12.") for one in kernels()), reason="no kernel 6.12")
def test_two_versions_of_the_kernel_in_one_run(tmp_path: Path) -> None:
    """One more acknowledgment that 6.12 sends at once is the receiver's doing."""
    alone = study(tmp_path, "linux:6.12", "rfc-2014").run(tmp_path / "alone", progress=False)
    assert alone.study["linux"].startswith("6.12."), "the record names no kernel that no host had"
    both = '["linux:6.1", "linux:6.12"]'
    vary = f'"hosts.client.stack" = {both}\n"hosts.server.stack" = {both}'
    table = study(tmp_path, "rfc-2014", "rfc-2014", vary=vary).run(progress=False).table()
    assert table["completed"].to_list() == [True] * 4
    acks = {(row[0], row[1]): row[2] for row in table.select(*NAMED, "packets_up").iter_rows()}
    assert acks["linux:6.1", "linux:6.1"] == acks["linux:6.1", "linux:6.12"]
    assert acks["linux:6.12", "linux:6.1"] == acks["linux:6.12", "linux:6.12"]
