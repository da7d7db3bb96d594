"""Stacks that are programs with a clock of their own: led to the run's, and caught where they are not."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rexmit
from click.testing import CliRunner
from rexmit.cli.stack import stack

EXAMPLES = Path(__file__).parents[2] / "examples/stacks"
DATE = 1_139_270_400 * 10**9
"""The date at which captures of runs begin, ns."""
UPTIME = 100 * 10**9
"""What monotonic clocks show then, ns."""

OWN = """
import ctypes, os, subprocess, sys, time
sys.path.insert(0, {examples!r})
from rexmit.stack import serve
from stop_and_wait import StopAndWait
class Mine(StopAndWait):
{text}
serve(Mine, name="mine")
"""
"""A stack in Python that is told apart by some methods."""

CLOCKED = """
    def begin(self):
        super().begin()
        self.next = int.from_bytes(os.urandom(4), "big")
        self.sent, self.rtt = 0, 0
    def start(self, now, flags, data=b""):
        super().start(now, flags, data)
        self.sent = time.monotonic_ns()
        self.set_timer(now + 25_000_000 + self.rtt)
    def packet(self, now, data):
        self.rtt = time.monotonic_ns() - self.sent
        super().packet(now, data)
"""
"""Its timer goes by round-trip times on its own clock, and its numbers come from the system."""

IN_C = {
    '#include "rexmit_stack.h"': """#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include "rexmit_stack.h"
static uint64_t sent, rtt;
static uint64_t own(void) {
    struct timespec time;
#ifdef RAW
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}""",
    "rexmit_timer(end->due = now + (SECOND << end->tries));": (
        "sent = own(), rexmit_timer(end->due = now + 25000000 + (rtt << end->tries));"
    ),
    "end->in_flight = 0, end->flight = 0, ": (
        "rtt = TAKEN(own() - sent), end->in_flight = 0, end->flight = 0, "
    ),
    "end->next = (draws = draws * 6364136223846793005u + 1442695040888963407u) >> 32": (
        "if (getrandom(&end->next, 4, 0) != 4) exit(1)"
    ),
}
"""The same in C: what stands there instead. `TAKEN` is what it makes of a round-trip time."""

Write = Callable[[str], str]
"""Writes a program in Python of some methods; its command."""


@pytest.fixture
def program(tmp_path: Path) -> Write:
    def write(text: str) -> str:
        path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
        path.write_text(OWN.format(examples=str(EXAMPLES), text=text))
        return f"{sys.executable} {path}"

    return write


@pytest.fixture(scope="module")
def compiler() -> str:
    if (found := shutil.which("cc")) is None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", "no C compiler"
        pytest.skip("no C compiler on this machine")
    return found


@pytest.fixture(scope="module")
def in_c(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Compiles the example in C with a clock of its own."""
    folder = tmp_path_factory.mktemp("c")
    text = (EXAMPLES / "stop_and_wait.c").read_text()
    for old, new in IN_C.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "clocked.c").write_text(text)

    def build(*options: str) -> str:
        built = folder / f"clocked{len(list(folder.iterdir()))}"
        words = ["-O1", "-D_GNU_SOURCE", f"-I{EXAMPLES}", *(options or ("-DTAKEN(ns)=(ns)",))]
        subprocess.run([compiler, *words, "-o", built, folder / "clocked.c"], check=True)
        return str(built)

    return build


def study(server: Any, client: Any = "rfc", **settings: Any) -> rexmit.Study:
    """Data through loss; `server` and `client` are stacks."""
    scenario = {
        "hosts": {"server": {"stack": server}, "client": {"stack": client}},
        "path": {"rate": "10 Mbit/s", "delay": "10 ms", "down": {"drop": "3,7", "loss": "5 %"}},
        "transfers": [{"from": "server", "to": "client", "writes": "10 x 1000 bytes"}],
    }
    return rexmit.Study.from_dict({"title": "led", "scenario": scenario, **settings})


def led(command: str, **more: Any) -> dict[str, Any]:
    return {"program": command, "lead": True, **more}


def said(of: rexmit.Study, **options: Any) -> list[str]:
    """The last words of a program that ends at once, of each run."""
    errors = of.run(progress=False, **options).table().sort("run")["error"].to_list()
    return [error.partition("answering: ")[2] or error for error in errors]


def tells(what: str, first: str = "pass") -> str:
    """Methods of a stack that ends as its first end is made, and says something."""
    return f"""
    def begin(self):
        {first}
        raise SystemExit({what})
"""


def of_session(out: Path) -> dict[str, Any]:
    session: dict[str, Any] = json.loads((out / "provenance.json").read_text())["sessions"][-1]
    return session


def check_repeats(command: str, out: Path) -> None:
    runs = {"design": {"replications": 2}}
    alone = study(led(command), **runs).run(out / "1", progress=False, jobs=1)
    beside = study(led(command), **runs).run(out / "2", progress=False, jobs=3)
    assert alone.table()["completed"].all(), alone.table()["error"].to_list()
    assert alone.table()["retransmits"].sum() > 0
    assert alone.table().sort("run").rows() == beside.table().sort("run").rows()
    assert (of_session(out / "1")["repeats"], of_session(out / "1")["led"]) == ("bytes", ["server"])
    assert alone.study["stack_programs"][0]["led"] is True
    study({"program": command}).run(out / "3", progress=False)
    assert of_session(out / "3")["repeats"] == "none"
    assert "led" not in of_session(out / "3")


def test_a_program_in_python_with_a_clock_of_its_own_repeats_where_it_is_led(
    program: Write, tmp_path: Path
) -> None:
    check_repeats(program(CLOCKED), tmp_path / "out")


def test_a_program_in_c_with_a_clock_of_its_own_repeats_where_it_is_led(
    in_c: Callable[..., str], tmp_path: Path
) -> None:
    check_repeats(in_c(), tmp_path / "out")


def test_the_clocks_begin_with_the_run_and_go_on_by_what_is_slept(program: Write) -> None:
    look = "(time.time_ns(), *map(time.clock_gettime_ns, (1, 4, 7)))"
    first = f"a = {look}; time.sleep(0.25); time.sleep(2); b = {look}; time.process_time()"
    whens = [when for _, when in ((0, 0), (1, 2_250_000_000))]
    expected = [(DATE + when, *[UPTIME + when] * 3) for when in whens]
    assert said(study(led(program(tells("repr([a, b])", first))))) == [repr(expected)]
    # Once the run is later than the program has slept, its time is the run's.
    later = """
    def begin(self):
        super().begin()
        time.sleep(0.001)
    def packet(self, now, data):
        raise SystemExit(f"{now} {time.monotonic_ns()}")
"""
    now, own = map(int, said(study(led(program(later))))[0].split())
    assert now > 10_000_000
    assert own == UPTIME + now


def test_every_way_to_ask_and_to_sleep_in_c(compiler: str, tmp_path: Path) -> None:
    """And what is wrong there is an error, as in the C library."""
    (tmp_path / "ways.c").write_text(WAYS)
    built = tmp_path / "ways"
    subprocess.run([compiler, "-Wall", "-Werror", "-o", built, tmp_path / "ways.c"], check=True)
    assert said(study(led(str(built)))) == ["all as it should be"]


WAYS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#define HOLDS(what) if (!(what)) fprintf(stderr, "line %d: %s\n", __LINE__, #what), exit(1)
static int64_t on(clockid_t clock) {
    struct timespec at;
    HOLDS(clock_gettime(clock, &at) == 0);
    return at.tv_sec * 1000000000ll + at.tv_nsec;
}
int main(void) {
    const int64_t date = 1139270400ll * 1000000000, up = 100ll * 1000000000;
    struct timespec at, half = { 0, 500000000 }, no = { 0, 1000000000 }, until = { 104, 0 };
    struct timeval of_day;
    char one[300], other[300];
    HOLDS(on(CLOCK_REALTIME) == date && on(CLOCK_TAI) == date && on(CLOCK_REALTIME_COARSE) == date);
    HOLDS(on(CLOCK_MONOTONIC) == up && on(CLOCK_BOOTTIME) == up && on(CLOCK_MONOTONIC_RAW) == up);
    HOLDS(nanosleep(&half, NULL) == 0 && on(CLOCK_MONOTONIC) == up + 500000000);
    HOLDS(usleep(250000) == 0 && sleep(1) == 0 && thrd_sleep(&half, NULL) == 0);
    HOLDS(on(CLOCK_REALTIME) == date + 2250000000);
    HOLDS(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
    HOLDS(on(CLOCK_MONOTONIC) == up + 4000000000);
    HOLDS(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
    HOLDS(on(CLOCK_MONOTONIC) == up + 4000000000);
    HOLDS(clock_nanosleep(CLOCK_REALTIME, 0, &half, NULL) == 0 && on(CLOCK_MONOTONIC) == up + 4500000000);
    HOLDS(gettimeofday(&of_day, NULL) == 0 && of_day.tv_sec == 1139270404 && of_day.tv_usec == 500000);
    HOLDS(time(NULL) == 1139270404 && timespec_get(&at, TIME_UTC) == TIME_UTC && at.tv_nsec == 500000000);
    HOLDS(clock_getres(CLOCK_MONOTONIC_COARSE, &at) == 0 && at.tv_sec == 0 && at.tv_nsec == 1);
    /* Of the processor's time, and of none. */
    HOLDS(on(CLOCK_PROCESS_CPUTIME_ID) > 0 && clock_getres(CLOCK_PROCESS_CPUTIME_ID, &at) == 0);
    HOLDS(clock_gettime(1000, &at) == -1 && errno == EINVAL);
    HOLDS((errno = 0, nanosleep(&no, NULL)) == -1 && errno == EINVAL);
    HOLDS(clock_nanosleep(CLOCK_MONOTONIC, 0, &no, NULL) == EINVAL);
    HOLDS(getrandom(one, sizeof one, 0) == sizeof one);
    HOLDS(syscall(SYS_getrandom, other, sizeof other, 0) == sizeof other);
    HOLDS(memcmp(one, other, sizeof one) && getentropy(one, 16) == 0 && memcmp(one, other, 16));
    HOLDS(getentropy(one, 257) == -1 && errno == EIO);
    HOLDS(syscall(SYS_getpid) == getpid() && syscall(SYS_close, -1) == -1 && errno == EBADF);
    fprintf(stderr, "all as it should be\n");
    return 1;
}
"""


def test_a_program_in_javascript_and_one_in_cpp_are_led(tmp_path: Path) -> None:
    """Through the run-time library of each."""
    written = tmp_path / "clocks.cc"
    written.write_text(CLOCKS_IN_CPP)
    script = "console.error(`${Date.now()}000000 ${process.hrtime.bigint()}`); process.exit(1)"
    for tool, build, command in (
        ("node", [], ["node", "-e", script]),
        ("c++", ["c++", "-o", str(tmp_path / "clocks"), str(written)], [str(tmp_path / "clocks")]),
    ):
        if shutil.which(tool) is None:
            assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", f"no {tool}"
            continue
        if build:
            subprocess.run(build, check=True)
        assert said(study({"program": command, "lead": True})) == [f"{DATE} {UPTIME}"]


CLOCKS_IN_CPP = """
#include <chrono>
#include <cstdio>
#include <thread>
using namespace std::chrono;
int main() {
    const auto begun = steady_clock::now();
    const auto date = system_clock::now();
    std::this_thread::sleep_for(hours(1));
    if (steady_clock::now() - begun != hours(1)) return 2;
    fprintf(stderr, "%lld %lld\\n", (long long)date.time_since_epoch().count(),
            (long long)begun.time_since_epoch().count());
    return 1;
}
"""


def test_random_numbers_come_from_the_seed_and_differ_between_runs(program: Write) -> None:
    child = "subprocess.run([sys.executable, '-c', NEXT], capture_output=1).stdout"
    text = tells(f"os.urandom(9).hex(), hash('x'), {child}")
    text += "NEXT = 'import os, time; print(os.urandom(3).hex(), time.time())'\n"
    command = program("    pass\n" + text)
    runs = {"design": {"replications": 2}}
    once = said(study(led(command), **runs), jobs=1)
    assert once == said(study(led(command), **runs), jobs=2)
    assert len(set(once)) == 2
    # A child of the program is led, too.
    assert f"{DATE // 10**9}.0" in once[0]
    assert said(study({"program": command})) != said(study({"program": command}))


def test_a_led_program_is_started_for_each_run(program: Write, tmp_path: Path) -> None:
    """It would find its clock set back, and what it has drawn before would depend on its earlier runs."""
    log = tmp_path / "log"
    text = CLOCKED.replace(
        "super().begin()", f"super().begin(); open({str(log)!r}, 'a').write(f'{{time.time_ns()}}\\n')"
    )
    results = study(led(program(text)), design={"replications": 2}).run(progress=False, jobs=1)
    assert results.table()["completed"].all()
    # The end of a run is made as it begins, at time zero.
    assert log.read_text().splitlines() == [str(DATE)] * 2


def test_nobody_else_is_led(program: Write) -> None:
    files = "[os.readlink(f'/proc/self/fd/{n}') for n in range(64) if os.path.lexists(f'/proc/self/fd/{n}')]"
    found = f"[name for name in {files} if 'memfd' in name]"
    names = "[name for name in ('LD_PRELOAD', 'REXMIT_LEAD') if name in os.environ]"
    other = program(tells(f"repr([*{names}, *{found}, abs(time.time() - {time.time()}) < 3600])"))
    before = dict(os.environ)
    assert said(study(led(program(CLOCKED)), {"program": other})) == ["[True]"]
    assert dict(os.environ) == before


def refused(command: str) -> str:
    with pytest.raises(rexmit.StudyError) as told:
        study(led(command)).run(progress=False)
    return str(told.value)


def test_what_takes_no_library_is_refused_before_anything_runs(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "alone.c").write_text("void _start(void) { for (;;); }")
    alone, script = tmp_path / "alone", tmp_path / "script"
    subprocess.run([compiler, "-static", "-nostdlib", "-o", alone, tmp_path / "alone.c"], check=True)
    expected = (
        f"hosts.server.stack.lead: {alone} is statically linked, and loads no library, so that its clock"
    )
    assert expected in refused(str(alone))
    script.write_text(f"#!{alone} -x\n")
    script.chmod(0o755)
    assert expected in refused(str(script))
    script.write_text(f"#!/usr/bin/env -S {alone}\n")
    assert expected in refused(f"{script} --fast")
    alone.write_bytes(alone.read_bytes()[:18] + b"\x08\0" + alone.read_bytes()[20:])
    assert "is of another kind of processor" in refused(str(alone))
    owned = tmp_path / "owned"
    shutil.copy(os.path.realpath(sys.executable), owned)
    owned.chmod(0o755 | stat.S_ISUID)
    assert "has the rights of its owner (set-uid)" in refused(str(owned))
    code, checks = checked("--lead", str(alone))
    assert (code, list(checks)) == (1, ["starts"])
    assert "is of another kind of processor" in checks["starts"]["text"]


def test_a_program_that_has_given_up_the_library_is_told(program: Write) -> None:
    error = said(study(led(f"env -u LD_PRELOAD {program(CLOCKED)}")))[0]
    assert "HELLO at 0 s: its clock cannot be led: it has not loaded rexmit's library" in error
    code, checks = checked("--lead", f"env -u LD_PRELOAD {program(CLOCKED)}")
    assert (code, list(checks)) == (1, ["starts"])


def test_lead_is_true_or_false() -> None:
    spec = study({"program": "a", "lead": "yes"})
    with pytest.raises(rexmit.StudyError, match=r"hosts.server.stack.lead: true or false"):
        spec.run(progress=False)


def checked(*words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code of `rexmit stack check`, and the checks by their names."""
    done = CliRunner().invoke(stack, ["check", "--json", *words])
    return done.exit_code, {one["name"]: one for one in json.loads(done.output)["checks"]}


def test_the_check_shows_that_a_clock_is_led(in_c: Callable[..., str]) -> None:
    code, checks = checked("--lead", in_c())
    assert (code, [one for one in checks.values() if one["found"] == "failed"]) == (0, [])
    assert checks["is the same again"]["text"] == "to the byte"
    assert (
        checks["reads no clock"]["text"]
        == "its clock is led: the same with 2 ms of real time before each call"
    )
    assert checks["starts"]["text"] == "stop-and-wait 1; is started for each run"


def test_a_clock_that_cannot_be_led_is_caught(in_c: Callable[..., str]) -> None:
    """By a number of a system call: whether a round trip takes a millisecond, as it does with the pauses."""
    code, checks = checked("--lead", in_c("-DRAW", "-DTAKEN(ns)=((ns) > 1000000 ? 1000000 : 0)"))
    # On a busy machine one run may be as late as the other; then it is not the same again.
    assert (code, checks["reads no clock"]["found"]) == (1, "failed"), checks
    assert checks["reads no clock"]["text"].endswith("; it reads or draws what cannot be led")
