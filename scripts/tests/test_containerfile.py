"""The Containerfile says what the project has: nothing here can build it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "ENV", "VOLUME", "ENTRYPOINT", "CMD"}


def instructions() -> list[tuple[str, str]]:
    """Each instruction with what follows it, lines joined and comments gone."""
    text = (ROOT / "Containerfile").read_text()
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines.splitlines() if line.strip()]


def test_every_line_is_an_instruction() -> None:
    found = instructions()
    assert found[0][0] == "FROM"
    assert {name for name, _ in found} <= KNOWN
    for name, words in found:
        if name in ("ENTRYPOINT", "CMD"):
            assert json.loads(words)
        assert words.count('"') % 2 == 0


def test_what_it_names_is_there() -> None:
    text = " ".join(words for _, words in instructions())
    for package in re.findall(r"--package=(\S+)", text):
        name = package.removeprefix("rexmit-")
        assert (ROOT / "crates" / name / "Cargo.toml").is_file(), package
    scripts = json.loads((ROOT / "web" / "package.json").read_text())["scripts"]
    assert all(name in scripts for name in re.findall(r"--prefix web (build|test)\b", text))
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert f'"{build[0]}"' in text
    for setup in (ROOT / "crates" / "adapters").glob("*/setup.toml"):
        assert tomllib.loads(setup.read_text())["package"] in text, setup


def test_its_compiler_is_new_enough() -> None:
    wanted = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    found = re.search(r"rust:(\d+)\.(\d+)", instructions()[0][1])
    assert found
    assert (int(found[1]), int(found[2])) >= tuple(map(int, wanted.split(".")[:2]))
