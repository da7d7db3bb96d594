"""Studies: a scenario, what varies, and the design. Reads files; runs nothing."""

from rexmit.study.design import Design, Point, RunSequence
from rexmit.study.draw import SCENARIO_FAMILIES, draw_scenario
from rexmit.study.draw.wide import WIDE_GROUPS
from rexmit.study.factors import Factor
from rexmit.study.find import StudyEntry, find_study, list_studies
from rexmit.study.schema import study_schema
from rexmit.study.spec import StudySpec, load_spec

__all__ = [
    "SCENARIO_FAMILIES",
    "WIDE_GROUPS",
    "Design",
    "Factor",
    "Point",
    "RunSequence",
    "StudyEntry",
    "StudySpec",
    "draw_scenario",
    "find_study",
    "list_studies",
    "load_spec",
    "study_schema",
]
