"""What differs: between two folders of results of one design, cell by cell."""

from rexmit.diff.changes import Changes, diff_results
from rexmit.diff.thresholds import Broken, Threshold, broken

__all__ = ["Broken", "Changes", "Threshold", "broken", "diff_results"]
