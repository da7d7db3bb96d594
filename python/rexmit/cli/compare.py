"""`rexmit compare`: published numbers beside ours."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from rexmit.analyse.compare import DERIVED, OUTSIDE, RECORDED, UNREACHED, WITHIN, Check, Comparison
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
    """Print what the study published beside what DIR holds; several parts of one study may be given.

    Published numbers come with the package's own studies (`rexmit studies`); no code of any other study is
    run. A part may be given once. Exit code 1 if a number lies outside its stated tolerance, unless the study
    has recorded that difference with its reason and it is still the same. What rests upon runs in which a
    pattern met no packet is "not reached", whatever its number.
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
        click.echo(to_markdown(comparison), nl=False)
    else:
        _print(comparison, notes)
    context.exit(0 if comparison.passed else 1)


def to_markdown(comparison: Comparison) -> str:
    """The checks as a Markdown table, with notes and the reason of each tolerance."""
    rows = [
        ["", "quantity", "published", "ours", "difference", "tolerance", "verdict", "notes"],
        ["---"] * 8,
    ]
    for check in comparison.checks:
        rows.append([*map(str, _cells(check)), "; ".join(_reasons(check))])
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)


def _print(comparison: Comparison, notes: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for title in ("id", "quantity", "published", "ours", "difference", "tolerance", "verdict"):
        table.add_column(title, justify="right" if title in ("difference", "tolerance") else "left")
    for check in comparison.checks:
        table.add_row(*_cells(check))
        if notes or check.verdict in (OUTSIDE, RECORDED, UNREACHED):
            for text in _reasons(check):
                if text:
                    table.add_row("", Text(text, style="dim"))
    console().print(table)
    counts = comparison.counts()
    click.echo(f"{comparison.study}: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))


def _reasons(check: Check) -> list[str]:
    """What there is to say of a row: what it is made of, the tolerance, the recorded deviation."""
    published = check.published
    reasons = [check.note] if check.note else []
    if published.role == DERIVED:
        reasons.append("derived without a run: not counted")
    if published.tolerance_reason:
        reasons.append(f"tolerance: {published.tolerance_reason}")
    if published.history:
        reasons.append(f"set after a result was seen: {published.history}")
    if published.deviation_reason and check.verdict == RECORDED:
        reasons.append(f"recorded difference: {published.deviation_reason}")
    return reasons


def _cells(check: Check) -> list[str | Text]:
    published = check.published
    value = f"{published.value} {published.unit}".strip() if published.value else "holds"
    difference = "" if check.shown_difference is None else f"{check.shown_difference:+.3g}"
    tolerance = f"±{published.tolerance}" if published.tolerance else ""
    verdict = Text(check.verdict, style=_STYLES.get(check.verdict, "dim"))
    return [published.id, published.what, value, check.ours, difference, tolerance, verdict]
