"""Graphs of one connection of a capture, of every kind and form."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rexmit.analyse.captures import Options, Progress
from rexmit.errors import UsageError, nearest
from rexmit.files import make_folder, write_text
from rexmit.plot import connections, measures, style, tsg
from rexmit.plot.flows import Flow, read_flows
from rexmit.plot.tsg import SIZE

GRAPHS = ("tsg", "outstanding", "rtt", "throughput", "cwnd")
"""Time-sequence, outstanding data with windows, RTT samples, throughput, congestion window."""

ALIASES = {"owin": "outstanding", "tput": "throughput"}
"""What tcptrace calls them."""

ENDINGS = {"svg": "svg", "png": "png", "pdf": "pdf", "html": "html", "xplot": "xpl"}
"""Formats, and how their files end."""


@dataclass(frozen=True)
class View:
    """What of a connection is drawn, and how.

    `direction` is the sender of the data, `client` or `server`; without it, the one that sent more. `t` is
    the range of time in seconds. `theme` is `light` or `dark`. `state` is a table of states, for the
    congestion window.
    """

    direction: str | None = None
    t: tuple[float, float] | None = None
    theme: str = "light"
    state: Path | None = None
    title: str | None = None


def draw(
    capture: Path, out: Path, graph: str, connection: int, view: View, options: Options | None = None
) -> list[Path]:
    """Draws one graph of one connection and returns the files.

    The ending of `out` is the format: `.svg`, `.png`, `.pdf`, `.html` (all graphs on one page) or `.xpl`
    (for xplot); without one, SVG and PNG are written. Raises UsageError for what is not there, StoreError
    where a file cannot be written.
    """
    stem, form = target(out, named=True)
    if form == "html":
        from rexmit.plot.page import about_of, write_page
        from rexmit.plot.trace import Part

        part = Part([connection], t=view.t, direction=view.direction)
        about = about_of(view.title or capture.name, view.state, None)
        return [write_page(capture, out, part, about, options, dark=view.theme == "dark")]
    [flow] = flows_of(capture, [connection], options)
    graphs = GRAPHS if graph == "all" else (known(graph),)
    return draw_flow(flow, stem, (form,) if form else style.FORMATS, graphs, view)


def target(out: Path, named: bool) -> tuple[Path, str | None]:
    """The beginning of the names of files, and the format that the ending of `out` says, if it says one.

    Raises UsageError where someone named a file whose ending is not a format.
    """
    ending = out.suffix.lower().removeprefix(".")
    for form, known_ending in ENDINGS.items():
        if ending == known_ending:
            return out.with_suffix(""), form
    if named and ending:
        raise UsageError(
            f"--out {out}: cannot draw {out.suffix!r}; end it in .svg, .png, .pdf, .html or .xpl"
        )
    return out, None


def flows_of(
    capture: Path, numbers: Sequence[int], options: Options | None, progress: Progress | None = None
) -> list[Flow]:
    """The connections of these numbers. Raises UsageError where one is not there.

    Warns (UserWarning) of what could not be read, such as the rest of a file that breaks off.
    """
    flows, summary = read_flows(capture, numbers, options, progress)
    for remark in summary.warnings:
        warnings.warn(f"{capture}: {remark}", stacklevel=3)
    missing = set(numbers) - {flow.row["connection"] for flow in flows}
    if missing and summary.sctp and not summary.tcp:
        raise UsageError(
            f"`rexmit plot` draws TCP connections, and {str(capture)!r} has SCTP only; "
            "give --html for a page of those, or `rexmit analyze --graphs DIR`"
        )
    if missing and summary.quic and not summary.tcp:
        raise UsageError(f"{str(capture)!r} has QUIC alone, which is not drawn; Wireshark opens it")
    if missing:
        raise UsageError(f"no connection {min(missing)} in {str(capture)!r}; `rexmit analyze` lists them")
    return flows


def draw_flow(flow: Flow, stem: Path, forms: Sequence[str], graphs: Sequence[str], view: View) -> list[Path]:
    """Draws graphs of a connection in each format except pages; files are named `STEM-GRAPH.ENDING`.

    With one graph only, its name is left out. Of several graphs, that of an unknown congestion window is left
    out.
    """
    files: list[Path] = []
    wanted = [known(graph) for graph in graphs]
    for graph in wanted:
        path = stem if len(wanted) == 1 else stem.with_name(f"{stem.name}-{graph}")
        still = [form for form in forms if form in style.KNOWN_FORMATS]
        try:
            if still:
                with style.styled(style.theme_of(view.theme)):
                    files += style.save(figure(flow, graph, view), path, still)
            if "xplot" in forms:
                from rexmit.plot import xplot

                text = xplot.graph(flow, side_of(flow, view), graph, view.state)
                target = path.with_name(f"{path.name}.xpl")
                make_folder(target.parent, resumable=False)
                write_text(target, text, resumable=False)
                files.append(target)
        except UsageError:
            # One that was asked for by name is missed; of all, those that have something to show are drawn.
            if len(wanted) == 1:
                raise
    return files


def figure(flow: Flow, graph: str, view: View) -> Figure:
    """A figure of one graph."""
    side = side_of(flow, view)
    theme = style.theme_of(view.theme)
    if graph == "tsg":
        title = view.title or f"Time sequence: {route(flow, side)}"
        return tsg.sheet(connections.of_flow(flow), tsg.View(side, view.t, theme, causes=True), title)
    sheet = Figure(figsize=SIZE, layout="constrained")
    axes = sheet.add_subplot()
    if graph == "cwnd":
        name = "Congestion window"
        lines = measures.draw_cwnd(axes, flow, side, theme, view.state)
    else:
        name, drawer = measures.DRAWERS[graph]
        lines = drawer(axes, flow, side, theme)
    _time_axis(axes, flow, view)
    style.legend_below(sheet, lines)
    style.title(axes, view.title or f"{name}: {route(flow, side)}")
    return sheet


def side_of(flow: Flow, view: View) -> str:
    """The sender of the data to draw."""
    if view.direction not in (None, "client", "server"):
        raise UsageError(f"no side {view.direction!r}; choose 'client' or 'server', the sender of the data")
    more = "client" if flow.row["client_bytes"] > flow.row["server_bytes"] else "server"
    return view.direction or more


def route(flow: Flow, side: str) -> str:
    """Who sends to whom, and where that was seen."""
    ends = [flow.row[f"{name}_address"] for name in ("client", "server")]
    source, target = ends if side == "client" else reversed(ends)
    return f"{source} to {target}" + (f", seen at {flow.interface}" if flow.interface else "")


def known(graph: str) -> str:
    """The name of a graph. Raises UsageError where there is none of that name."""
    name = ALIASES.get(graph, graph)
    if name not in GRAPHS:
        raise UsageError(f"no graph {graph!r}{nearest(graph, [*GRAPHS, *ALIASES])}")
    return name


def _time_axis(axes: Axes, flow: Flow, view: View) -> None:
    length = (flow.row["end_ns"] - flow.start_ns) / 1e9
    start, end = view.t or (0.0, length)
    if not start < end and view.t is not None:
        raise UsageError(
            f"the range of time from {start:g} to {end:g} s is empty; give the smaller one first"
        )
    margin = 0.02 * (end - start) or 0.5
    axes.set_xlim(start - margin, end + margin)
    axes.set_xlabel("Time since the first packet (s)")
