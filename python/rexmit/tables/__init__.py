"""The one description of each column of each table, and its values as Arrow.

The native code describes its tables where it makes them; what Python alone adds is described in `described`.
"""

from rexmit.tables.described import (
    CAPTURES,
    FACTORS,
    SEEDS,
    Column,
    analysis,
    detail,
    lateness,
    reserved,
    reserved_where_measured,
    responses,
    run_columns,
    single,
    single_kinds,
)

__all__ = [
    "CAPTURES",
    "FACTORS",
    "SEEDS",
    "Column",
    "analysis",
    "detail",
    "lateness",
    "reserved",
    "reserved_where_measured",
    "responses",
    "run_columns",
    "single",
    "single_kinds",
]
