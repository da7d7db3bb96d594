"""What `make demo` sets up, and what becomes of it when all is set up."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from .conftest import load

setup = load("setup.py")
lock = load("lock.py")
ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-demo.lock")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that a set-up of an empty checkout runs; none is run, and each leaves what it would."""
    said: list[str] = []
    venv, web = tmp_path / ".venv", tmp_path / "web"
    names = {"ROOT": tmp_path, "STAMPS": tmp_path / ".cache" / "stamps", "VENV": venv, "WEB": web}
    names |= {"PYTHON": venv / "bin" / "python", "PAGES": tmp_path / "python" / "rexmit" / "plot" / "web"}
    names |= {key: tmp_path / "python" / "rexmit" / getattr(setup, key).name for key in ("INSIDE", "GUEST")}
    for name, path in names.items():
        monkeypatch.setattr(setup, name, path)
    for folder in (
        "scripts",
        "python/rexmit/plot/web",
        "web/src",
        "crates",
        "target/quick",
        "target/release",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", *LOCKS, "scripts/setup.py"):
        (tmp_path / name).write_text('[workspace.package]\nversion = "1.2.3"\n')
    for name in ("build.mjs", "package.json", "package-lock.json"):
        (web / name).touch()
    (tmp_path / "target/quick/lib_native.so").write_text("module")

    def run(command: list[str], more: object = None) -> bool:
        words = [word.removeprefix(f"{tmp_path}/") for word in map(str, command)]
        said.append(" ".join([Path(words[0]).name, *words[1:]]))
        if words[1:3] == ["-m", "venv"]:
            (venv / "bin").mkdir(parents=True, exist_ok=True)
            (venv / "lib/python3.11/site-packages").mkdir(parents=True, exist_ok=True)
            setup.PYTHON.touch()
        if words[0] == ".venv/bin/maturin":
            (venv / "bin" / "rexmit").touch()
            (tmp_path / "python/rexmit/_native.abi3.so").touch()
        if words[:2] == ["npm", "ci"]:
            for tool in ("esbuild", "eslint")[: 1 if "--omit=dev" in words else 2]:
                (web / "node_modules" / tool).mkdir(parents=True, exist_ok=True)
        if words[:2] == ["npm", "run"]:
            (setup.PAGES / "rexmit.js").touch()
        if words[0] == "strip":
            (tmp_path / words[-2]).touch()
        return True

    monkeypatch.setattr(setup, "run", run)
    monkeypatch.setattr(setup, "absent", dict)
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    return said


def asked(monkeypatch: pytest.MonkeyPatch, commands: list[str], *arguments: str) -> list[str]:
    """What a call of the script ran."""
    before = len(commands)
    monkeypatch.setattr(sys, "argv", ["setup.py", *arguments])
    assert setup.main() == 0
    return commands[before:]


def test_a_demo_gets_what_it_needs_and_nothing_else(
    commands: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted: list[object] = []

    def debian_packages(of: object = None) -> bool:
        wanted.append(of)
        return True

    monkeypatch.setattr(setup, "debian_packages", debian_packages)
    ran = asked(monkeypatch, commands, "--only", "demo")
    assert wanted == [setup.NEEDED]
    (build,) = [line for line in ran if line.startswith("cargo")]
    assert "--no-default-features" in build
    assert "--profile=quick" in build
    (pip,) = [line for line in ran if " pip " in line]
    assert pip.endswith("--requirement requirements-demo.lock")
    assert [line for line in ran if line.startswith("npm ci") and "--omit=dev" in line]
    assert not [line for line in ran if "maturin" in line]
    assert (tmp_path / "python/rexmit/_native.abi3.so").read_text() == "module"
    assert (tmp_path / ".venv/bin/rexmit").stat().st_mode & 0o111
    (about,) = (tmp_path / ".venv").rglob("*.dist-info")
    assert about.name == "rexmit-1.2.3.dist-info"
    assert asked(monkeypatch, commands, "--only", "demo") == []


def test_all_completes_what_the_demo_has_and_a_demo_leaves_it(
    commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(monkeypatch, commands, "--only", "demo")
    ran = asked(monkeypatch, commands)
    assert not [line for line in ran if "--clear" in line], "packages of the demo are not installed twice"
    assert [line for line in ran if line.endswith("--requirement requirements.lock")]
    assert [line for line in ran if line.startswith("maturin develop --profile=quick")]
    assert asked(monkeypatch, commands, "--only", "demo") == []
    assert asked(monkeypatch, commands) == []


def test_an_optimised_module_serves_until_its_sources_change(
    commands: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked(monkeypatch, commands)
    ran = asked(monkeypatch, commands, "--optimised")
    assert [line for line in ran if line.startswith("maturin develop --profile=release")]
    assert asked(monkeypatch, commands) == []
    (tmp_path / "crates" / "changed.rs").write_text("fn changed() {}")
    ran = asked(monkeypatch, commands)
    assert [line for line in ran if line.startswith("maturin develop --profile=quick")]


def test_an_unknown_word_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["setup.py", "--only", "docs"])
    assert setup.main() == 1
    assert "--only demo" in capsys.readouterr().err


def test_the_locks_are_current_and_one_is_part_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lock.check() == 0
    names = {line.partition("==")[0] for line in (ROOT / LOCKS[1]).read_text().splitlines() if "==" in line}
    assert {"polars", "pyarrow", "matplotlib", "duckdb"} <= names
    assert not names & {"maturin", "mypy", "pandas", "pytest", "sympy"}
    other = tmp_path / "other.lock"
    other.write_text((ROOT / LOCKS[1]).read_text().replace("polars==", "polars==9"))
    monkeypatch.setattr(lock, "DEMO", other)
    assert lock.check() == 1
    assert "is not part of requirements.lock" in capsys.readouterr().out


def test_what_a_build_leaves_out_still_has_its_names() -> None:
    """Responses name columns of real kernels everywhere: a build without them once failed at every study."""
    sources = ROOT / "crates" / "python" / "src"
    _, _, described = (sources / "tables.rs").read_text().partition("pub fn table_descriptions")
    assert "late_table" in described
    assert "cfg(" not in described
    functions = re.compile(r"^pub fn (\w+)", re.MULTILINE)
    there, elsewhere = (
        set(functions.findall((sources / name).read_text())) for name in ("live.rs", "live_elsewhere.rs")
    )
    assert there == elsewhere
