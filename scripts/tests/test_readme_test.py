from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Lay = Callable[[dict[str, str]], Path]


def page(block: str) -> dict[str, str]:
    return {"page.md": f"# Title\n\n```console\n{block}\n```\n"}


@pytest.mark.parametrize(
    "block",
    [
        "$ true",
        "$ echo one  two\none two",
        "$ printf '1\\n2\\n3\\n'\n1\n...\n3",
        "$ echo took 3.5 s\ntook ... s",
        "$ echo a \\\n    b\na b",
        "$ touch x\n$ test -e x",
    ],
)
def test_good_examples_pass(script: Run, lay: Lay, block: str) -> None:
    done = script("readme_test.py", str(lay(page(block)) / "page.md"))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("$ false", "page.md:4: false\nexit code 1"),
        ("$ true\n$ echo one\ntwo", "page.md:5: echo one\nexpected:\ntwo"),
        ("$ echo one\none\ntwo", "0 passed, 1 failed"),
        ("$ echo one two\none", "0 passed, 1 failed"),
        ("$ false | true", "0 passed, 1 failed"),
        ("nothing", "0 passed, 0 failed"),
    ],
)
def test_bad_examples_fail(script: Run, lay: Lay, block: str, message: str) -> None:
    done = script("readme_test.py", str(lay(page(block)) / "page.md"))
    assert done.returncode == 1
    assert message in done.stdout


def test_other_blocks_are_not_run(script: Run, lay: Lay) -> None:
    text = "```sh\nfalse\n```\n```console\n$ true\n```\n"
    assert script("readme_test.py", str(lay({"page.md": text}) / "page.md")).returncode == 0


def test_python_blocks_print_what_stands_below(script: Run, lay: Lay) -> None:
    text = "```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
    assert script("readme_test.py", str(lay({"page.md": text.format(2)}) / "page.md")).returncode == 0
    assert script("readme_test.py", str(lay({"page.md": text.format(3)}) / "page.md")).returncode == 1


def test_files_are_written(script: Run, lay: Lay) -> None:
    text = "```toml\n# a.toml\nx = 1\n```\n```console\n$ grep x a.toml\nx = {}\n```\n"
    assert script("readme_test.py", str(lay({"page.md": text.format(1)}) / "page.md")).returncode == 0
    assert script("readme_test.py", str(lay({"page.md": text.format(2)}) / "page.md")).returncode == 1
