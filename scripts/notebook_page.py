"""A hook of MkDocs for pages made of notebooks: they fetch nothing, and link to the notebook itself."""

from __future__ import annotations

import re
from typing import Any

NOTEBOOK = ".ipynb"
_MATH = re.compile(r"<!-- Load mathjax -->.*?<!-- End of mathjax configuration -->", re.DOTALL)
_SCRIPT = re.compile(r"<script\b[^>]*>.*?</script>", re.DOTALL)
_FETCHES = re.compile(r"""\A<script\b[^>]*\bsrc=|\bimport\(|["']https?://(?!www\.w3\.org/)""")


def on_page_content(html: str, page: Any, **_: object) -> str:
    """Called by MkDocs with the body of each page."""
    name = str(page.file.src_uri).rpartition("/")[2]
    if not name.endswith(NOTEBOOK):
        return html
    told = f'<p>This page is a notebook: <a href="{name}" download>{name}</a>.</p>'
    return without_loads(html) + told


def without_loads(html: str) -> str:
    """Without the scripts that would load formulas and diagrams from the network; our notebooks have none."""
    return _SCRIPT.sub(lambda one: "" if _FETCHES.search(one[0]) else one[0], _MATH.sub("", html))
