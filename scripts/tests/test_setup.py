import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import load

setup = load("setup.py")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "STAMPS", tmp_path / "stamps")


def test_a_step_is_done_once_for_the_same_inputs() -> None:
    done: list[str] = []

    def work() -> bool:
        done.append("work")
        return True

    for inputs, there, times in [
        ("a", True, 1),
        ("a", True, 1),
        ("b", True, 2),
        ("b", False, 3),
        ("b", True, 3),
    ]:
        assert setup.step("a step", inputs, work, there)
        assert len(done) == times


def test_a_step_that_failed_is_done_again() -> None:
    assert not setup.step("a step", "a", lambda: False, True)
    assert not setup.step("a step", "a", lambda: False, True)
    assert setup.step("a step", "a", lambda: True, True)


def test_the_digest_sees_names_contents_and_more(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("1")
    second.write_text("2")
    digests = {setup.digest([first, second]), setup.digest([first]), setup.digest([first, second], "3.12")}
    second.write_text("3")
    digests.add(setup.digest([first, second]))
    assert len(digests) == 4
    assert setup.digest([second, first]) == setup.digest([first, second])


def test_every_text_that_stands_in_the_native_module_is_an_input_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setattr(setup, "ROOT", root)
    inputs = {path.resolve() for path in setup.native_inputs()}
    named = re.compile(r'include_(?:str|bytes)!\(\s*"([^"]+)"')
    sources = [path for path in inputs if path.suffix == ".rs"]
    wanted = {(path.parent / name).resolve() for path in sources for name in named.findall(path.read_text())}
    wanted = {path for path in wanted if "tests" not in path.parts}
    assert root / "go/rexmitstack/stack.go" in wanted
    assert not wanted - inputs


def test_without_root_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup, "DEBIAN", {"no-such-program": "no-such-package"})
    monkeypatch.setattr(setup, "KERNEL", {"/no/such/source.tar.xz": "no-such-source"})
    assert setup.debian_packages()
    line = "sudo apt-get install -y --no-install-recommends no-such-package no-such-source"
    assert line in capsys.readouterr().out


def test_without_a_linker_nothing_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup, "DEBIAN", {"no-such-linker": "gcc"})
    monkeypatch.setattr(setup, "NEEDED", {"no-such-linker"})
    assert not setup.debian_packages()
    assert "no-such-linker is needed; on Debian: apt-get install gcc" in capsys.readouterr().err


def test_a_missing_module_of_python_has_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "MODULES", {"ensurepip": "python3-venv", "no_such_module": "a-package"})
    monkeypatch.setattr(setup, "DEBIAN", {})
    monkeypatch.setattr(setup, "KERNEL", {})
    assert setup.absent() == {"no_such_module": "a-package"}


@pytest.fixture
def library(tmp_path: Path) -> Any:
    """The library of an adapter that is not there yet."""
    folder = tmp_path / "crates" / "adapters" / "other"
    folder.mkdir(parents=True)
    (folder / "build.rs").touch()
    said = {"package": "libother-dev", "header": "other.h", "variable": "REXMIT_OTHER_DIR"}
    lines = [*(f'{key} = "{value}"\n' for key, value in said.items()), 'depends = ["libother0"]\n']
    (folder / "setup.toml").write_text("".join(lines))
    (library,) = setup.third_party()
    return library


def test_a_library_is_found_where_it_was_unpacked(
    library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert library.name == "other"
    assert setup.absent()["/usr/include/other.h"] == "libother-dev"
    header = tmp_path / ".cache" / "other" / "usr" / "include" / "other.h"
    header.parent.mkdir(parents=True)
    header.touch()
    assert library.found() == header
    assert "/usr/include/other.h" not in setup.absent()
    monkeypatch.setenv("REXMIT_OTHER_DIR", str(tmp_path / "given"))
    assert library.found() is None


def test_without_root_a_library_is_fetched_and_unpacked(
    library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[str] = []

    def run(command: list[str], **options: object) -> Done:
        commands.append(" ".join(command[:2]))
        if command[0] == "apt-get":
            assert command[-2:] == ["libother-dev", "libother0"]
            for package in command[-2:]:
                (Path(str(options["cwd"])) / f"{package}.deb").touch()
        return Done()

    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(setup.subprocess, "run", run)
    setup.fetch(library)
    assert commands == ["apt-get download", "dpkg-deb --extract", "dpkg-deb --extract"]
    assert list((tmp_path / ".cache" / "other").iterdir()) == []


def test_nothing_outside_adapters_knows_their_libraries() -> None:
    """The stack of a third party is named by its adapter and by the list of stacks, by prose and by tests."""
    root = Path(__file__).resolve().parents[2]
    mine = [path.parent.name for path in root.glob("crates/adapters/*/Cargo.toml")]
    mine.remove("linux")  # a word of its own
    assert mine
    # `foreign/` sends with some of them too, for captures that are judged.
    judged = ("foreign/", "scripts/judge.py")
    may = ("crates/adapters/", "crates/stacks/", "docs/", "studies/", "tests/", *judged)
    sources = {".rs", ".py", ".sh", ".ts", ".c", ".cc"}
    for name in mine:
        # Debian's programs of ngtcp2, which guests run as any other, are not the library.
        pattern = f"{name}(?!-client|-server)"
        listed = subprocess.run(
            ["git", "grep", "-l", "-i", "-P", "-e", pattern], cwd=root, capture_output=True, text=True
        )
        assert listed.returncode == 0
        found = [path for path in listed.stdout.split() if Path(path).suffix in sources]
        others = [path for path in found if not path.startswith(may) and "tests" not in path]
        assert others == []


class Done:
    """A command that succeeded."""

    returncode = 0


def test_what_guests_run_is_compiled_of_the_crates_of_the_native_module() -> None:
    def crates(package: str) -> set[str]:
        command = ["cargo", "tree", "--locked", "--package", package, "--edges", "normal,build"]
        command += ["--no-dedupe", "--prefix", "none", "--format", "{p} {f}"]
        root = Path(__file__).parents[2]
        lines = subprocess.run(
            command, cwd=root, check=True, capture_output=True, text=True
        ).stdout.splitlines()
        return {line for line in lines if not line.startswith(package)}

    module = crates("rexmit-python")
    for package in ("rexmit-inside", "rexmit-guest"):
        assert crates(package) <= module, "a crate has other features there, so that it is compiled twice"
