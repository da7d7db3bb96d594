"""The figures of hurtig-2006."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rexmit import Results, Study

from . import charts, linux
from .earlier import PATH, draw_earlier, on_path
from .flows import EARLIER, PATHS, Flow
from .products import draw_products

_HURTIG = "hurtig-2006/"
_LINUX = "linux-"


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    flow = results.name.removeprefix(_HURTIG)
    if flow.startswith(_LINUX):
        reference = reference_of(results)
        return linux.draw(results.table(), reference.table(), out, formats)
    if flow == EARLIER:
        return _earlier(results, out, formats)
    files = [file for drawn in charts.draw_table(results.table(), flow, out, formats) for file in drawn]
    whole = Flow(results)
    if results.table()["path.down.drop"].n_unique() == 1 + whole.packets and whole.packets in PATHS:
        files += draw_products(whole, flow, out, formats)
    return files + _sequences(results, flow, out, formats)


def _earlier(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Figure 4.25, where its path was run, beside FreeBSD 6.0, which is run now, in a second."""
    table = results.table()
    if on_path(table).is_empty():
        return []
    study = Study.load(_HURTIG + "short").set("vary.path.rate", [f"{PATH[0]} kbit/s"])
    now = study.set("vary.path.delay", [f"{PATH[1]} ms"]).run(progress=False)
    return draw_earlier(table, now.table(), out, formats)


def reference_of(results: Results) -> Results:
    """FreeBSD 6.0 of the model on the paths of a study of hurtig-2006 on Linux, run now, in a second."""
    study = Study.load(_HURTIG + results.name.removeprefix(_HURTIG + _LINUX))
    for factor in results.spec().design.factors:
        if factor.name != linux.STACK:
            study = study.set(f"vary.{factor.name}", list(factor.levels))
    return study.run(progress=False)


def _sequences(results: Results, flow: str, out: Path, formats: Sequence[str]) -> list[Path]:
    """The time-sequence graphs of single runs, which are run again with captures."""
    numbers = _numbers(results)

    def capture(panel: charts.Panel, path: Path) -> None:
        server, client = (path if panel.host == host else None for host in ("server", "client"))
        results.capture(numbers[panel.kbit_s, panel.delay_ms, panel.position], server=server, client=client)

    files: list[Path] = []
    with tempfile.TemporaryDirectory() as work:
        for figure in charts.SEQUENCE_FIGURES:
            wanted = {(panel.kbit_s, panel.delay_ms, panel.position) for panel in figure.panels}
            if figure.flow == flow and wanted <= set(numbers):
                files += charts.draw_sequences(figure, capture, Path(work), out, formats)
    return files


def _numbers(results: Results) -> dict[tuple[int, int, int], int]:
    """The first run of each path and position, by kbit/s, ms and position."""
    first = results.table().unique(
        ["path.rate", "path.delay", "path.down.drop"], keep="first", maintain_order=True
    )
    columns = ("path.rate_bit_s", "path.delay_ns", "path.down.drop", "run")
    return {
        (rate // 1000, delay // 1_000_000, position): run
        for rate, delay, position, run in first.select(columns).rows()
    }
