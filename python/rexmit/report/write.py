"""Writing reports: what goes into which file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexmit._native import version
from rexmit.report.document import document_of
from rexmit.report.explorer import explorer_of, study_page
from rexmit.report.page import has_script, page_of
from rexmit.run import Results
from rexmit.run.files import write_text


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds. `notes` are the reasons of tolerances."""

    notes: bool = True


def write_report(
    results: Results, target: Path, notices: Sequence[str] = (), options: ReportOptions | None = None
) -> None:
    """Writes the page. Raises StoreError where it cannot be written."""
    options = options or ReportOptions()
    told = list(notices)
    explorer = explorer_of(results)
    blocks: dict[str, str] = {}
    page: dict[str, Any] | None = None
    if not has_script():
        told.append("There is no explorer: the script of the pages is not built here (make setup builds it).")
    elif explorer is not None:
        told += explorer.remarks
        blocks = dict(explorer.blocks)
        runs: dict[str, Any] = {"embedded": {}, "command": None, "note": "No runs are embedded."}
        page = study_page(results, explorer, runs, version())
    write_text(target, page_of(document_of(results, told, options.notes), page, blocks), resumable=False)
