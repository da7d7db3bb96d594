"""`rexmit report`: a study as one page that opens from disk, as a PDF and as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rexmit.cli.common import OUT, warn
from rexmit.errors import UsageError, printable
from rexmit.run.progress import shown_progress
from rexmit.units import parse_bytes

if TYPE_CHECKING:
    from rexmit.report.document import Told
    from rexmit.run import Results

FORMATS = ("html", "pdf", "md")
TEXT = "text"
"""The answer alone, on standard output."""

_OF_PACKETS = ("wanted", "max_size", "data", "jobs")


@click.command(
    epilog="""\b
Examples:
  rexmit report results/hurtig-2006-short
  rexmit report results/hurtig-2006-short --format pdf --format md
  rexmit report results/hurtig-2006-short --with-runs first
  rexmit report results/hurtig-2006-short --with-runs 17,18,40..60 --out report.html
  rexmit report results/mine --with-runs all --data beside
  rexmit report results/linux-6.1 results/linux-6.12 --out kernels.html
  rexmit report results/mine --format text"""
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("other", metavar="[OTHER]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--out", type=OUT, help="File to write. Default: DIR/report.html; for two, DIR/beside-OTHER.html."
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice((*FORMATS, TEXT)),
    help="html, pdf (needs rexmit[pdf]), md, or text, which prints the answer and writes no file; several "
    "may be given. Default: html.",
)
@click.option(
    "--with-runs",
    "wanted",
    default="auto",
    show_default=True,
    metavar="auto|none|kept|first|all|RUNS",
    help="Runs whose packets the page has: those kept in DIR, the first replication of each combination of "
    "levels, all, or by number, such as 17,18,40..60. In virtual time they are repeated. auto: those kept, "
    "and whole curves of the others as long as that is quick.",
)
@click.option(
    "--max-size",
    default="10 MB",
    show_default=True,
    metavar="BYTES",
    help="Largest size of the page; runs that do not fit are left out, and the page says so.",
)
@click.option(
    "--data",
    type=click.Choice(["inside", "beside"]),
    default="inside",
    show_default=True,
    help="Put packets into the page, or into a folder of scripts beside it, REPORT-data, without limit.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at the same time. Default: every core.")
@click.pass_context
def report(context: click.Context, /, **given: Any) -> None:
    """Write a report of the study in DIR: one HTML page to explore and share, without other files.

    It opens with the answer: which factor moves which response most, by how much, with its figure. Then come
    an explorer (choose what is drawn over what, click a point for its runs, and a run for its packets), the
    figures, published numbers beside ours, the study and the testbed. PDF and Markdown have everything but
    the explorer. For two folders, the report says what differs, with figures side by side.
    """
    if given["other"] is not None:
        _report_two(context, given)
        return
    from rexmit.report import ReportOptions, RunsOptions, write_report
    from rexmit.report.formats import write_documents
    from rexmit.report.sources import notices_of, open_folder

    try:
        most = parse_bytes(given["max_size"])
    except ValueError as error:
        raise UsageError(f"--max-size: {error}") from None
    folder: Path = given["folder"]
    if TEXT in given["formats"]:
        _print_answer(open_folder(folder), given)
        return
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


def _report_two(context: click.Context, given: dict[str, Any]) -> None:
    """Of two folders: what differs."""
    from rexmit.diff.beside import document_of_two
    from rexmit.diff.write_beside import write_beside
    from rexmit.report.sources import open_folder

    for option in _OF_PACKETS:
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            name = {"wanted": "with-runs"}.get(option, option).replace("_", "-")
            raise UsageError(f"--{name}: is of one folder, and a report of two has no packets; leave it out")
    folder, other = given["folder"], given["other"]
    results = (open_folder(folder), open_folder(other))
    if TEXT in given["formats"]:
        _print_told(document_of_two(*results).answer, given)
        return
    targets = _files(folder, given["out"], given["formats"], f"beside-{other.resolve().name}")
    for remark in dict.fromkeys(write_beside(*results, targets)):
        warn(remark)
    for target in targets:
        click.echo(printable(target))


def _print_answer(results: Results, given: dict[str, Any]) -> None:
    from rexmit.report.document import told_answer

    _print_told(told_answer(results, pictures=False), given)


def _print_told(answer: Told | None, given: dict[str, Any]) -> None:
    """The answer on standard output."""
    if given["formats"] != (TEXT,) or given["out"] is not None:
        raise UsageError("--format text: prints the answer and writes no file; give it alone, without --out")
    if answer is None:
        click.echo("there is no answer: every run failed, or no response has a value")
        return
    from rexmit.report.text import text_of

    click.echo(printable_lines(text_of(answer)))


def printable_lines(text: str) -> str:
    """Each line as it may be shown."""
    return "\n".join(map(printable, text.split("\n")))


def _files(folder: Path, out: Path | None, formats: tuple[str, ...], stem_of: str = "report") -> list[Path]:
    """The files to write. Raises UsageError where `--out` and `--format` do not agree."""
    chosen = tuple(dict.fromkeys(formats))
    if out is None:
        return [folder / f"{stem_of}.{kind}" for kind in chosen or ("html",)]
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
