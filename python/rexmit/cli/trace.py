"""`rexmit trace`: shows, converts and makes traces of links."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import click

from rexmit import _native
from rexmit.cli import completing
from rexmit.cli.common import OUT, json_option, print_json, warn
from rexmit.cli.groups import Commands
from rexmit.cli.trace_show import table_of
from rexmit.errors import UsageError, one_line
from rexmit.files import write_whole
from rexmit.links import MAKERS, Trace, open_trace
from rexmit.terminal import binary

_file = click.argument("file", type=click.Path(path_type=Path), shell_complete=completing.files)


@click.group(
    cls=Commands,
    epilog="""\b
Example:
  rexmit trace make leo-handover --duration 60s --out leo.csv
  rexmit trace show leo.csv --out leo.svg""",
)
def trace() -> None:
    """Show, convert and make traces: links whose rate, delay or loss changes.

    A trace is a file as for mahimahi, with one line for each opportunity to send 1504 bytes, or a CSV of time
    and any of rate, delay and loss. A path follows it with `rate = { trace = "FILE" }`.
    """


@trace.command(
    epilog="""\b
Examples:
  rexmit trace show cellular.down
  rexmit trace show leo.csv --out leo.svg --bin 100ms"""
)
@_file
@click.option("--out", type=OUT, help="Draw it over time into this file, .svg or .png.")
@click.option(
    "--bin",
    "span",
    metavar="TIME",
    help="Average rates over this time. Default: a 600th of the trace, at least 1 ms.",
)
@json_option
def show(file: Path, out: Path | None, span: str | None, as_json: bool) -> None:
    """Show a trace's length, its rates, and how often nothing passes.

    Every line is read and checked; an error names the line and says what to write.
    """
    found = _open(file)
    bins = found.bins(_span(span))
    if out is not None:
        # Loaded when there is something to draw: matplotlib takes long.
        from rexmit.plot.links import draw_trace

        draw_trace(found, bins, out)
    facts = found.facts(bins)
    if as_json:
        print_json(facts)
        return
    for line in table_of(found, facts):
        click.echo(line)
    if out is not None:
        click.echo(out)


@trace.command(
    epilog="""\b
Examples:
  rexmit trace convert cellular.down cellular.csv --bin 100ms
  rexmit trace convert leo.csv leo.down"""
)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path), shell_complete=completing.files)
@click.argument("target", metavar="OUT", type=OUT)
@click.option(
    "--bin",
    "span",
    metavar="TIME",
    help="From mahimahi's lines: average the rates of the CSV over this time. Needed there, and only there.",
)
def convert(source: Path, target: Path, span: str | None) -> None:
    """Convert mahimahi's lines into a CSV of rates, or a CSV of rates into mahimahi's lines."""
    found = _open(source)
    if found.is_mahimahi and span is None:
        raise UsageError(f"{source}: has mahimahi's lines: give the averaging time, such as --bin 100ms")
    if not found.is_mahimahi and span is not None:
        raise UsageError(
            f"{source}: is a CSV, and mahimahi's lines each have their own time: leave --bin out"
        )
    try:
        lines = _native.TraceConverter(str(source), _span(span) or 0)
    except ValueError as error:
        raise UsageError(one_line(error)) from None
    write_whole(target, _writer(iter(lines.piece, None)), resumable=False)
    for text in lines.left_out():
        warn(f"{target}: {text}")
    click.echo(target)


@trace.command(
    epilog="""\b
Examples:
  rexmit trace make leo-handover --duration 60s --seed 1 --out leo.csv
  rexmit trace make cellular --duration 5min --out cellular.down
  rexmit trace make wifi --out wifi.csv"""
)
@click.argument("kind", type=click.Choice(list(MAKERS)))
@click.option("--duration", metavar="TIME", default="60s", show_default=True, help="Length of the trace.")
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Another seed, another trace."
)
@click.option("--out", type=OUT, help="File to write. Default: standard output.")
def make(kind: str, duration: str, seed: int, out: Path | None) -> None:
    """Generate a trace that resembles a kind of link: the same bytes for the same seed and duration.

    leo-handover: low-orbit satellites with a handover every 15 s (CSV). cellular: a cellular downlink
    (mahimahi's lines). wifi: a wireless LAN that adapts its rate (CSV). The page `docs/guide/traces.md` gives
    the sources of their numbers, and what they do not model.
    """
    ns = _time("--duration", duration)
    if ns < 1_000_000_000:
        raise UsageError(f"--duration {duration}: is too short: give at least 1 s")
    lines = (line.encode() for line in MAKERS[kind](ns, seed))
    if out is None:
        stream = binary(sys.stdout)
        for line in lines:
            stream.write(line)
        stream.flush()
        return
    write_whole(out, lambda file: file.writelines(lines), resumable=False)
    click.echo(out)


def _open(file: Path) -> Trace:
    try:
        return open_trace(file)
    except ValueError as error:
        raise UsageError(one_line(error)) from None


def _span(text: str | None) -> int | None:
    """A span in ns; None for none."""
    if text is None:
        return None
    ns = _time("--bin", text)
    if ns < 1_000_000:
        raise UsageError(f"--bin {text}: is too short: give at least 1 ms")
    return ns


def _time(option: str, text: str) -> int:
    try:
        return _native.parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {one_line(error)}") from None


def _writer(pieces: Iterator[str]) -> Callable[[IO[bytes]], object]:
    return lambda file: file.writelines(piece.encode() for piece in pieces)
