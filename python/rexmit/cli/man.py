"""`rexmit man`: the manual pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from rexmit.cli.common import OUT
from rexmit.cli.completing import command_names
from rexmit.errors import UsageError, nearest
from rexmit.files import make_folder, write_text


@click.command(
    epilog="""\b
Examples:
  rexmit man run
  rexmit man kernel build
  rexmit man --out ~/.local/share/man/man1"""
)
@click.argument("names", nargs=-1, metavar="[COMMAND]...", shell_complete=command_names)
@click.option("--out", type=OUT, metavar="DIR", help="Write every page into this folder, as rexmit-run.1.")
def man(names: tuple[str, ...], out: Path | None) -> None:
    """Show the manual page of COMMAND: with man on a terminal, otherwise as roff.

    The package has the pages in share/man/man1 of its environment: `man rexmit-run` finds them if the bin
    folder of that environment is in PATH.
    """
    from rexmit.cli import cli
    from rexmit.cli.roff import manual_page, page_name, walk

    pages = dict(walk("rexmit", cli))
    if out is not None:
        if names:
            raise UsageError("--out: writes every page; leave COMMAND out")
        _write(out, {page_name(path): manual_page(path, command) for path, command in pages.items()})
        return
    wanted = " ".join(("rexmit", *names))
    if wanted not in pages:
        known = [path.removeprefix("rexmit ") for path in pages if " " in path]
        raise UsageError(f"there is no command {' '.join(names)!r}{nearest(' '.join(names), known)}")
    page = manual_page(wanted, pages[wanted])
    program = shutil.which("man")
    if program is not None and sys.stdout.isatty():
        subprocess.run([program, "-l", "-"], input=page.encode(), check=False)
    else:
        click.echo(page, nl=False)


def _write(folder: Path, pages: dict[str, str]) -> None:
    make_folder(folder)
    for name, page in pages.items():
        write_text(folder / f"{name}.1", page, resumable=False)
    click.echo(f"{folder}: {len(pages)} pages written")
