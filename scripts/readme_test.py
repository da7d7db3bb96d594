"""Run the examples of README.md as a reader would, in an empty folder.

What is done with a fenced block depends on its mark:

- `console`: a line that begins with `$ ` is a command (one that ends with a backslash goes on); the
  lines after it are what it must print. Without such lines it need only succeed.
- `python`: run as a program; a block marked `text` right after it is what it must print.
- `toml` that begins with a comment such as `# mine.toml`: written to a file of that name.

`...` stands for any text, within a line or as a line of its own. Other blocks are left alone.

A figure below the comment `<!-- drawn: FILE -->` is what the commands of the page leave in FILE: it must
be there and of the same shape. With `--figures` it is copied to where the page looks for it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from rexmit.kernel import kernels

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(console|python|text|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
GUEST = "--backend uml"
KERNELS = kernels()
FILE = re.compile(r"# ([\w.-]+\.toml)\n")
# A figure of the page that its commands draw, where they leave it, and the copy that the page shows.
DRAWN = re.compile(r"^<!-- drawn: (\S+) -->\n!\[[^\]]*\]\((\S+)\)", re.MULTILINE)
ANYTHING = "\0"


@dataclass
class Example:
    """One command, where it stands, what it must print, and what it reads from its standard input."""

    line: int
    title: str
    command: list[str]
    expected: list[str] = field(default_factory=list)
    given: str = ""


def main() -> int:
    """Run the examples of the given pages, README.md by default."""
    options = argparse.ArgumentParser(description="Run the examples of a page.")
    options.add_argument("pages", nargs="*", type=Path, default=[ROOT / "README.md"])
    options.add_argument("--figures", action="store_true", help="copy what is drawn to where pages show it")
    chosen = options.parse_args()
    failed = passed = 0
    for page in chosen.pages:
        with tempfile.TemporaryDirectory(prefix="rexmit-readme-") as folder:
            for example in examples(page.read_text()):
                if GUEST in example.title and not KERNELS:
                    print(f"SKIPPED [1] {page.name}:{example.line}: no kernel is built: rexmit kernel build")
                    continue
                fault = attempt(example, Path(folder))
                passed += fault is None
                failed += fault is not None
                if fault is not None:
                    print(f"{page.name}:{example.line}: {example.title}\n{fault}")
            faults = figures(page, Path(folder), copy=chosen.figures)
            failed += len(faults)
            print("".join(f"{page.name}: {fault}\n" for fault in faults), end="")
    print(f"examples: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def examples(text: str) -> list[Example]:
    """The examples of a page in their order."""
    found: list[Example] = []
    after_python = False
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(2)) + 1
        mark, inside = block[1], block[2]
        if mark == "console":
            found += commands(inside.splitlines(), line)
        elif mark == "python":
            found.append(Example(line, "python", [sys.executable, "-"], given=inside))
        elif mark == "text" and after_python:
            found[-1].expected = [row for row in inside.splitlines() if row.strip()]
        elif mark == "toml" and (name := FILE.match(inside)):
            found.append(Example(line, f"write {name[1]}", ["tee", name[1]], given=inside))
        after_python = mark == "python"
    return found


def figures(page: Path, folder: Path, copy: bool) -> list[str]:
    """What is wrong with the figures that a page's commands should have drawn in a folder."""
    faults = []
    for name, shown in DRAWN.findall(page.read_text()):
        drawn, kept = folder / name, page.parent / shown
        if not drawn.exists():
            faults.append(f"{name} was not drawn")
        elif copy:
            with Image.open(drawn) as image:
                image.convert("RGB").quantize(64).save(kept, optimize=True)
        elif not kept.exists():
            faults.append(f"{shown} is missing: --figures copies it")
        else:
            with Image.open(drawn) as new, Image.open(kept) as old:
                if new.size != old.size:
                    faults.append(f"{shown} is {old.size}, {name} {new.size}: --figures copies it")
    return faults


def commands(lines: list[str], first: int) -> list[Example]:
    """The commands of a `console` block."""
    found: list[Example] = []
    for number, line in enumerate(lines, start=first):
        if line.startswith("$ "):
            found.append(Example(number, line[2:], []))
        elif found and found[-1].title.endswith("\\"):
            found[-1].title = found[-1].title[:-1] + line.strip()
        elif found and line.strip():
            found[-1].expected.append(line)
    for example in found:
        example.command = ["bash", "-eu", "-o", "pipefail", "-c", example.title]
    return found


def attempt(example: Example, folder: Path) -> str | None:
    """Run one command; what is wrong with it, or nothing."""
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    started = time.monotonic()
    done = subprocess.run(
        example.command,
        cwd=folder,
        env=environment,
        input=example.given,
        capture_output=True,
        text=True,
        timeout=600,
    )
    print(f"  {time.monotonic() - started:5.1f} s  {example.title}", flush=True)
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    if example.expected and not matches(example.expected, done.stdout):
        wanted = "\n".join(example.expected)
        return f"expected:\n{wanted}\nprinted:\n{done.stdout}{done.stderr}"
    return None


def matches(expected: list[str], printed: str) -> bool:
    """True if the printed text is the expected one, white space and `...` aside.

    The fixed pieces between the `...` are looked for one after another, each at the first place where it
    stands, so a page whose output differs fails at once, however many `...` it has.
    """
    pieces = " ".join(map(pieces_of, expected)).split(ANYTHING)
    pieces = [f" {pieces[0]}", *pieces[1:]]
    pieces[-1] += " "
    text = f" {' '.join(printed.split())} "
    if len(pieces) == 1:
        return text == pieces[0]
    first, *middle, last = pieces
    place = len(first)
    if not text.startswith(first):
        return False
    for piece in middle:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return text.endswith(last) and len(text) - len(last) >= place


def pieces_of(line: str) -> str:
    """A line with single spaces, and none around what stands for any text."""
    return ANYTHING.join(" ".join(piece.split()) for piece in line.split("..."))


if __name__ == "__main__":
    sys.exit(main())
