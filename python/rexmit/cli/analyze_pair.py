"""`rexmit analyze A B`: two captures of the same packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from rexmit.analyse import rows as plain
from rexmit.analyse.captures import Options
from rexmit.analyse.pairs import PAIR_TABLES, Paired, PairOptions, read_pair
from rexmit.analyse.words import evidence
from rexmit.cli.common import print_json
from rexmit.cli.reading import ReadingProgress
from rexmit.errors import UsageError, nearest


@dataclass(frozen=True)
class PairOutput:
    """What is printed and written."""

    lines: bool
    as_json: bool
    tables: Path | None
    only: str | None
    form: str


def analyze_pair(paths: Sequence[Path], options: Options, about: PairOptions, output: PairOutput) -> int:
    """Judges two captures, prints and writes what was asked for, and returns the exit code."""
    names = _table_names(output.only)
    wanted = output.tables is not None and "crossings" in names
    with ReadingProgress(" and ".join(path.name for path in paths)) as progress:
        paired = read_pair(paths, options, replace(about, crossings=wanted), progress)
    if not paired.matched:
        separately = not output.as_json and output.tables is None
        rest = ": each capture is judged by itself" if separately else "; --separate judges each by itself"
        click.echo(_why_unmatched(paths, paired) + rest, err=True)
        if separately:
            return _separately()
    if output.as_json:
        print_json(_json(paths, paired, output.lines))
    else:
        _print(paths, paired, output.lines)
    if output.tables is not None:
        from rexmit.analyse.arrow import TableFiles

        with TableFiles(output.tables, names, output.form) as files:
            files.write(paired.tables)
        if not output.as_json:
            for path in files.files:
                click.echo(str(path))
    return 1 if paired.damaged or not paired.matched else 0


def _why_unmatched(paths: Sequence[Path], paired: Paired) -> str:
    """Why two captures have nothing in common, in a line."""
    if all(summary.sctp for summary in paired.captures):
        return "Packets of SCTP are not matched one by one"
    first, second = paths
    return f"{first} and {second} have no TCP connection in common"


def _separately() -> int:
    """Runs the command again as if --separate had been given, and returns the exit code."""
    context = click.get_current_context()
    try:
        context.invoke(context.command, **{**context.params, "separate": True})
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def _table_names(only: str | None) -> tuple[str, ...]:
    names = tuple(PAIR_TABLES[:2]) if only is None else tuple(name.strip() for name in only.split(","))
    if "all" in names:
        return PAIR_TABLES
    for name in names:
        if name not in PAIR_TABLES:
            raise UsageError(f"two captures give no table {name!r}{nearest(name, PAIR_TABLES)}")
    return names


def _print(paths: Sequence[Path], paired: Paired, lines: bool) -> None:
    from rexmit.cli.common import console
    from rexmit.report import terminal_pair

    out = console()
    if not lines:
        terminal_pair.print_pair(out, paired, (str(paths[0]), str(paths[1])))
        return
    for line in terminal_pair.pair_lines(paired):
        out.print(line, soft_wrap=True)
    terminal_pair.print_pair_warnings(out, paired)


def _json(paths: Sequence[Path], paired: Paired, lines: bool) -> dict[str, object]:
    found: dict[str, object] = {
        "captures": [
            {
                "path": str(path),
                "packets": summary.packets,
                "tcp_packets": summary.tcp,
                "sctp_packets": summary.sctp,
                "skipped": summary.skipped,
                "limits": summary.limited,
                "broken_off": summary.broken_off,
                "warnings": summary.warnings,
            }
            for path, summary in zip(paths, paired.captures, strict=True)
        ],
        "clock": paired.clock,
        "unpaired": {"a": paired.unpaired[0], "b": paired.unpaired[1]},
        "pairs": list(plain.rows(paired.tables["pairs"])),
        "warnings": paired.warnings,
    }
    if lines:
        rows = plain.rows(paired.tables["pair_retransmissions"])
        found["retransmissions"] = [{**row, "why": evidence(row)} for row in rows]
    return found
