"""What is published of flows that share a link, beside runs of who-shares: called by `rexmit compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit import Results
from rexmit.analyse import Comparison, check_all

from .checks import CHECKS
from .evidence import Evidence

PUBLISHED = Path(__file__).parent.parent / "published.csv"


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these results cover."""
    return check_all("who-shares", PUBLISHED, CHECKS, Evidence(results))
