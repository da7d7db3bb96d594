"""The recipes of CONTRIBUTING.md, followed step by step: they suffice, and what they name is there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import rexmit
from click.testing import CliRunner, Result
from rexmit.analyse import study_code
from rexmit.cli import cli
from rexmit.errors import StudyError
from rexmit.study import find

ROOT = Path(__file__).parents[2]
SECTIONS = dict(
    re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
)
RECIPES = {title: text for title, text in SECTIONS.items() if title.startswith(("Add a ", "Add an "))}

# The test that follows each recipe, and what it makes by it.
FOLLOWED = {
    "Add a congestion control": (
        "crates/sim/tests/runs/own_congestion.rs",
        "every_profile_delivers_with_windows",
    ),
    "Add a recovery strategy": (
        "crates/sim/tests/runs/own_recovery.rs",
        "tahoe_begins_anew_where_newreno_goes_on",
    ),
    "Add a profile": ("tests/python/test_recipes.py", "test_add_a_profile"),
    "Add a study": ("tests/python/test_recipes.py", "test_add_a_study"),
    "Add a stack": ("crates/sim/tests/runs/toy.rs", "a_study_runs_with_it"),
    "Add an impairment": ("crates/path/tests/behaviour/served.rs", "streams_are_independent"),
    "Add a table column": ("tests/python/test_described.py", "test_each_column_is_in_the_file"),
}

STUDY = """
title = "How long a short transfer takes"
source = "nobody-1999, table 1"

[scenario]
hosts.server.stack = "./mine.toml"
hosts.client.stack = "rfc-2014"
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
inherits = "rfc-2014"
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
        for stack in (str(tmp_path / "mine.toml"), "rfc-2014")
    ]
    assert times[0] > times[1], "a smaller initial window takes longer"


def named_paths(recipe: str) -> set[str]:
    """What a recipe names in backticks that looks like a file or folder, a reader's own (NAME) left out."""
    words = set(re.findall(r"`([\w./-]+)`", SECTIONS[recipe]))
    paths = {word for word in words if "/" in word or word.endswith((".rs", ".py", ".toml", ".csv", ".md"))}
    return {path for path in paths if not re.search(r"\b(NAME|PART|PART\.toml)\b", path)}


def test_a_study_whose_code_cannot_be_loaded_is_told_of(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    assert run("run", "nobody-1999/short", "--out", out).exit_code == 0
    init = folder / "nobody_1999" / "__init__.py"
    for code, told in (("import nothing_here", "ModuleNotFoundError"), ("compare = (", "SyntaxError")):
        init.write_text(code)
        done = run("compare", out)
        assert isinstance(done.exception, StudyError), done.output
        assert str(done.exception).startswith(f"{init}: cannot be loaded: {told}")
        assert "\n" not in str(done.exception)
    init.unlink()
    done = run("compare", out)
    assert "nobody-1999: nobody_1999/__init__.py with `compare` is missing" in str(done.exception)


@pytest.mark.parametrize("recipe", sorted(SECTIONS))
def test_what_a_recipe_names_is_there(recipe: str) -> None:
    paths = named_paths(recipe)
    # A file without its folder stands in one of the folders that the recipe names.
    whole = [ROOT / path for path in paths if (ROOT / path).exists()]
    folders = {folder for path in whole for folder in (path, path.parent) if folder.is_dir()} - {ROOT}
    made = {"published.csv", "figures.py", "page.py", "__init__.py"} if recipe == "Add a study" else set()
    missing = {
        path
        for path in paths - made
        if not (ROOT / path).exists() and not any((folder / path).exists() for folder in folders)
    }
    assert not missing, f"{recipe} names what is not there"


def test_each_recipe_is_followed_by_a_test() -> None:
    assert set(RECIPES) == set(FOLLOWED)
    for recipe, (path, name) in FOLLOWED.items():
        assert re.search(rf"^ *(fn|def) {name}", (ROOT / path).read_text(), re.M), (recipe, path, name)
        shown = named_paths(recipe)
        assert path in shown or any(path.startswith(one) for one in shown if one.endswith("/")), (
            recipe,
            path,
        )
