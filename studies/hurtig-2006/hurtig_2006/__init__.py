"""The published numbers of hurtig-2006 beside those of a run: called by `rexmit compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit import Results
from rexmit.analyse import Comparison, check_all

from .bursts import BURSTS
from .flows import Evidence
from .numbers import NUMBERS
from .packets import PACKETS
from .regions import REGIONS
from .shapes import SHAPES

PUBLISHED = Path(__file__).parent.parent / "published.csv"
CHECKS = NUMBERS | REGIONS | SHAPES | PACKETS | BURSTS


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these results (short, long and earlier flows) cover."""
    return check_all("hurtig-2006", PUBLISHED, CHECKS, Evidence(results))
