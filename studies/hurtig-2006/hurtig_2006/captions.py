"""The figures of the study's page, each with the published rows that it shows and ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rexmit.analyse import Check, Comparison

FIGURES: Mapping[str, tuple[str, str]] = {
    "4-01": ("Performance loss for the short flows", "1 2 3 4 44 45 46 47 48 72"),
    "4-02": ("Average performance loss for the short flows", "5 6 7 8 34 35 50 51"),
    "4-03": ("Transmission time, 40 kbit/s", "9 10 11 12 20 36 52"),
    "4-04": ("Transmission time, 80 kbit/s", "12 53 54 55"),
    "4-05": ("Transmission time, 160 kbit/s", "13 14 37 56 57"),
    "4-06": ("Transmission time, 320 kbit/s", "15 38 58 59"),
    "4-07": ("Transmission time, 500 to 10,000 kbit/s", "60 66"),
    "4-08": ("Transmission time, 1000 kbit/s, delays to 100 ms", "61"),
    "4-09": ("Bad RTO estimation", "17 18 19 39 40 41 114 120"),
    "4-10": ("Acknowledgment misinterpretation", "21 22 62 63 64 65 115"),
    "4-11": ("320 kbit/s, 300 ms, no loss", "16.0"),
    "4-12": ("320 kbit/s, 300 ms, loss on position 8", "16.8 68"),
    "4-13": ("320 kbit/s, 300 ms, loss on position 9", "16.9 69 71"),
    "4-14": ("320 kbit/s, 300 ms, loss on position 10", "16.10 70"),
    "4-15": ("Performance loss for the long flows", "23 24 74 75 76 77"),
    "4-16": ("Average performance loss for the long flows", "25 26 33 102"),
    "4-17": ("Transmission time, 40, 80 and 160 kbit/s", "27 78 79 80 81 82 83 87"),
    "4-18": ("Transmission time, 500 kbit/s", "84 85 96 97"),
    "4-19": ("Transmission time, 1000, 4000 and 10,000 kbit/s", "86"),
    "4-20": ("80 kbit/s, 300 ms, loss on position 12", "29 88 93 116"),
    "4-21": ("80 kbit/s, 300 ms, loss on position 50", "28 89 90 91 92 117"),
    "4-22": ("80 kbit/s, 300 ms, loss on position 84", "94 95"),
    "4-23": ("500 kbit/s, 300 ms, loss on position 41", "30.41"),
    "4-24": ("500 kbit/s, 300 ms, loss on position 50", "30.50"),
    "4-25": ("One controlled loss, 10 ms: FreeBSD 4.6 beside 6.0", "98 99 100 101 103"),
}
"""By number: the title, and the rows of published.csv that the text states of it."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def figures(comparison: Comparison) -> str:
    """The figures and, below each, what the text states of it and what ours is, as Markdown."""
    checks = {check.published.id: check for check in comparison.checks}
    return "\n".join(_figure(number, checks) for number in FIGURES)


def name_of(stem: str) -> str:
    """The name in the documentation of a figure, of the stem of its file."""
    words = stem.split("-")
    return f"hurtig-figure-{'-'.join(words[1:3]) if words[0] == 'figure' else stem}"


def _figure(number: str, checks: Mapping[str, Check]) -> str:
    title, rows = FIGURES[number]
    chapter, _, at = number.partition("-")
    name = f"Figure {chapter}.{int(at)}: {title}"
    head = f"### {name}\n\n![{name}](../img/hurtig-figure-{number}.png)\n\n"
    table = "| | | published | ours | |\n| --- | --- | --- | --- | --- |\n"
    return head + table + "".join(_rows(checks[f"P-000-{row}"] for row in rows.split()))


def _rows(checks: Iterable[Check]) -> Iterator[str]:
    for check in checks:
        row = check.published
        yield f"| {row.id} | {row.what} | {row.value} {row.unit} | {check.ours} | {check.verdict} |\n"
