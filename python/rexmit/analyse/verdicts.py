"""What came out for each row of a study, stored beside its rows: the source of the counts on pages.

`verdicts.csv` is written with the study's page (`scripts/study_page.py`), and `make studies` holds it against
a fresh run.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rexmit.analyse.compare import (
    MEASURED,
    NOT_COVERED,
    RECORDED,
    TOO_WIDE,
    WITHIN,
    Comparison,
    load_published,
)
from rexmit.errors import StudyError
from rexmit.files import write_text
from rexmit.inputs import PUBLISHED, read_text

VERDICTS = "verdicts.csv"
_KNOWN = (WITHIN, TOO_WIDE, RECORDED, NOT_COVERED)
_HEAD = ["id", "verdict"]


def verdicts_of(comparison: Comparison) -> dict[str, str]:
    """The verdict of each measured row by its tag."""
    return {one.published.id: one.verdict for one in comparison.checks if one.published.role == MEASURED}


def write_verdicts(folder: Path, comparison: Comparison) -> None:
    """Writes `verdicts.csv` into a study's folder."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerows([_HEAD, *verdicts_of(comparison).items()])
    write_text(folder / VERDICTS, text.getvalue())


def read_verdicts(folder: Path) -> dict[str, str]:
    """What is stored in `verdicts.csv` of a study's folder, by tag.

    Raises StudyError where its tags are not those of the measured rows of `published.csv`, and where a row
    with a recorded difference is within, or one without differs.
    """
    path = folder / VERDICTS
    lines = list(csv.reader(io.StringIO(read_text(path, PUBLISHED), newline="")))
    if not lines or lines[0] != _HEAD or any(len(line) != len(_HEAD) for line in lines):
        raise StudyError(f"{path}: lacks the columns {', '.join(_HEAD)}; run scripts/study_page.py")
    found = dict(lines[1:])
    rows = {row.id: row for row in load_published(folder / "published.csv") if row.role == MEASURED}
    for tag in sorted(rows.keys() ^ found.keys()):
        raise StudyError(f"{path}: {tag} is not in both it and published.csv; run scripts/study_page.py")
    for tag, verdict in found.items():
        may = (RECORDED, NOT_COVERED) if rows[tag].deviation else (WITHIN, TOO_WIDE, NOT_COVERED)
        if verdict not in may:
            raise StudyError(f"{path}: {tag}: {verdict!r} is none of {', '.join(may)}, which its row can be")
    return found


def count_verdicts(verdicts: Mapping[str, str]) -> Sequence[int]:
    """How many rows are within, too wide, as recorded, and not covered."""
    found = Counter(verdicts.values())
    return [found[verdict] for verdict in _KNOWN]
