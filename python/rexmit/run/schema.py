"""The version of the layout of results folders, and what their files hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rexmit.errors import StoreError, one_line

SCHEMA = 1
"""Version of the layout. A new file, table or column leaves it as it is; what would mislead who reads the old
one raises it."""

KEY = "schema"
"""Its key in study.json. A folder from before there was one has none, and the layout of version 1."""


def check_schema(study: Mapping[str, Any], folder: Path) -> None:
    """Raises StoreError for a folder that a newer version of this package has written in another layout."""
    found = study.get(KEY, SCHEMA)
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise StoreError(f"{folder}: study.json: {KEY} is {one_line(repr(found))}, no version of a layout")
    if found > SCHEMA:
        raise StoreError(f"{folder}: was written by a newer rexmit ({KEY} {found}); this one reads {SCHEMA}")
