"""A hook of MkDocs that makes each tag on a page a link to its definition, and gives that an anchor.

Sources stay as they are: `EM-DN-3` on a page becomes a link to the rule. A published value leads to its row
on the page of the study; rows that no table of that page shows are added at its end. A tag that is defined
nowhere, and a link without its anchor, are warnings, which `mkdocs build --strict` turns into errors.
"""

from __future__ import annotations

import csv
import html
import logging
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tags import TABLES, TAG, Place, definitions, resolve

ROOT = Path(__file__).resolve().parent.parent
STUDY = re.compile(r"studies/([^/]+)/\w+\.csv")
NOTEBOOK = ".ipynb"
# Columns of a row that say how it is judged, not what was published.
JUDGED = {"id", "kind", "role", "tolerance", "tolerance_reason", "deviation", "deviation_reason", "history"}
# In these a tag stays text: links, what is shown as written, titles.
_PLAIN = {"a", "pre", "script", "style", "svg", "autoref", "h1", "h2", "h3", "h4", "h5", "h6", "summary"}
_PIECES = re.compile(r"(<!--.*?-->|<[^>]*>)", re.DOTALL)
_NAME = re.compile(r"</?([a-zA-Z][\w-]*)")
_EMPTY = {"br", "hr", "img", "input", "wbr"}
log = logging.getLogger("mkdocs.hooks.tags")

# What pages link to and which anchors they have, over one build.
_links: dict[tuple[str, str], str] = {}
_anchors: set[tuple[str, str]] = set()


def on_pre_build(**_: object) -> None:
    """Called by MkDocs before a build: what an earlier one found is forgotten."""
    _links.clear()
    _anchors.clear()
    homes.cache_clear()


def on_page_content(html: str, page: Any, files: Any, **_: object) -> str:
    """Called by MkDocs with the body of each page."""
    source = str(page.file.src_uri)
    if source.endswith(NOTEBOOK):
        return html
    known = homes()
    body = Linked({tag for tag, home in known.items() if home == source}, known)
    text = body.read(html + added_rows(source, html))
    for tag in body.named:
        _links.setdefault((known[tag], tag), source)
    for tag in body.missing:
        log.warning("%s: the tag %s is defined nowhere", source, tag)
    _anchors.update((source, tag) for tag in body.anchored)
    for place, mark in body.marks.items():
        home = files.get_file_from_path(known[place])
        address = "" if known[place] == source or home is None else home.url_relative_to(page.file)
        text = text.replace(mark, f"{address}#{place}")
    return text


def on_env(env: Any, **_: object) -> Any:
    """Called by MkDocs when the body of every page is made: by now each link has its anchor."""
    for (home, tag), source in sorted(_links.items()):
        if (home, tag) not in _anchors:
            log.warning("%s: the tag %s has no place on the page %s", source, tag, home)
    return env


@cache
def homes() -> dict[str, str]:
    """The page on which each tag has its place."""
    return {tag: home(places[0]) for tag, places in definitions(ROOT).items()}


def home(place: Place) -> str:
    """The page that shows a definition."""
    study = STUDY.fullmatch(place.file)
    return f"studies/{study[1]}.md" if study else place.file.removeprefix("docs/")


class Linked:
    """A page's body, read once from its start to its end."""

    def __init__(self, own: set[str], known: dict[str, str]) -> None:
        self._own = own
        self._known = known
        self._within: list[str] = []
        # What may define: nothing but opening tags has come since a paragraph, an item or a row began.
        self._start = False
        self.named: set[str] = set()
        self.missing: set[str] = set()
        self.anchored: set[str] = set()
        self.marks: dict[str, str] = {}

    def read(self, text: str) -> str:
        """The body with links and anchors; addresses are marks, one for each tag."""
        return "".join(self._piece(piece) for piece in _PIECES.split(text))

    def _piece(self, piece: str) -> str:
        if piece.startswith("<"):
            self._element(piece)
            return piece
        if not piece.strip():
            return piece
        shown = piece if _PLAIN & set(self._within) else self._text(piece)
        self._start = False
        return shown

    def _element(self, piece: str) -> None:
        found = _NAME.match(piece)
        if found is None or (name := found[1].lower()) in _EMPTY or piece.endswith("/>"):
            return
        if not piece.startswith("</"):
            self._within.append(name)
            self._start = name in ("p", "li", "tr") or self._start
        elif name in self._within:
            while self._within.pop() != name:
                pass

    def _text(self, text: str) -> str:
        shown, end = [], 0
        for found in TAG.finditer(text):
            first = self._start and not text[: found.start()].strip()
            shown += [text[end : found.start()], self._tag(found[0], first, text[found.end() :])]
            end = found.end()
        return "".join(shown) + text[end:]

    def _tag(self, name: str, first: bool, behind: str) -> str:
        tag = resolve(name, self._known)
        if tag is None:
            self.missing.add(name)
            return name
        self.named.add(tag)
        mark = self.marks.setdefault(tag, f"\0{tag}\0")
        anchor = ""
        defines = first and tag == name and (not behind.strip() or behind.startswith("."))
        if defines and tag in self._own and tag not in self.anchored:
            self.anchored.add(tag)
            anchor = f' id="{tag}"'
        return f'<a class="tag"{anchor} href="{mark}">{name}</a>'


def added_rows(source: str, body: str) -> str:
    """Tables of those rows of a study that no table of its page begins with."""
    study = source.removeprefix("studies/").removesuffix(".md")
    shown = set(re.findall(rf"<tr>\s*<td[^>]*>({TAG.pattern})</td>", body))
    tables = ""
    for name in TABLES:
        path = ROOT / "studies" / study / name
        if not path.is_file():
            continue
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("id") and row["id"] not in shown]
        if rows:
            tables += table(f"Rows of <code>{name}</code> that no table above shows: {len(rows)}", rows)
    return tables


def table(title: str, rows: Sequence[dict[str, str]]) -> str:
    """Rows of a CSV file, folded; columns that none of them fills are left out."""
    columns = [one for one in rows[0] if one not in JUDGED and any(row[one] for row in rows)]
    heads = "".join(f"<th>{one.replace('_', ' ')}</th>" for one in ("", *columns))
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(row.get(one) or '')}</td>" for one in ("id", *columns)) + "</tr>"
        for row in rows
    ]
    return (
        f"<details><summary>{title}</summary>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></details>"
    )
