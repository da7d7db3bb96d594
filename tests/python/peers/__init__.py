"""The captures that our model did not make, their truth, and other programs on the same captures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest


def sampled(captures: Sequence[Path]) -> list[Any]:
    """A quarter of the captures for `make test`; the rest runs with `make long`.

    Captures stand in pairs, of the server and of the client: of one pair the first is taken, of the next but
    one the second.
    """
    rest = pytest.mark.long
    return [
        pytest.param(path, marks=rest) if n % 8 not in (0, 5) else path for n, path in enumerate(captures)
    ]
