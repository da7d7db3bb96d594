"""How other targets are compiled for, without compiling."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import check_targets
import cross
import live_demo


def test_an_installed_library_needs_no_other_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross, "_has_library", lambda rustc, target: True)
    assert cross.toolchain(cross.WASM) == cross.Toolchain()


def test_without_tools_the_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross, "_has_library", lambda rustc, target: False)
    monkeypatch.setattr(cross, "FOLDER", tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(cross.MissingError, match=r"no apt-get .* `rustup target add`"):
        cross.toolchain(cross.WASM)


@pytest.mark.parametrize(
    ("command", "options", "flags"),
    [("check", ("-Zbuild-std",), "-Zno-codegen"), ("build", ("-Zbuild-std",), None), ("check", (), None)],
)
def test_a_standard_library_that_is_only_checked_with_gets_no_code(
    command: str, options: tuple[str, ...], flags: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is linked needs code, and the flag is one of compilers that are led to take it."""
    ran: list[dict[str, str]] = []
    monkeypatch.setattr(cross, "toolchain", lambda target: cross.Toolchain({}, options))
    monkeypatch.setattr("subprocess.run", lambda line, *, env, **_: ran.append(env))
    cross.cargo("x86_64-pc-windows-gnu", command, [])
    assert [env.get("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS") for env in ran] == [flags]


@pytest.mark.parametrize("required", ["0", "1"])
def test_what_cannot_be_tried_is_a_skip_unless_all_is_required(
    required: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object) -> None:
        raise cross.MissingError("no compiler")

    monkeypatch.setattr(cross, "cargo", missing)
    monkeypatch.setattr(check_targets, "STAMPS", tmp_path)
    monkeypatch.setenv("REXMIT_REQUIRE_ALL", required)
    assert check_targets.check("aarch64-apple-darwin") == int(required)
    assert capsys.readouterr().out == "SKIP aarch64-apple-darwin: no compiler\n"


def test_what_was_checked_is_not_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(cross, "cargo", lambda target, *_: calls.append(target))
    monkeypatch.setattr(check_targets, "STAMPS", tmp_path)
    for _ in range(2):
        assert check_targets.check("x86_64-pc-windows-gnu") == 0
    assert calls == ["x86_64-pc-windows-gnu"]
    assert "compiled before" in capsys.readouterr().out


def test_the_demo_is_compiled_from_all_that_the_crate_needs() -> None:
    """A change of a crate that is not listed would leave an old module in the page."""
    import json
    import subprocess

    command = ["cargo", "tree", "--package=rexmit-web", "--edges=normal,build", "--prefix=none", "--offline"]
    command += ["--target=wasm32-unknown-unknown", "--format={p}"]
    done = subprocess.run(command, cwd=cross.ROOT, capture_output=True, text=True, check=True)
    used = {
        line.partition("/crates/")[2].partition(")")[0]
        for line in done.stdout.splitlines()
        if line.startswith("rexmit-")
    }
    assert used == set(live_demo.CRATES), json.dumps(sorted(used ^ set(live_demo.CRATES)))
