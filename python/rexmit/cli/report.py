"""`rexmit report`: one page with the figures and the comparison."""

from __future__ import annotations

from pathlib import Path

import click

from rexmit.cli.common import OUT, warn_of_part
from rexmit.run import open_results


@click.command(epilog="\b\nExample:\n  rexmit report results/hurtig-2006-short")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=OUT, help="File to write. Default: DIR/report.html.")
def report(folder: Path, out: Path | None) -> None:
    """Write one HTML page that needs no other file: the study, its figures, published numbers beside ours."""
    from rexmit.report import write_report

    target = out or folder / "report.html"
    results = open_results(folder)
    warn_of_part(results)
    write_report(results, target)
    click.echo(str(target))
