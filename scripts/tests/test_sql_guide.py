"""What the guide to SQL shows is what the program prints."""

from pathlib import Path

import pytest

from .conftest import SCRIPTS, load

readme = load("readme_test.py")
GUIDE = SCRIPTS.parent / "docs" / "guide" / "sql.md"


def test_the_guide_is_true(tmp_path: Path) -> None:
    examples = list(readme.examples(GUIDE.read_text()))
    assert len(examples) > 8
    for example in examples:
        fault = readme.attempt(example, tmp_path)
        if fault is not None:
            pytest.fail(f"{GUIDE.name}:{example.line}: {example.title}\n{fault}")
    assert (tmp_path / "timeouts.parquet").exists()
