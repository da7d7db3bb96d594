"""What a table of runs says: statistics over replications, losses by position, published beside ours."""

from rexmit.analyse.compare import (
    NOT_COVERED,
    OUTSIDE,
    RECORDED,
    WITHIN,
    Check,
    Comparison,
    Published,
    load_published,
)
from rexmit.analyse.positions import PositionCosts, position_costs, position_times
from rexmit.analyse.stats import summarise, t_quantile

__all__ = [
    "NOT_COVERED",
    "OUTSIDE",
    "RECORDED",
    "WITHIN",
    "Check",
    "Comparison",
    "PositionCosts",
    "Published",
    "load_published",
    "position_costs",
    "position_times",
    "summarise",
    "t_quantile",
]
