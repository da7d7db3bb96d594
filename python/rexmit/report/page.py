"""One HTML page that needs no other file: read as it is, and explored where a script may run."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from rexmit.plot import policy
from rexmit.report.document import CheckRow, Document, Picture, Sheet, Told
from rexmit.report.testbed import Facts


def page_of(document: Document, told: Mapping[str, Any] | None, blocks: Mapping[str, str]) -> str:
    """The page as text.

    `told` is the JSON for the script (`StudyPage` of web/src/format.ts), None for a page without an explorer;
    `blocks` are what it reads, by id, as `rexmit.plot.pack` writes them.
    """
    script, style = _web() if told is not None else ("", "")
    own = policy.style(files("rexmit.report").joinpath("page.css").read_text(encoding="utf-8"))
    sections = list(_sections(document, told is not None))
    title = html.escape(document.title)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        policy.policy([script] if script else [], [one for one in (own, style) if one], beside=_loads(told)),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{own}</style>",
        *([f"<style>{style}</style>"] if style else []),
        '</head><body><a class="skip" href="#main">To the content</a>',
        _masthead(document),
        '<div class="body">',
        _contents([(name, head) for name, head, _ in sections]),
        '<main id="main">',
        _notices(document.notices),
    ]
    for name, head, body in sections:
        parts.append(f'<section id="{name}" aria-labelledby="{name}-title">')
        parts.append(f'<h2 id="{name}-title">{head}</h2>{body}</section>')
    parts += ["</main></div>", _footer(told)]
    parts += [block_element(name, text) for name, text in blocks.items()]
    if told is not None:
        parts.append(f'<script type="application/json" id="rexmit-page">{policy.as_json(told)}</script>')
        parts.append(f"<script>{script}</script>")
    parts.append("</body></html>")
    return "\n".join(part for part in parts if part) + "\n"


def block_element(name: str, text: str) -> str:
    """A block in the page."""
    return f'<script type="application/x-rexmit" id="{html.escape(name)}">{text}</script>'


def has_script() -> bool:
    """Whether the script of the pages is there: it is in a wheel, and in a checkout after `make setup`."""
    return files("rexmit.plot").joinpath("web", "rexmit.js").is_file()


def _web() -> tuple[str, str]:
    folder = files("rexmit.plot").joinpath("web")
    script = folder.joinpath("rexmit.js").read_text(encoding="utf-8")
    look = folder.joinpath("rexmit.css").read_text(encoding="utf-8")
    return policy.script(script), policy.style(look)


def _loads(told: Mapping[str, Any] | None) -> bool:
    """Whether the page has packets in files beside it, which are scripts."""
    embedded = ((told or {}).get("runs") or {}).get("embedded") or {}
    return any("file" in place for place in embedded.values())


def _masthead(document: Document) -> str:
    question = f'<p class="question">{html.escape(document.question)}</p>' if document.question else ""
    facts = [
        html.escape(document.name),
        _runs_text(document.runs) if ":" not in document.runs else "",
    ]
    if ":" in document.runs:
        number, _, design = document.runs.partition(": ")
        facts = [html.escape(document.name), f"{_runs_text(number)} ({html.escape(design)})"]
    if document.source:
        facts.append(html.escape(document.source))
    if document.counts:
        facts.append(f'<a href="#comparison">published values compared: {html.escape(document.counts)}</a>')
    line = " · ".join(fact for fact in facts if fact)
    return (
        f'<header class="masthead"><h1>{html.escape(document.title)}</h1>{question}'
        f'<p class="facts">{line}</p></header>'
    )


def _runs_text(number: str) -> str:
    return "1 run" if number == "1" else f"{html.escape(number)} runs"


def _contents(entries: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="#{name}">{head}</a></li>' for name, head in entries)
    return f'<nav class="contents" aria-label="Contents"><ul>{items}</ul></nav>'


def _notices(notices: Sequence[str]) -> str:
    if not notices:
        return ""
    told = "".join(f"<p>{html.escape(notice)}</p>" for notice in notices)
    return f'<aside class="notices" role="note">{told}</aside>'


def _sections(document: Document, explored: bool) -> Iterator[tuple[str, str, str]]:
    """Id, title and content of each section that there is something for."""
    if document.answer is not None:
        yield "answer", "Answer", _answer(document.answer)
    if explored:
        yield "explorer", "Explorer", _NO_SCRIPT + _unreached(document)
    if document.pictures:
        figures = _links(document.pictures) + "".join(map(_figure, document.pictures))
        yield "figures", "Figures", _unreached(document) + figures
    elif document.no_figures:
        yield "figures", "Figures", f"<p>{html.escape(document.no_figures)}</p>"
    if document.checks or document.not_covered:
        yield "comparison", "Comparison with published values", _comparison(document)
    about = f"<p>{html.escape(document.description)}</p>" if document.description else ""
    yield "study", "Study", about + _factors(document)
    if document.testbed:
        yield "testbed", "Testbed", _facts(document.testbed, True)
    if document.provenance:
        yield "provenance", "Provenance", _facts(document.provenance, False)


def _answer(answer: Told) -> str:
    more = f"<p>{html.escape(' '.join(answer.more))}</p>" if answer.more else ""
    pictures = "".join(map(_figure, answer.pictures))
    sheets = "".join(map(_sheet, answer.sheets))
    return f'<p class="headline">{html.escape(answer.headline)}</p>{pictures}{more}{sheets}'


def _sheet(sheet: Sheet) -> str:
    title = f"<h3>{html.escape(sheet.title)}</h3>" if sheet.title else ""
    below = f"<p><small>{html.escape(sheet.below)}</small></p>" if sheet.below else ""
    if not sheet.heads:
        lines = "".join(f"<li>{html.escape(' '.join(row))}</li>" for row in sheet.rows)
        return f'{title}<ul class="lines">{lines}</ul>{below}'
    head = "".join(f"<th>{html.escape(name)}</th>" for name in sheet.heads)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td data-head="{html.escape(name)}">{html.escape(cell)}</td>'
            for name, cell in zip(sheet.heads, row, strict=True)
        )
        + "</tr>"
        for row in sheet.rows
    )
    table = f'<table class="sheet"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'{title}<div class="table">{table}</div>{below}'


_NO_SCRIPT = (
    "<noscript><p>The explorer needs JavaScript; everything else on this page can be read without it.</p>"
    "</noscript>"
)


def _unreached(document: Document) -> str:
    return f'<p class="unreached">{html.escape(document.unreached)}</p>' if document.unreached else ""


def _factors(document: Document) -> str:
    if not document.factors:
        return "<p>Nothing varies: all runs have the same scenario.</p>"
    rows = "".join(
        f"<tr><td><code>{html.escape(factor.name)}</code></td>"
        f'<td class="number">{len(factor.levels)}</td><td>{html.escape(levels_text(factor.levels))}</td></tr>'
        for factor in document.factors
    )
    head = "<tr><th>factor</th><th>levels</th><th></th></tr>"
    return f'<div class="table"><table class="factors">{head}{rows}</table></div>'


def levels_text(levels: Sequence[str]) -> str:
    """Levels in a line; of a great many, the first ones and the last."""
    if len(levels) <= MOST_LEVELS:
        return ", ".join(levels)
    return f"{', '.join(levels[:20])}, … {levels[-1]}"


MOST_LEVELS = 60


def _facts(tables: Sequence[Facts], beside: bool) -> str:
    made = "".join(f"<div>{_fact_table(table)}</div>" for table in tables)
    return f'<div class="columns">{made}</div>' if beside else made


def _fact_table(table: Facts) -> str:
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in table.rows
    )
    more = (
        f"<details><summary>every setting</summary><pre>{html.escape(table.detail)}</pre></details>"
        if table.detail
        else ""
    )
    return (
        f'<h3>{html.escape(table.title)}</h3><div class="table"><table class="facts-table">{rows}</table>'
        f"</div>{more}"
    )


def _links(pictures: Sequence[Picture]) -> str:
    """A link to each figure, where there are many."""
    if len(pictures) < 4:
        return ""
    links = " ".join(
        f'<a href="#{html.escape(picture.name)}">{html.escape(picture.caption)}</a>' for picture in pictures
    )
    return f'<p class="links">{links}</p>'


def _figure(picture: Picture) -> str:
    name, caption = html.escape(picture.name), html.escape(picture.caption)
    card = f'<div class="card">{picture.svg.replace(policy.DRAWING_STYLE, "")}</div>'
    note = f'<br><span class="unreached">{html.escape(picture.note)}</span>' if picture.note else ""
    return f'<figure id="{name}">{card}<figcaption>{caption}{note}</figcaption></figure>'


def _comparison(document: Document) -> str:
    heads = ("", "quantity", "published", "ours", "difference", "tolerance", "verdict")
    head = "".join(f"<th>{name}</th>" for name in heads)
    rows = "".join(map(_check, document.checks))
    table = f'<div class="table"><table class="checks"><thead><tr>{head}</tr></thead>{rows}</table></div>'
    told = f"<p>{html.escape(document.counts)}.</p>" if document.counts else ""
    told += _unreached(document)
    if not document.not_covered:
        return told + table
    others = html.escape(", ".join(document.not_covered))
    return f"{told}{table}<p><small>Needs another part of the study: {others}.</small></p>"


def _check(check: CheckRow) -> str:
    texts = (check.quantity, check.published, check.ours, check.difference, check.tolerance)
    cells = "".join(f"<td>{html.escape(text)}</td>" for text in texts)
    name, kind = html.escape(check.id), check.verdict.replace(" ", "-")
    notes = f"<br><small>{html.escape('; '.join(check.notes))}</small>" if check.notes else ""
    return (
        f'<tr id="check-{name}"><td><a href="#check-{name}">{name}</a></td>{cells}'
        f'<td><span class="{kind}">{html.escape(check.verdict)}</span>{notes}</td></tr>'
    )


def _footer(told: Mapping[str, Any] | None) -> str:
    made = f"Written by rexmit {html.escape(str(told['version']))}. " if told else ""
    return f"<footer><p>{made}This file needs no other and no network.</p></footer>"
