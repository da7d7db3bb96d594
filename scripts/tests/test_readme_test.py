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


def test_a_difference_shows_at_once_however_much_may_be_anything(script: Run, lay: Lay) -> None:
    """A pattern that tries every way to share out the text would not end in a lifetime."""
    expected = "\n".join(["a ... b ..."] * 40)
    block = f"$ for i in $(seq 2000); do echo a b a b; done\n{expected}\n{{}}"
    assert script("readme_test.py", str(lay(page(block.format("a b"))) / "page.md")).returncode == 0
    assert script("readme_test.py", str(lay(page(block.format("c"))) / "page.md")).returncode == 1


@pytest.mark.parametrize(
    ("end", "code"), [("a\n...\na", 1), ("a...a", 1), ("a...", 0), ("...a", 0), ("...", 0)]
)
def test_pieces_do_not_share_letters(script: Run, lay: Lay, end: str, code: int) -> None:
    assert script("readme_test.py", str(lay(page(f"$ echo a\n{end}")) / "page.md")).returncode == code


def test_a_figure_must_be_drawn(script: Run, lay: Lay) -> None:
    draw = "from PIL import Image\nImage.new('RGB', (30, {})).save('a.png')"
    text = f"```python\n{draw}\n```\n<!-- drawn: {{}} -->\n![a](b.png)\n"
    folder = lay({"good.md": text.format(20, "a.png"), "other.md": text.format(9, "a.png")})
    (folder / "absent.md").write_text(text.format(20, "c.png"))
    assert "b.png is missing" in script("readme_test.py", str(folder / "good.md")).stdout
    assert script("readme_test.py", "--figures", str(folder / "good.md")).returncode == 0
    assert script("readme_test.py", str(folder / "good.md")).returncode == 0
    assert "b.png is (30, 20)" in script("readme_test.py", str(folder / "other.md")).stdout
    assert "c.png was not drawn" in script("readme_test.py", str(folder / "absent.md")).stdout
