"""What several commands share."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from rich.console import Console

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def print_json(value: Any) -> None:
    """Prints JSON on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def console() -> Console:
    """Where tables go: the terminal's width, or lines as long as needed elsewhere."""
    return Console() if sys.stdout.isatty() else Console(width=200)


def warn(text: str) -> None:
    """A warning of one line on standard error."""
    print(f"rexmit: warning: {text}", file=sys.stderr, flush=True)
