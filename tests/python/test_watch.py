"""What is to be seen of a study while it runs."""

from __future__ import annotations

import math
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import rexmit
from rexmit.run.progress import shown_progress, shown_study
from rexmit.run.watch import MOST_LEVELS, Watch

STUDY = """
title = "Three losses"
[scenario]
hosts.server.stack = "linux-6.1"
hosts.client.stack = "linux-6.1"
path.rate = "10 Mbit/s"
path.delay = "10 ms"
[[scenario.transfers]]
from = "server"
to = "client"
writes = "10 x 2500 bytes"
[vary]
"path.down.loss" = ["0 %", "2 %", "100 %"]
[design]
replications = 20
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "losses.toml"
    path.write_text(STUDY)
    return path


def test_lines_say_what_the_table_says(study: Path) -> None:
    spec = rexmit.Study.load(study).spec
    results = rexmit.Study(spec).run(progress=False)
    watch = Watch(spec.design)
    table = results.arrow()
    for start, stop in ((0, 7), (7, 33), (33, 60)):
        watch.take(table.slice(start, stop - start))
    none, some, every, whole = watch.lines()
    assert [line.label for line in (none, some, every, whole)] == ["0 %", "2 %", "100 %", "all"]
    frame = table.to_pandas()
    good = frame[frame["error"].isna() & frame["completed"]]
    for line in (none, some):
        rows = good[good["path.down.loss"] == line.label]
        assert line.runs - line.failed == len(rows)
        assert line.time_mean == pytest.approx(rows["time_ns"].mean() / 1e9)
        assert line.time_min == pytest.approx(rows["time_ns"].min() / 1e9)
        assert line.time_max == pytest.approx(rows["time_ns"].max() / 1e9)
        assert line.goodput == pytest.approx((8e9 * rows["bytes"] / rows["time_ns"]).mean())
        assert line.retransmits == pytest.approx(rows["retransmits"].mean())
        assert line.drops == pytest.approx((rows["drops_down"] + rows["drops_up"]).mean())
    assert (every.runs, every.failed) == (20, 20)
    assert math.isnan(every.time_mean)
    assert (whole.runs, whole.failed) == (60, 60 - len(good))
    assert whole.time_mean == pytest.approx(good["time_ns"].mean() / 1e9)
    assert watch.failed == whole.failed
    assert [failure.run for failure in watch.failures] == [55, 56, 57, 58, 59]
    assert str(watch.failures[-1]).startswith(
        "run 59 (path.down.loss = 100 %) failed: a connection was given up"
    )


def test_a_factor_with_many_levels_is_not_shown(study: Path) -> None:
    many = [f"{n} %" for n in range(MOST_LEVELS + 1)]
    spec = rexmit.Study.load(study).set("path.down.loss", many).set("vary.path.up.loss", ["0 %", "1 %"]).spec
    watch = Watch(spec.design)
    assert watch.factor is not None
    assert watch.factor.name == "path.up.loss"
    runs = spec.design.runs
    columns = {
        name: np.ones(runs, dtype=np.uint64) for name in ("time_ns", "bytes", "timeouts", "retransmits")
    }
    columns |= {"drops_down": columns["bytes"], "drops_up": np.arange(runs) // 20 % 2}
    table = pa.table({"run": np.arange(runs), "completed": np.ones(runs, dtype=bool), **columns})
    watch.take(table.append_column("error", pa.nulls(runs, pa.string())))
    assert [line.drops for line in watch.lines()] == [1.0, 2.0, 1.5]
    assert Watch(rexmit.Study.load(study).set("path.down.loss", many).spec.design).factor is None


def test_lines_where_there_is_no_terminal(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rexmit.Study.load(study).run()
    told = re.findall(r"^rexmit: run (\d+) \(path.down.loss = .*\) failed: ", capsys.readouterr().err, re.M)
    assert len(told) == 1, "once, since all failed alike"
    assert all(int(number) >= 20 for number in told)


def test_nothing_is_shown_where_nothing_is_wanted(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with shown_study(rexmit.Study.load(study).spec.design, False) as shown:
        assert shown.report is None
        assert shown.rows is None
    rexmit.Study.load(study).run(progress=False)
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_responses_and_failures(study: Path, tmp_path: Path) -> None:
    screen = on_terminal("run", str(study), "--out", str(tmp_path / "out"))
    assert re.search(r"path\.down\.loss\s+runs\s+mean time\s+min\s+max\s+goodput\s+timeouts", screen)
    assert re.search(r"\n\s*0 %\s+20\s+\d", screen)
    assert re.search(r"\n\s*all\s+60\s", screen)
    assert re.search(r"\n\d\d failed, the last:", screen)
    assert "run 59 (path.down.loss = 100 %) failed: a connection was given up" in screen


def on_terminal(*arguments: str) -> str:
    """What a command shows on a terminal of 120 columns, without the marks that move the cursor."""
    ours, its = pty.openpty()
    environment = os.environ | {"COLUMNS": "120", "LINES": "40", "TERM": "xterm"}
    code = "import sys; from rexmit.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=its, stderr=its, stdin=its, env=environment
    )
    os.close(its)
    text = b""
    while True:
        try:
            found = os.read(ours, 1 << 16)
        except OSError:
            break
        if not found:
            break
        text += found
    process.wait()
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text.decode())


def test_who_is_waited_for_is_told_before_the_wait(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere than on a terminal, where a line comes only when work goes on."""
    with shown_progress() as report:
        assert report is not None
        report("waiting for the build of process 7", 0, 1)
        assert capsys.readouterr().err == "rexmit: waiting for the build of process 7\n"
        report("compiling", 0, 10)
        assert capsys.readouterr().err == ""
