"""A report as a PDF, set by typst: the same document as the page, its figures as vectors."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from rexmit.errors import RexmitError, UsageError, one_line
from rexmit.files import put, write_bytes
from rexmit.report.document import Document, Picture, Told, every_picture
from rexmit.report.page import levels_text
from rexmit.report.testbed import Facts


def write_pdf(document: Document, target: Path) -> None:
    """Writes the PDF; the same document gives the same bytes.

    Raises UsageError where typst is not installed, RexmitError where it cannot set the document, StoreError
    where the file cannot be written.
    """
    try:
        import typst
    except ImportError:
        raise UsageError("a PDF is set by typst, which is not installed; pip install 'rexmit[pdf]'") from None
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        put(folder / "report.json", json.dumps(_content(document)))
        template = files("rexmit.report").joinpath("report.typ").read_text(encoding="utf-8")
        put(folder / "report.typ", template)
        for number, picture in enumerate(every_picture(document)):
            put(folder / _file(number), picture.svg)
        try:
            made = typst.compile(
                str(folder / "report.typ"), root=work, format="pdf", ignore_system_fonts=True, timestamp=0
            )
        except Exception as error:  # typst raises its own errors, about the text that it was given
            raise RexmitError(f"{target}: typst cannot set the report: {one_line(error)}") from None
    write_bytes(target, made, resumable=False)


def _content(document: Document) -> dict[str, Any]:
    """The document as the template reads it: texts stay data, and none of them is taken for markup."""
    answer = document.answer
    return {
        "title": document.title,
        "name": document.name,
        "question": document.question,
        "description": document.description,
        "facts": ", ".join(
            part for part in (document.name, f"runs: {document.runs}", document.source) if part
        ),
        "notices": document.notices,
        "factors": [
            {"name": row.name, "count": len(row.levels), "levels": levels_text(row.levels)}
            for row in document.factors
        ],
        "testbed": _facts(document.testbed),
        "provenance": _facts(document.provenance),
        "answer": None if answer is None else _answer(answer),
        "pictures": _pictures(document.pictures, 0 if answer is None else len(answer.pictures)),
        "no_figures": document.no_figures,
        "unreached": document.unreached,
        "counts": document.counts,
        "checks": [{**vars(check), "notes": "; ".join(check.notes)} for check in document.checks],
        "not_covered": ", ".join(document.not_covered),
    }


def _answer(answer: Told) -> dict[str, Any]:
    return {
        "headline": answer.headline,
        "more": " ".join(answer.more),
        "pictures": _pictures(answer.pictures, 0),
        "sheets": [
            {**vars(sheet), "heads": list(sheet.heads), "rows": [list(row) for row in sheet.rows]}
            for sheet in answer.sheets
        ],
    }


def _pictures(pictures: Sequence[Picture], before: int) -> list[dict[str, str]]:
    return [
        {"file": _file(number), "caption": ": ".join(filter(None, (picture.caption, picture.note)))}
        for number, picture in enumerate(pictures, before)
    ]


def _facts(tables: list[Facts]) -> list[dict[str, Any]]:
    return [{"title": table.title, "rows": [list(row) for row in table.rows]} for table in tables]


def _file(number: int) -> str:
    return f"figure-{number}.svg"
