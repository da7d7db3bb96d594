"""Programs that are stacks of rexmit's own, around other people's code: how they are built, once per user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from rexmit import _native
from rexmit.errors import RexmitError, UsageError, nearest
from rexmit.files import make_folder, put, write_text, write_whole
from rexmit.places import temporary_folder

_TOOLS = {
    "go": ("go", "install Go 1.26 or newer: https://go.dev/dl"),
    "cargo": ("cargo", "install Rust: https://rustup.rs"),
}


_GOROOT = "go/bubble/_goroot/"
"""Files below it go into Go's standard library, under the same names."""


@dataclass(frozen=True)
class StackSource:
    """What a program is built from; `program` is where it is once it is built, below the user's cache."""

    name: str
    tool: str
    folder: str
    files: Mapping[str, str]
    program: Path

    @property
    def built(self) -> bool:
        """It is there."""
        return self.program.is_file()


@cache
def stack_sources() -> dict[str, StackSource]:
    """The sources of all such programs, by their names."""
    found = {}
    for entry in json.loads(_native.stack_sources()):
        if entry["program"] is None:
            raise RexmitError("no folder to keep programs in: set REXMIT_CACHE")
        found[entry["name"]] = StackSource(
            entry["name"], entry["tool"], entry["folder"], entry["files"], Path(entry["program"])
        )
    return found


def source_of(name: str) -> StackSource:
    """The source of this name. Raises UsageError, which names those there are."""
    try:
        return stack_sources()[name]
    except KeyError:
        raise UsageError(f"no program {name!r} to build{nearest(name, stack_sources())}") from None


def build_stack(source: StackSource, *, force: bool = False) -> Path:
    """The program, built now unless it is there from just the same files.

    Its tool loads what it needs of the stack's own code, in the versions that the files name. Raises
    RexmitError: the tool is missing, or says why it cannot.
    """
    program = source.program
    if source.built and not force:
        return program
    tool, remedy = _TOOLS[source.tool]
    if shutil.which(tool) is None:
        raise RexmitError(f"{source.name} cannot be built, since {tool} is not here; {remedy}")
    with temporary_folder() as place:
        for name, text in source.files.items():
            make_folder((place / name).parent)
            put(place / name, text)
        made = _built(source, place).read_bytes()
    make_folder(program.parent)

    def write(file: IO[bytes]) -> None:
        file.write(made)
        os.fchmod(file.fileno(), 0o755)

    # Whole or not at all: another process may run the one that is there.
    write_whole(program, write, resumable=False)
    return program


def _built(source: StackSource, place: Path) -> Path:
    """What the tool has made in this folder."""
    folder = place / source.folder
    if source.tool == "go":
        made = place / "made"
        words = ["go", "build", "-trimpath", "-buildvcs=false", "-o", str(made)]
        if added := _added(source, place):
            overlay = place / "overlay.json"
            put(overlay, json.dumps({"Replace": added}))
            words.append(f"-overlay={overlay}")
        # Without C the program is the same whatever compiler the machine has.
        _call(source, words, folder, CGO_ENABLED="0")
        return made
    # What was compiled before is kept: only files that changed are compiled again.
    target = source.program.parents[1] / "compiled" / source.name
    _call(source, ["cargo", "build", "--release", "--locked"], folder, CARGO_TARGET_DIR=str(target))
    return target / "release" / source.name


def _added(source: StackSource, place: Path) -> dict[str, str]:
    """Files that go into Go's standard library for this build alone: where each would be, and where it is."""
    ours = [name for name in source.files if name.startswith(_GOROOT)]
    if not ours:
        return {}
    root = Path(_call(source, ["go", "env", "GOROOT"], place).strip()) / "src"
    return {str(root / name.removeprefix(_GOROOT)): str(place / name) for name in ours}


def _call(source: StackSource, command: list[str], folder: Path, **environment: str) -> str:
    """What a command of the tool prints; its words are kept where it fails."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return done.stdout
    log = source.program.with_name(f"{source.name}.log")
    make_folder(log.parent)
    write_text(log, done.stdout + done.stderr, resumable=False)
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "it says nothing")
    raise RexmitError(f"{source.name} cannot be built: {last.strip()} (all of it: {log})")
