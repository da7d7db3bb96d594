"""Writing reports: what goes into which file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from rexmit._native import version
from rexmit.errors import UsageError
from rexmit.files import make_folder, remove_files, write_text
from rexmit.report.document import document_of
from rexmit.report.explorer import explorer_of, study_page
from rexmit.report.formats import write_documents
from rexmit.report.page import has_script, page_of
from rexmit.report.runs import RunBlocks, RunsOptions, run_blocks
from rexmit.report.sources import notices_of
from rexmit.run import Results
from rexmit.run.columns import design_columns

MARGIN = 50_000
"""Bytes of a page that are kept free for what is not known before it is written."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    `notes` are the reasons of tolerances, `runs` the runs whose packets it has, `most_bytes` how large the
    page may be (None: any size), and with `beside` the packets are in a folder beside it.
    """

    notes: bool = True
    runs: RunsOptions = field(default_factory=RunsOptions)
    most_bytes: int | None = None
    beside: bool = False


@dataclass(frozen=True)
class Written:
    """The files of a report, and what there is to say of it."""

    page: Path
    beside: Path | None
    remarks: list[str]


def write_any(results: Results, target: Path, options: ReportOptions) -> list[str]:
    """Writes a page, a PDF or Markdown, as the ending of `target` says; returns what there is to warn of.

    Raises UsageError for another ending.
    """
    notices = notices_of(results)
    if target.suffix == ".html":
        remarks = write_report(results, target, notices, options).remarks
    elif target.suffix in (".pdf", ".md"):
        remarks = write_documents(results, [target], notices, options.notes)
    else:
        raise UsageError(f"{target}: a report ends in .html, .pdf or .md")
    return list(dict.fromkeys(remarks))


def write_report(
    results: Results, target: Path, notices: Sequence[str] = (), options: ReportOptions | None = None
) -> Written:
    """Writes the page. Raises StoreError where it cannot be written."""
    options = options or ReportOptions()
    told = list(notices)
    document = document_of(results, told, options.notes)
    explorer = explorer_of(results, options.most_bytes)
    if not has_script():
        document.notices.append(
            "There is no explorer: the script of the pages is not built here (make setup builds it)."
        )
        explorer = None
    if explorer is None:
        write_text(target, page_of(document, None, {}), resumable=False)
        return Written(target, None, document.notices)
    document.notices += explorer.remarks
    if results.folder is None or target.resolve() != (results.folder / "report.html").resolve():
        options = replace(options, runs=replace(options.runs, page=target))
    runs = _runs(results, options, page_of(document, study_page(results, explorer, {}, ""), explorer.blocks))
    document.notices += runs.remarks
    folder = target.with_name(f"{target.stem}-data") if options.beside and runs.blocks else None
    info = {"embedded": _places(runs, folder), "command": runs.command, "note": runs.note}
    blocks = dict(explorer.blocks)
    if folder is None:
        blocks |= {_id(number): block for number, block in runs.blocks.items()}
    else:
        _write_beside(folder, runs)
    page = page_of(document, study_page(results, explorer, info, version()), blocks)
    write_text(target, page, resumable=False)
    remarks = list(document.notices)
    if options.most_bytes is not None and (size := len(page.encode())) > options.most_bytes:
        remarks.append(f"{target}: has {size:,} bytes, more than the {options.most_bytes:,} that it may have")
    return Written(target, folder, remarks)


def _runs(results: Results, options: ReportOptions, without: str) -> RunBlocks:
    """The packets of runs that fit beside the rest of the page."""
    most = None
    if options.most_bytes is not None and not options.beside:
        # Each block brings its element and its entry in the list: some 100 bytes.
        most = max(options.most_bytes - len(without.encode()) - MARGIN, 0)
    wanted = replace(options.runs, most_bytes=most)
    columns = results.column_names
    responses = [name for name in columns if name not in design_columns(columns)]
    return run_blocks(results, wanted, responses)


def _id(number: int) -> str:
    return f"run-{number}"


def _places(runs: RunBlocks, folder: Path | None) -> dict[str, dict[str, str]]:
    """Where each run's block is: `RunsInfo.embedded` of web/src/format.ts."""
    return {
        str(number): {"block": _id(number)}
        | ({} if folder is None else {"file": f"{quote(folder.name)}/{_id(number)}.js"})
        for number in sorted(runs.blocks)
    }


def _write_beside(folder: Path, runs: RunBlocks) -> None:
    """Scripts that hand their block to the page: a page from disk may load these, and nothing else."""
    make_folder(folder, root=folder.parent)
    wanted = "|".join(str(number) for number in runs.blocks)
    remove_files(folder, re.compile(rf"run-(?!(?:{wanted})\.js)\d+\.js"), root=folder.parent)
    for number, block in runs.blocks.items():
        text = f'rexmitBlock("{_id(number)}","{block}");\n'
        write_text(folder / f"{_id(number)}.js", text, resumable=False, root=folder.parent)
