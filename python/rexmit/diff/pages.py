"""What a search has found, as a page and as files: one HTML page, each smallest case as a study."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from rexmit.analyse.quantities import duration
from rexmit.diff.graphs import overlay
from rexmit.diff.mechanism import Change
from rexmit.diff.search import LEVELS, Case, Cluster, Found
from rexmit.diff.words import change_of
from rexmit.files import make_folder, write_json, write_text
from rexmit.plot import policy
from rexmit.units import plural

PAGE, RECORD = "diff.html", "diff.json"
CLUSTERS_SHOWN = 100
CAUSES_SHOWN = 3


def write_found(found: Found, folder: Path, about: str) -> Path:
    """Writes the page, `case-N.toml` of each smallest case and `diff.json`; returns the page's file.

    `about` says which scenarios were run. Raises StoreError where something cannot be written.
    """
    make_folder(folder, root=folder.parent)
    for number, case in enumerate(found.cases, start=1):
        write_case(case, folder / f"case-{number}.toml")
    write_json(folder / RECORD, as_json(found))
    write_text(folder / PAGE, page(found, about))
    return folder / PAGE


def write_case(case: Case, path: Path) -> None:
    """A smallest case as a study file; its run draws other random numbers than the search did."""
    import tomli_w

    table = {
        "title": f"{case.cluster.kind} (of scenario {case.drawn})",
        "scenario": json.loads(json.dumps(case.scenario, default=str)),
    }
    write_text(path, tomli_w.dumps(table))


def as_json(found: Found) -> dict[str, Any]:
    """All of it for programs."""
    return {
        "a": {"text": found.systems[0].text, "is": found.systems[0].describe()},
        "b": {"text": found.systems[1].text, "is": found.systems[1].describe()},
        "scenarios": len(found.pairs),
        "levels": dict(found.levels),
        "other_causes": found.other_causes,
        "clusters": [
            {
                "level": one.level,
                "kind": one.kind,
                "scenarios": [pair.number for pair in one.pairs],
                "median_change": one.median_change,
                "causes": dict(one.causes),
            }
            for one in found.clusters
        ],
        "cases": [
            {
                "kind": case.cluster.kind,
                "of": case.drawn,
                "scenario": case.scenario,
                "first": _first(case),
                "state": [
                    {
                        "host": one.host,
                        "column": one.column,
                        "time_ns": one.time_ns,
                        "values": list(one.values),
                    }
                    for one in (case.mechanism.changes if case.mechanism else ())
                ],
            }
            for case in found.cases
        ],
    }


def _first(case: Case) -> dict[str, Any] | None:
    first = case.pair.first
    if first is None:
        return None
    return {
        "host": first.host,
        "packet": first.index,
        "times_ns": list(first.times_ns),
        "packets": list(first.texts),
    }


def summary(found: Found) -> str:
    """One line: how many scenarios part, by what differs."""
    total, levels = len(found.pairs), found.levels
    if not levels:
        return f"nothing differs in {plural(total, 'scenario')}"
    parts = ", ".join(f"{levels[level]:,} {LEVELS[level]}" for level in LEVELS if levels[level])
    causes = f"; {found.other_causes:,} in the causes of what is sent again" if found.other_causes else ""
    return f"{sum(levels.values()):,} of {plural(total, 'scenario')} differ: {parts}{causes}"


def cluster_words(cluster: Cluster) -> list[str]:
    """How many, what differs and how first, the median change of the time, what is sent again."""
    change = cluster.median_change
    told = "" if change is None else change_of(1.0, change, None)
    more = ", ".join(f"{cause} {count:+,}" for cause, count in list(cluster.causes.items())[:CAUSES_SHOWN])
    return [f"{len(cluster.pairs):,}", LEVELS[cluster.level], cluster.kind, told, more]


def state_words(change: Change) -> str:
    """A value of state that differs: `server cwnd 10, 12 at 13 ms`."""
    before, after = (_value(value, change.column) for value in change.values)
    if before == after:
        before, after = (f"{value / 1000:.0f} us" for value in change.values)
    column, at = change.column.removesuffix("_ns"), duration(change.time_ns)
    return f"{change.host} {column} {before} against {after} at {at}"


def _value(value: Any, column: str) -> str:
    return duration(value) if column.endswith("_ns") and value is not None else str(value)


def page(found: Found, about: str) -> str:
    """The page as text: it needs no other file, and runs nothing."""
    look = policy.style(files("rexmit.report").joinpath("page.css").read_text(encoding="utf-8"))
    own = policy.style(_LOOK)
    names = " and ".join(html.escape(system.text) for system in found.systems)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        policy.policy([], [look, own]),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{names}: what differs</title><style>{look}</style><style>{own}</style></head><body>",
        f'<header class="masthead"><h1>{names}: what differs</h1>',
        f'<p class="question">{html.escape(summary(found))}</p>',
        f'<p class="facts">{html.escape(about)}</p></header>',
        f'<div class="body">{_contents(found)}<main id="main">',
        _systems(found),
        _clusters(found),
        *(_case(case, number, found) for number, case in enumerate(found.cases, start=1)),
        "</main></div></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _contents(found: Found) -> str:
    entries = [("systems", "Systems"), ("kinds", "Kinds of differences")]
    entries += [(f"case-{number}", f"Case {number}") for number in range(1, len(found.cases) + 1)]
    items = "".join(f'<li><a href="#{name}">{head}</a></li>' for name, head in entries)
    return f'<nav class="contents" aria-label="Contents"><ul>{items}</ul></nav>'


def _systems(found: Found) -> str:
    rows = [[name, one.text, one.describe()] for name, one in zip("AB", found.systems, strict=True)]
    return f'<section id="systems"><h2>Systems</h2>{_table(["", "system", "is"], rows)}</section>'


def _clusters(found: Found) -> str:
    numbers = {(case.cluster.level, case.cluster.kind): at for at, case in enumerate(found.cases, start=1)}
    rows = []
    for one in found.clusters[:CLUSTERS_SHOWN]:
        case = numbers.get((one.level, one.kind))
        link = f'<a href="#case-{case}">case {case}</a>' if case else f"scenario {one.pairs[0].number}"
        rows.append([*cluster_words(one), _Html(link)])
    heads = [
        "scenarios",
        "what differs",
        "first difference",
        "time under B, median",
        "sent again",
        "for example",
    ]
    more = len(found.clusters) - len(rows)
    below = f"<p>And {plural(more, 'more kind')}, each in {RECORD}.</p>" if more > 0 else ""
    return f'<section id="kinds"><h2>Kinds of differences</h2>{_table(heads, rows)}{below}</section>'


def _case(case: Case, number: int, found: Found) -> str:
    body = "".join(_case_parts(case, number, found))
    title = f"Case {number}: {html.escape(case.cluster.kind)}"
    return f'<section id="case-{number}"><h2>{title}</h2>{body}</section>'


def _case_parts(case: Case, number: int, found: Found) -> Iterator[str]:
    among = plural(len(case.cluster.pairs), "scenario")
    yield f"<p>The smallest of {among}, made of number {case.drawn}: <code>case-{number}.toml</code>.</p>"
    if case.pair.number:
        yield f"<p>Its random numbers are those of scenario {case.pair.number}; others may hide it.</p>"
    first = case.pair.first
    if first is not None:
        rows = [
            [name, system.text, text, "" if time is None else duration(time)]
            for name, system, text, time in zip("AB", found.systems, first.texts, first.times_ns, strict=True)
        ]
        where = f"Packet {first.index + 1} at the {first.host}"
        yield f"<p>{where}:</p>{_table(['', 'system', 'packet', 'at'], rows)}"
    changes = case.mechanism.changes if case.mechanism else ()
    if changes:
        told = "".join(f"<li>{html.escape(state_words(one))}</li>" for one in changes)
        yield f"<p>State that differs before it, first:</p><ul>{told}</ul>"
    elif case.mechanism is not None:
        yield "<p>The hosts' state is the same up to there.</p>"
    if first is not None and case.mechanism is not None:
        svg = overlay(first, case.mechanism.seen, ("A", "B"))
        yield f"<figure>{_drawing(svg)}</figure>"
    text = json.dumps(case.scenario, indent=1, default=str)
    yield f"<details><summary>The scenario</summary><pre>{html.escape(text)}</pre></details>"


class _Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _cell(text: str) -> str:
    return f"<td>{text if isinstance(text, _Html) else html.escape(text)}</td>"


def _drawing(svg: str) -> str:
    """A drawing of matplotlib's in a page: without its prologue and its own style."""
    return svg[svg.index("<svg") :].replace(policy.DRAWING_STYLE, "")


_LOOK = """
table { border-collapse: collapse; margin: 0.5rem 0 1rem }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 1rem 0.3rem 0 }
th, td { border-bottom: 1px solid var(--line) }
figure { margin: 1rem 0; background: #ffffff } figure svg { max-width: 100%; height: auto }
*{stroke-linejoin: round; stroke-linecap: butt}
"""
