"""The pages of published studies: each is made by its own package, by marks and templates that are there."""

import inspect
import re
from pathlib import Path

import pytest
import rexmit
from rexmit.analyse.study_code import study_module

from .conftest import load

study_page = load("study_page.py")
STUDIES = Path(study_page.ROOT) / "studies"


def test_studies_with_a_page_are_found_by_its_module() -> None:
    found = study_page.studies_with_pages()
    published = ["deboer-2005", "hurtig-2006", "klaver-2005", "merritt-2010", "pedersen-2006"]
    assert found == ["appenzeller-2004", "asymmetric-today", *published, "which-losses-wait", "who-shares"]


@pytest.mark.parametrize("study", study_page.studies_with_pages())
def test_a_page_is_made_with_one_argument(study: str) -> None:
    make = study_module(study, "page").make
    assert list(inspect.signature(make).parameters) == ["page"]


@pytest.mark.parametrize("study", study_page.studies_with_pages())
def test_what_a_page_fills_has_its_template_and_its_page(study: str) -> None:
    source = inspect.getsource(study_module(study, "page"))
    templates = {path.name.removesuffix(".md.in") for path in (STUDIES / study).glob("*.md.in")}
    named = dict(re.findall(r'^([A-Z]+) = "([^"]+)"$', source, re.MULTILINE))
    filled = {
        quoted or named[word]
        for quoted, word in re.findall(r'page\.fill(?:ed)?\((?:"([^"]+)"|(\w+))', source)
    }
    assert filled == templates
    # What is a part of another page has no page of its own.
    templates -= set(re.findall(r'page\.filled\("([^"]+)"', source))
    for name in templates:
        assert (study_page.DOCS / "studies" / f"{name}.md").is_file()


def test_a_table_goes_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("above\n<!-- a -->\nold\n<!-- /a -->\n<!-- b -->\nkept\n<!-- /b -->\nbelow\n")
    page = study_page.Page("hurtig-2006", tmp_path)
    page.readme = readme
    page.put({"a": "| new \\1 |\n"})
    assert readme.read_text() == (
        "above\n<!-- a -->\n| new \\1 |\n<!-- /a -->\n<!-- b -->\nkept\n<!-- /b -->\nbelow\n"
    )
    with pytest.raises(SystemExit, match="has no marks for c"):
        page.put({"c": ""})


def test_a_part_is_run_once_and_then_gone_on_with(tmp_path: Path) -> None:
    page = study_page.Page("hurtig-2006", tmp_path)
    small = rexmit.Study.load("hurtig-2006/short").set("path.rate", "320 kbit/s").set("path.delay", "300 ms")
    first = page.run("short", study=small)
    assert len(first) == 63
    assert page.run("short", study=small).table().equals(first.table())
