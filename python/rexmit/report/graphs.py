"""Graphs of the connections of a capture, as files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rexmit.analyse.captures import Options
from rexmit.plot.graphs import GRAPHS, View, draw_flow, flows_of
from rexmit.plot.page import write_page
from rexmit.plot.sctp import draw_associations
from rexmit.plot.trace import Part

MOST = 20
"""Connections of which graphs are drawn where none is chosen."""


@dataclass(frozen=True)
class Chosen:
    """Numbers of connections and of associations."""

    connections: Sequence[int]
    associations: Sequence[int] = ()


def draw_graphs(
    capture: Path, folder: Path, chosen: Chosen, forms: Sequence[str], options: Options
) -> list[Path]:
    """Draws every graph of these flows, at most `MOST` of either protocol, and returns the files.

    Files are named `connection-N-GRAPH.ENDING`, of an association `association-N-tsg.ENDING`; the
    format `html` is one page of all, `graphs.html`.
    """
    files: list[Path] = []
    if "html" in forms:
        part = Part(list(chosen.connections)[:MOST], list(chosen.associations)[:MOST])
        files.append(write_page(capture, folder / "graphs.html", part, None, options))
    if chosen.connections and set(forms) != {"html"}:
        for flow in flows_of(capture, list(chosen.connections)[:MOST], options):
            stem = folder / f"connection-{flow.row['connection']}"
            files += draw_flow(flow, stem, forms, GRAPHS, View())
    if chosen.associations:
        files += draw_associations(capture, folder, list(chosen.associations)[:MOST], forms, options)
    return files
