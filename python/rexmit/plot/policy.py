"""What the pages of this package are put together from, so that a text in them stays a text.

Each page says in a Content-Security-Policy that it asks for nothing and runs nothing but its own script,
which is known by its hash. All that a stranger's capture or study brings in is escaped; if it were not, it
would still not run.

Not covered: `style` attributes are allowed, since drawings are made of them; they load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

DRAWING_STYLE = '<style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>'
"""What matplotlib writes into each drawing; in a page it stands in the page's own style."""


def script(text: str) -> str:
    """A script's text as it stands in a page: nothing in it may end its element."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def style(text: str) -> str:
    """A style's text as it stands in a page."""
    return text.replace("</", "<\\/")


def as_json(told: Any) -> str:
    """JSON for a script element of a page: no `<` that could end it or begin a comment."""
    text = json.dumps(told, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def policy(scripts: Sequence[str], styles: Sequence[str], *, beside: bool = False) -> str:
    """The element that says what a page may do; it stands before all that it rules.

    `scripts` and `styles` are the texts of its own elements, exactly as they stand in it. With `beside` its
    script may load others, as it does from the folder of a report's packets; an element of the page may not.
    """
    rules = {
        "default-src": ["'none'"],
        "script-src": [*map(_hash, scripts), *(["'strict-dynamic'"] if beside else [])] or ["'none'"],
        # For browsers that do not tell elements from attributes.
        "style-src": ["'unsafe-inline'"],
        "style-src-elem": list(map(_hash, styles)) or ["'none'"],
        "style-src-attr": ["'unsafe-inline'"],
        "img-src": ["data:", "blob:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    told = "; ".join(f"{rule} {' '.join(sources)}" for rule, sources in rules.items())
    return f'<meta http-equiv="Content-Security-Policy" content="{told}">'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
