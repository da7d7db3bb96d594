import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import load

check = load("check.py")


def outcome(command: list[str], uses: tuple[str, ...] = ()) -> Any:
    return check.perform(check.Check("a check", "tests", command, uses=uses))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SKIPPED [2] tests/a.py:3: needs tshark", "2 x tests/a.py:3: needs tshark"),
        ("test a::b ... ignored, takes an hour", "a::b: takes an hour"),
        ("test a::b ... ignored", "a::b: no reason given"),
        ("test a::b ... ok", None),
        ("ok 3 - a page # SKIP chromium is not installed", "a page: chromium is not installed"),
        ("ok 3 - a page", None),
        ("test result: ok. 3 passed; 0 failed; 1 ignored", None),
    ],
)
def test_skipped_tests_are_seen(line: str, reason: str | None) -> None:
    assert check.skipped_test(line) == reason


def test_a_failed_command_fails_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [outcome(["true"]), outcome(["false"])]
    assert check.report(outcomes, require_all=False) == 1
    assert "checks: 1 passed, 1 failed, 0 skipped" in capsys.readouterr().out


def test_a_skip_fails_only_where_all_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [outcome(["echo", "SKIPPED [1] a.py:1: no reason"])]
    assert check.report(outcomes, require_all=False) == 0
    assert check.report(outcomes, require_all=True) == 1
    assert "skipped: a check: 1 x a.py:1: no reason" in capsys.readouterr().out


def test_time_of_processors_is_that_of_all_that_a_check_started(capsys: pytest.CaptureFixture[str]) -> None:
    busy = "import time\nwhile time.process_time() < 0.4: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); sys.exit(3)"
    works, sleeps = outcome([sys.executable, "-c", child]), outcome(["sleep", "0.4"])
    assert works.state == "failed"
    assert works.processor > 0.4 > 0.2 > sleeps.processor
    check.report([works, sleeps], require_all=False)
    assert re.search(r"^failed +\d\.\d s +[\d.]+ s  a check$", capsys.readouterr().out, re.MULTILINE)


def test_a_missing_program_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.report([outcome(["true"], ("no-such-program",))], require_all=True) == 1
    assert "a check: what needs no-such-program" in capsys.readouterr().out


def test_every_script_with_rules_is_run() -> None:
    commands = " ".join(word for one in check.checks(Path("scratch")) for word in one.command)
    for path in Path(check.__file__).parent.glob("check_*.py"):
        assert path.name in commands


def test_neighbours_that_keep_one_core_busy_run_side_by_side() -> None:
    one, two, three = (check.Check(name, "tests", ["true"], beside=True) for name in "abc")
    alone = check.Check("d", "tests", ["true"])
    assert check.side_by_side([one, two, alone, three]) == [[one, two], [alone], [three]]


def test_what_runs_side_by_side_is_shown_in_one_piece(capfd: pytest.CaptureFixture[str]) -> None:
    group = [
        check.Check(
            name, "tests", ["sh", "-c", f"echo {name}; sleep 0.1; echo {name}; exit {code}"], beside=True
        )
        for code, name in enumerate(["first", "second"])
    ]
    assert [outcome.state for outcome in check.perform_all(group)] == ["passed", "failed"]
    printed = capfd.readouterr().out
    assert "first\nfirst\n" in printed
    assert "second\nsecond\n" in printed


def test_hooks_of_commits_run_checks_that_there_are() -> None:
    text = (check.ROOT / ".pre-commit-config.yaml").read_text()
    entries = re.findall(r"entry: (.*)", text)
    assert len(entries) == text.count("- id:") >= 9
    groups = {one.name: one.group for one in check.checks(Path("scratch"))}
    for entry in entries:
        found = re.fullmatch(r'\.venv/bin/python scripts/check\.py --name "?([\w ]+?)"?', entry)
        assert found is not None, entry
        assert groups[found[1]] == check.LINT


def test_workflows_pin_actions_to_commits_and_give_no_rights_to_all_jobs() -> None:
    assert len(check.workflows()) >= 5
    for path in map(Path, check.workflows()):
        text = path.read_text()
        assert "\npermissions:\n  contents: read\n\n" in text, path.name
        for used in re.findall(r"uses: (\S+)", text):
            assert used.startswith("./") or re.search(r"@[0-9a-f]{40}$", used), f"{path.name}: {used}"


def test_a_workflow_that_would_not_run_is_refused(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("needs go")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(Path(check.workflows()[0]).read_text().replace("runs-on:", "runs-of:"))
    (one,) = (one for one in check.checks(tmp_path) if one.name == "workflows")
    command = [str(wrong) if word == check.workflows()[0] else word for word in one.command]
    assert check.perform(check.Check("workflows", "lint", command)).state == "failed"
