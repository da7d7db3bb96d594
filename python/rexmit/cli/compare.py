"""`rexmit compare`: published numbers beside ours."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from rexmit.analyse.compare import CELLS, OUTSIDE, RECORDED, UNREACHED, WITHIN, Comparison
from rexmit.analyse.study_code import check_parts, comparison_of, own_code
from rexmit.cli.common import console, json_option, print_json, warn, warn_of_part
from rexmit.errors import UsageError
from rexmit.run import open_results

_STYLES = {WITHIN: "green", OUTSIDE: "bold red", RECORDED: "yellow", UNREACHED: "bold red"}


@click.command(
    epilog="""\b
Examples:
  rexmit compare results/hurtig-2006-short
  rexmit compare results/hurtig-2006-short results/hurtig-2006-long --json"""
)
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option(
    "--notes", is_flag=True, help="Show why each tolerance is what it is, and notes on differences."
)
@click.option("--markdown", is_flag=True, help="Print a Markdown table.")
@json_option
@click.pass_context
def compare(
    context: click.Context, folders: tuple[Path, ...], notes: bool, markdown: bool, as_json: bool
) -> None:
    """Print a study's published numbers beside those in DIR, or in several parts of one.

    Only built-in studies (`rexmit studies`) have published numbers; code of any other study is never run. For
    two folders of your own, see `rexmit diff`. Each part may be given once. Exit code 1 if a number lies
    outside its stated tolerance, unless the study has recorded that difference with its reason and it is
    still the same. A number from runs in which a pattern matched no packet is "not reached", whatever it is.
    """
    results = [open_results(folder) for folder in folders]
    check_parts(results)
    for result in results:
        warn_of_part(result)
    functions = {comparison_of(result) for result in results}
    if len(functions) > 1:
        raise UsageError(
            f"{', '.join(map(str, folders))}: are results of different studies; compare one at a time"
        )
    with own_code(results):
        comparison = functions.pop()(results)
    if comparison.unreached:
        warn(comparison.unreached)
    if as_json:
        print_json(
            {
                "study": comparison.study,
                "passed": comparison.passed,
                **({"unreached": comparison.unreached} if comparison.unreached else {}),
                "checks": [c.row() for c in comparison.checks],
            }
        )
    elif markdown:
        click.echo(comparison.to_markdown(), nl=False)
    else:
        print_comparison(comparison, notes=notes)
    context.exit(0 if comparison.passed else 1)


def print_comparison(comparison: Comparison, *, notes: bool = False) -> None:
    """Prints one line per row, reasons of those that differ (with `notes`, of all), and counts of each."""
    table = Table(box=None, pad_edge=False)
    for title in CELLS:
        table.add_column(title, justify="right" if title in ("difference", "tolerance") else "left")
    for check in comparison.checks:
        *cells, verdict = check.cells()
        table.add_row(*cells, Text(verdict, style=_STYLES.get(verdict, "dim")))
        if notes or check.verdict in (OUTSIDE, RECORDED, UNREACHED):
            for text in check.reasons():
                if text:
                    table.add_row("", Text(text, style="dim"))
    console().print(table)
    counts = comparison.counts()
    click.echo(f"{comparison.study}: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
