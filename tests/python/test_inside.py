"""The agent inside a guest's kernel, and the same agent as a process of a guest, whose hosts are new."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit.kernel import find_kernel
from rexmit.run.agents import Crew, RunJob
from rexmit.run.guests import Reach, engine, guest_command, inside_command

SAMPLE = 60
THOUSAND = 1000

EVERYTHING = {"state": "changes", "verdicts": True, "messages": True}

Scenarios = Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True)
class Way:
    """How runs are done: inside the kernel or not, with all tables and captures or none, on so many."""

    inside: bool
    whole: bool
    guests: int = 2


JUDGE = Way(inside=False, whole=True)


def answers(scenarios: Scenarios, order: Sequence[int], way: Way, folder: Path) -> dict[int, dict[str, Any]]:
    """What each run gave, with the bytes of its captures where they were asked for."""
    kernel = find_kernel()
    folder.mkdir(exist_ok=True)

    def launch(job: Path, beside: Path) -> list[str]:
        reach = Reach((folder.resolve(),))
        if way.inside:
            return inside_command(kernel, job, beside, reach)
        return guest_command(kernel, "runs", job, beside, reach)

    def files(run: int) -> list[Path]:
        return [folder / f"{run}-{host}.pcapng" for host in ("server", "client")]

    def job(run: int) -> RunJob:
        options: dict[str, Any] = {"virtual_hz": kernel.hz}
        if way.whole:
            options |= EVERYTHING | {"captures": [str(file) for file in files(run)]}
        # The key is the scenario's and not the run's: the same scenario gives the same wherever it stands.
        return RunJob(run, scenarios[run], 7, "drawn", options)

    found = {}
    for done in Crew(launch, job, way.guests, pinned=True).work(order, lambda: False):
        assert done.failed is None, f"scenario {done.run}: {done.failed}"
        found[done.run] = {key: value for key, value in done.answer.items() if key != "run"}
        if way.whole:
            found[done.run]["captures"] = [file.read_bytes() for file in files(done.run)]
            for file in files(done.run):
                file.unlink()
    return found


def differences(ours: Mapping[str, Any], judge: Mapping[str, Any]) -> Iterator[str]:
    """What of an answer is not the judge's; `ours` may lack what it was not asked for."""
    for key in ours:
        if key == "row":
            yield from (f"row.{name}" for name, value in judge["row"].items() if ours["row"][name] != value)
        elif key == "tables":
            for kind, columns in judge["tables"].items():
                yield from (
                    f"{kind}.{name}" for name in columns if ours["tables"][kind][name] != columns[name]
                )
        elif ours[key] != judge[key]:
            yield key


def compare(scenarios: Scenarios, folder: Path) -> None:
    """Both engines, and the one inside in other orders and company, with all tables and captures or none."""
    judge = answers(scenarios, list(scenarios), JUDGE, folder / "judge")
    ways = [
        Way(inside=True, whole=True, guests=1),
        Way(inside=True, whole=True),
        Way(inside=True, whole=False),
    ]
    wrong = []
    late = [run for run in scenarios if judge[run]["late_max_ns"] > 0]
    assert len(late) * 100 <= len(scenarios), "the clock stands while a run is at work"
    for number, way in enumerate(ways):
        order = random.Random(number).sample(list(scenarios), k=len(scenarios))
        found = answers(scenarios, order, way, folder / str(number))
        # Where so much happens at one instant that a process's clock moves on, runs inside are compared.
        judge.update((run, found[run]) for run in late if number == 0)
        for run in scenarios:
            if apart := list(differences(found[run], judge[run])):
                wrong.append(f"scenario {run}, {way}: {', '.join(apart)}")
    assert not wrong, "\n".join(wrong)


ONCE = [
    ("all", 0, (12,)),  # IPv6: solicitations of routers ended the wait of a run that was over
    (
        "all",
        0,
        (22, 39),
    ),  # IPv6: flow labels after sockets of an earlier run, and a table of neighbours, drew numbers
    ("sctp", 0, (0, 2, 3, 5, 9, 10)),  # keys of cookies, of a table of paths; heartbeats with ticks
    (
        "all",
        1,
        (24,),
    ),  # a timestamp of 0 came back: the receiver took the time since the boot for a round trip
    ("all", 0, (2232, 2869)),  # with a capture, a receiver's queue joined no packets
    ("all", 0, (2080,)),  # a timer's packet at the instant of the limit
    ("all", 0, (7, 15, 17, 23, 47, 50)),  # several packets due at one instant
    ("all", 0, (10,)),  # a table longer than a pipe holds
    ("all", 2, (481,)),  # a tick, which is there or not for what ran before, made a packet 116 ns late
]
"""Family, seed, numbers: scenarios that once depended on the engine, on what ran before or on captures."""


def drawn(numbers: range, seed: int) -> Scenarios:
    return {number: rexmit.draw_scenario(number, seed=seed) for number in numbers}


@pytest.fixture
def inside() -> None:
    """Skips where no kernel has been built that runs the agent inside."""
    if not find_kernel().has_driver:
        pytest.skip("the kernel was built without the driver")


@pytest.mark.usefixtures("guest", "inside")
class TestBothEngines:
    """Random scenarios: the same answers, tables and packets, to the byte."""

    def test_a_sample_is_the_same(self, tmp_path: Path) -> None:
        compare(drawn(range(SAMPLE), 1), tmp_path)

    def test_those_that_once_differed_are_the_same(self, tmp_path: Path) -> None:
        found = enumerate((family, seed, number) for family, seed, numbers in ONCE for number in numbers)
        scenarios = {n: rexmit.draw_scenario(at, seed=seed, family=family) for n, (family, seed, at) in found}
        compare(scenarios, tmp_path)

    @pytest.mark.long
    @pytest.mark.parametrize("first", range(0, THOUSAND, 250))
    def test_a_thousand_are_the_same(self, first: int, tmp_path: Path) -> None:
        compare(drawn(range(first, first + 250), 2), tmp_path)


BULK: dict[str, Any] = {"from": "server", "to": "client", "bulk": "200 kB"}
SIXTH = {"server": {"address": "fd00:2::1"}, "client": {"address": "fd00:1::1"}}


def scenario(stack: str, transfer: Mapping[str, Any] = BULK, **more: Any) -> dict[str, Any]:
    """A transfer over a bottleneck; `more` are keys of the path, `linux` of both hosts, and the `limit`."""
    sixth, limit, linux = more.pop("sixth", False), more.pop("limit", "900 s"), more.pop("linux", {})
    hosts = {
        name: {"stack": stack, "linux": linux, **(SIXTH[name] if sixth else {})}
        for name in ("server", "client")
    }
    path = {"rate": "1 Mbit/s", "delay": "20 ms", "queue": "20 packets", **more}
    return {"hosts": hosts, "path": path, "transfers": [transfer], "limit": limit}


LOSSES = {"down": {"drop": "9,30", "loss": 0.02}}
OUTAGE = [{"at": "300 ms", "rate": "0 bit/s"}]

DISTURBING = {
    "cut off in the middle": {"limit": "400 ms"},
    "cut off before the connection was open": {"limit": "30 ms"},
    "given up": {"changes": OUTAGE, "linux": {"sysctl": {"net.ipv4.tcp_retries2": 2}}},
    "reset": {
        "transfer": {**BULK, "connections": 5},
        "linux": {"sysctl": {"net.ipv4.tcp_retries2": 1}},
        "down": {"drop": {"time": "200 ms-20 s"}},
    },
    "nobody there": {"linux": {"syn_retries": 1}, "changes": [{"at": "0 s", "rate": "0 bit/s"}]},
    "nobody closes": {"transfer": {**BULK, "close": False, "connections": 3}},
    "the receiver does not read": {
        "transfer": {**BULK, "read": {"size": "100 bytes", "rate": "1 kbit/s"}},
        "limit": "20 s",
    },
    "remembered": {"linux": {"no_metrics_save": False}, **LOSSES},
}
OF_SCTP = {
    "given up": {"changes": OUTAGE, "linux": {"sysctl": {"net.sctp.association_max_retrans": 2}}},
    "reset": {
        "transfer": {**BULK, "connections": 5},
        "linux": {"sysctl": {"net.sctp.association_max_retrans": 1}},
        "down": {"drop": {"time": "200 ms-20 s"}},
    },
    "nobody there": {
        "linux": {"sysctl": {"net.sctp.max_init_retransmits": 1}},
        "changes": [{"at": "0 s", "rate": "0 bit/s"}],
    },
    "remembered": LOSSES,
}
"""The same by SCTP's settings."""


@pytest.mark.usefixtures("guest", "inside")
def test_cookies_of_syns_tell_nothing_of_earlier_runs(tmp_path: Path) -> None:
    """They are made with the count of minutes since the start, which was the guest's and is the run's."""
    cookies = {"linux": {"sysctl": {"net.ipv4.tcp_syncookies": 2}}}
    for_minutes = scenario("linux-6.1", {**BULK, "start": "150 s"})
    runs = {n: scenario("linux-6.1", **cookies, **LOSSES) if n % 2 == 0 else for_minutes for n in range(5)}
    found = answers(runs, list(runs), Way(inside=True, whole=True, guests=1), tmp_path)
    for run in (2, 4):
        assert not list(differences(found[run], found[0])), f"after {run} runs"


NOTHING_SENT = bytes.fromhex("080a 00000000 00000001")
"""Timestamps of a SYN-ACK: 0, which a peer sends back as if it had none, and the SYN's 1."""


@pytest.mark.usefixtures("guest", "inside")
@pytest.mark.parametrize("sixth", [False, True], ids=["IPv4", "IPv6"])
def test_a_cookie_with_a_timestamp_of_0_keeps_the_offset(sixth: bool, tmp_path: Path) -> None:
    """The low bits of its timestamp are options; with an echo of 0 the connection's counted from the boot."""
    cookies = {"linux": {"sysctl": {"net.ipv4.tcp_syncookies": 2}}}
    study = rexmit.Study.from_dict(
        {
            "scenario": scenario("linux-6.1", {**BULK, "bulk": "3 kB"}, sixth=sixth, **cookies),
            "design": {"replications": 160},
        },
        "cookies",
    )
    found = []
    for jobs in (1, 2):
        where = tmp_path / str(jobs)
        study.run(where, backend="uml", jobs=jobs, capture="all", progress=False)
        found.append({file.name: file.read_bytes() for file in sorted(where.glob("captures/*"))})
    assert any(NOTHING_SENT in capture for capture in found[0].values())
    assert [name for name, capture in found[0].items() if found[1][name] != capture] == []


@pytest.mark.usefixtures("guest", "inside")
@pytest.mark.parametrize("sixth", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("stack", ["linux-6.1", "rfc9260"])
def test_a_run_that_does_not_end_well_leaves_nothing_to_the_next(
    stack: str, sixth: bool, tmp_path: Path
) -> None:
    kinds = DISTURBING if stack == "linux-6.1" else DISTURBING | OF_SCTP
    plain = scenario(stack, sixth=sixth, **LOSSES)
    runs = {0: plain}
    for name in kinds:
        more = dict(kinds[name])
        transfer = more.pop("transfer", BULK)
        runs[len(runs)] = scenario(stack, transfer, sixth=sixth, **more)
        runs[len(runs)] = plain
    found = answers(runs, list(runs), Way(inside=True, whole=True, guests=1), tmp_path / "inside")
    judge = answers({0: plain}, [0], JUDGE, tmp_path / "judge")
    assert not list(differences(found[0], judge[0]))
    assert found[0]["row"]["retransmits"] > 0
    for name, run in zip(kinds, range(1, len(runs), 2), strict=True):
        assert (found[run]["row"]["error"] is None) == (name in ("nobody closes", "remembered")), name
        assert not list(differences(found[run + 1], found[0])), f"after a run that was {name}"


NETEM = {"emulator": "netem"}
OVER_NETEM: dict[str, dict[str, Any]] = {
    "a queue": {},
    "losses": {"loss": 0.02},
    "a delay that is not a whole number of the kernel's ticks": {"delay": "31.3 ms"},
    **{f"losses and {name}": {"qdisc": name, "loss": 0.02} for name in ("fq_codel", "fq", "sfq")},
}
DISCIPLINES = """
pfifo limit 12
bfifo limit 20k
pfifo_head_drop limit 12
pfifo_fast
codel target 3.5ms ce_threshold 2ms ecn
fq_codel limit 300 flows 16 quantum 300 memory_limit 100kb drop_batch 3
pie target 20ms tupdate 10ms alpha 3 beta 25 bytemode limit 60
fq_pie limit 80 flows 32 target 10ms ecn_prob 20 ecn
fq limit 40 flow_limit 20 buckets 64 maxrate 700kbit horizon 2s horizon_cap
sfq
sfq perturb 1 quantum 1514 limit 60 depth 30
sfq limit 100 redflowlimit 40000 probability 0.1 ecn
red limit 40kb min 5k max 15k avpkt 1000 burst 9 probability 0.1 bandwidth 1mbit
cake
cake rtt 30ms diffserv4 dual-srchost ack-filter docsis
""".strip().splitlines()
BACK = {"from": "client", "to": "server", "bulk": "100 kB", "start": "300 ms"}


def over_netem(stack: str, sixth: bool = False) -> Scenarios:
    """Transfers both ways over the kernel's own emulator and each of its disciplines."""
    paths = [*OVER_NETEM.values(), *({"qdisc": text} for text in DISCIPLINES)]
    runs: dict[int, dict[str, Any]] = {}
    for path in paths:
        # A queue of netem's own would hold what propagates, too.
        queue = {"queue": "1000 packets"} if "qdisc" in path else {}
        one = scenario(stack, sixth=sixth, **{**NETEM, **queue, **path})
        if stack == "linux-6.1":
            one["transfers"] = [BULK, BACK]
        runs[len(runs)] = one
    return runs


@pytest.mark.usefixtures("guest", "inside")
class TestOverNetem:
    """Netem and the disciplines of the kernel drop the same and let packets go at the same times."""

    @pytest.mark.parametrize("sixth", [False, True], ids=["IPv4", "IPv6"])
    def test_tcp_is_the_same(self, sixth: bool, tmp_path: Path) -> None:
        compare(over_netem("linux-6.1", sixth), tmp_path)

    def test_sctp_is_the_same(self, tmp_path: Path) -> None:
        """But for states at one instant: a process may look between two packets of it, at two hosts."""
        runs = over_netem("rfc9260")
        judge = answers(runs, list(runs), JUDGE, tmp_path / "judge")
        orders = [list(runs), random.Random(3).sample(list(runs), k=len(runs))]
        ours = [
            answers(runs, order, Way(inside=True, whole=True, guests=number), tmp_path / str(number))
            for number, order in enumerate(orders, 1)
        ]
        for run in runs:
            assert not list(differences(ours[1][run], ours[0][run])), runs[run]["path"]
            apart = set(differences(ours[0][run], judge[run]))
            assert not {name for name in apart if not name.startswith("state.")}, runs[run]["path"]

    def test_each_has_lost_something_to_compare(self, tmp_path: Path) -> None:
        runs = over_netem("linux-6.1")
        found = answers(runs, list(runs), Way(inside=True, whole=False), tmp_path / "inside")
        for run, answer in found.items():
            row, path = answer["row"], runs[run]["path"]
            assert row["error"] is None, path
            # Their queues hold all that these transfers have under way.
            large = path.get("qdisc", "").startswith(("pfifo_fast", "sfq")) and "redflow" not in path["qdisc"]
            assert row["retransmits"] > 0 or (large and "loss" not in path), path


@pytest.mark.usefixtures("guest", "inside")
def test_a_capture_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    older = tmp_path / "0-server.pcapng"
    older.write_bytes(b"of another day")
    runs = drawn(range(1), 1)
    found = answers(runs, [0], Way(inside=True, whole=True), tmp_path)[0]
    # Whatever it was called meanwhile.
    assert not list(tmp_path.iterdir())
    assert found == answers(runs, [0], Way(inside=True, whole=True), tmp_path)[0]


def test_the_library_reaches_this_machines_kernel_by_no_name_of_its_c_library() -> None:
    """Whatever is not here would be a system call of the machine in the place of one of the guest."""
    if shutil.which("nm") is None:
        pytest.skip("no nm on this machine")
    said = subprocess.run(
        ["nm", "-D", "--undefined-only", str(engine())], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].partition("@")[0] for line in said.stdout.splitlines()}
    unknown = {
        name for name in names if not name.startswith(("_Unwind_", "pthread_", "posix_spawn", "_ITM_"))
    }
    known = [HARMLESS, OF_OTHER_AGENTS, OF_OTHER_STACKS]
    assert not unknown - {name for names in known for name in names.split()}


HARMLESS = """
__cmsg_nxthdr __cxa_finalize __cxa_thread_atexit_impl __errno_location __gmon_start__ __snprintf_chk
__stack_chk_fail __vsnprintf_chk _setjmp
__tls_get_addr __xpg_strerror_r abort bcmp calloc cos dl_iterate_phdr environ exp free gai_strerror getauxval
getenv gnu_get_libc_version htonl htons localtime_r log log10 log1p log2 longjmp malloc memchr memcmp memcpy
memmove memrchr memset mmap mmap64 mprotect munmap ntohl ntohs posix_memalign pow realloc sigaddset
sigaltstack sigemptyset sin snprintf strlen strncmp strnlen sysconf vsnprintf
"""
"""Memory of the process, text, numbers: nothing of the guest."""

OF_OTHER_AGENTS = """
__res_init _exit chroot execvp fork freeaddrinfo getaddrinfo getcwd if_indextoname kill nanosleep pause
pidfd_getpid pidfd_spawnp realpath setgid setgroups setpgid setsid setuid signal waitid waitpid
"""
"""Of starting programs, of threads that sleep, of looking names up: no run inside a kernel does any of it,
but the same library has the code of other agents, which the linker does not always leave out."""

OF_OTHER_STACKS = """
__fprintf_chk fputc ftruncate memfd_create
"""
"""Of copies of a library in memory, and of a library's last words, which third parties' stacks need: a
guest runs its kernel's alone."""
