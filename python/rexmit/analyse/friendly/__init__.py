"""Whether the TCP-friendly formula may be applied to a flow, and what klaver-2005 measures of it.

`judge` takes an open analysis and gives, for each direction with enough data, its cycles, the window of whole
cycles in equilibrium, the measures over that window, and a verdict on each of the study's seven conditions.
"""

from rexmit.analyse.friendly.cycles import Cycles, find_cycles
from rexmit.analyse.friendly.direction import LEAST_SEGMENTS, TABLES, Direction, Tables, directions
from rexmit.analyse.friendly.finding import CONDITIONS, Applies, Condition, Finding, Verdict
from rexmit.analyse.friendly.growth import Growth
from rexmit.analyse.friendly.judge import Judged, judge, judge_direction
from rexmit.analyse.friendly.measures import CONFIDENCE, Estimate, Measured, measure
from rexmit.analyse.friendly.window import Window, choose_window

__all__ = [
    "CONDITIONS",
    "CONFIDENCE",
    "LEAST_SEGMENTS",
    "TABLES",
    "Applies",
    "Condition",
    "Cycles",
    "Direction",
    "Estimate",
    "Finding",
    "Growth",
    "Judged",
    "Measured",
    "Tables",
    "Verdict",
    "Window",
    "choose_window",
    "directions",
    "find_cycles",
    "judge",
    "judge_direction",
    "measure",
]
