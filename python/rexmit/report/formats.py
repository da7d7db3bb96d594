"""A report in another format than a page: a PDF, or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit.report.document import document_of
from rexmit.report.markdown import write_markdown
from rexmit.report.pdf import write_pdf
from rexmit.run import Results


def write_documents(
    results: Results, targets: Sequence[Path], notices: Sequence[str] = (), notes: bool = True
) -> list[str]:
    """Writes a report to each of these files, which end in `.pdf` or `.md`; returns what there is to warn of.

    Raises ValueError for another ending, UsageError for a PDF without typst, StoreError where a file cannot
    be written.
    """
    writers = {".pdf": write_pdf, ".md": write_markdown}
    for target in targets:
        if target.suffix not in writers:
            raise ValueError(f"{target}: a report ends in {' or '.join(writers)}")
    if not targets:
        return []
    document = document_of(results, notices, notes)
    for target in targets:
        writers[target.suffix](document, target)
    return document.notices
