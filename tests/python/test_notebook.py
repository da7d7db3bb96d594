"""The notebook of the documentation runs, and prints what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first-look.ipynb"


@pytest.mark.filterwarnings("default")  # those of the kernel's own libraries
def test_the_notebook_gives_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    shown = nbformat.read(NOTEBOOK, as_version=4)
    again = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        again, timeout=60, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    assert outputs(again) == outputs(shown)
    assert any("timeout certain" in text for cell in outputs(again) for text in cell)
    assert list(tmp_path.iterdir()) == [], "a notebook leaves nothing behind"


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
