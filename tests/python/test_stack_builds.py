"""Programs that rexmit builds around other people's code: when they are, and what is said if they cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from rexmit.errors import RexmitError, UsageError
from rexmit.run.stack_builds import StackSource, build_stack, source_of, stack_sources

from .conftest import Command

MAIN = 'package main\n\nimport "os"\n\nfunc main() { os.Stdout.WriteString("made") }\n'


def small(folder: Path, **files: str) -> StackSource:
    """A program that compiles in a moment."""
    texts = {"own/go.mod": "module own\n\ngo 1.26.0\n", "own/main.go": MAIN}
    more = {name.replace("__", "."): text for name, text in files.items()}
    program = folder / "stacks" / "own-1" / "own"
    return StackSource(
        "own", "go", "own", texts | {f"own/{name}": text for name, text in more.items()}, program
    )


def needs_go() -> None:
    """Skips where there is no Go."""
    if shutil.which("go") is None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", "no go"
        pytest.skip("no go on this machine: https://go.dev/dl")


def test_each_lies_in_a_folder_named_for_its_files() -> None:
    for name, source in stack_sources().items():
        assert source.program.name == name
        assert source.program.parent.name.startswith(f"{name}-")
        assert source.program.parents[1].name == "stacks"
        assert all(text for text in source.files.values())
        assert any(path.startswith(source.folder) for path in source.files)


def test_it_is_built_once_and_again_where_that_is_forced(tmp_path: Path) -> None:
    needs_go()
    source = small(tmp_path)
    assert not source.built
    program = build_stack(source)
    assert os.access(program, os.X_OK)
    made = program.stat().st_mtime_ns
    assert build_stack(source).stat().st_mtime_ns == made
    assert build_stack(source, force=True).stat().st_mtime_ns > made
    assert [path.name for path in program.parent.iterdir()] == ["own"]


def test_what_stops_a_build_is_told_in_one_line_and_kept(tmp_path: Path) -> None:
    needs_go()
    broken = small(tmp_path, more__go="package main\n\nfunc more() { nothing() }\n")
    with pytest.raises(
        RexmitError, match=r"own cannot be built: .*undefined: nothing \(all of it: .*own\.log\)"
    ) as told:
        build_stack(broken)
    assert "\n" not in str(told.value)
    assert "nothing" in broken.program.with_name("own.log").read_text()
    assert not broken.built


def test_a_build_that_fails_leaves_the_program_that_was_there(tmp_path: Path) -> None:
    needs_go()
    program = build_stack(small(tmp_path))
    before = program.read_bytes()
    with pytest.raises(RexmitError):
        build_stack(small(tmp_path, more__go="no package\n"), force=True)
    assert program.read_bytes() == before


def test_a_tool_that_is_not_there_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool, remedy in (("go", r"go\.dev"), ("cargo", r"rustup\.rs")):
        source = replace(small(tmp_path), tool=tool)
        with pytest.raises(
            RexmitError, match=f"^own cannot be built, since {tool} is not here; install .*{remedy}"
        ):
            build_stack(source)
    assert not (tmp_path / "stacks").exists()


@pytest.mark.parametrize(("language", "compiler"), [("C", "cc"), ("CXX", "c++")])
def test_boringssl_is_compiled_without_symbols(language: str, compiler: str, tmp_path: Path) -> None:
    """CMake's launcher, as quiche's program sets it, takes back what BoringSSL asks its compilers for."""
    program = Path(__file__).parents[2] / "crates" / "adapters" / "quiche" / "program"
    settings = tomllib.loads((program / ".cargo" / "config.toml").read_text())["env"]
    launcher = settings[f"CMAKE_{language}_COMPILER_LAUNCHER"].split(";")
    source, made = tmp_path / "a file.cc", tmp_path / "a file.o"
    source.write_text("int twice(int number) { return 2 * number; }\n")
    command = [compiler, "-ggdb", "-x", {"C": "c", "CXX": "c++"}[language], "-c", source, "-o", made]
    subprocess.run(command, check=True)
    assert b".debug_info" in made.read_bytes()
    subprocess.run([*launcher, *command], check=True)
    assert b".debug_info" not in made.read_bytes()
    source.write_text("no program\n")
    assert subprocess.run([*launcher, *command], capture_output=True).returncode != 0


def test_an_unknown_name_is_told_the_nearest() -> None:
    name = next(iter(stack_sources()))
    with pytest.raises(UsageError, match=f"no program '{name}x' to build; did you mean '{name}'"):
        source_of(f"{name}x")


def test_the_command_builds_those_of_these_names(rexmit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    done = rexmit("stack", "build", "nobody")
    assert done.returncode == 2
    assert done.stderr.startswith("rexmit: error: no program 'nobody' to build; known: ")
