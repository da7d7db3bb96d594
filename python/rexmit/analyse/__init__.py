"""What tables of runs and captures say: statistics, losses by position, published beside ours, causes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rexmit.analyse.both_ways import crossing, over_span, two_way, window_phase
    from rexmit.analyse.compare import (
        NOT_COVERED,
        OUTSIDE,
        RECORDED,
        UNREACHED,
        WITHIN,
        Check,
        Comparison,
        Published,
        Uncovered,
        check_all,
        load_published,
    )
    from rexmit.analyse.delays import retransmission_delays
    from rexmit.analyse.factorial import effects
    from rexmit.analyse.late import lateness
    from rexmit.analyse.means import averages
    from rexmit.analyse.positions import PositionCosts, position_costs, position_times
    from rexmit.analyse.reached import is_unreached
    from rexmit.analyse.stats import count_interval, prediction_interval, summarise, t_quantile

__all__ = [
    "NOT_COVERED",
    "OUTSIDE",
    "RECORDED",
    "UNREACHED",
    "WITHIN",
    "Check",
    "Comparison",
    "PositionCosts",
    "Published",
    "Uncovered",
    "averages",
    "check_all",
    "count_interval",
    "crossing",
    "effects",
    "is_unreached",
    "lateness",
    "load_published",
    "over_span",
    "position_costs",
    "position_times",
    "prediction_interval",
    "retransmission_delays",
    "summarise",
    "t_quantile",
    "two_way",
    "window_phase",
]

_HOMES = {
    **dict.fromkeys(("NOT_COVERED", "OUTSIDE", "RECORDED", "UNREACHED", "WITHIN"), "compare"),
    **dict.fromkeys(("Check", "Comparison"), "compare"),
    **dict.fromkeys(("Published", "Uncovered", "check_all", "load_published"), "compare"),
    **dict.fromkeys(("PositionCosts", "position_costs", "position_times"), "positions"),
    **dict.fromkeys(("count_interval", "prediction_interval", "summarise", "t_quantile"), "stats"),
    "averages": "means",
    "is_unreached": "reached",
    "effects": "factorial",
    "lateness": "late",
    "retransmission_delays": "delays",
    **dict.fromkeys(("crossing", "over_span", "two_way", "window_phase"), "both_ways"),
}
"""Where each name comes from: loaded when it is used, because tables take long to load."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
