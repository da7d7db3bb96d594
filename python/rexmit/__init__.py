"""rexmit: a deterministic laboratory for transport protocols.

```python
import rexmit

results = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).run()
results.table()  # a Polars table, one row per run

rexmit.analyze("server.pcapng").retransmissions  # a Polars table, one row per retransmission and its cause
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rexmit._native import version as _version

if TYPE_CHECKING:
    from rexmit import analyse, models, plot, stack
    from rexmit.api import (
        Study,
        analyze,
        analyze_pair,
        profile,
        profiles,
        read_capture,
        run_one,
        schema,
        tcp_friendly,
        tcp_friendly_runs,
        write_report,
    )
    from rexmit.diff import Changes, diff_results
    from rexmit.errors import Interrupted, ModelError, RexmitError, StoreError, StudyError, UsageError
    from rexmit.plot.connections import Connection
    from rexmit.report.analysis import Analysis, PairAnalysis
    from rexmit.report.friendly import TcpFriendly
    from rexmit.run import Results, merge_results, open_results
    from rexmit.study import SCENARIO_FAMILIES, WIDE_GROUPS, draw_scenario, list_studies, study_schema

__version__ = _version()

__all__ = [
    "SCENARIO_FAMILIES",
    "WIDE_GROUPS",
    "Analysis",
    "Changes",
    "Connection",
    "Interrupted",
    "ModelError",
    "PairAnalysis",
    "Results",
    "RexmitError",
    "StoreError",
    "Study",
    "StudyError",
    "TcpFriendly",
    "UsageError",
    "analyse",
    "analyze",
    "analyze_pair",
    "diff_results",
    "draw_scenario",
    "list_studies",
    "merge_results",
    "models",
    "open_results",
    "plot",
    "profile",
    "profiles",
    "read_capture",
    "run_one",
    "schema",
    "stack",
    "study_schema",
    "tcp_friendly",
    "tcp_friendly_runs",
    "write_report",
]

_HOMES = {
    "Analysis": "rexmit.report.analysis",
    "Changes": "rexmit.diff",
    "Connection": "rexmit.plot.connections",
    "PairAnalysis": "rexmit.report.analysis",
    "Results": "rexmit.run",
    "TcpFriendly": "rexmit.report.friendly",
    **dict.fromkeys(("SCENARIO_FAMILIES", "WIDE_GROUPS", "draw_scenario", "list_studies"), "rexmit.study"),
    "diff_results": "rexmit.diff",
    "merge_results": "rexmit.run",
    "open_results": "rexmit.run",
    "study_schema": "rexmit.study",
    **dict.fromkeys(
        ("Interrupted", "ModelError", "RexmitError", "StoreError", "StudyError", "UsageError"),
        "rexmit.errors",
    ),
    **dict.fromkeys(
        (
            *("Study", "analyze", "analyze_pair", "profile", "profiles", "read_capture", "run_one", "schema"),
            *("tcp_friendly", "tcp_friendly_runs", "write_report"),
        ),
        "rexmit.api",
    ),
}
"""Where each name comes from. Tables and drawing take long to load, so a name is loaded when it is used."""


def __getattr__(name: str) -> Any:
    if name in ("analyse", "models", "plot", "stack"):
        return import_module(f"rexmit.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
