"""`rexmit report`: a study as one page that opens from disk, as a PDF and as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rexmit.cli.common import OUT, warn
from rexmit.errors import UsageError, printable
from rexmit.run.progress import shown_progress
from rexmit.units import parse_bytes

FORMATS = ("html", "pdf", "md")


@click.command(
    epilog="""\b
Examples:
  rexmit report results/hurtig-2006-short
  rexmit report results/hurtig-2006-short --format pdf --format md
  rexmit report results/hurtig-2006-short --with-runs first
  rexmit report results/hurtig-2006-short --with-runs 17,18,40..60 --out report.html
  rexmit report results/mine --with-runs all --data beside"""
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--out", type=OUT, help="File to write. Default: DIR/report.html.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS),
    help="html, pdf (needs rexmit[pdf]) or md; several may be given. Default: html.",
)
@click.option(
    "--with-runs",
    "wanted",
    default="auto",
    show_default=True,
    metavar="auto|none|kept|first|all|RUNS",
    help="Runs whose packets the page has: those kept in DIR, the first replication of each combination of "
    "levels, all, or by their numbers, such as 17,18,40..60. In virtual time they are run again. auto: "
    "those kept, and whole curves of the others while it is quick.",
)
@click.option(
    "--max-size",
    default="10 MB",
    show_default=True,
    metavar="BYTES",
    help="Most that the page may be; runs that do not fit are left out, and the page says so.",
)
@click.option(
    "--data",
    type=click.Choice(["inside", "beside"]),
    default="inside",
    show_default=True,
    help="Where packets are: in the page, or in a folder of scripts beside it, REPORT-data, without limit.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at the same time. Default: every core.")
def report(**given: Any) -> None:
    """Write one HTML page that needs no other file and no network: the study in DIR, to look at and share.

    It has the question, the testbed, the figures, published numbers beside ours, and an explorer: choose what
    is drawn over what, click a point for its runs, and a run for its packets. A PDF and Markdown have all but
    the explorer.
    """
    from rexmit.report import ReportOptions, RunsOptions, write_report
    from rexmit.report.formats import write_documents
    from rexmit.report.sources import notices_of, open_folder

    try:
        most = parse_bytes(given["max_size"])
    except ValueError as error:
        raise UsageError(f"--max-size: {error}") from None
    folder: Path = given["folder"]
    targets = _files(folder, given["out"], given["formats"])
    results = open_folder(folder)
    notices = notices_of(results)
    remarks: list[str] = []
    for target in targets:
        if target.suffix in (".pdf", ".md"):
            remarks += write_documents(results, [target], notices)
            continue
        with shown_progress() as progress:
            runs = RunsOptions(given["wanted"], None, given["jobs"], progress)
            options = ReportOptions(runs=runs, most_bytes=most, beside=given["data"] == "beside")
            remarks += write_report(results, target, notices, options).remarks
    for remark in dict.fromkeys(remarks):
        warn(remark)
    for target in targets:
        click.echo(printable(target))


def _files(folder: Path, out: Path | None, formats: tuple[str, ...]) -> list[Path]:
    """The files to write. Raises UsageError where `--out` and `--format` do not agree."""
    chosen = tuple(dict.fromkeys(formats))
    if out is None:
        return [folder / f"report.{kind}" for kind in chosen or ("html",)]
    if not chosen:
        if out.suffix and out.suffix not in (".htm", *(f".{kind}" for kind in FORMATS)):
            raise UsageError(f"--out {out}: a report ends in .html, .pdf or .md; or say --format")
        return [out]
    if len(chosen) == 1:
        ending = out.suffix.removeprefix(".")
        if ending in FORMATS and ending != chosen[0]:
            raise UsageError(f"--out {out}: ends in .{ending}, --format says {chosen[0]}; make them agree")
        return [out if ending == chosen[0] else out.with_name(f"{out.name}.{chosen[0]}")]
    stem = out.with_suffix("") if out.suffix.removeprefix(".") in FORMATS else out
    return [stem.with_name(f"{stem.name}.{kind}") for kind in chosen]
