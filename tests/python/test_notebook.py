"""The notebook of the documentation runs, prints what it shows, and its page fetches nothing."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "tutorials" / "first-look.ipynb"


@pytest.mark.filterwarnings("default")  # those of the kernel's own libraries
def test_the_notebook_gives_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    shown = nbformat.read(NOTEBOOK, as_version=4)
    again = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        again, timeout=60, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    assert outputs(again) == outputs(shown)
    assert any("timeout; certain" in text for cell in outputs(again) for text in cell)
    assert list(tmp_path.iterdir()) == [], "a notebook leaves nothing behind"


@pytest.mark.filterwarnings("default")
def test_its_page_fetches_nothing() -> None:
    from mkdocs_jupyter.convert import nb2html

    made = nb2html(str(NOTEBOOK), execute=False)
    assert fetched(made), "the converter loads nothing any more: the hook can go"
    spec = importlib.util.spec_from_file_location("notebook_page", ROOT / "scripts" / "notebook_page.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    kept = hook.without_loads(made)
    assert fetched(kept) == []
    assert "Which packet is dear to lose?" in kept
    assert "clipboard" in kept


def fetched(html: str) -> list[str]:
    """Addresses elsewhere in a page, but for names of XML's spaces, and elements with a source."""
    found = re.findall(r"""<(?:script|link|img|iframe)[^>]* (?:src|href)=["'](?!data:)[^>]*""", html)
    return found + [one for one in re.findall(r"https?://[^\s\"'<>)]+", html) if "www.w3.org" not in one]


def outputs(notebook: Any) -> list[list[str]]:
    """What each cell printed or showed as HTML; a picture by its kind alone, for fonts differ."""
    found = []
    for cell in notebook.cells:
        texts = []
        for output in cell.get("outputs", []):
            assert output.output_type != "error", output
            data = output.get("data", {})
            texts.append(output.get("text") or data.get("text/html") or " ".join(sorted(data)))
        found.append(texts)
    return found
