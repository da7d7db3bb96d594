from collections.abc import Callable
from pathlib import Path

from .conftest import Run

Lay = Callable[[dict[str, str]], Path]


def test_only_code_counts(script: Run, lay: Lay) -> None:
    root = lay({"crates/tcp/src/lib.rs": "// words\n\n" * 900 + "fn f() {}\n" * 500})
    done = script("check_sizes.py", "--root", str(root))
    assert (done.returncode, done.stdout) == (0, "file sizes: 1 files measured\n")


def test_more_than_500_lines_are_warned_of(script: Run, lay: Lay) -> None:
    done = script("check_sizes.py", "--root", str(lay({"python/a.py": "x = 1\n" * 501})))
    assert done.returncode == 0
    assert "warning: python/a.py has 501 lines" in done.stdout


def test_more_than_800_lines_fail(script: Run, lay: Lay) -> None:
    done = script("check_sizes.py", "--root", str(lay({"python/a.py": "x = 1\n" * 801})))
    assert done.returncode == 1
    assert "error: python/a.py has 801 lines" in done.stdout


def test_a_written_reason_excuses(script: Run, lay: Lay) -> None:
    text = "# size: one table that is read as a whole\n" + "x = 1\n" * 801
    done = script("check_sizes.py", "--root", str(lay({"python/a.py": text})))
    assert done.returncode == 0
    assert "note: python/a.py" in done.stdout


def test_a_reason_without_words_does_not(script: Run, lay: Lay) -> None:
    done = script("check_sizes.py", "--root", str(lay({"python/a.py": "# size:\n" + "x = 1\n" * 801})))
    assert done.returncode == 1


def test_installed_tools_of_the_pages_are_not_measured(script: Run, lay: Lay) -> None:
    lines = "let x = 1;\n" * 900
    root = lay({"web/node_modules/a/a.ts": lines, "web/src/b.ts": "/** Words. */\n" + "let x = 1;\n" * 501})
    done = script("check_sizes.py", "--root", str(root))
    assert done.returncode == 0
    assert "warning: web/src/b.ts has 501 lines" in done.stdout
