"""A published study from nothing to its page of the documentation: `study_page.py STUDY`.

Runs what is not there yet, draws, and writes the parts of the study's README or page that come from results:
its tables between their marks, its figures in docs/img. The study says which those are: `make` in `page.py`
of its own package. Results stay in results/STUDY and are resumed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import rexmit
from rexmit.analyse import Comparison
from rexmit.analyse.study_code import comparison_of, has_module, study_module
from rexmit.analyse.verdicts import write_verdicts
from rexmit.report import draw_figures

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def main() -> int:
    """Make the page of one study; stops at the first failure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("study", choices=studies_with_pages(), help="the study")
    options.add_argument("--results", type=Path, help="where the results are kept; default: results/STUDY")
    options.add_argument(
        "--linux",
        action="store_true",
        help="also the parts on Linux 6.1 of a study on the model (--backend uml)",
    )
    options.add_argument(
        "--whole",
        action="store_true",
        help="with --linux: also what takes long, on each kernel that the study names",
    )
    given = options.parse_args()
    started = time.monotonic()
    results = given.results or ROOT / "results" / given.study
    page = Page(given.study, results, given.linux, given.whole)
    study_module(given.study, "page").make(page)
    print(f"{given.study}: written, {time.monotonic() - started:.0f} s")
    return 0


def studies_with_pages() -> list[str]:
    """The studies whose own package says how their page is made."""
    return sorted(path.name for path in (ROOT / "studies").iterdir() if has_module(path.name, "page"))


class Page:
    """What a study makes its page with: runs, figures, tables in marks, a filled template."""

    def __init__(self, study: str, results: Path, linux: bool = False, whole: bool = False) -> None:
        self.study = study
        self.results = results
        self.linux = linux
        """Whether the parts on Linux 6.1 are asked for as well."""
        self.whole = linux and whole
        """Whether what takes long on Linux is asked for too; a page keeps what it has of it otherwise."""
        self.readme = ROOT / "studies" / study / "README.md"
        self.images = DOCS / "img"
        """Where figures of the documentation lie."""

    def run(
        self,
        part: str,
        backend: str = "model",
        *,
        study: rexmit.Study | None = None,
        capture: str = "none",
        kernel: str | None = None,
    ) -> rexmit.Results:
        """The results of a part, run or resumed; `study` stands in for the study's file of that name.

        With `kernel`, a guest's kernel other than the default, they lie in a folder named after it as well.
        """
        name, started = part if kernel is None else f"{part}-{kernel}", time.monotonic()
        folder = self.results / name
        study = study or rexmit.Study.load(f"{self.study}/{part}")
        found = study.run(folder, backend=backend, resume=folder.exists(), capture=capture, kernel=kernel)
        print(f"{name}: {len(found)} runs, {time.monotonic() - started:.1f} s")
        return found

    def compare(self, results: Sequence[rexmit.Results]) -> Comparison:
        """The published numbers beside those of these results; what came out goes into `verdicts.csv`."""
        comparison = comparison_of(results[0])(results)
        write_verdicts(self.readme.parent, comparison)
        return comparison

    def draw(self, part: str, results: rexmit.Results, shown: Callable[[str], str | None]) -> None:
        """Draws the figures of a part and copies those that the page shows.

        `shown` says the name that a figure has in the documentation, or None where no page shows it.
        """
        for file in draw_figures(results, self.results / part / "figures"):
            name = shown(file.stem)
            if name is not None:
                self.keep([file], name)

    def keep(self, files: Sequence[Path], name: str) -> None:
        """Copies a figure, if it was drawn as PNG, to the documentation under this name."""
        for file in files:
            if file.suffix == ".png":
                shutil.copyfile(file, self.images / f"{name}.png")

    def put(self, tables: Mapping[str, str], page: str | None = None) -> None:
        """Puts each table between the marks of its name in the study's README, or in a page on studies."""
        where = self.readme if page is None else DOCS / "studies" / f"{page}.md"
        text = where.read_text()
        for name, table in tables.items():
            text = between_marks(text, name, table, where)
        where.write_text(text)

    def fill(self, name: str, facts: Mapping[str, str]) -> None:
        """Writes a page of the documentation from its template in the study's folder."""
        (DOCS / "studies" / f"{name}.md").write_text(self.filled(name, facts))

    def filled(self, name: str, facts: Mapping[str, str]) -> str:
        """A template of the study's folder with its facts in it."""
        return self.readme.with_name(f"{name}.md.in").read_text().format_map(facts)

    def kept(self, name: str, mark: str) -> str:
        """What a page of the documentation has between the marks of this name."""
        text = (DOCS / "studies" / f"{name}.md").read_text()
        begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
        return text.partition(begin)[2].partition(end)[0]


def between_marks(text: str, name: str, content: str, where: Path) -> str:
    """The text with the content between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if not all(mark in text for mark in (begin, end)):
        raise SystemExit(f"{where}: has no marks for {name}")
    return re.sub(f"{begin}.*?{end}", lambda _: begin + content + end, text, flags=re.DOTALL)


if __name__ == "__main__":
    sys.exit(main())
