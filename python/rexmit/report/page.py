"""One HTML page that needs no other file."""

from __future__ import annotations

import html
import re
import tempfile
from pathlib import Path
from typing import Any

from rexmit.analyse.compare import NOT_COVERED, RECORDED, Check, Comparison
from rexmit.analyse.study_code import comparison_of
from rexmit.errors import StudyError
from rexmit.report.figures import draw_figures
from rexmit.run import Results
from rexmit.run.files import write_text

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-size: 0.9rem; margin: 1rem 0 }
th, td { text-align: left; vertical-align: top }
th, td { padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #ddd }
figure { margin: 2rem 0 } figure svg { max-width: 100%; height: auto }
.within { color: #14632b } .outside { color: #a11212; font-weight: bold } .not-covered { color: #666 }
.differs-as-recorded { color: #8a5a00; font-weight: bold }
small { color: #555 } td.id { white-space: nowrap } tr:target { background: #fff3c4 }
figcaption, nav { color: #555; font-size: 0.9rem } nav a { margin-right: 0.75rem; white-space: nowrap }
"""


def write_report(results: Results, target: Path) -> None:
    """Writes the page. Raises StoreError where it cannot be written."""
    with tempfile.TemporaryDirectory() as work:
        drawn = draw_figures(results, Path(work), ("svg",))
        pictures = [(file.stem, _inline(file)) for file in drawn]
    try:
        comparison: Comparison | None = comparison_of(results)([results])
    except StudyError:
        comparison = None
    write_text(target, _page(results, pictures, comparison))


def _page(results: Results, pictures: list[tuple[str, str]], comparison: Comparison | None) -> str:
    title = html.escape(results.title)
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        _facts(results),
    ]
    if comparison is not None:
        parts.append(
            f'<p><a href="#comparison">Published beside ours: {html.escape(_counts(comparison))}</a></p>'
        )
    parts += ["<h2>Figures</h2>", _links(pictures)]
    parts += [f'<figure id="{html.escape(name)}">{svg}</figure>' for name, svg in pictures]
    if comparison is not None:
        parts += ['<h2 id="comparison">Published beside ours</h2>', _comparison(comparison)]
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def _facts(results: Results) -> str:
    provenance = results.provenance()
    facts: dict[str, Any] = {
        key: results.study[key] for key in ("question", "source") if key in results.study
    }
    facts["runs"] = f"{len(results):,}"
    factors = results.spec().design.factors
    facts["varies"] = ", ".join(f"{factor.name} ({len(factor.labels)} levels)" for factor in factors)
    facts["seed"] = ", ".join(map(str, results.study.get("seeds", [results.study["seed"]])))
    facts["made by"] = f"rexmit {provenance.get('version')}, backend {results.study['backend']}"
    facts["on"] = f"{provenance.get('system')} {provenance.get('kernel')}, {provenance.get('machine')}"
    rows = [
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value))}</td></tr>"
        for key, value in facts.items()
    ]
    return f"<table>{''.join(rows)}</table>"


def _words(name: str) -> str:
    """The name of a figure's file as words: its number in the publication, if it has one, and the rest."""
    number, rest = re.fullmatch(r"(?:figure-(\d+-\d+)-)?(.*)", name).groups()  # type: ignore[union-attr]
    words = rest.replace("-", " ").replace("kbit s", "kbit/s")
    words = words[:1].upper() + words[1:]
    return words if number is None else f"{'.'.join(str(int(n)) for n in number.split('-'))} {words}"


def _counts(comparison: Comparison) -> str:
    counts = comparison.counts()
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if verdict != NOT_COVERED)


def _comparison(comparison: Comparison) -> str:
    covered = [check for check in comparison.checks if check.verdict != NOT_COVERED]
    others = [check.published.id for check in comparison.checks if check.verdict == NOT_COVERED]
    heads = ("", "quantity", "published", "ours", "difference", "tolerance", "verdict")
    head = "".join(f"<th>{name}</th>" for name in heads)
    table = f"<table><tr>{head}</tr>{''.join(map(_check, covered))}</table>"
    if not others:
        return table
    return f"{table}<p><small>Needs another part of the study: {html.escape(', '.join(others))}.</small></p>"


def _links(pictures: list[tuple[str, str]]) -> str:
    """A way to each figure, where there are many."""
    if len(pictures) < 4:
        return ""
    links = (f'<a href="#{html.escape(name)}">{html.escape(_words(name))}</a>' for name, _ in pictures)
    return f"<nav>{' '.join(links)}</nav>"


def _check(check: Check) -> str:
    published = check.published
    value = f"{published.value} {published.unit}".strip() if published.value else "holds"
    recorded = published.deviation_reason if check.verdict == RECORDED else ""
    reasons = "; ".join(filter(None, (check.note, published.tolerance_reason, recorded)))
    cells = [
        published.id,
        published.what,
        value,
        check.ours,
        "" if check.shown_difference is None else f"{check.shown_difference:+.3g}",
        f"±{published.tolerance}" if published.tolerance else "",
    ]
    row = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells[1:])
    row = f'<td class="id">{html.escape(cells[0])}</td>{row}'
    kind = check.verdict.replace(" ", "-")
    return f'<tr>{row}<td class="{kind}">{check.verdict}<br><small>{html.escape(reasons)}</small></td></tr>'


def _inline(file: Path) -> str:
    """The drawing without its XML head, which has no place inside HTML."""
    text = file.read_text(encoding="utf-8")
    return text[text.index("<svg") :]
