"""rexmit: a deterministic laboratory for transport protocols.

    import rexmit

    results = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).run()
    results.table()          # a Polars table, a row a run
"""

from rexmit._native import version as _version
from rexmit.api import Study, run_one
from rexmit.errors import Interrupted, RexmitError, StoreError, StudyError, UsageError
from rexmit.run import Results, open_results
from rexmit.study import list_studies

__version__ = _version()

__all__ = [
    "Interrupted",
    "Results",
    "RexmitError",
    "StoreError",
    "Study",
    "StudyError",
    "UsageError",
    "list_studies",
    "open_results",
    "run_one",
]
