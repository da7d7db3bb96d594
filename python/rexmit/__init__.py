"""rexmit: a deterministic laboratory for transport protocols.

```python
import rexmit

results = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).run()
results.table()  # a Polars table, a row a run
```
"""

from typing import TYPE_CHECKING, Any

from rexmit import analyse
from rexmit._native import version as _version
from rexmit.api import Study, profile, profiles, read_capture, run_one, schema
from rexmit.errors import Interrupted, RexmitError, StoreError, StudyError, UsageError
from rexmit.run import Results, open_results
from rexmit.study import list_studies

if TYPE_CHECKING:
    from rexmit.plot.connections import Connection

__version__ = _version()

__all__ = [
    "Connection",
    "Interrupted",
    "Results",
    "RexmitError",
    "StoreError",
    "Study",
    "StudyError",
    "UsageError",
    "analyse",
    "list_studies",
    "open_results",
    "profile",
    "profiles",
    "read_capture",
    "run_one",
    "schema",
]


def __getattr__(name: str) -> Any:
    """Loads what drawing brings along only when asked for."""
    if name == "Connection":
        from rexmit.plot.connections import Connection

        return Connection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
