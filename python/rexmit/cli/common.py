"""What several commands share."""

from __future__ import annotations

import json
import re
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import Context, Parameter

from rexmit.errors import one_line
from rexmit.run.shard import told
from rexmit.terminal import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from rexmit.run import Results

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


class _OutPath(click.Path):
    """A file or folder to write; an empty name would mean the working directory itself."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> Any:
        if value == "":
            self.fail("is empty; name what to write, '.' for this folder", param, ctx)
        return super().convert(value, param, ctx)


OUT = _OutPath()
"""Type of every `--out`."""


def print_json(value: Any) -> None:
    """Prints JSON on standard output, piece by piece; what a terminal would obey is escaped."""
    pieces = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value)
    while some := "".join(islice(pieces, 10_000)):
        click.echo(escaped(some), nl=False)
    click.echo()


def escaped(text: str) -> str:
    """JSON with what a terminal would obey as escapes."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def console(width: int | None = None) -> Console:
    """Where tables go: the terminal's width, or lines as long as needed elsewhere; or as wide as given."""
    return terminal(width=width or (None if sys.stdout.isatty() else 200))


def warn(text: str) -> None:
    """A warning of one line on standard error."""
    print(f"rexmit: warning: {one_line(text)}", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """A remark of one line on standard error."""
    print(f"rexmit: {one_line(text)}", file=sys.stderr, flush=True)


def warn_of_part(results: Results) -> None:
    """Warns of a shard's results that they are a part of a study's."""
    if results.shard is not None:
        warn(
            f"{results.folder}: is {told(results.shard)} of {results.name}, {len(results)} of "
            f"{results.study['runs']} runs; merge all shards for the whole"
        )


_CONTROL = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls that JSON does not escape itself, marks of direction, and halves of pairs."""
