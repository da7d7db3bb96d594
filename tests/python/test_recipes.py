"""The recipes of CONTRIBUTING.md, followed step by step: what they say suffices."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import rexmit
from click.testing import CliRunner, Result
from rexmit.analyse import study_code
from rexmit.cli import cli
from rexmit.study import find

STUDY = """
title = "How long a short transfer takes"
source = "nobody-1999, table 1"

[scenario]
hosts.server.stack = "./mine.toml"
hosts.client.stack = "rfc"
path.delay = "10 ms"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "10 x 1000 bytes"

[vary]
"path.rate" = ["1 Mbit/s", "10 Mbit/s"]
"""

PROFILE = """
# RFC 6928 allows ten segments.
inherits = "rfc"
initial_window = 1

[sources]
"initial_window" = "a system of before RFC 2414"
"""

PUBLISHED = """\
id,quantity,value,unit,kind,source,tolerance,tolerance_reason
P-1,time at 1 Mbit/s,590,ms,table,table 1,20,read from a figure
"""

COMPARE = '''
"""The published numbers of nobody-1999."""

from pathlib import Path

import polars as pl
from rexmit.analyse import Check, Comparison, load_published


def compare(results):
    """Checks every row."""
    (row,) = load_published(Path(__file__).parent.parent / "published.csv")
    runs = results[0].table().filter(pl.col("path.rate") == "1 Mbit/s")
    return Comparison("nobody-1999", [Check.of_number(row, runs["time_ns"].mean() / 1e6)])
'''

FIGURES = '''
"""The figures of nobody-1999."""

from matplotlib.figure import Figure
from rexmit.plot import style


def draw(results, out, formats):
    """Draws time against rate."""
    with style.styled(style.LIGHT):
        sheet = Figure()
        runs = results.table()
        sheet.subplots().plot(runs["path.rate_bit_s"], runs["time_ns"])
        return style.save(sheet, out / "figure-1", formats)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of studies with one more."""
    study = tmp_path / "studies" / "nobody-1999"
    package = study / "nobody_1999"
    package.mkdir(parents=True)
    (study / "short.toml").write_text(STUDY)
    (study / "mine.toml").write_text(PROFILE)
    (study / "published.csv").write_text(PUBLISHED)
    (package / "__init__.py").write_text(COMPARE)
    (package / "figures.py").write_text(FIGURES)
    for module in (find, study_code):
        monkeypatch.setattr(module, "PACKAGED", study.parent)
    yield study
    for name in [name for name in sys.modules if name.startswith("rexmit_study_nobody")]:
        del sys.modules[name]


def run(*words: object) -> Result:
    """A command, in this process: where the studies are is known here alone."""
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_add_a_study(folder: Path, tmp_path: Path) -> None:
    assert "nobody-1999/short" in run("studies").stdout
    out = tmp_path / "results"
    ran = run("run", "nobody-1999/short", "--out", out)
    assert ran.exit_code == 0, ran.output
    compared = run("compare", out)
    assert (compared.exit_code, "within" in compared.stdout) == (0, True), compared.output
    assert run("plot", out, "--format", "svg").exit_code == 0
    assert (out / "figures" / "figure-1.svg").is_file()


def test_add_a_profile(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(PROFILE)
    study = (
        rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).set("path.delay", ["300 ms"])
    )
    times = [
        study.set("hosts.server.stack", stack).run(progress=False).table()["time_ns"][0]
        for stack in (str(tmp_path / "mine.toml"), "rfc")
    ]
    assert times[0] > times[1], "a smaller initial window takes longer"
