"""`rexmit model tcp-friendly`: formulas of TCP's throughput, put to captures and to numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from rexmit.cli.common import OUT, json_option, print_json, warn
from rexmit.cli.model_formulas import Given, formula_options, print_formulas
from rexmit.cli.reading import ReadingProgress
from rexmit.errors import UsageError, printable

if TYPE_CHECKING:
    import polars as pl

    from rexmit.report.friendly import TcpFriendly

TABLES = ("flows", "cycles", "conditions", "predictions")


@dataclass(frozen=True)
class Asked:
    """What the options of `capture_options` say."""

    connection: int | None = None
    condition: str | None = None
    out: Path | None = None
    table: str | None = None
    figure: Path | None = None


Command = TypeVar("Command", bound=Callable[..., Any])


def capture_options(command: Command) -> Command:
    """Adds the options of a command that judges captures, named as the fields of `Asked`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option("--connection", type=click.IntRange(min=1), help="Look at one connection, however short."),
    click.option(
        "--filter", "condition", metavar="TEXT", help="Judge only packets such as 'tcp.port == 5001'."
    ),
    click.option("--out", type=OUT, help="File to write a table to, .parquet or .csv."),
    click.option(
        "--table",
        type=click.Choice(TABLES),
        help="Which table --out writes. Default: flows, one row per direction with verdict and measures.",
    ),
    click.option(
        "--plot",
        "figure",
        type=OUT,
        help="File to draw the window over time to (.svg, .png, .pdf; without ending SVG and PNG), of the "
        "connection or largest flow.",
    ),
)


@click.command(
    "tcp-friendly",
    epilog="""\b
Examples:
  rexmit model tcp-friendly sender.pcapng --plot window.svg
  rexmit model tcp-friendly runs/*.pcapng --out flows.csv
  rexmit model tcp-friendly sender.pcapng --connection 3 --out cycles.parquet --table cycles
  rexmit model tcp-friendly --loss 0.01 --mss "1448 bytes" --rtt "100 ms"
  rexmit model tcp-friendly --loss "0.1 %" --loss "1 %" --rtt "40 ms" --rto "250 ms" --delayed-acks""",
)
@click.argument("captures", nargs=-1, metavar="[CAPTURE]...", type=click.Path(path_type=Path))
@capture_options
@formula_options
@json_option
@click.pass_context
def tcp_friendly(
    context: click.Context, /, captures: tuple[Path, ...], as_json: bool, **options: Any
) -> None:
    """Apply the formulas of TCP's throughput to the flows of captures, or to numbers.

    For each CAPTURE, best from the sender before the bottleneck: may the TCP-friendly formula be applied to
    its flows, and which of the seven conditions of klaver-2005, chapter 2, fails? For each direction with at
    least 100 segments, p, rate, RTT and the average window are measured over whole congestion-avoidance
    cycles in equilibrium, and set beside what each formula gives for that p. Exit code 1 if a capture is
    damaged; all that could be read is shown all the same.

    Without one, --loss and --rtt: what each formula gives for these, and whether its assumptions can hold.
    """
    of_numbers = {field.name for field in fields(Given)}
    numbers = {name: value for name, value in options.items() if name in of_numbers}
    others = {name: value for name, value in options.items() if name not in of_numbers}
    _refuse(context, numbers if captures else others, bool(captures))
    if not captures:
        print_formulas(Given(**numbers), as_json)
        return
    context.exit(judge_captures(captures, Asked(**others), as_json))


def _refuse(context: click.Context, names: Iterable[str], captures: bool) -> None:
    """Raises UsageError for an option that goes with the other way to ask."""
    for parameter in context.command.params:
        given = parameter.name in names and context.get_parameter_source(parameter.name or "")
        if given and given is not click.core.ParameterSource.DEFAULT:
            about = "is for numbers, not for captures" if captures else "needs a CAPTURE"
            raise UsageError(f"{parameter.opts[0]} {about}")


def judge_captures(captures: Sequence[Path], asked: Asked, as_json: bool) -> int:
    """Judges captures, writes what was asked for and prints the rest; the exit code."""
    if asked.table is not None and asked.out is None:
        raise UsageError("--table does nothing without --out FILE; give both")
    if asked.connection is not None and len(captures) > 1:
        raise UsageError("--connection names a connection of one capture; give one")
    form = _form(asked.out)
    _check_figure(asked.figure)
    found, damaged = _look(captures, asked)
    written = []
    if asked.out is not None:
        _write(found.table(asked.table or "flows"), asked.out, form)
        written.append(asked.out)
    if asked.figure is not None:
        written += found.plot(asked.figure, asked.connection)
    if as_json:
        print_json(_json(found))
    else:
        _print(found, written)
    return 1 if damaged else 0


def _look(captures: Sequence[Path], asked: Asked) -> tuple[TcpFriendly, bool]:
    from rexmit.report.friendly import TcpFriendly, look, open_capture

    looked, damaged = [], False
    for path in captures:
        with ReadingProgress(path.name) as progress:
            found = open_capture(path, asked.condition, progress)
        looked.append(look(found, str(path), asked.connection))
        damaged = damaged or found.summary.damaged
    return TcpFriendly(looked), damaged


def _print(found: TcpFriendly, written: list[Path]) -> None:
    from rexmit.cli.common import console
    from rexmit.report.terminal_friendly import print_looked

    out = console()
    for looked in found.looked:
        print_looked(out, looked, len(found.looked) > 1)
    for path in written:
        click.echo(printable(path))


def _json(found: TcpFriendly) -> dict[str, Any]:
    for looked in found.looked:
        for text in looked.warnings:
            warn(f"{looked.capture}: {text}")
    rows = {name: found.table(name).to_dicts() for name in ("flows", "conditions", "predictions")}
    for row in rows["conditions"]:
        row["evidence"] = json.loads(row["evidence"])
    short = {looked.capture: looked.too_short for looked in found.looked}
    return {**rows, "too_short": short}


def _form(out: Path | None) -> str:
    ending = "" if out is None else out.suffix.lower()
    if out is not None and ending not in (".parquet", ".csv"):
        raise UsageError(
            f"--out {out}: cannot write {ending or 'a file without ending'!r}; end it in .parquet or .csv"
        )
    return ending


def _check_figure(figure: Path | None) -> None:
    """Raises UsageError, before a long reading, for a figure that could not be written."""
    if figure is None:
        return
    ending = figure.suffix.lower()
    if ending not in ("", ".svg", ".png", ".pdf"):
        raise UsageError(f"--plot {figure}: cannot draw {ending!r}; end it in .svg, .png or .pdf")
    if not figure.parent.is_dir():
        raise UsageError(f"--plot {figure}: there is no folder {figure.parent}; make it, or choose another")


def _write(table: pl.DataFrame, out: Path, form: str) -> None:
    from rexmit.files import write_whole

    def write(file: IO[bytes]) -> None:
        table.write_csv(file) if form == ".csv" else table.write_parquet(file)

    write_whole(out, write, resumable=False)
