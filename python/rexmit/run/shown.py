"""How studies and results show themselves in a notebook: plain HTML with a small drawing, no script."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from rexmit.units import plural

if TYPE_CHECKING:
    from rexmit.run.results import Results
    from rexmit.study import Factor, StudySpec

MOST_ROWS = 30
"""The most levels that the table of means has."""

_SHOWN = ("completed", "time_ns", "bytes", "retransmits", "timeouts", "fast_retransmits", "drops_down")
_WIDTH, _HEIGHT = 220, 44


def results_html(results: Results) -> str:
    """A table of the factors, the means of the main responses over one factor, and the curve of the first."""
    factors = results.spec().design.factors
    varied = [factor for factor in factors if len(factor.levels) > 1]
    told = f"{results.name}: {plural(len(results), 'run')}, seed {_seeds(results)}"
    parts = [f"<div>{html.escape(told)}</div>", _factors(factors)]
    frame = results.table()
    if varied and frame.height:
        over = max(varied, key=lambda factor: (factor.is_position, len(factor.levels)))
        parts.append(_means(frame, over))
    return shown_html(results.title, parts)


def study_html(spec: StudySpec) -> str:
    """What is asked, how many runs there would be, and the factors with their levels."""
    design = spec.design
    times = f" ({design.replications:,} replications each)" if design.replications > 1 else ""
    runs = f"{design.runs:,} run{'s' * (design.runs != 1)}{times}"
    parts = [f"<div>{html.escape(f'{spec.name}: {runs}, seed {design.seed}')}</div>"]
    if question := str(spec.texts.get("question", "")):
        parts.insert(0, f"<div><em>{html.escape(question)}</em></div>")
    parts.append(_factors(design.factors) or "<div>nothing varies</div>")
    return shown_html(spec.title, parts)


def shown_html(title: str, parts: Sequence[str]) -> str:
    """The frame of all that shows itself: a title, and what is below it as HTML."""
    head = f"<strong>{html.escape(title)}</strong>"
    return f'<div class="rexmit-results" style="font-size:0.9em">{head}{"".join(parts)}</div>'


def _factors(factors: Sequence[Factor]) -> str:
    rows = [(f.name, str(len(f.labels)), _some([str(label) for label in f.labels])) for f in factors]
    return html_table(("factor", "levels", ""), rows, 3) if rows else ""


def _seeds(results: Results) -> str:
    return ", ".join(map(str, results.study.get("seeds", [results.study.get("seed")])))


def _means(frame: pl.DataFrame, over: Factor) -> str:
    shown = [name for name in _SHOWN if name in frame.columns and frame[name].n_unique() > 1]
    if not shown:
        return ""
    means = frame.group_by(over.name, maintain_order=True).agg(pl.col(name).mean() for name in shown)
    rows = [
        (str(row[0]), *(_number(name, value) for name, value in zip(shown, row[1:], strict=True)))
        for row in means.head(MOST_ROWS).iter_rows()
    ]
    heads = (over.name, *(_head(name) for name in shown))
    more = means.height - len(rows)
    first = next((name for name in shown if name != "completed"), shown[0])
    curve = _curve([value for value in means[first].to_list() if value is not None])
    told = f"Means of all runs with a level of {over.name}; the curve is {_head(first)}."
    if more > 0:
        told += f" {more:,} more levels: table() has all."
    return f"<div>{html.escape(told)}</div>{curve}{html_table(heads, rows, 1)}"


def _head(name: str) -> str:
    return {"time_ns": "time (s)", "completed": "completed"}.get(name, name.replace("_", " "))


def _number(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name == "completed":
        return f"{value:.1%}"
    return (
        f"{value / 1e9:.3g}" if name.endswith("_ns") else f"{value:,.3g}" if value < 1e3 else f"{value:,.0f}"
    )


def _curve(values: Sequence[float]) -> str:
    """A line in the colour of the text, so that it is seen on light and on dark."""
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    scale = (_HEIGHT - 6) / (high - low) if high > low else 0.0
    step = (_WIDTH - 6) / (len(values) - 1)
    points = " ".join(
        f"{3 + n * step:.1f},{_HEIGHT - 3 - (value - low) * scale:.1f}" for n, value in enumerate(values)
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="means"><polyline points="{points}" fill="none" stroke="currentColor" '
        'stroke-width="1.5"/></svg>'
    )


def html_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: int, words: Sequence[str] = ()
) -> str:
    """A table whose columns from `left` on are numbers, but for those with `words` as their heads."""

    def line(kind: str, cells: Sequence[str]) -> str:
        sides = ("left" if n < left or heads[n] in words else "right" for n in range(len(cells)))
        made = (
            f'<{kind} style="text-align:{side};padding:0.1em 0.6em">{html.escape(cell)}</{kind}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(line("td", row) for row in rows)
    look = "color:inherit;border-collapse:collapse"
    return f'<table style="{look}"><thead>{line("th", heads)}</thead><tbody>{body}</tbody></table>'


def _some(labels: Sequence[str]) -> str:
    short = [label if len(label) <= 40 else f"{label[:37]}..." for label in labels]
    return ", ".join(short) if len(short) <= 12 else f"{', '.join(short[:5])}, ... {short[-1]}"
