"""Graphs of the connections of a capture, as files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit.analyse.captures import Options
from rexmit.plot.graphs import GRAPHS, View, draw_flow, flows_of

MOST = 20
"""Connections of which graphs are drawn where none is chosen."""


def draw_graphs(
    capture: Path, folder: Path, numbers: Sequence[int], forms: Sequence[str], options: Options, view: View
) -> list[Path]:
    """Draws every graph of these connections, at most `MOST`, and returns the files.

    Files are named `connection-N-GRAPH.ENDING`, pages `connection-N.html`.
    """
    files: list[Path] = []
    for flow in flows_of(capture, list(numbers)[:MOST], options):
        stem = folder / f"connection-{flow.row['connection']}"
        files += draw_flow(flow, stem, forms, GRAPHS, view)
    return files
