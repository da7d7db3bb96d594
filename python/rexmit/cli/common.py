"""What several commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import Context, Parameter

if TYPE_CHECKING:
    from rich.console import Console

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
    """Prints JSON on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def console() -> Console:
    """Where tables go: the terminal's width, or lines as long as needed elsewhere."""
    # Loaded when something is printed: work begins without it.
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=200)


def warn(text: str) -> None:
    """A warning of one line on standard error."""
    print(f"rexmit: warning: {text}", file=sys.stderr, flush=True)
