"""The page of a capture: the graphs of its connections, which can be moved and enlarged, in one file.

It needs no other file and no network. What it does is in `web/src/trace`; the built script and style come
with the package.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import polars as pl

from rexmit.analyse.captures import Options
from rexmit.errors import RexmitError, UsageError
from rexmit.files import make_folder, write_text
from rexmit.inputs import NAMED_TABLE, check_file
from rexmit.plot import policy
from rexmit.plot.trace import About, Part, pack_part
from rexmit.run.tables import without_marks

FORMAT = 1
"""Version of what a page is told, in `web/src/format.ts`."""


def write_page(
    capture: Path,
    path: Path,
    part: Part,
    about: About | None = None,
    options: Options | None = None,
    *,
    dark: bool = False,
) -> Path:
    """Writes the page of a part of a capture, dark where that is wanted, otherwise as the browser is.

    Raises UsageError where the capture has nothing of it, StoreError where the file cannot be written.
    """
    title = (about.title if about else "") or capture.name
    text = page(pack_part(capture, part, about, options), title, dark=dark)
    make_folder(path.parent, resumable=False)
    write_text(path, text, resumable=False)
    return path


def page(block: str, title: str, *, dark: bool = False) -> str:
    """The page of a block as text."""
    told = {"format": FORMAT, "version": version("rexmit"), "title": title, "kind": "capture"}
    look, script = policy.style(asset("rexmit.css")), policy.script(asset("rexmit.js"))
    return _PAGE.format(
        policy=policy.policy([script], [look]),
        title=html.escape(title),
        style=look,
        content=policy.as_json(told),
        block=block,
        theme=' data-theme="dark"' if dark else "",
        script=script,
    )


def asset(name: str) -> str:
    """The built script or style of the pages. Raises RexmitError where it was not built."""
    path = files("rexmit.plot").joinpath("web", name)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RexmitError(
            f"the pages' {name} is not built; run `make setup` in the source of rexmit, or install its wheel"
        ) from None


def about_of(title: str, state: Path | None, verdicts: Path | None) -> About:
    """What tables of a run say beside its capture. Raises UsageError for a file that is none of these."""
    return About(
        title=title,
        state=_table(state, "states", ("time_ns", "host", "connection", "cwnd")),
        verdicts=_table(verdicts, "verdicts", ("time_ns", "direction", "position", "dropped", "verdict")),
    )


def _table(path: Path | None, what: str, needed: Sequence[str]) -> pl.DataFrame | None:
    if path is None:
        return None
    try:
        check_file(path, NAMED_TABLE)
        table = without_marks(pl.read_parquet(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        text = str(error).splitlines()[0]
        raise UsageError(f"{path}: cannot be read as a table of {what}: {text}") from None
    for name in needed:
        if name not in table.columns:
            raise UsageError(f"{path}: is not a table of {what}: it has no column {name!r}")
    return table


_PAGE = """<!doctype html>
<html lang="en"{theme}>
<head>
<meta charset="utf-8">
{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="rx-capture">
<h1>{title}</h1>
<noscript>The graphs of this page are drawn by its script, which the browser does not run.</noscript>
<main id="trace-host"></main>
<script type="application/json" id="rexmit-page">{content}</script>
<script type="application/x-rexmit" id="trace">{block}</script>
<script>{script}</script>
</body>
</html>
"""
