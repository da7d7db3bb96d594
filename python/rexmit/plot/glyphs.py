"""The symbols of tcptrace and xplot as markers of matplotlib.

Each is one artist for any number of points, so that the graph of a long capture stays quick and small.
"""

from __future__ import annotations

from functools import cache

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.patheffects import Normal, Stroke
from matplotlib.textpath import TextPath
from matplotlib.transforms import ScaledTranslation

from rexmit.plot.connections import Floats, Integers

DOWN = Path([(-0.6, 1.0), (0.0, 0.0), (0.6, 1.0), (-0.6, 1.0)])
"""An arrowhead that points down, its tip at the point."""

UP = Path([(-0.6, -1.0), (0.0, 0.0), (0.6, -1.0), (-0.6, -1.0)])
"""An arrowhead that points up, its tip at the point."""


@cache
def letters(text: str) -> Path:
    """The text as a marker, centred on its point."""
    path = TextPath((0, 0), text, size=10, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    centre = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    return Path(path.vertices - centre, path.codes)


def text_marks(
    axes: Axes, at: tuple[Floats, Integers], text: str, look: tuple[str, float, tuple[float, float]]
) -> Line2D:
    """Marks points with a text; `look` is its colour, and in points its height and shift to right and up."""
    colour, height, (right, up) = look
    marker = letters(text)
    box = marker.get_extents()
    figure = axes.get_figure(root=True)
    assert figure is not None
    (line,) = axes.plot(*at, linestyle="none", marker=marker, color=colour)
    # A marker is scaled so that its longer side has the size asked for.
    line.set(markersize=height * max(box.width, box.height) / box.height, markeredgewidth=0, zorder=6)
    halo = axes.get_facecolor()
    line.set_path_effects([Stroke(linewidth=2.0, foreground=halo), Normal()])
    line.set_transform(axes.transData + ScaledTranslation(right / 72, up / 72, figure.dpi_scale_trans))
    return line


def named(artist: Artist, name: str) -> None:
    """Gives an artist a name: the identifier of its group in an SVG file, and what tests find it by."""
    artist.set_gid(name)
