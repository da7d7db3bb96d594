"""The published numbers of deboer-2005 beside those of a run: called by `rexmit compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit import Results
from rexmit.analyse import Comparison, check_all

from .checks import CHECKS
from .throughput import Evidence

PUBLISHED = Path(__file__).parent.parent / "published.csv"


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these results (of any of the study's files) cover."""
    return check_all("deboer-2005", PUBLISHED, CHECKS, Evidence(results))
