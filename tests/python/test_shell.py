"""Manual pages and completion in shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import rexmit
from rexmit.cli import cli, completing, main, outline
from rexmit.cli.groups import Commands
from rexmit.cli.roff import manual_page, page_name, walk
from rexmit.run.stacks import third_parties

PAGES = Path(__file__).resolve().parents[2] / "man" / "data" / "share" / "man" / "man1"
COMMANDS = dict(walk("rexmit", cli))
PROGRAM = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()"]


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_a_page_with_all_of_its_options(path: str) -> None:
    page = (PAGES / f"{page_name(path)}.1").read_text()
    command = COMMANDS[path]
    plain = page.replace("\\-", "-")
    for option in command.get_params(click.Context(command, help_option_names=["-h", "--help"])):
        if isinstance(option, click.Option):
            assert all(name in plain for name in option.opts + option.secondary_opts), option.name
    assert plain.startswith(f'.TH {page_name(path).upper()} 1 "" "rexmit ')
    sections = [line for line in page.splitlines() if line.startswith(".SH")]
    assert sections[:3] == [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"]
    assert page == manual_page(path, command), "make schema writes it anew"


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    """`rexmit --help` loads none of them."""
    context = click.Context(cli)
    assert dict(cli.summaries(context)) == dict(Commands.summaries(cli, context))


def test_there_is_no_page_without_a_command() -> None:
    assert {path.name for path in PAGES.iterdir()} == {f"{page_name(path)}.1" for path in COMMANDS}


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_pages_are_right_for_roff() -> None:
    for page in sorted(PAGES.iterdir()):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tutf8", "-Kutf8", page], capture_output=True, text=True, check=True
        )
        assert done.stderr == "", page
    assert "rexmit-sql" in done.stdout or page.name != "rexmit-sql.1"


def test_text_is_no_request_of_roff() -> None:
    @click.command(epilog="\b\nExamples:\n  rexmit x 'a' --b\n\n.bad", help=".dot -1 \\n `x'")
    @click.option("--b", help="'quoted")
    def x(b: str) -> None: ...

    page = manual_page("rexmit x", x)
    assert "\\&.dot \\-1 \\en \\(gax\\(aq" in page
    assert "\n\\(aqquoted\n" in page
    assert "\n.nf\n  rexmit x \\(aqa\\(aq \\-\\-b\n.fi\n" in page
    assert "\n\\&.bad\n" in page


def test_man_prints_a_page_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert _call("man", "kernel", "build") == 0
    assert capsys.readouterr().out == (PAGES / "rexmit-kernel-build.1").read_text()
    assert _call("man") == 0
    assert capsys.readouterr().out == (PAGES / "rexmit.1").read_text()
    assert _call("man", "rum") == 2
    assert "there is no command 'rum'; did you mean 'run'?" in capsys.readouterr().err


def test_man_writes_all_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _call("man", "--out", str(tmp_path / "man1")) == 0
    for page in PAGES.iterdir():
        assert (tmp_path / "man1" / page.name).read_text() == page.read_text()
    capsys.readouterr()
    assert _call("man", "run", "--out", str(tmp_path)) == 2


def test_studies_are_completed() -> None:
    known = [entry.name for entry in rexmit.list_studies() if entry.name.startswith("hurtig-2006/")]
    assert len(known) > 2
    assert _completed("rexmit run hurt") == known
    assert _completed("rexmit studies hurtig-2006/sh") == ["hurtig-2006/short"]


def test_settings_are_completed_after_the_study() -> None:
    found = _completed("rexmit run hurtig-2006/short --set path.d")
    assert found[:2] == ["path.delay=", "path.down.drop="]
    assert "design.seed=" in _completed("rexmit run hurtig-2006/short --set des")
    assert _completed("rexmit run no-such-study --set path.d") == []
    assert _completed("rexmit run --set path.d") == []


def test_backends_commands_and_options_are_completed() -> None:
    foreign = [f"stack:{name}" for name in third_parties()]
    assert _completed("rexmit run x --backend stack") == foreign
    assert _completed("rexmit run x --ver") == ["--verdicts"]
    assert _completed("rexmit man kernel b") == ["build"]
    assert _completed("rexmit completion ") == ["bash", "zsh", "fish"]
    assert _completed("rexmit analyze x --only connections,r") == [
        "connections,retransmissions",
        "connections,rtt",
    ]


def test_responses_are_the_columns_of_the_folder(tmp_path: Path) -> None:
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).set("path.delay", ["5 ms"])
    study.run(tmp_path / "one", progress=False)
    expected = ["timeouts", "timeouts_server"]
    assert _completed(f"rexmit merge {tmp_path / 'one'} --response timeo") == expected
    assert _completed("rexmit merge nothing --response late") == ["late_max_ns", "late_p99_ns"]
    assert _completed(f"rexmit merge {tmp_path / 'one'} --response late") == []


def test_the_outline_is_that_of_the_commands() -> None:
    # Whoever changes a command writes it anew by `make schema`.
    assert outline.FILE.read_text() == outline.text(cli)
    titles = {entry.name: entry.title for entry in rexmit.list_studies()}
    assert completing.study_titles() == titles


def test_neither_the_start_nor_a_completion_loads_tables_or_drawing() -> None:
    """Each takes most of a second to load: the command starts in 150 ms, and completes in 80."""
    lines = ("", "rexmit run hur", "rexmit run hurtig-2006/short --ver", "rexmit ana")
    for line in lines:
        asked = {"_REXMIT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "rexmit", "--version"],
            capture_output=True,
            text=True,
            env=os.environ | (asked if line else {}),
            check=True,
        )
        assert ("plain," in done.stdout) == bool(line)
        loaded = {one.rpartition("|")[2].strip() for one in done.stderr.splitlines()}
        assert "rexmit.cli.groups" in loaded
        assert not loaded & {"numpy", "polars", "pyarrow", "matplotlib", "duckdb", "rich", "rexmit.run"}, line


def test_no_command_imports_pandas(study_file: Path, tmp_path: Path) -> None:
    """Where it is installed pyarrow would: a third of the time of a short command."""
    pytest.importorskip("pandas")
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "rexmit",
        "run",
        study_file,
        "--out",
        tmp_path / "out",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {one.rpartition("|")[2].strip() for one in done.stderr.splitlines()}
    assert "pyarrow" in loaded
    assert not {one for one in loaded if one.startswith("pandas.")}


def test_a_wrong_line_is_completed_to_nothing() -> None:
    assert _completed("rexmit emulate --nonsense 3 --ra") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_script_completes_in_bash(tmp_path: Path) -> None:
    program = tmp_path / "rexmit"
    program.write_text("#!/bin/sh\n" + f'exec "{sys.executable}" -c "{PROGRAM[2]}" "$@"\n')
    program.chmod(0o755)
    script = subprocess.run(
        [program, "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    ask = (
        f'{script}\ncompopt() {{ local IFS=; echo "compopt $1 $2"; }}\n'
        "COMP_WORDS=(rexmit run hurtig-2006/sh); COMP_CWORD=2; _rexmit_completion rexmit\n"
        'echo "${COMPREPLY[@]}"; COMPREPLY=()\n'
        "COMP_WORDS=(rexmit run hurtig-2006/short --set path.dela); COMP_CWORD=4; _rexmit_completion rexmit\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", ask],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
        check=True,
    )
    assert done.stdout.splitlines() == ["hurtig-2006/short", "compopt -o nospace", "path.delay="]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "data/bash-completion/completions/rexmit"),
        ("zsh", "data/zsh/site-functions/_rexmit"),
        ("fish", "config/fish/completions/rexmit.fish"),
    ],
)
def test_the_script_is_installed_where_the_shell_looks(
    shell: str,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert _call("completion", shell, "--install") == 0
    assert str(tmp_path / place) in capsys.readouterr().out
    assert _call("completion", shell) == 0
    assert (tmp_path / place).read_text() == capsys.readouterr().out


def _call(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    code = ended.value.code
    assert isinstance(code, int)
    return code


def _completed(line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_REXMIT_COMPLETE": "bash_complete"}
    done = subprocess.run(PROGRAM, capture_output=True, text=True, env=os.environ | asked, check=True)
    assert done.stderr == ""
    return [one.removeprefix("plain,") for one in done.stdout.splitlines() if one.startswith("plain,")]
