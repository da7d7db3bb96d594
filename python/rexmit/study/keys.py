"""The key that is meant where one is not known."""

from __future__ import annotations

from collections.abc import Iterable

from rexmit import _native
from rexmit.errors import nearest


def nearest_key(word: str, known: Iterable[str]) -> str:
    """As `rexmit.errors.nearest`; what the field calls a key counts first, as `latency` for `delay`."""
    choices = list(known)
    meant = _native.meant(word, choices)
    return nearest(word, choices) if meant is None else f"; did you mean {meant!r}?"
