"""`rexmit report`: one page with the figures and the comparison, also as a PDF and as Markdown."""

from __future__ import annotations

from pathlib import Path

import click

from rexmit.cli.common import OUT, warn
from rexmit.errors import UsageError
from rexmit.run import open_results


@click.command(
    epilog="""\b
Examples:
  rexmit report results/hurtig-2006-short
  rexmit report results/hurtig-2006-short --format pdf --format md"""
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=OUT, help="File to write. Default: DIR/report.html.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["html", "pdf", "md"]),
    help="html, pdf (needs rexmit[pdf]) or md; several may be given. Default: html.",
)
def report(folder: Path, out: Path | None, formats: tuple[str, ...]) -> None:
    """Write one HTML page that needs no other file: the study, its figures, published numbers beside ours."""
    from rexmit.report import write_report
    from rexmit.report.formats import write_documents

    targets = report_files(folder, out, formats)
    results = open_results(folder)
    for page in (target for target in targets if target.suffix not in (".pdf", ".md")):
        write_report(results, page)
    for told in write_documents(results, [target for target in targets if target.suffix in (".pdf", ".md")]):
        warn(told)
    for target in targets:
        click.echo(str(target))


def report_files(folder: Path, out: Path | None, formats: tuple[str, ...]) -> list[Path]:
    """The files to write. Raises UsageError where `--out` and `--format` do not agree."""
    chosen = tuple(dict.fromkeys(formats))
    if out is None:
        return [folder / f"report.{kind}" for kind in chosen or ("html",)]
    if not chosen:
        return [out]
    if len(chosen) == 1:
        ending = out.suffix.removeprefix(".")
        if ending in ("html", "pdf", "md") and ending != chosen[0]:
            raise UsageError(f"--out {out}: ends in .{ending}, --format says {chosen[0]}; make them agree")
        return [out if ending == chosen[0] else out.with_name(f"{out.name}.{chosen[0]}")]
    stem = out.with_suffix("") if out.suffix in (".html", ".pdf", ".md") else out
    return [stem.with_name(f"{stem.name}.{kind}") for kind in chosen]
