"""Writes the report of two folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit.diff.beside import document_of_two
from rexmit.files import write_text
from rexmit.report.markdown import write_markdown
from rexmit.report.page import page_of
from rexmit.report.pdf import write_pdf
from rexmit.report.sources import notices_of
from rexmit.run import Results


def write_beside(before: Results, after: Results, targets: Sequence[Path]) -> list[str]:
    """Writes a report of both to files that end in `.html`, `.pdf` or `.md`; returns what to warn of.

    Raises UsageError for a PDF without typst, StoreError where a file cannot be written.
    """
    notices = list(dict.fromkeys([*notices_of(before), *notices_of(after)]))
    document = document_of_two(before, after, notices)
    for target in targets:
        if target.suffix == ".pdf":
            write_pdf(document, target)
        elif target.suffix == ".md":
            write_markdown(document, target)
        else:
            write_text(target, page_of(document, None, {}), resumable=False)
    return document.notices
