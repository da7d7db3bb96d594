from pathlib import Path

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


def test_usrsctp_is_found_where_it_was_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REXMIT_USRSCTP_DIR", str(tmp_path / "given"))
    assert setup.usrsctp_found() is None
    assert not setup.present(setup.USRSCTP)
    header = tmp_path / "given" / "usr" / "include" / "usrsctp.h"
    header.parent.mkdir(parents=True)
    header.touch()
    assert setup.usrsctp_found() == header
    assert setup.present(setup.USRSCTP)


def test_without_root_usrsctp_is_fetched_and_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[str] = []

    def run(command: list[str], **options: object) -> Done:
        commands.append(" ".join(command[:2]))
        if command[0] == "apt-get":
            (Path(str(options["cwd"])) / "libusrsctp-dev.deb").touch()
        return Done()

    monkeypatch.setattr(setup, "usrsctp_found", lambda: None)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(setup.subprocess, "run", run)
    setup.fetch_usrsctp()
    assert commands == ["apt-get download", "dpkg-deb --extract"]
    assert list((tmp_path / ".cache" / "usrsctp").iterdir()) == []


class Done:
    """A command that succeeded."""

    returncode = 0
