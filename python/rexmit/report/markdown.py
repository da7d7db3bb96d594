"""A report as GitHub-flavoured Markdown, with its figures in a folder beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from rexmit.files import make_folder, write_text
from rexmit.report.document import Document, Picture, Told, every_picture
from rexmit.report.page import levels_text
from rexmit.report.testbed import Facts


def write_markdown(document: Document, target: Path) -> Path | None:
    """Writes the text and its figures, as SVG; returns the folder of these, None where there are none.

    Raises StoreError where something cannot be written.
    """
    folder = target.with_name(f"{target.stem}-figures")
    pictures = every_picture(document)
    if pictures:
        make_folder(folder, root=target.parent, resumable=False)
    for picture in pictures:
        write_text(folder / f"{picture.name}.svg", picture.svg, resumable=False, root=target.parent)
    write_text(target, "\n\n".join(_parts(document, folder.name)) + "\n", resumable=False)
    return folder if pictures else None


def _parts(document: Document, folder: str) -> Iterator[str]:
    yield f"# {escape(document.title)}"
    if document.question:
        yield f"*{escape(document.question)}*"
    yield ", ".join(filter(None, (escape(document.name), f"runs: {document.runs}", escape(document.source))))
    yield from (f"> {escape(notice)}" for notice in document.notices)
    if document.answer is not None:
        yield from _answer(document.answer, folder)
    if document.pictures or document.no_figures:
        yield "## Figures"
        yield from filter(None, (escape(document.no_figures),))
    if document.unreached:
        yield escape(document.unreached)
    yield from _pictures(document.pictures, folder)
    yield from _comparison(document)
    yield "## Study"
    if document.description:
        yield escape(document.description)
    if document.factors:
        rows = [(f"`{row.name}`", str(len(row.levels)), levels_text(row.levels)) for row in document.factors]
        yield _table(("factor", "levels", ""), rows)
    else:
        yield "Nothing varies: all runs have the same scenario."
    if document.testbed:
        yield "## Testbed"
        yield from _facts(document.testbed)
    yield "## Provenance"
    yield from _facts(document.provenance)


def _answer(answer: Told, folder: str) -> Iterator[str]:
    yield "## Answer"
    yield f"**{escape(answer.headline)}**"
    yield from _pictures(answer.pictures, folder)
    if answer.more:
        yield escape(" ".join(answer.more))
    for sheet in answer.sheets:
        if sheet.title:
            yield f"### {escape(sheet.title)}"
        if sheet.heads:
            yield _table(sheet.heads, sheet.rows)
        else:
            yield "\n".join(f"- {escape(' '.join(row))}" for row in sheet.rows)
        if sheet.below:
            yield escape(sheet.below)


def _pictures(pictures: Sequence[Picture], folder: str) -> Iterator[str]:
    for picture in pictures:
        caption = escape(picture.caption)
        yield f"![{caption}]({quote(folder)}/{quote(picture.name)}.svg)"
        yield f"*{caption}*" + (f" ({escape(picture.note)})" if picture.note else "")


def _comparison(document: Document) -> Iterator[str]:
    if not document.checks:
        return
    yield "## Comparison with published values"
    yield f"{escape(document.counts)}."
    rows = [
        (
            *(row.id, row.quantity, row.published, row.ours, row.difference, row.tolerance, row.verdict),
            "; ".join(row.notes),
        )
        for row in document.checks
    ]
    heads = ("", "quantity", "published", "ours", "difference", "tolerance", "verdict", "notes")
    yield _table(heads, rows)
    if document.not_covered:
        yield f"Needs another part of the study: {escape(', '.join(document.not_covered))}."


def _facts(tables: Sequence[Facts]) -> Iterator[str]:
    for table in tables:
        yield f"### {escape(table.title)}"
        yield _table(("", ""), table.rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape(text: str) -> str:
    """A text that Markdown shows as it is, on one line, also within a table."""
    flat = " ".join(text.split())
    if flat.startswith("`") and flat.endswith("`"):
        return flat.replace("|", "\\|")
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#~" else letter for letter in flat)
