"""Paths of equal bandwidth-delay product, which section 3.2.3 announces to compare and no result shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit.plot import style

from .captions import table
from .flows import Flow, Pair
from .shapes import early

QUANTITIES: dict[str, Callable[[Flow, Pair], float | None]] = {
    "Additional time of a late loss (%)": lambda flow, path: flow.additional().get(path),
    "Cost of an early loss (%)": lambda flow, path: 100 * early(flow, path),
}
"""What is compared at equal products: both relative to a loss that is repaired fast."""

SMALL = 5000
"""Products in bytes up to which the cost of an early loss follows the product, by the figure."""


def equal_products(paths: Sequence[Pair]) -> dict[int, list[Pair]]:
    """The products in bytes, rate times one-way delay, that more than one path has, and those paths."""
    found: dict[int, list[Pair]] = {}
    for path in paths:
        found.setdefault(path[0] * path[1] // 8, []).append(path)
    return {product: paths for product, paths in sorted(found.items()) if len(paths) > 1}


def spread(flow: Flow, quantity: Callable[[Flow, Pair], float | None]) -> list[tuple[int, float, float]]:
    """For each product that several paths have: the least and the greatest value of a quantity."""
    rows = []
    for product, paths in equal_products(flow.calm()).items():
        values = [value for path in paths if (value := quantity(flow, path)) is not None]
        if len(values) > 1:
            rows.append((product, min(values), max(values)))
    return rows


def products_table(short: Flow, long: Flow) -> str:
    """How far apart paths of equal product are: the mean and the greatest distance."""
    rows = []
    for name, flow in (("20 packets", short), ("100 packets", long)):
        for title, quantity in QUANTITIES.items():
            found = spread(flow, quantity)
            small = [high - low for product, low, high in found if product <= SMALL]
            large = [high - low for product, low, high in found if product > SMALL]
            cells = (f"{mean(gaps):.1f}, at most {max(gaps):.1f}" if gaps else "" for gaps in (small, large))
            rows.append([name, title.partition(" (")[0], str(len(found)), *cells])
    return table(["", "quantity", "products", "apart to 5 kB, points: mean", "above 5 kB"], rows)


def draw_products(flow: Flow, name: str, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Draws both quantities against the product; bars join the paths of one product."""
    rates = list(dict.fromkeys(path[0] for path in flow.calm()))
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 7), layout="constrained")
        grid = sheet.subplots(2, 1, sharex=True)
        colours = style.family(style.LIGHT, len(rates))
        lines: list[Line2D] = []
        for axes, (title, quantity) in zip(grid, QUANTITIES.items(), strict=True):
            for product, low, high in spread(flow, quantity):
                axes.plot([product, product], [low, high], color=style.LIGHT.ink, linewidth=0.8, zorder=1)
            lines = []
            for number, rate in enumerate(rates):
                points = [
                    (path[0] * path[1] / 8, value)
                    for path in flow.calm()
                    if path[0] == rate and (value := quantity(flow, path)) is not None
                ]
                x, y = zip(*points, strict=True)
                marker = style.MARKERS[number % len(style.MARKERS)]
                lines += axes.plot(
                    x, y, linestyle="none", marker=marker, color=colours[number], label=f"{rate:,} kbit/s"
                )
            axes.set(xscale="log", ylabel=title)
        grid[-1].set_xlabel("Bandwidth times one-way delay (bytes)")
        sheet.suptitle(f"Paths of equal bandwidth-delay product, {flow.packets} packets", x=0.01, ha="left")
        style.legend_below(sheet, lines)
        return style.save(sheet, out / f"{name}-equal-products", formats)
