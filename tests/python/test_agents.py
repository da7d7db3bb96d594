"""The crew of agents: what it does when one crashes, hangs, or says nothing. These agents run nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rexmit.errors import RexmitError, StoreError, StudyError
from rexmit.run import agents
from rexmit.run.agents import Crew, Done, RunJob

GREETING = """print("a guest's kernel talks on the same console", flush=True)"""

AGENT = """
import json, os, sys, time
job = json.load(open(sys.argv[1]))
def say(**line): print("\\x1e" + json.dumps(line, separators=(",", ":")), flush=True)
{greeting}
for run in job["runs"]:
    n = run["run"]
    say(start=n)
    {does}
    say(run=n, row={{"n": n}}, unreached=[], late_max_ns=0)
say(end=True)
"""


def crew(does: str, tmp_path: Path, size: int = 2) -> Crew:
    script = tmp_path / "agent.py"
    script.write_text(AGENT.format(does=does, greeting=GREETING))

    def launch(job: Path, folder: Path) -> list[str]:
        return ["python3", "-IS", str(script), str(job)]

    return Crew(launch, lambda run: RunJob(run, {}, 1, ""), size)


def answers(crew: Crew, runs: int = 10, stopped: Callable[[], bool] = lambda: False) -> dict[int, Done]:
    return {done.run: done for done in crew.work(range(runs), stopped)}


def test_every_run_is_answered_once(tmp_path: Path) -> None:
    done = answers(crew("pass", tmp_path), 100)
    assert sorted(done) == list(range(100))
    assert all(one.answer["row"]["n"] == run and one.failed is None for run, one in done.items())


def test_an_agent_gets_runs_of_one_kind(tmp_path: Path) -> None:
    script, blocks = tmp_path / "agent.py", tmp_path / "blocks"
    script.write_text(AGENT.format(does="pass", greeting=GREETING))

    def launch(job: Path, folder: Path) -> list[str]:
        with blocks.open("a") as file:
            file.write(" ".join(str(run["run"]) for run in json.loads(job.read_text())["runs"]) + "\n")
        return ["python3", "-IS", str(script), str(job)]

    mixed = Crew(launch, lambda run: RunJob(run, {}, 1, ""), 2, kind=lambda run: run % 3 == 0)
    assert sorted(answers(mixed, 60)) == list(range(60))
    kinds = [{int(run) % 3 == 0 for run in line.split()} for line in blocks.read_text().splitlines()]
    assert all(len(kind) == 1 for kind in kinds)
    assert {True} in kinds
    assert {False} in kinds


def test_a_run_that_kills_its_agent_is_tried_twice_and_the_others_go_on(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    dies = f"(open({str(tries)!r}, 'a').write('x'), print('Kernel panic - no luck', flush=True), os._exit(3))"
    does = f"{dies} if n == 4 else 0"
    done = answers(crew(does, tmp_path))
    assert sorted(done) == list(range(10))
    assert done[4].failed == "the agent did not survive it, 2 times: Kernel panic - no luck"
    assert tries.read_text() == "xx"
    assert [run for run, one in done.items() if one.failed] == [4]


def test_a_panic_is_told_by_its_first_lines_however_long_it_is(tmp_path: Path) -> None:
    long = "BUG: failure at a.c:7/f()!\\nKernel panic - not syncing: BUG!\\n" + "[<60>] ? g+0x1/0x2\\n" * 60
    done = answers(crew(f"n == 4 and (print('{long}', flush=True), os._exit(3))", tmp_path))
    told = "BUG: failure at a.c:7/f()!; Kernel panic - not syncing: BUG!"
    assert done[4].failed == f"the agent did not survive it, 2 times: {told}"


def test_who_is_killed_is_told_whatever_it_has_said(tmp_path: Path) -> None:
    done = answers(crew("os.kill(os.getpid(), 9) if n == 4 else 0", tmp_path))
    assert done[4].failed == "the agent did not survive it, 2 times: ended by SIGKILL"


def test_who_says_nothing_is_told_by_its_exit_code(tmp_path: Path) -> None:
    silent = crew("os._exit(3) if n == 4 else 0", tmp_path)
    script = tmp_path / "agent.py"
    script.write_text(script.read_text().replace(GREETING, ""))
    assert answers(silent)[4].failed == "the agent did not survive it, 2 times: exit code 3"


def test_a_full_disk_is_no_fault_of_the_study(tmp_path: Path) -> None:
    full = "say(of=n, wrong='cannot write /t/run-3.pcapng: No space', os_error=28) if n == 3 else 0"
    with pytest.raises(StoreError, match=r"run 3: cannot write /t/run-3\.pcapng: .*--resume$"):
        answers(crew(full, tmp_path))


def test_a_crash_that_does_not_come_again_costs_nothing(tmp_path: Path) -> None:
    once = tmp_path / "once"
    does = (
        f"os.path.exists({str(once)!r}) or (open({str(once)!r}, 'w').close(), os._exit(3)) if n == 4 else 0"
    )
    done = answers(crew(does, tmp_path))
    assert sorted(done) == list(range(10))
    assert not any(one.failed for one in done.values())


def test_an_agent_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "STALL_SECONDS", 3.0)
    done = answers(crew("time.sleep(1000) if n == 2 else 0", tmp_path))
    assert sorted(done) == list(range(10))
    assert "said nothing new for" in str(done[2].failed)


def test_the_same_sign_of_life_again_and_again_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "STALL_SECONDS", 3.0)
    spins = "\n    while n == 2: say(at=12); time.sleep(0.05)"
    done = answers(crew(spins, tmp_path), 3)
    assert "said nothing new for" in str(done[2].failed)
    assert done[0].failed is None


def test_what_is_wrong_with_a_run_ends_the_sweep_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"run 3: hosts.server.linux: no such thing"):
        answers(crew("say(of=n, wrong='hosts.server.linux: no such thing') if n == 3 else 0", tmp_path))


def test_an_agent_that_never_begins_is_told_with_its_last_words(tmp_path: Path) -> None:
    broken = crew("pass", tmp_path)
    (tmp_path / "agent.py").write_text("raise OSError('no namespaces here')")
    with pytest.raises(RexmitError, match=r"ended before its first run: OSError: no namespaces here"):
        answers(broken)


def test_an_engine_that_does_not_fit_its_kernel_is_told(tmp_path: Path) -> None:
    other = crew("pass", tmp_path)
    (tmp_path / "agent.py").write_text(
        "print('engine: the kernel is of another rexmit\\nreboot: Power down')"
    )
    with pytest.raises(RexmitError, match=r"ended before its first run: engine: the kernel is of another"):
        answers(other)


def test_a_missing_program_is_told(tmp_path: Path) -> None:
    def launch(job: Path, folder: Path) -> list[str]:
        return [str(tmp_path / "nothing")]

    with pytest.raises(RexmitError, match=r"nothing: cannot be started: No such file"):
        answers(Crew(launch, lambda run: RunJob(run, {}, 1, ""), 1))


def test_a_stop_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    does = f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(0 if n < 2 else 1000)"
    began = time.monotonic()
    done = answers(crew(does, tmp_path), 10, lambda: pids.exists() and pids.read_text().count("\n") > 2)
    assert time.monotonic() - began < 20
    assert len(done) < 10
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
