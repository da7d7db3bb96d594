"""Each way to write but the one is taken once in a small project: the checker must see it, and only it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Lay = Callable[[dict[str, str]], Path]

PYTHON = "python/rexmit/report/page.py"
RUST = "crates/sim/src/lib.rs"

CLEAN = {
    PYTHON: """
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import IO
import pyarrow.parquet as pq
from rexmit import files
from rexmit.files import write_text

def write(file: IO[bytes], text: str) -> None:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    pq.write_table(table, file)
    writer.write_table(table)
    frame.write_csv(include_header=False)
    text.replace("a", "b")
    replace(text, a=1)
    write_text(Path("a"), text)
    files.write_text(Path("a"), text)
    open("a")
    Path("a").open("rb")
    Path("a").open(encoding="utf-8", mode="r")
    os.stat("a")
""",
    "python/rexmit/files/writing.py": "import os\nos.unlink('a')\n",
    RUST: """
// File::create, fs::write
use std::fs::File;
pub const A: &str = "fs::remove_file";
pub fn f() { let _ = (File::open("a"), std::fs::read("a")); }
#[cfg(test)]
mod tests { fn f() { std::fs::write("a", "b").unwrap(); } }
""",
    "crates/sim/src/lib/tests.rs": 'fn f() { std::fs::remove_file("a"); }',
    "crates/sim/tests/all.rs": 'fn f() { std::fs::remove_file("a"); }',
    "crates/files/src/lib.rs": 'pub fn f() { std::fs::File::create("a"); }',
    "scripts/check.py": "open('a', 'w')\n",
}


def test_a_clean_project_passes(script: Run, lay: Lay) -> None:
    done = script("check_writes.py", "--root", str(lay(CLEAN)))
    assert done.stdout == "writes: 0 not by rexmit.files or the crate files\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("open('a', 'w')", "open"),
        ("open('a', mode='r+b')", "open"),
        ("open('a', mode)", "open"),
        ("Path('a').open('ab')", "open"),
        ("Path('a').open(mode='x')", "open"),
        ("Path('a').write_text('b')", "write_text"),
        ("Path('a').unlink(missing_ok=True)", "unlink"),
        ("Path('a').replace(b)", "replace"),
        ("import os\nos.open('a', flags)", "os.open"),
        ("import os as system\nsystem.replace('a', 'b')", "os.replace"),
        ("from os import unlink as away\naway('a')", "os.unlink"),
        ("import os\nlist(map(os.remove, names))", "os.remove"),
        ("import shutil\nshutil.rmtree('a')", "shutil.rmtree"),
        ("from shutil import copyfile\ncopyfile('a', 'b')", "shutil.copyfile"),
        ("import tempfile\ntempfile.NamedTemporaryFile()", "tempfile.NamedTemporaryFile"),
        ("import pyarrow.parquet as pq\npq.write_table(table, 'a')", "write_table"),
        ("def f(path: Path):\n    frame.write_csv(path)", "write_csv"),
        ("frame.write_parquet(file='a')", "write_parquet"),
        ("figure.savefig(path)", "savefig"),
    ],
)
def test_another_way_in_python_is_seen(script: Run, lay: Lay, code: str, name: str) -> None:
    done = script("check_writes.py", "--root", str(lay({**CLEAN, PYTHON: code})))
    assert done.returncode == 1
    [line, _] = done.stdout.splitlines()
    assert line.startswith(f"error: {PYTHON}:")
    assert f": {name} writes, removes or renames; use rexmit.files" in line


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('std::fs::File::create("a")', "File::create"),
        ('File::create_new("a")', "File::create_new"),
        ("OpenOptions::new()", "OpenOptions"),
        ('std::fs::write("a", "b")', "fs::write"),
        ('fs::remove_dir_all("a")', "fs::remove_dir_all"),
        ('fs::create_dir_all("a")', "fs::create_dir_all"),
        ("use std::fs::{self, rename};", "fs::{self, rename"),
        ("nix::unistd::unlink(p)", "unistd::unlink"),
        ("libc::open(p, 0)", "libc::open"),
    ],
)
def test_another_way_in_rust_is_seen(script: Run, lay: Lay, code: str, name: str) -> None:
    done = script("check_writes.py", "--root", str(lay({**CLEAN, RUST: f"fn f() {{ {code} }}"})))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == (
        f"error: {RUST}:1: {name} writes, removes or renames; use rexmit_files"
    )


def test_the_project_itself_passes(script: Run) -> None:
    done = script("check_writes.py")
    assert done.stdout == "writes: 0 not by rexmit.files or the crate files\n"
