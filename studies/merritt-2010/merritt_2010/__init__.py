"""The published numbers of merritt-2010 beside those of a run: called by `rexmit compare`."""

from __future__ import annotations

from collections.abc import Sequence

from rexmit import Results, UsageError
from rexmit.analyse import Comparison, check_all

from . import pairs
from .checks import PUBLISHED, TABLES
from .dynamics import DYNAMICS
from .links import Evidence


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these results cover.

    Raises UsageError where the thesis has nothing of what they are.
    """
    return check_all("merritt-2010", PUBLISHED, TABLES | DYNAMICS, Evidence(compared(results)))


def compared(results: Sequence[Results]) -> Sequence[Results]:
    """The results that rows are compared with: the experiments in order only where they come alone."""
    ours = [one for one in results if one.name != pairs.NAME]
    if not ours:
        raise UsageError(
            f"{pairs.NAME}: the thesis did not run this, so it has no numbers; see `rexmit plot`"
        )
    return [one for one in ours if one.name != "merritt-2010/in-order"] or ours
