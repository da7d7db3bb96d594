from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import rexmit
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit import UsageError
from rexmit.analyse import position_costs
from rexmit.analyse.study_code import study_module
from rexmit.plot import figures, style
from rexmit.plot.figures import Factor

hurtig = study_module("hurtig-2006", "charts")

RATES, DELAYS = (80, 320), (10, 100, 300)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """A part of the short flows, really run."""
    study = rexmit.Study.load("hurtig-2006/short")
    study = study.set("path.rate", [f"{rate} kbit/s" for rate in RATES])
    study = study.set("path.delay", [f"{delay} ms" for delay in DELAYS])
    return study.run(progress=False).table()


@pytest.fixture
def sheets(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """What is drawn, in place of files."""
    kept: list[Figure] = []

    def keep(figure: Figure, out: Path, formats: tuple[str, ...] = ()) -> list[Path]:
        kept.append(figure)
        return [out]

    monkeypatch.setattr(style, "save", keep)
    return kept


def lines(sheet: Figure, panel: int = 0) -> dict[str, Line2D]:
    """The lines of a panel by name."""
    return {
        gid.removeprefix("line-"): line
        for line in sheet.axes[panel].lines
        if (gid := line.get_gid()) is not None
    }


def points(line: Line2D) -> list[tuple[float, float]]:
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True))


def means(table: pl.DataFrame, kbit_s: int, ms: int) -> list[tuple[float, float]]:
    """(position, mean time in ms) of one path, straight from the table."""
    path = table.filter(
        (pl.col("path.rate_bit_s") == kbit_s * 1000) & (pl.col("path.delay_ns") == ms * 1_000_000)
    )
    rows = path.group_by("path.down.drop").agg(pl.col("time_ns").mean() / 1e6).sort("path.down.drop").rows()
    assert len(rows) == 21
    return [(float(position), time) for position, time in rows]


def test_time_by_position_is_one_line_a_delay(table: pl.DataFrame, sheets: list[Figure]) -> None:
    hurtig.draw_positions(hurtig.PositionFigure("4.6", "short", (320,)), table, Path("x"))
    drawn = lines(sheets[0])
    assert list(drawn) == ["10 ms", "100 ms", "300 ms"]
    for ms in DELAYS:
        assert points(drawn[f"{ms} ms"]) == [pytest.approx(row) for row in means(table, 320, ms)]
    bands = [band for band in sheets[0].axes[0].collections if band.get_gid() == "band-300 ms"]
    assert len(bands) == 1


def test_bands_span_the_replications(table: pl.DataFrame, sheets: list[Figure]) -> None:
    hurtig.draw_positions(hurtig.PositionFigure("4.6", "short", (320,)), table, Path("x"))
    [band] = [band for band in sheets[0].axes[0].collections if band.get_gid() == "band-300 ms"]
    corners = band.get_paths()[0].vertices[:, 1]
    times = table.filter((pl.col("path.rate_bit_s") == 320_000) & (pl.col("path.delay_ns") == 300_000_000))[
        "time_ns"
    ]
    assert corners.min() == pytest.approx(float(times.min()) / 1e6)  # type: ignore[arg-type]
    assert corners.max() == pytest.approx(float(times.max()) / 1e6)  # type: ignore[arg-type]


def test_a_level_looks_the_same_where_others_are_left_out(table: pl.DataFrame, sheets: list[Figure]) -> None:
    for up_to in (300, 100):
        hurtig.draw_positions(hurtig.PositionFigure("4.6", "short", (320,), up_to), table, Path("x"))
    whole, part = (lines(sheet) for sheet in sheets)
    assert list(part) == ["10 ms", "100 ms"]
    assert part["100 ms"].get_color() == whole["100 ms"].get_color()
    assert part["100 ms"].get_marker() == whole["100 ms"].get_marker()


def test_loss_figures_hold_the_costs_and_what_the_thesis_prints(
    table: pl.DataFrame, sheets: list[Figure]
) -> None:
    files = list(hurtig.draw_table(table, "short", Path("out")))
    assert [file[0].name for file in files] == [
        "figure-4-01-performance-loss-for-the-short-flows",
        "figure-4-02-average-performance-loss-for-the-short-flows",
        "figure-4-04-transmission-time-80-kbit-s",
        "figure-4-06-transmission-time-320-kbit-s",
    ]
    drawn = lines(sheets[0])
    costs = position_costs(table, "path.down.drop", ["path.rate", "path.delay"])
    expected = [
        (float(str(cost.group["path.delay"]).split()[0]), 100 * cost.additional)
        for cost in costs
        if cost.group["path.rate"] == "80 kbit/s" and cost.additional is not None
    ]
    assert len(expected) == 3
    assert points(drawn["80 kbit/s"]) == [pytest.approx(row) for row in expected]
    assert sorted(points(drawn["published"])) == [(5.0, 117.0), (5.0, 301.0), (300.0, 31.0), (300.0, 47.0)]
    assert points(lines(sheets[1])["published"]) == [(5.0, 20.4)]


def test_the_defect_of_40_kbit_s_is_left_out_of_the_loss_figures(sheets: list[Figure]) -> None:
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["40 kbit/s"])
    table = study.set("path.delay", ["5 ms", "20 ms", "40 ms"]).run(progress=False).table()
    next(hurtig.draw_table(table, "short", Path("out")))
    assert [x for x, _ in points(lines(sheets[0])["40 kbit/s"])] == [40.0]


def test_a_part_of_the_study_gives_the_figures_it_suffices_for(
    table: pl.DataFrame, sheets: list[Figure]
) -> None:
    part = table.filter((pl.col("path.rate_bit_s") == 320_000) & (pl.col("path.down.drop") > 0))
    other = part.with_columns(
        pl.lit(250_000).alias("path.rate_bit_s"), pl.lit("250 kbit/s").alias("path.rate")
    )
    files = hurtig.draw_table(pl.concat([part, other], how="vertical_relaxed"), "short", Path("out"))
    assert [file[0].name for file in files] == [
        "figure-4-06-transmission-time-320-kbit-s",
        "transmission-time-250-kbit-s",
    ]
    assert sheets[1].axes[0].get_title("left") == "Transmission time, 250 kbit/s"


def test_every_figure_of_the_thesis_that_we_draw_is_listed() -> None:
    listed = [*hurtig.LOSS_FIGURES, *hurtig.POSITION_FIGURES, *hurtig.SEQUENCE_FIGURES]
    numbers = sorted(int(entry.number.split(".")[1]) for entry in listed)
    assert numbers == list(range(1, 25))
    panels = {entry.number: len(entry.kbit_s) for entry in hurtig.POSITION_FIGURES}
    assert (panels["4.7"], panels["4.17"], panels["4.19"]) == (6, 3, 3)


def test_panels_have_a_graph_each(lost_segment: Path, tmp_path: Path, sheets: list[Figure]) -> None:
    entry = next(entry for entry in hurtig.SEQUENCE_FIGURES if entry.number == "4.10")
    asked = []

    def capture(panel: hurtig.Panel, path: Path) -> None:
        asked.append(panel)
        path.write_bytes(lost_segment.read_bytes())

    hurtig.draw_sequences(entry, capture, tmp_path, tmp_path)
    assert asked == list(entry.panels)
    assert len(sheets[0].axes) == 3
    for axes in sheets[0].axes:
        [bars] = [artist for artist in axes.collections if artist.get_gid() == "retransmission"]
        assert len(bars.get_segments()) == 1


def test_any_study_has_figures_of_its_design(table: pl.DataFrame, tmp_path: Path) -> None:
    factors = ["path.rate", "path.delay", "path.down.drop"]
    files = figures.draw_results(table, factors, tmp_path, "A study")
    assert sorted(file.name for file in files) == [
        "time-320-kbit-s.png",
        "time-320-kbit-s.svg",
        "time-80-kbit-s.png",
        "time-80-kbit-s.svg",
    ]
    assert all(file.stat().st_size > 1000 for file in files)


def test_an_endless_title_keeps_its_beginning_and_its_end(table: pl.DataFrame, sheets: list[Figure]) -> None:
    words = f"begins{'o' * 100_000}ends"
    figures.draw_results(table, ["path.delay", "path.down.drop"], Path("x"), words)
    title = sheets[0].axes[0].get_title(loc="left").replace("\n", "")
    assert title.startswith("begins")
    assert "ends" in title
    assert len(title) < 1_000


@pytest.mark.parametrize(
    "words",
    [
        "A bulk transfer whose loss is moved over all of its packets, two delays, two buffers, and so on",
        "short",
        "A-bulk-transfer-whose-loss-is-moved-over-all-of-its-packets-at-two-delays-and-with-two-buffers-at-length",
    ],
)
def test_a_title_has_all_of_what_tells_figures_apart(
    table: pl.DataFrame, sheets: list[Figure], words: str
) -> None:
    rows = table.filter(pl.col("path.rate") == "80 kbit/s")
    name = "hosts.server.stack.congestion.algorithm"
    both = pl.concat([rows.with_columns(pl.lit(level).alias(name)) for level in ("reno", "cubic")])
    figures.draw_results(both, ["path.delay", "path.down.drop", name], Path("x"), words)
    titles = [sheet.axes[0].get_title(loc="left") for sheet in sheets]
    for sheet, title, level in zip(sheets, titles, ("reno", "cubic"), strict=True):
        assert title.replace("\n", " ").endswith(f"congestion control of server: {level}")
        sheet.draw_without_rendering()
        text = next(one for one in sheet.axes[0].get_children() if getattr(one, "get_text", str)() == title)
        box = text.get_window_extent()
        assert sheet.bbox.x0 <= box.x0
        assert box.x1 <= sheet.bbox.x1
        assert box.y1 <= sheet.bbox.y1


def test_factors_are_read_with_their_units(table: pl.DataFrame) -> None:
    rate = Factor.of(table, "path.rate")
    assert (rate.title, rate.numbers) == ("Bandwidth (kbit/s)", [80.0, 320.0])
    assert Factor.of(table, "path.down.drop").numbers == [float(n) for n in range(21)]
    packets = table.with_columns(pl.lit("10 packets").alias("path.queue"))
    assert Factor.of(packets, "path.queue").title == "Queue (packets)"
    stacks = table.with_columns(stack=pl.lit('{"inherits":"freebsd-6.0","buffers":{"send":"1 MiB"}}'))
    assert Factor.of(stacks, "stack").labels == ["freebsd-6.0, buffers.send 1 MiB"]
    assert not Factor.of(stacks, "stack").is_quantity
    with pytest.raises(UsageError, match=r"no column 'path\.dlay'"):
        Factor.of(table, "path.dlay")


def test_nothing_to_draw_is_one_clear_line(table: pl.DataFrame, tmp_path: Path) -> None:
    none = table.with_columns(completed=pl.lit(value=False))
    with pytest.raises(UsageError, match="no run of this study completed"):
        figures.draw_results(none, ["path.rate"], tmp_path, "A study")
    with pytest.raises(UsageError, match="no factor of this study has two levels"):
        figures.draw_results(
            table.filter(pl.col("path.rate") == "80 kbit/s"), ["path.rate"], tmp_path, "A study"
        )
