"""A report: one page, a PDF, Markdown; what they say of a study, and of one that is not whole."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit import Results, Study, open_results
from rexmit.errors import UsageError
from rexmit.report import document, write_report
from rexmit.report.document import document_of
from rexmit.report.explorer import explorer_of, factor_record
from rexmit.report.formats import write_documents
from rexmit.report.markdown import escape
from rexmit.study.factors import parse_factor

from .conftest import Command

UNITS = {"", "ns", "ms", "s", "bit/s", "bytes", "packets", "share"}
VOID = {"meta", "br", "link", "img", "path", "use", "rect"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "out"
    small().run(out, progress=False)
    return out


def small(**more: Any) -> Study:
    table: dict[str, Any] = {
        "title": "A <small> study & more",
        "question": "What | does a loss cost?",
        "scenario": {
            "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
            "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
            "transfers": [{"from": "server", "to": "client", "writes": "8 x 2500 bytes"}],
        },
        "vary": {"path.delay": ["5 ms", "20 ms"], "path.down.drop": {"position": "0..3"}},
        "design": {"replications": 2, "seed": 7},
    }
    return Study.from_dict(table | more)


class Page(HTMLParser):
    """The elements of a page that are not closed, its ids, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []  # type: ignore[list-item]
        self.links += [found["href"]] if tag == "a" and found.get("href") else []  # type: ignore[list-item]
        self.sources += [found["src"]] if found.get("src") else []  # type: ignore[list-item]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def page_text(results: Results, tmp_path: Path) -> str:
    write_report(results, tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def unpack(block: str) -> dict[str, Any]:
    data = gzip.decompress(base64.b64decode(block))
    assert data[:4] == b"RXB1"
    found: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[4:8], "little")])
    return found


def test_the_page_is_whole_html_that_needs_nothing_else(folder: Path, tmp_path: Path) -> None:
    text = page_text(open_results(folder), tmp_path)
    page = Page(text)
    assert page.open == []
    assert page.sources == []
    own = {link[1:] for link in page.links if link.startswith("#")}
    assert own == {link[1:] for link in page.links}, "no link leads out of the page"
    assert own <= set(page.ids)
    assert "A &lt;small&gt; study &amp; more" in text
    assert "<small> study" not in text


def test_the_same_folder_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        write_report(open_results(folder), tmp_path / "a.html")
        write_documents(open_results(folder), [tmp_path / "a.pdf"])
        made.append([(tmp_path / f"a.{kind}").read_bytes() for kind in ("html", "pdf")])
    assert made[0] == made[1]


def test_the_explorer_is_told_what_there_is(folder: Path) -> None:
    explorer = explorer_of(open_results(folder))
    assert explorer is not None
    assert explorer.first == {"response": "time_ns", "x": "path.down.drop", "colour": "path.delay"}
    delay, drop = explorer.factors
    assert (delay["values"], delay["unit"], delay["position"]) == ([5_000_000, 20_000_000], "ns", False)
    assert (drop["labels"], drop["position"]) == (["0", "1", "2", "3"], True)
    (runs,) = explorer.tables
    names = [response["name"] for response in runs["responses"]]
    assert names[:2] == ["time_ns", "goodput_bit_s"]
    assert "error" not in names, "a column without a value"
    assert names.index("bytes") > names.index("timeouts"), "what does not vary comes last"
    assert {response["unit"] for response in runs["responses"]} <= UNITS
    columns = unpack(explorer.blocks["runs"])["tables"]["runs"]
    assert {*names, "run", "replication", "level:path.delay", "level:path.down.drop"} == set(columns)
    assert {layout["count"] for layout in columns.values()} == {16}


@pytest.mark.parametrize(
    ("levels", "values", "unit"),
    [
        (["1 Mbit/s", "2 Mbit/s"], [1e6, 2e6], "bit/s"),
        (["5 packets", "50 packets"], [5, 50], "packets"),
        (["1 %", "2.5 %"], [0.01, 0.025], "share"),
        (["64 KiB", "1 kB"], [65536, 1000], "bytes"),
        ([1, 2.5], [1, 2.5], ""),
        (["reno", "cubic"], None, ""),
    ],
)
def test_levels_have_their_size(levels: list[Any], values: list[float] | None, unit: str) -> None:
    record = factor_record(parse_factor("x", levels), "words")
    assert (record["values"], record["unit"]) == (values, unit)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A published study, whole."""
    return Study.load("hurtig-2006/short").run(tmp_path_factory.mktemp("short") / "short", progress=False)


@pytest.mark.long
def test_the_whole_of_a_published_study_fits(published: Results, tmp_path: Path) -> None:
    text = page_text(published, tmp_path)
    assert len(text.encode()) < 10_000_000
    assert "55 within, 13 differs as recorded" in text
    assert "freebsd-6.0 (FreeBSD 6.0-BETA3" in text
    assert Page(text).open == []


def test_without_provenance_the_page_says_so(tmp_path: Path) -> None:
    small().run(tmp_path / "out", progress=False)
    (tmp_path / "out" / "provenance.json").unlink()
    text = page_text(open_results(tmp_path / "out"), tmp_path)
    assert "What ran the study is not known" in text
    assert "<svg" in text


def test_results_in_memory_and_a_study_that_varies_nothing(tmp_path: Path) -> None:
    text = page_text(small(vary={}).run(progress=False), tmp_path)
    assert 'id="time-sequence-run-0"' in text
    assert "Nothing varies" in text


def test_figures_that_fail_are_a_notice(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> list[Path]:
        raise KeyError("a column")

    monkeypatch.setattr("rexmit.report.document.draw_figures", broken)
    text = page_text(open_results(folder), tmp_path)
    assert "figures could not be drawn from these results (KeyError" in text
    assert "Testbed" in text


def test_markdown_has_its_figures_beside_it(folder: Path, tmp_path: Path) -> None:
    write_documents(open_results(folder), [tmp_path / "a report.md"])
    text = (tmp_path / "a report.md").read_text()
    assert text.startswith("# A \\<small\\> study & more\n\n*What \\| does a loss cost?*\n")
    linked = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert linked
    for link in linked:
        assert (tmp_path / link.replace("%20", " ")).read_text().startswith("<svg")
    rows = [line for line in text.splitlines() if line.startswith("| `path.")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [4, 4]


def test_a_text_cannot_break_out_of_its_cell() -> None:
    assert escape("a | b\nc * d") == "a \\| b c \\* d"


def test_a_pdf_without_typst_is_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(UsageError, match=r"typst, which is not installed; pip install 'rexmit\[pdf\]'"):
        write_documents(open_results(folder), [tmp_path / "a.pdf"])
    assert list(tmp_path.iterdir()) == []


def test_formats_from_the_command_line(rexmit: Command, folder: Path, tmp_path: Path) -> None:
    both = ("--format", "pdf", "--format", "md")
    done = rexmit("report", folder, "--out", "mine.html", *both)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["mine.pdf", "mine.md"]
    assert (tmp_path / "mine.pdf").read_bytes().startswith(b"%PDF")
    wrong = rexmit("report", folder, "--out", "mine.md", "--format", "pdf")
    assert wrong.returncode == 2
    assert "ends in .md, --format says pdf; make them agree" in wrong.stderr


def test_a_notebook_shows_results(folder: Path) -> None:
    shown = open_results(folder)._repr_html_()
    assert Page(shown).open == []
    assert "A &lt;small&gt; study &amp; more" in shown
    assert "16 runs, seed 7" in shown
    assert "<script" not in shown
    assert shown.count("<tr>") == 3 + 5, "two factors, and means over four positions, with their heads"


def test_a_notebook_shows_a_study_before_it_is_run() -> None:
    shown = small()._repr_html_()
    assert Page(shown).open == []
    assert "A &lt;small&gt; study &amp; more" in shown
    assert "What | does a loss cost?" in shown
    assert "16 runs (2 replications each), seed 7" in shown
    assert shown.count("<tr>") == 3, "two factors under a head"
    alone = small(vary={}, design={})._repr_html_()
    assert "1 run, seed 1" in alone
    assert "nothing varies" in alone


def test_a_notebook_shows_captures(tmp_path: Path) -> None:
    results = small().run(progress=False)
    run = results.run_number(path__delay="5 ms", path__down__drop=2)
    results.capture(run, server=tmp_path / "<a>.pcapng")
    found = rexmit.analyze(tmp_path / "<a>.pcapng")
    shown = found._repr_html_()
    assert Page(shown).open == []
    assert "&lt;a&gt;.pcapng" in shown
    assert "1 TCP connection, 0 SCTP associations" in shown
    again = results.table()["retransmits"][run]
    (cause,) = found.retransmissions["cause"].to_list()
    assert f">{again}: {again} {cause}</td>" in shown
    friendly = rexmit.tcp_friendly(found)._repr_html_()
    assert Page(friendly).open == []
    assert "No direction has 100 segments" in friendly


def test_notes_can_be_left_out(published: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "_pictures", lambda *_: ([], ""))  # nobody looks at them here
    assert any("tolerance:" in " ".join(row.notes) for row in document_of(published).checks)
    assert not any("tolerance:" in " ".join(row.notes) for row in document_of(published, notes=False).checks)
