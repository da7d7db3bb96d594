"""The table of the published studies: what their texts state, and what the comparisons catch."""

from __future__ import annotations

from pathlib import Path

from rexmit.analyse.power import POWER, STUDIES, read_power
from rexmit.analyse.statements import STATEMENTS, load_statements
from rexmit.analyse.verdicts import count_verdicts, read_verdicts
from study_page import between_marks

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "studies" / "index.md"
_HEAD = (
    *("study", "numbers in its text", "with a row", "with a reason why not", "rows from runs", "within"),
    *("too wide", "recorded", "of these open", "not covered", "wrong systems caught", "by rows within"),
    *("weak rows", "rows not tried"),
)


def page_of_studies() -> str:
    """The page of the studies with the table between its marks."""
    return between_marks(PAGE.read_text(), "evidence", evidence_table(ROOT / "studies"), PAGE)


def evidence_table(folder: Path) -> str:
    """A line for each study whose text has been listed, as a Markdown table."""
    rows = [_HEAD, ["---"] + ["---:"] * (len(_HEAD) - 1)]
    rows += [_line(folder / name) for name in STUDIES if (folder / name / STATEMENTS).is_file()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _line(study: Path) -> list[str]:
    coverage = load_statements(study)
    within, wide, recorded, missing = count_verdicts(read_verdicts(study))
    counts = [coverage.stated, coverage.held, coverage.stated - coverage.held, len(coverage.measured)]
    counts += [within, wide, recorded, len(coverage.unexplained), missing]
    cells = [f"[{study.name}]({study.name}.md)", *(f"{count:,}" for count in counts)]
    if not (study / POWER).is_file():
        return [*cells, "not measured", "", "", ""]
    power = read_power(study.name, study)
    caught = [f"{power.caught} of {len(power.systems)}", f"{power.caught_within}"]
    return [*cells, *caught, f"{len(power.weak)} of {len(power.rows)}", f"{len(power.left_out)}"]
