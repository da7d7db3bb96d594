"""Measure runs a second on the kernel with a virtual clock: `make bench`.

The flow is that of hurtig-2006: 20 packets from the server, one of them lost, over 1 Mbit/s and 10 ms. It
runs on one guest, with the agent inside the guest's kernel and with the agent as a process of it, and on the
model, in turn; then with captures, with other sysctls in each run, over SCTP, and in bulk; and with a guest
for each host, which take turns. Time counts from the first run's answer to the last one's, so that no boot is
in a rate where that is not said. Everything is also written to
`build/bench/kernels.json`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rexmit
from bench import OUT, machine
from rexmit.kernel import Kernel, KernelError, check_boot, find_kernel
from rexmit.run.agents import Crew, Done, RunJob
from rexmit.run.guests import Reach, agent_program, engine, guest_command, inside_command, of_this_system

FLOW: dict[str, Any] = {
    "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
    "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets", "down": {"drop": 18}},
    "transfers": [{"from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes"}],
}
SCTP = FLOW | {"hosts": {"server": {"stack": "lksctp-2.6.15"}, "client": {"stack": "lksctp-2.6.15"}}}
SETTINGS = [{"sack": True}, {"sack": False}, {"recovery": 0}, {"early_retrans": 0, "recovery": 0}]
SECONDS = 4
STEPPED = 1500


@dataclass(frozen=True)
class Case:
    """What is run, and how many runs a second were asked for of the agent inside."""

    name: str
    scenarios: Sequence[Mapping[str, Any]]
    runs: int
    asked: int | None = None
    captures: bool = False


def flows(count: int) -> dict[str, Any]:
    """So many senders in bulk for some seconds over a fast link."""
    transfer = {"from": "server", "to": "client", "bulk": f"{SECONDS} s", "connections": count}
    path = {"rate": "100 Mbit/s", "delay": "10 ms", "queue": "200 packets"}
    return FLOW | {"path": path, "transfers": [transfer]}


def cases() -> list[Case]:
    """Everything that is measured."""
    varied = [
        FLOW | {"hosts": {**FLOW["hosts"], "server": {"stack": "linux-6.1", "linux": one}}}
        for one in SETTINGS
    ]
    return [
        Case("20 packets", [FLOW], 6000, 8000),
        Case("the same with captures", [FLOW], 3000, 4000, captures=True),
        Case("the same, other sysctls in each run", varied, 4000, 2000),
        Case("20 packets over SCTP", [SCTP], 3000, 3000),
    ]


def rate(
    case: Case, command: Callable[[Path, Path], list[str]], hz: int, runs: int, where: Path
) -> tuple[float, int]:
    """Runs a second from the first answer on, and packets handed to hosts; captures stay in `where`.

    A file system may keep away from what was freed in the last minutes (ext4 looks for another inode, which
    takes longer than all else), so what one round has written is not removed before the next one.
    """
    place = tempfile.mkdtemp(dir=where)

    def job(run: int) -> RunJob:
        files = [f"{place}/{run}-{host}.pcapng" for host in ("server", "client")]
        captures = {"captures": files} if case.captures else {}
        scenario = case.scenarios[run % len(case.scenarios)]
        return RunJob(run, scenario, 1, str(run), {"virtual_hz": hz, **captures})

    crew = Crew(lambda file, folder: command(file, folder), job, 1, pinned=True, block=runs)
    began, ended = 0.0, 0.0
    every: list[Done] = []
    for done in crew.work(range(runs), lambda: False):
        every.append(done)
        ended = time.monotonic()
        began = began or ended
    assert not any(done.failed for done in every)
    packets = sum(done.answer["row"]["deliveries"] for done in every)
    return (runs - 1) / (ended - began), packets


def on_model(case: Case, runs: int) -> float:
    """Runs a second of the model on one core."""
    study = rexmit.Study.from_dict(
        {"scenario": dict(case.scenarios[0]), "design": {"replications": runs}}, "flow"
    )
    began = time.monotonic()
    study.run(jobs=1, progress=False, allow_unsupported=True)
    return runs / (time.monotonic() - began)


def measure(kernel: Kernel, rounds: int, where: Path) -> dict[str, dict[str, list[float]]]:
    """Each case on each of the three, in turn."""
    found: dict[str, dict[str, list[float]]] = {}
    for case in cases():
        rates: dict[str, list[float]] = {"inside": [], "process": [], "model": []}
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as writable:
                seen = of_this_system([engine()])
                reach = Reach((Path(tempfile.gettempdir()), Path(writable), where), seen)

                def inside(job: Path, folder: Path, reach: Reach = reach) -> list[str]:
                    return inside_command(kernel, job, folder, reach)

                def process(job: Path, folder: Path) -> list[str]:
                    seen = of_this_system([agent_program()])
                    reach = Reach((Path(tempfile.gettempdir()), where), seen)
                    return guest_command(kernel, "runs", job, folder, reach)

                rates["inside"].append(rate(case, inside, kernel.hz, case.runs, where)[0])
                rates["process"].append(rate(case, process, kernel.hz, 60, where)[0])
            rates["model"].append(on_model(case, 4 * case.runs))
        found[case.name] = rates
        middle = {name: statistics.median(values) for name, values in rates.items()}
        asked = f", {case.asked:,} asked for" if case.asked else ""
        print(
            f"{case.name}: {middle['inside']:,.0f} runs/s inside the kernel{asked}; "
            f"a process of the guest {middle['process']:,.0f}, "
            f"{middle['inside'] / middle['process']:.0f} times less; model {middle['model']:,.0f}"
        )
    return found


def in_bulk(kernel: Kernel, where: Path) -> dict[int, float]:
    """Packets a second by the number of flows."""
    found = {}
    for count in (1, 10, 100):
        case = Case("", [flows(count)], 2)

        def inside(job: Path, folder: Path) -> list[str]:
            return inside_command(kernel, job, folder, Reach((), of_this_system([engine()])))

        began = time.monotonic()
        _, packets = rate(case, inside, kernel.hz, 2, where)
        found[count] = packets / (time.monotonic() - began)
        print(f"bulk, {count} flow(s): {found[count]:,.0f} packets/s with the boot, 250,000 asked for")
    return found


def in_steps() -> dict[str, float]:
    """Runs a second, boots included, where each host that is Linux has a guest of its own."""
    found = {}
    for name, client in (("two guests", "linux:"), ("a guest and the model", "linux-6.1")):
        hosts = {"server": {"stack": "linux:"}, "client": {"stack": client}}
        study = rexmit.Study.from_dict(
            {"scenario": FLOW | {"hosts": hosts}, "design": {"replications": STEPPED}}, "flow"
        )
        began = time.monotonic()
        study.run(jobs=1, progress=False)
        found[name] = STEPPED / (time.monotonic() - began)
        print(f"20 packets in steps, {name}: {found[name]:,.0f} runs/s with the boots")
    return found


def main() -> int:
    """Measure and print; 1 where no kernel is built."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3, help="rounds; the median counts")
    options.add_argument(
        "--captures", type=Path, default=Path(tempfile.gettempdir()), help="where captures lie for a while"
    )
    chosen = options.parse_args()
    try:
        kernel = find_kernel()
    except KernelError as error:
        print(f"kernel with a virtual clock: not measured: {error}")
        return 1
    boot = statistics.median(check_boot(kernel).seconds for _ in range(chosen.rounds))
    print(f"\nreal kernels on one core, {machine()}")
    print(f"Linux {kernel.version}, HZ {kernel.hz}, in virtual time; boot with a process {boot:.2f} s")
    with tempfile.TemporaryDirectory(dir=chosen.captures) as place:
        found: dict[str, Any] = {"runs_per_s": measure(kernel, chosen.rounds, Path(place))}
        found |= {"bulk_packets_per_s": in_bulk(kernel, Path(place))}
    found |= {"in_steps_runs_per_s": in_steps()}
    OUT.mkdir(parents=True, exist_ok=True)
    about = {"kernel": kernel.version, "hz": kernel.hz, "boot_s": boot}
    (OUT / "kernels.json").write_text(json.dumps(about | found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
