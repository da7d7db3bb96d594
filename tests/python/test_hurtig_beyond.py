"""The pages on what hurtig-2006 proposes come out again: SCTP, the send buffer, the duplicate threshold."""

from __future__ import annotations

from pathlib import Path

from rexmit.analyse.study_code import study_module

PAGES = Path(__file__).parents[2] / "docs" / "studies"
BEYOND = study_module("hurtig-2006", "beyond")


def _shown(page: str, name: str) -> str:
    text = (PAGES / page).read_text()
    return text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def test_sctp_of_the_model() -> None:
    """usrsctp's line is left out: not every machine has it."""
    names = [name for name, (_, backend) in BEYOND.SCTP.items() if backend == "model"]
    lines = BEYOND.sctp_table({name: BEYOND.sctp_runs(name) for name in names}).splitlines()
    assert lines == _shown("hurtig-sctp.md", "sctp").splitlines()[: len(lines)]


def test_the_send_buffer() -> None:
    runs = {size: BEYOND.buffer_runs(size) for size in BEYOND.BUFFERS}
    assert BEYOND.buffer_table(runs) == _shown("hurtig-send-buffer.md", "buffers")


def test_the_threshold() -> None:
    runs = {threshold: BEYOND.threshold_runs(threshold) for threshold in BEYOND.THRESHOLDS}
    assert BEYOND.threshold_table(runs) == _shown("hurtig-threshold.md", "thresholds")
