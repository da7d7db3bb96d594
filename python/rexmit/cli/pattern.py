"""`rexmit pattern`: makes, shows and converts patterns of packets."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rexmit import _native
from rexmit.cli.common import OUT, json_option, print_json, warn
from rexmit.cli.groups import Commands
from rexmit.errors import UsageError, one_line
from rexmit.files import write_bytes
from rexmit.inputs import PATTERN, read_bytes
from rexmit.terminal import binary

_out = click.option("--out", type=OUT, help="File to write. Default: standard output.")


@click.group(
    cls=Commands,
    epilog="""\b
Example:
  rexmit pattern make 1,4,10-12 --period 32 --out every32.txt
  rexmit pattern show every32.txt""",
)
def pattern() -> None:
    """Make, show and convert patterns: which packets an impairment hits.

    The plain text form is what a study's file takes: positions such as 1,4,10-12, or one key per line.
    """


@pattern.command(
    epilog="""\b
Examples:
  rexmit pattern make 1,4,10-12 --period 32
  rexmit pattern make --random '5 %' --length 1000 --seed 7
  rexmit pattern make 18 --file data --factor 2 --out loss18.pattern"""
)
@click.argument("positions", required=False)
@click.option("--period", type=click.IntRange(min=1), help="Packets after which the pattern starts over.")
@click.option(
    "--random", "rate", metavar="RATE", help="A random but fixed pattern: each packet with this probability."
)
@click.option("--length", type=click.IntRange(min=1), help="Packets of a random pattern.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Of a random pattern.")
@click.option("--repeat", is_flag=True, help="A random pattern starts over at its end.")
@click.option(
    "--file",
    "mode",
    type=click.Choice(["data", "time"]),
    help="The file of hurtig-2006's pattern generator: positions, or points that switch loss.",
)
@click.option(
    "--factor",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Groups of 16 entries in --file.",
)
@click.option(
    "--start",
    type=click.Choice(["off", "on"]),
    default="off",
    help="State before the first switch, with --file time.",
)
@_out
def make(
    positions: str | None,
    period: int | None,
    rate: str | None,
    length: int | None,
    seed: int,
    repeat: bool,
    mode: str | None,
    factor: int,
    start: str,
    out: Path | None,
) -> None:
    """Make a pattern from POSITIONS (1 is the first packet) or at random, as plain text or as a file."""
    if (positions is None) == (rate is None):
        raise UsageError("give either POSITIONS, such as 1,4,10-12, or --random RATE")
    try:
        if positions is None or rate is not None:
            if length is None:
                raise UsageError("--random needs --length, the number of packets")
            _write(_native.pattern_random(str(rate), length, seed, repeat).encode(), out)
        elif mode is None:
            text, warnings = _native.pattern_list(positions, period)
            _warn_all(warnings)
            _write(text.encode(), out)
        else:
            content, warnings = _native.pattern_file(
                factor, positions, start == "on" if mode == "time" else None
            )
            _warn_all(warnings)
            _write(content, out)
    except ValueError as error:
        raise UsageError(one_line(error)) from None


@pattern.command(
    epilog="""\b
Examples:
  rexmit pattern show 1,4,10-12
  rexmit pattern show loss18.pattern --width 32"""
)
@click.argument("what", metavar="PATTERN|FILE")
@click.option(
    "--width", default=100, show_default=True, type=click.IntRange(min=1), help="Packets to picture."
)
@click.option(
    "--step", help="Time of each entry of a binary FILE, such as '1 ms'. Default: an entry is a packet."
)
@json_option
def show(what: str, width: int, step: str | None, as_json: bool) -> None:
    """Show a pattern, in its plain text form or from a file, with a picture of its first packets."""
    try:
        text = _text(what, step)
        shown = _native.pattern_show(text, width)
    except ValueError as error:
        raise _wrong(what, error) from None
    if as_json:
        print_json({"pattern": text.strip(), "shown": shown.splitlines()})
    else:
        click.echo(shown, nl=False)


@pattern.command(
    epilog="""\b
Examples:
  rexmit pattern convert loss18.pattern
  rexmit pattern convert loss18.txt --to file --factor 2 --out loss18.pattern"""
)
@click.argument("source", metavar="PATTERN|FILE")
@click.option(
    "--to", type=click.Choice(["text", "file"]), default="text", show_default=True, help="Form to write."
)
@click.option(
    "--step", help="Time of each entry of a binary FILE, such as '1 ms'. Default: an entry is a packet."
)
@click.option(
    "--factor", type=click.IntRange(min=1), help="Groups of 16 entries, for a file without a period."
)
@_out
def convert(source: str, to: str, step: str | None, factor: int | None, out: Path | None) -> None:
    """Convert between the plain text form and the pattern file of hurtig-2006."""
    try:
        text = _text(source, step)
        _native.pattern_show(text, 1)  # refuses what is not a pattern, which would else come back as it is
        _write(text.encode() if to == "text" else _native.pattern_to_file(text, factor), out)
    except ValueError as error:
        raise _wrong(source, error) from None


def _wrong(what: str, error: ValueError) -> UsageError:
    nor = "" if Path(what).is_file() else "there is no such file, and as a pattern: "
    return UsageError(f"{what}: {nor}{one_line(error)}")


def _text(what: str, step: str | None) -> str:
    """The plain text form of a text, of a text file, or of a pattern file."""
    path = Path(what)
    if not path.exists() or path.is_dir():
        return what
    content = read_bytes(path, PATTERN)
    try:
        text = content.decode()
        is_text = text.isprintable() or "\n" in text
    except UnicodeDecodeError:
        is_text = False
    return text if is_text and step is None else _native.pattern_from_file(content, step)


def _warn_all(warnings: list[str]) -> None:
    for text in warnings:
        warn(text)


def _write(content: bytes, out: Path | None) -> None:
    if out is not None:
        write_bytes(out, content)
        return
    stream = binary(sys.stdout)
    stream.write(content)
    stream.flush()
