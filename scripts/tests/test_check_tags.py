"""Each way in which a tag may dangle is taken once in a small project: the checker must see it alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run, load

Lay = Callable[[dict[str, str]], Path]

RULES = "docs/rules/pipes.md"
ROWS = "studies/a-2001/published.csv"
CODE = "crates/path/src/lib.rs"

CLEAN = {
    RULES: """
EM-DN-1. A rule, and EM-DN-2 beside it.

EM-DN-2. Wrapped text may end a sentence with
the tag of another, EM-DN-1. Such a line is not a definition.

- **LK-IW-1** In a list.

| T-EM-1 | a test | passes |

A-000-1. A reading. EM-DN-n, P-000-* and FB6.2 are not tags.
""",
    ROWS: """id,quantity,deviation_reason
P-000-1,a,"over two
lines"
P-000-4a,b,as P-000-1
P-000-4b,c,
""",
    "studies/a-2001/statements.csv": "id,statement\nS-000-1,so\n",
    "studies/a-2001/other.csv": "number\n1\n",
    CODE: "/// EM-DN-1 and -2; LK-IW-1, T-EM-1.\n",
    "python/rexmit/a.py": '"""A-000-1, S-000-1; P-000-4 stands for both, P-000-4b for one."""\n',
    "README.md": "P-000-1, not XP-000-9, EM-DN-1x1 or a/EM-DN-9.\n",
    "scripts/tests/test_a.py": "P-000-9\n",
    "crates/path/target/doc.md": "P-000-9\n",
}


def test_a_clean_project_passes(script: Run, lay: Lay) -> None:
    done = script("check_tags.py", "--root", str(lay(CLEAN)))
    assert done.stdout == "tags: 9 defined, 0 wrong\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("file", "text", "line", "tag"),
    [
        (CODE, "\n// as EM-DN-3 says\n", 2, "EM-DN-3"),
        (CODE, "// EM-DN-1 or -3\n", 1, "EM-DN-3"),
        (CODE, "// EM-DN-1, -2, -3.\n", 1, "EM-DN-3"),
        ("python/rexmit/a.py", "# M-000-1\n", 1, "M-000-1"),
        ("studies/a-2001/README.md", "a\nb (A-000-11)\n", 2, "A-000-11"),
        ("studies/a-2001/a.toml", "# T-EM-2\n", 1, "T-EM-2"),
        ("profiles/a.toml", 'a = "LK-IW-2"\n', 1, "LK-IW-2"),
        ("CHANGELOG.md", "P-000-40\n", 1, "P-000-40"),
        ("docs/a.md", "[P-000-4](x) P-000-4c\n", 1, "P-000-4c"),
        ("docs/a.md", "S-000-2\n", 1, "S-000-2"),
    ],
)
def test_a_tag_that_is_defined_nowhere_is_seen(
    script: Run, lay: Lay, file: str, text: str, line: int, tag: str
) -> None:
    done = script("check_tags.py", "--root", str(lay({**CLEAN, file: text})))
    assert done.returncode == 1
    [error, _] = done.stdout.splitlines()
    assert error.startswith(f"error: {file}:{line}: {tag} is defined nowhere")


@pytest.mark.parametrize(
    ("file", "text", "line", "tag"),
    [
        ("docs/rules/z.md", "EM-DN-2. Again.\n", 1, "EM-DN-2"),
        ("docs/rules/z.md", "a\n\n| A-000-1 | b |\n", 3, "A-000-1"),
        ("studies/b-2002/published.csv", "id,a\nP-001-1,\nP-000-1,\n", 3, "P-000-1"),
    ],
)
def test_a_tag_that_is_defined_twice_is_seen(
    script: Run, lay: Lay, file: str, text: str, line: int, tag: str
) -> None:
    done = script("check_tags.py", "--root", str(lay({**CLEAN, file: text})))
    assert done.returncode == 1
    [error, _] = done.stdout.splitlines()
    assert error.startswith(f"error: {file}:{line}: {tag} is defined already, in ")


def test_lines_of_rows_count_the_breaks_in_cells() -> None:
    assert list(load("tags.py").ids(CLEAN[ROWS])) == [(2, "P-000-1"), (4, "P-000-4a"), (5, "P-000-4b")]


def test_the_project_itself_passes(script: Run) -> None:
    done = script("check_tags.py")
    assert done.stdout.endswith(" defined, 0 wrong\n"), done.stdout
