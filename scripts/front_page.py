"""A hook of MkDocs for the front page: the live demo, and the report of a study to be used in the page.

Both are made here, once for each state of what they are made of, into `.cache`, and go into the site as
files. Where one cannot be made the page keeps the picture that stands in it, with a line that says so.
"""

from __future__ import annotations

import html
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cross
import live_demo
import setup

ROOT = Path(__file__).resolve().parent.parent
EXPLORER = ROOT / ".cache" / "front" / "explorer.html"
PAGE = "index.md"
# A part of the study: one of ten rates, five of eleven delays, every lost packet.
LEVELS = [
    'path.rate="320 kbit/s"',
    'path.delay=["20 ms", "40 ms", "100 ms", "200 ms", "300 ms"]',
]
_FRAME = re.compile(r"<iframe\b.*?</iframe>", re.DOTALL)
_AROUND = re.compile(
    r'<section id="(?!explorer")[^"]*".*?</section>\s*|<nav class="contents".*?</nav>\s*', re.DOTALL
)
_PICTURE = re.compile(r'<p><a class="live-report-picture".*?</p>', re.DOTALL)
log = logging.getLogger("mkdocs.hooks.front_page")

# What this build has: the reason why there is no demo, or no report; empty where there is one.
_missing: dict[str, str] = {}


def on_pre_build(**_: object) -> None:
    """Called by MkDocs before a build."""
    _missing.clear()
    for name, make in (("demo", live_demo.build), ("explorer", explorer)):
        try:
            make()
        except cross.MissingError as error:
            _missing[name] = str(error)
        except (subprocess.CalledProcessError, OSError) as error:
            _missing[name] = f"it could not be built ({error})"
        if name in _missing:
            log.info("front page without its %s: %s", name, _missing[name])


def on_files(files: Files, config: Any, **_: object) -> Files:
    """Called by MkDocs with the files of the site."""
    made = [] if "demo" in _missing else [live_demo.FOLDER / name for name in live_demo.FILES]
    made += [] if "explorer" in _missing else [EXPLORER]
    for path in made:
        files.append(File.generated(config, f"live/{path.name}", abs_src_path=str(path)))
    return files


def on_page_content(text: str, page: Any, **_: object) -> str:
    """Called by MkDocs with the body of each page."""
    if page.file.src_uri != PAGE:
        return text
    if "demo" in _missing:
        text = text.replace('id="rexmit-demo"', 'id="rexmit-demo-picture"') + _told("demo", "live demo")
    else:
        text += '<link rel="stylesheet" href="live/demo.css"><script src="live/demo.js" defer></script>'
    if "explorer" in _missing:
        return _FRAME.sub("", text) + _told("explorer", "explorer")
    return _PICTURE.sub("", text)


def explorer() -> None:
    """Run a part of hurtig-2006 and write its report; nothing where it is current."""
    package = ROOT / "python" / "rexmit"
    inputs = setup.digest(
        [
            *package.glob("_native*.so"),
            *(package / "plot" / "web").glob("*"),
            *(package / "report").glob("*"),
            ROOT / "studies" / "hurtig-2006" / "short.toml",
        ],
        repr(LEVELS) + _AROUND.pattern,
    )
    stamp = EXPLORER.with_suffix(".stamp")
    if EXPLORER.exists() and stamp.exists() and stamp.read_text() == inputs:
        return
    EXPLORER.parent.mkdir(parents=True, exist_ok=True)
    results = EXPLORER.parent / "results"
    shutil.rmtree(results, ignore_errors=True)
    rexmit = [sys.executable, "-m", "rexmit"]
    sets = [word for level in LEVELS for word in ("--set", level)]
    for command in (
        [*rexmit, "run", "hurtig-2006/short", *sets, "--out", str(results)],
        [
            *rexmit,
            "report",
            str(results),
            "--with-runs",
            "first",
            "--max-size",
            "3 MB",
            "--out",
            str(EXPLORER),
        ],
    ):
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    shutil.rmtree(results)
    # What a page of the documentation says elsewhere is left out: the explorer alone.
    EXPLORER.write_text(_AROUND.sub("", EXPLORER.read_text()))
    stamp.write_text(inputs)


def _told(name: str, title: str) -> str:
    why = html.escape(_missing[name])
    return f"<p><small>This build has a picture in place of the {title}: {why}.</small></p>"
