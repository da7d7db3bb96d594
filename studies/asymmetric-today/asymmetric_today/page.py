"""The page of asymmetric-today: what `scripts/study_page.py asymmetric-today` writes.

Fills docs/studies/asymmetric-today.md from its template. The part on Linux 6.1 needs the kernel with the
virtual clock (`make kernel`). Every number of the tables comes from the results; what the prose claims is
checked, and a claim that no longer holds is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from .figures import named

if TYPE_CHECKING:
    from study_page import Page

SHOWN = {
    "shares-by-discipline": "asymmetric-shares",
    "round-trip-times-by-discipline": "asymmetric-round-trips",
}
PARTS = {"disciplines": "uml", "model": "model"}
"""The parts of the study and their backends."""
SIZED = ("FIFO, 17 packets", "FIFO, 50 packets", "FIFO, bytes of 17", "FIFO, bytes of 50")
FAIR = ("FQ-CoDel", "CAKE")


def make(page: Page) -> None:
    """Run what is not there yet, draw, write; stops at the first failure."""
    results = {part: page.run(part, backend) for part, backend in PARTS.items()}
    for part, found in results.items():
        page.draw(part, found, SHOWN.get if part == "disciplines" else lambda _: None)
    linux, model = (named(results[part]) for part in PARTS)
    check_claims(linux, model)
    facts = {
        "kernel": str(results["disciplines"].study["kernel"]),
        "runs": str(len(results["disciplines"])),
        "runs_model": str(len(results["model"])),
        "linux": table(linux),
        "model": table(model),
        "sizing": sizing(linux),
    }
    page.fill("asymmetric-today", facts)


def table(runs: pl.DataFrame) -> str:
    """Shares and round-trip times of download and upload, one row per discipline and congestion control."""
    links = runs["link"].unique(maintain_order=True).to_list()
    head = "".join(f" {link}: shares | RTT, ms |" for link in links)
    lines = [f"| uplink | congestion |{head}", "| --- | --- |" + " --- | --- |" * len(links)]
    columns = ("down_share", "up_share", "down_rtt_ms", "up_rtt_ms")
    keys = ["discipline", "congestion"]
    for (discipline, control), part in runs.partition_by(keys, as_dict=True, maintain_order=True).items():
        cells = []
        for link in links:
            means = part.filter(pl.col("link") == link).select(pl.col(*columns).fill_nan(None).mean())
            down, up, down_rtt, up_rtt = means.row(0)
            cells.append(f" {down:.2f} / {up:.2f} | {down_rtt:,.0f} / {up_rtt:,.0f} |")
        lines.append(f"| {discipline} | {control} |" + "".join(cells))
    return "\n".join(lines)


def sizing(runs: pl.DataFrame) -> str:
    """What the larger buffer of each kind costs the download, in hundredths of its rate, by link."""
    links = runs["link"].unique(maintain_order=True).to_list()
    lines = ["| | congestion |" + "".join(f" {link} |" for link in links)]
    lines.append("| --- | --- |" + " --- |" * len(links))
    for small, large, words in (
        (SIZED[0], SIZED[1], "50 packets instead of 17"),
        (SIZED[0], SIZED[2], "17 counted in bytes instead of packets"),
        (SIZED[1], SIZED[3], "50 counted in bytes instead of packets"),
        (SIZED[0], FAIR[0], "FQ-CoDel instead of 17 packets"),
    ):
        for control in runs["congestion"].unique(maintain_order=True):
            cells = [
                f" {share(runs, large, control, link) - share(runs, small, control, link):+.2f} |"
                for link in links
            ]
            lines.append(f"| {words} | {control} |" + "".join(cells))
    return "\n".join(lines)


def share(runs: pl.DataFrame, discipline: str, control: str, link: str, column: str = "down_share") -> float:
    """The mean of a measure over the runs of one combination."""
    chosen = runs.filter(
        (pl.col("discipline") == discipline) & (pl.col("congestion") == control) & (pl.col("link") == link)
    )
    return float(chosen[column].fill_nan(None).mean())  # type: ignore[arg-type]


def check_claims(linux: pl.DataFrame, model: pl.DataFrame) -> None:
    """What the page says in words. Raises AssertionError for a claim that does not hold."""
    check_scatter(linux)
    links = linux["link"].unique(maintain_order=True).to_list()
    controls = ("reno", "cubic", "bbr")
    first, middle, last = links
    for link in (first, middle):
        for control in controls:
            for fair in FAIR:
                assert share(linux, fair, control, link) >= 0.94, (fair, control, link)
    for control in controls:
        for link in links:
            by_bytes = share(linux, SIZED[2], control, link)
            assert by_bytes < share(linux, SIZED[0], control, link), (control, link)
            assert share(linux, SIZED[3], control, link) < by_bytes, (control, link)
            assert link == first or by_bytes < 0.57, (control, link)
            fall = share(linux, SIZED[1], control, link) - share(linux, SIZED[0], control, link)
            assert (fall < -0.1) != ((control, link) == ("bbr", last)), (control, link)
        alone = linux.filter(pl.col("congestion") == control)["alone_rtt_ms"]
        assert alone.is_between(*((52, 79) if control == "bbr" else (150, 221))).all(), control
        assert share(linux, SIZED[0], control, middle) > (0.78 if control == "bbr" else 0.89)
        assert share(linux, "CoDel", control, last) > 0.73
        assert min(share(linux, fair, control, last) for fair in FAIR) > 0.67
        assert share(linux, SIZED[3], control, middle, "down_rtt_ms") > 750
    assert share(linux, SIZED[3], "cubic", last, "down_rtt_ms") > 5000
    assert share(linux, "PIE", "reno", last) < 0.1
    assert share(linux, "PIE", "cubic", last) < 0.35
    assert share(model, "PIE", "reno", last) > 0.6
    assert share(linux, SIZED[1], "reno", last) < share(linux, SIZED[1], "cubic", last)
    assert share(linux, "FQ-CoDel", "bbr", first, "down_rtt_ms") < 75
    for link in links:
        waits = [share(linux, SIZED[3], control, link, "down_rtt_ms") for control in ("bbr", "reno")]
        assert 0.3 < waits[0] / waits[1] < 0.55, link


def check_scatter(linux: pl.DataFrame) -> None:
    """How far the runs of a cell lie apart, by congestion control. Raises AssertionError as above."""
    cells = linux.group_by("discipline", "congestion", "link").agg(pl.col("down_share").std())
    middle = {
        control: float(cells.filter(pl.col("congestion") == control)["down_share"].median())  # type: ignore[arg-type]
        for control in ("reno", "cubic", "bbr")
    }
    assert {name: round(value, 2) for name, value in middle.items()} == {
        "reno": 0.01,
        "cubic": 0.01,
        "bbr": 0.03,
    }
    assert round(float(cells["down_share"].max()), 2) == 0.19  # type: ignore[arg-type]
