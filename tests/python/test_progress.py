"""The lines of progress that stand in a log."""

from __future__ import annotations

import time

import pytest
from rexmit.run.progress import shown_progress


@pytest.mark.parametrize(
    ("done", "pace"),
    [(2, "20.0 s each, 160 s left"), (8, "5.00 s each, 10 s left"), (60, "1.5/s"), (20_000, "500/s")],
)
def test_slow_work_is_timed_by_the_piece(
    done: int, pace: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 40.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    total = max(done, 10)
    with shown_progress() as report:
        assert report is not None
        report("runs", 0, total)
        report("runs", done, total)
    assert capsys.readouterr().err.splitlines() == [f"rexmit: runs: {done} of {total}, {pace}"]
