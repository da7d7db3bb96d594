"""Every page that is written: what it may do is in its policy, and a text in it stays a text."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rexmit import Study
from rexmit.plot import policy
from rexmit.plot.page import page, write_page
from rexmit.plot.trace import Part
from rexmit.report.runs import RunsOptions
from rexmit.report.write import ReportOptions, write_report

HOSTILE = "<!--<script>alert(1)</script>\"'&\u2028--></title></style><img src=x onerror=alert(1)>"
FILE = "<!--<script>.pcapng"
DATA = ("application/json", "application/x-rexmit")


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.data: list[str] = []
        self.styles: list[str] = []
        self._into: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = dict(attributes)
        self.tags.append((tag, told))
        kinds = {"script": self.data if told.get("type") in DATA else self.scripts, "style": self.styles}
        self._into = kinds.get(tag)

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._into = None

    @property
    def policy(self) -> dict[str, list[str]]:
        found = [
            t for name, t in self.tags if name == "meta" and t.get("http-equiv") == "Content-Security-Policy"
        ]
        assert len(found) == 1
        rules = (rule.split() for rule in str(found[0]["content"]).split(";"))
        return {name: sources for name, *sources in rules}


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def check(text: str, *, beside: bool = False) -> Elements:
    """What holds of every page."""
    found = Elements(text)
    rules = found.policy
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    loads = ["'strict-dynamic'"] if beside else []
    assert rules["script-src"] == ([hashed(one) for one in found.scripts] or ["'none'"]) + loads
    assert sorted(rules["style-src-elem"]) == sorted(hashed(one) for one in found.styles)
    assert rules["img-src"] == ["data:", "blob:"]
    assert "connect-src" not in rules
    head = [name for name, _ in found.tags]
    assert head.index("meta") < head.index("style"), "the policy stands before what it rules"
    for name, told in found.tags:
        assert not [key for key in told if key.startswith("on")], f"{name} has a handler"
        assert "src" not in told
        assert name not in ("base", "form", "iframe", "object", "embed", "link")
    assert all("<" not in one for one in found.data)
    return found


def hostile_study(**more: Any) -> Study:
    table: dict[str, Any] = {
        "title": HOSTILE,
        "question": HOSTILE,
        "source": HOSTILE,
        "description": HOSTILE,
        "scenario": {
            "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
            "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
            "transfers": [{"from": "server", "to": "client", "writes": "8 x 2500 bytes"}],
        },
        "vary": {
            "path.down.drop": {"position": "18..22"},
            f"{HOSTILE}": {
                "together": {"path.rate": ["1 Mbit/s", "2 Mbit/s"], "path.delay": ["5 ms", "9 ms"]},
                "labels": [HOSTILE, f"{HOSTILE} 2"],
            },
        },
    }
    return Study.from_dict(table | more, HOSTILE)


@pytest.mark.parametrize("beside", [False, True])
def test_the_page_of_a_hostile_study_runs_its_own_script_alone(tmp_path: Path, beside: bool) -> None:
    results = hostile_study().run(progress=False)
    options = ReportOptions(runs=RunsOptions(wanted="first"), beside=beside)
    write_report(results, tmp_path / "page.html", [HOSTILE], options)
    text = (tmp_path / "page.html").read_text()
    found = check(text, beside=beside)
    assert len(found.scripts) == 1
    told = json.loads(next(one for one in found.data if one.startswith("{")))
    assert told["title"] == HOSTILE
    if beside:
        loaded = [place["file"] for place in told["runs"]["embedded"].values()]
        assert loaded
        for file in loaded:
            script = (tmp_path / file).read_text()
            assert script.startswith('rexmitBlock("run-')
            assert "<" not in script


def test_the_page_of_a_study_without_an_explorer_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rexmit.report.write.has_script", lambda: False)
    write_report(hostile_study().run(progress=False), tmp_path / "page.html")
    found = check((tmp_path / "page.html").read_text())
    assert found.scripts == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_of_a_capture_with_a_hostile_name(lost_segment: Path, tmp_path: Path, dark: bool) -> None:
    capture = Path(shutil.copy(lost_segment, tmp_path / FILE))
    text = write_page(capture, tmp_path / "page.html", Part(), dark=dark).read_text()
    found = check(text)
    assert len(found.scripts) == 1
    assert json.loads(found.data[0])["title"] == FILE
    check(page("", HOSTILE))


def test_pages_of_an_analysis_are_those_of_captures(lost_segment: Path, tmp_path: Path) -> None:
    from rexmit.cli import main

    capture = Path(shutil.copy(lost_segment, tmp_path / FILE))
    with pytest.raises(SystemExit):
        main(["analyze", str(capture), "--graphs", str(tmp_path / "out")])
    pages = list((tmp_path / "out").rglob("*.html"))
    assert pages
    for one in pages:
        check(one.read_text())


def test_no_text_ends_the_element_that_it_stands_in() -> None:
    assert "<" not in policy.as_json({HOSTILE: [HOSTILE]})
    assert json.loads(policy.as_json({HOSTILE: [HOSTILE]})) == {HOSTILE: [HOSTILE]}
    assert "</script" not in policy.script("a</script>b<!--c")
    assert "<!--" not in policy.script("a</script>b<!--c")
    assert "</" not in policy.style("a</style>b")


def test_a_drawing_brings_no_style_of_its_own(tmp_path: Path) -> None:
    """The style that matplotlib writes is the page's; were it another one, the policy would refuse it."""
    results = hostile_study().run(progress=False)
    write_report(results, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert policy.DRAWING_STYLE not in text
    assert len(Elements(text).styles) == 2
