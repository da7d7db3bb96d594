"""The guides: their commands parse, their studies load, and each of the nine tasks has a page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import rexmit
from rexmit.cli import cli
from rexmit.diff import Threshold

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(
    [
        DOCS.parent / "README.md",
        *(p for d in ("howto", "guide", "tutorials") for p in (DOCS / d).glob("*.md")),
    ]
)
TASKS = {
    "fair": "Do my flows share a link fairly?",
    "lost-packet": "Which lost packet hurts my QUIC library?",
    "why-slow": "Why is my download slow?",
    "kernel-patch": "Did my kernel patch change anything?",
    "class": "How do I give a class a lab?",
    "recorded-link": "How does it behave on a link that I recorded?",
    "bad-network": "How do I put curl behind a bad network?",
    "publish": "How do I publish a study of my own?",
    "script": "How do I use rexmit in a script?",
}
BLOCK = re.compile(r"^ *```(console|sh|toml)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w.-]+\.toml)\n")
ENDS = {"|", "||", "&&", ";", ">", "2>&1", "<", "&"}


def commands(page: Path) -> Iterator[list[str]]:
    """The words behind `rexmit` of each command on a page that is not shown to fail."""
    for kind, inside in BLOCK.findall(page.read_text()):
        if kind == "toml":
            continue
        rows = re.sub(r"\\\n", " ", inside).splitlines()
        if kind == "console":
            rows = _with_what_goes_on(rows)
        for row, after in zip(rows, [*rows[1:], ""], strict=True):
            words = _words(row.removeprefix("$ ").strip())
            if words is not None and not after.startswith("rexmit: error:"):
                yield words


def _with_what_goes_on(rows: list[str]) -> list[str]:
    """Rows, with a quoted argument of several lines on one of them."""
    found: list[str] = []
    for row in rows:
        if found and found[-1].startswith("$ ") and found[-1].count("'") % 2 == 1:
            found[-1] += " " + row.strip()
        else:
            found.append(row)
    return found


def _words(row: str) -> list[str] | None:
    """The words of a command of rexmit; None of any other."""
    found = re.match(r"(?:sudo )?rexmit (?!\.\.\.)(.*)", row)
    if not found:
        return None
    words = shlex.split(re.sub(r"\$SLURM_\w+", "1", found[1]), comments=True)
    end = next((place for place, word in enumerate(words) if word in ENDS), len(words))
    return words[:end]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_parses(page: Path) -> None:
    for words in commands(page):
        found: dict[str, Any] = {}
        command: click.Command = cli
        context = click.Context(cli, info_name="rexmit")
        rest = words
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            below = command.get_command(context, rest[0])
            assert below is not None, words
            command, rest = below, rest[1:]
            if not isinstance(command, click.Group):
                context = command.make_context(command.name, list(rest), parent=context)
                found = context.params
        for condition in found.get("conditions") or ():
            assert Threshold.parse(condition)


@pytest.mark.parametrize("name", TASKS)
def test_each_of_the_nine_tasks_has_a_page_of_at_most_five_steps(name: str) -> None:
    text = (DOCS / "howto" / f"{name}.md").read_text()
    assert text.startswith(f"# {TASKS[name]}\n")
    steps = [int(number) for number in re.findall(r"^\*\*(\d)\. ", text, re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1))
    assert 2 <= len(steps) <= 5
    index = (DOCS / "howto" / "index.md").read_text()
    assert f"[{TASKS[name]}]({name}.md)" in index


@pytest.mark.parametrize("name", TASKS)
def test_studies_of_the_nine_tasks_load(name: str, tmp_path: Path) -> None:
    (tmp_path / "lte.down").write_text("0\n1\n")
    (tmp_path / "star.csv").write_text("time (s),rate (Mbit/s)\n0,10\n")
    for kind, inside in BLOCK.findall((DOCS / "howto" / f"{name}.md").read_text()):
        if kind == "toml" and (file := NAMED.match(inside)):
            study = tmp_path / file[1]
            study.write_text(inside)
            assert rexmit.Study.load(str(study)).runs > 1
