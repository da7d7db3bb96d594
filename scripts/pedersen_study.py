"""The study pedersen-2006 from nothing to its page: its parts on the model, with `--linux` also on Linux 6.1.

Writes the tables of studies/pedersen-2006/README.md between its marks and the figures that its page shows.
Every number of a table comes from the results, which stay in results/pedersen-2006 and are gone on with.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl
import rexmit
from rexmit.analyse import NOT_COVERED, OUTSIDE, RECORDED, TOO_WIDE, Check, Comparison, lateness
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.report.figures import draw_figures

STUDY = study_module("pedersen-2006")
MESSAGES, PARTS = (study_module("pedersen-2006", name) for name in ("messages", "parts"))
ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "studies" / "pedersen-2006" / "README.md"
IMAGES = ROOT / "docs" / "img"
COMPARED = (
    *("thin", "thick", "tcp-thin", "tcp-thick", "enhancements", "burst", "restart", "rto"),
    *("figure-4-03", "figure-5-01"),
)
MODEL = (
    *COMPARED,
    "tcp-thin-reno",
    "tcp-thick-reno",
    "window",
    "clocks",
    "switches",
    "switches-today",
    "today",
)
MANY, RUNS = ("thin", "enhancements", "burst"), 199
"""Parts that are also run so often that one more run's interval needs no assumption."""
LINUX = ("linux", "linux-tcp")
LOSS = 0.05
TABLES = ("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "5.1", "5.2")
QUANTITIES = {
    "retransmissions": "number",
    "least delay": "least",
    "greatest delay": "greatest",
    "mean delay": "mean",
    "standard deviation of the delay": "deviation",
}
PLACES = ("rtt_ms", "variant", "retransmission", "class")
SHOWN = (
    *("figure-3-02-thick", "counts-thin", "figure-3-07-tcp-thick", "figure-3-08-tcp-thin"),
    *("figure-3-03-thin-rtt-0", "figure-3-04-thin-rtt-100", "figure-3-05-thin-rtt-200"),
    *("figure-3-06-thin-rtt-400", "figure-4-01-rto-with-sack-delay", "figure-4-02-rto-without-sack-delay"),
    *("figure-5-02-enhancements", "figure-5-03-bursts", "switches-today-effects", "switches-today-alone"),
    "today-100-ms",
    *("figure-3-09-again", "figure-4-03-restart", "figure-5-01-restart", "figure-3-07-tcp-thick-reno"),
)
"""Figures that the page shows."""

WEAK = PARTS.weak()
"""Rows that catch none of the wrong systems, marked ° in tables."""

STACKS = {"linux": "Linux 6.1, SCTP", "linux-tcp": "Linux 6.1, TCP", "usrsctp": "usrsctp"}


def main() -> int:
    """Run what is not there yet, draw, write the tables."""
    options = argparse.ArgumentParser(description="pedersen-2006, whole.")
    options.add_argument("--results", type=Path, default=ROOT / "results" / "pedersen-2006")
    options.add_argument("--linux", action="store_true", help="also the parts on Linux 6.1 (--backend uml)")
    given = options.parse_args()
    results = {name: run(name, given.results) for name in MODEL}
    try:
        results["usrsctp"] = run("usrsctp", given.results, "stack:usrsctp")
    except rexmit.RexmitError as error:
        print(f"usrsctp: left out: {error}")
    if given.linux:
        results |= {name: run(name, given.results, "uml") for name in LINUX}
    for name, found in results.items():
        copy_images(draw_figures(found, given.results / name / "figures"))
    comparison = comparison_of(results["thin"])([results[name] for name in COMPARED])
    text = README.read_text()
    for name, content in (tables(comparison) | strict(results, comparison, given.results)).items():
        text = put(text, name, content)
    for name in ("switches", "switches-today"):
        text = put(text, name, switches(results[name]))
    text = put(
        text, "today", stacks([results[name] for name in ("today", "usrsctp", *LINUX) if name in results])
    )
    README.write_text(text)
    return 0


def strict(results: Mapping[str, rexmit.Results], comparison: Comparison, place: Path) -> dict[str, str]:
    """How strict the comparison is: coverage, scores, both readings, misprints."""
    many = STUDY.compare([run(name, place, runs=RUNS) for name in MANY])
    scores = PARTS.scores(comparison, many)
    print(scores.partition("\n")[0])
    return {
        "coverage": PARTS.coverage(),
        "misprints": PARTS.misprints(),
        "window": PARTS.window(results["window"]),
        "clocks": PARTS.clocks(results["clocks"]),
        "scores": scores,
        "readings": PARTS.readings(comparison, STUDY.compare_literally(list(results.values()))),
    }


def run(name: str, place: Path, backend: str = "model", runs: int | None = None) -> rexmit.Results:
    """The results of a part: opened where they are whole, else run or gone on with."""
    folder, started = place / (f"{name}-{runs}" if runs else name), time.monotonic()
    if backend == "uml" and (folder / "runs.parquet").exists():
        return rexmit.open_results(folder)
    study = rexmit.Study.load(f"pedersen-2006/{name}")
    study = study.set("design.replications", runs) if runs else study
    found = study.run(folder, backend=backend, resume=folder.exists())
    print(f"{folder.name}: {len(found)} runs, {time.monotonic() - started:.1f} s")
    return found


def tables(comparison: Comparison) -> dict[str, str]:
    """The thesis's tables with ours beside them, what differs, and what is said in words."""
    found = {f"table-{number}": thesis_table(comparison.checks, number) for number in TABLES}
    rest = [check for check in comparison.checks if not check.published.id.startswith(tuple(_ids(TABLES)))]
    found["words"] = markdown(
        ["", "published", "where", "value", "ours", ""],
        (
            [c.published.id, *_place(c), c.published.value, c.ours, said(c)]
            for c in rest
            if c.verdict != NOT_COVERED
        ),
    )
    found["differs"] = markdown(
        ["", "published", "where", "value", "ours", "why"],
        (
            [c.published.id, *_place(c), c.published.value, c.ours, c.published.deviation_reason or "outside"]
            for c in comparison.checks
            if c.verdict in (OUTSIDE, RECORDED)
        ),
    )
    found["verdicts"] = PARTS.verdicts(comparison)
    return found


def thesis_table(checks: Iterable[Check], number: str) -> str:
    """One table of the thesis: each cell as published, and ours with where one more run would lie."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for check in checks:
        if check.published.id.startswith(f"P-002-{number}-"):
            place = tuple(check.published.place[key] for key in PLACES)
            cells.setdefault(place, {})[QUANTITIES[check.published.quantity]] = cell(check)
    shown = [n for n in range(len(PLACES)) if len({place[n] for place in cells}) > 1]
    columns = [name for name in QUANTITIES.values() if any(name in row for row in cells.values())]
    head = [*(PLACES[n].replace("_", " ") for n in shown), *columns]
    rows = (
        [*(place[n] for n in shown), *(row.get(name, "") for name in columns)] for place, row in cells.items()
    )
    return markdown(head, rows)


def cell(check: Check) -> str:
    """A published value and ours; in bold where it lies outside, slanted where the interval says nothing."""
    if check.verdict == NOT_COVERED:
        return f"{check.published.value}; -"
    text = f"{check.published.value}; {check.ours}{' °' if check.published.id in WEAK else ''}"
    if check.verdict == TOO_WIDE:
        return f"_{text}_"
    return f"**{text}**" if check.verdict in (OUTSIDE, RECORDED) else text


def switches(results: rexmit.Results) -> str:
    """What each enhancement does alone and on average over the others, of both workloads."""
    frame = lateness(results.messages(), LOSS)
    found = {
        str(name): MESSAGES.named_effects(own)
        for (name,), own in frame.group_by("workload", maintain_order=True)
    }
    rows = []
    for label, own in MESSAGES.one_at_a_time(frame):
        cells = [own.filter(pl.col("workload") == name) for name in found]
        rows.append([label, *(f"{mean(c, 'latency_p99_ms'):.0f}; {mean(c, 'late_ms'):.0f}" for c in cells)])
    text = markdown(["", *(f"{name}: 99 % no later than; wait per loss" for name in found)], rows) + "\n"
    names = next(iter(found.values())).filter(pl.col("second").is_null())["name"]
    rows = [[name, *(effect(own.filter(pl.col("name") == name)) for own in found.values())] for name in names]
    text += (
        markdown(["on average over the others", *(f"{name}: wait per loss" for name in found)], rows) + "\n"
    )
    pairs = pl.concat(own.filter(pl.col("second").is_not_null()) for own in found.values())
    top = pairs.group_by("name").agg(pl.col("effect").abs().max()).sort("effect", descending=True)["name"][:6]
    rows = [[name, *(effect(own.filter(pl.col("name") == name)) for own in found.values())] for name in top]
    return text + markdown(["two of them, beyond", *(f"{name}: wait per loss" for name in found)], rows)


def effect(row: pl.DataFrame) -> str:
    """An effect in ms with half its interval."""
    value, low, high = row.select("effect", "low", "high").row(0)
    return f"{value:+.0f} ± {(high - low) / 2:.0f}"


def stacks(parts: Sequence[rexmit.Results]) -> str:
    """How late messages are on each stack: the rows of the parts of today."""
    head = ["", "", "RTT", "half", "95 %", "98 %", "99 %", "99.9 %", "wait per loss", "packets a message"]
    rows: list[tuple[bool, int, list[str]]] = []
    for results in parts:
        frame = lateness(results.messages(), LOSS)
        sent = results.table().select("run", "packets_up")
        frame = frame.join(sent, on="run").with_columns(
            (pl.col("packets_up") / pl.col("written")).alias("packets")
        )
        others = [name for name in results.factors if name not in ("workload", "path.delay")]
        own = STACKS.get(results.name.partition("/")[2], "")
        for key, cell in frame.group_by("workload", "path.delay", *others, maintain_order=True):
            workload, delay, *levels = map(name_of, key)
            rtt = 2 * int(delay.removesuffix(" ms"))
            shown = [f"{mean(cell, f'latency_{q}_ms'):.0f}" for q in ("p50", "p95", "p98", "p99", "p999")]
            shown += [f"{mean(cell, 'late_ms'):.0f}", f"{mean(cell, 'packets'):.2f}"]
            label = " ".join([own, *levels]).strip()
            rows.append((workload != "thin", rtt, [label, workload, f"{rtt} ms", *shown]))
    return markdown(head, (row for *_, row in sorted(rows, key=lambda row: row[:2])))


def mean(frame: pl.DataFrame, column: str) -> float:
    """The mean of a column of numbers."""
    return statistics.fmean(frame[column].to_list())


def name_of(level: object) -> str:
    """A level as a row's label says it: thin linear timeouts are the only switch among them."""
    if isinstance(level, bool):
        return "with thin linear timeouts" if level else ""
    return str(level)


def said(check: Check) -> str:
    """The verdict on a statement or a number in the text, with what was seen."""
    weak = "weak" if check.published.id in WEAK else ""
    return "; ".join(part for part in (check.verdict, weak, check.note) if part)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def put(text: str, name: str, content: str) -> str:
    """The text with the content between the marks of this name."""
    marks = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if not all(mark in text for mark in marks):
        raise SystemExit(f"{README}: has no marks for {name}")
    return re.sub(f"{marks[0]}.*?{marks[1]}", lambda _: marks[0] + content + marks[1], text, flags=re.DOTALL)


def copy_images(files: Sequence[Path]) -> None:
    """Copies the figures that the page shows."""
    for file in files:
        if file.suffix == ".png" and file.stem in SHOWN:
            shutil.copy(file, IMAGES / f"pedersen-{file.name}")


def _ids(numbers: Sequence[str]) -> Iterable[str]:
    return (f"P-002-{number}-" for number in numbers)


def _place(check: Check) -> tuple[str, str]:
    place: Mapping[str, str] = check.published.place
    return check.published.quantity, " ".join(place[key] for key in ("part", *PLACES) if place[key])


if __name__ == "__main__":
    sys.exit(main())
