"""Forbid every way to write or remove a file but one: `rexmit.files` in Python, the crate `files` in Rust.

A results folder may be a stranger's, with links in it, and root may write where others do: whatever opens a
file for writing elsewhere would have to know all that again. So, in `python/rexmit` and the `src` of crates:

- `CALLS`, `METHODS`, `LIBRARIES` and `RUST` below name what writes, removes or renames. `ALLOWED` lists the
  exceptions, each with its reason.
- A library that writes a table or a figure is given an open file, never a path: a parameter whose annotation
  is `IO`, or a buffer in memory.

Tests may do as they like, and so may what writes the developer's own tree only: `scripts`, `benches`,
`studies`, `examples` and `build.rs`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from check_imports import line_of, without_comments, without_tests

ROOT = Path(__file__).resolve().parent.parent

# A file, a folder (with a slash), or a file and the one name that it may use after a colon; why it may.
ALLOWED: dict[str, str] = {
    "python/rexmit/files/": "the one way",
    "crates/files/": "the one way",
    "crates/clib/": "of build scripts, which are free: in the folder of a build",
    "python/rexmit/kernel/data/": "runs in a guest of its own, on a temporary folder",
    "python/rexmit/_cage.py": "the root of a guest, in a mount namespace of its own",
    "python/rexmit/places.py": "temporary folders, private to this process, and those of processes that died",
    "python/rexmit/kernel/boot.py:mkdir": "in a temporary folder of this process",
    "python/rexmit/kernel/make.py:mkdir": "in the folder of a build, new and private",
    "python/rexmit/kernel/make.py:rename": "between folders of the user's own cache, under its lock",
    "python/rexmit/kernel/make.py:shutil.copyfile": "in the folder of a build, new and private",
    "python/rexmit/kernel/make.py:tempfile.mkdtemp": "in the user's own cache, new and private",
    "python/rexmit/kernel/kept.py:mkdir": "in a copy of a source in the user's own cache, under its lock",
    "python/rexmit/kernel/kept.py:unlink": "of what a build left in such a copy",
    "python/rexmit/kernel/kept.py:os.symlink": "in such a copy, a link as the source has it",
    "python/rexmit/kernel/source.py:mkdir": "in the folder of a build, new and private",
    "python/rexmit/cli/__init__.py:os.open": "/dev/null, when nobody reads what is printed",
    "python/rexmit/inputs.py:os.open": "the one way to read, and only that",
    "crates/scenario/src/inputs.rs:OpenOptions": "the one way to read, and only that",
    "python/rexmit/analyse/positions.py:rename": "columns of a table",
}

# Functions of modules.
CALLS = {
    "os": {
        *("open", "remove", "unlink", "rmdir", "removedirs", "rename", "renames", "replace", "mkdir"),
        *("makedirs", "link", "symlink", "truncate", "chmod", "chown", "mkfifo", "mknod"),
    },
    "shutil": {
        *("copy", "copy2", "copyfile", "copymode", "copystat", "copytree", "move", "rmtree", "chown"),
        *("unpack_archive", "make_archive"),
    },
    "tempfile": {"mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile"},
}
# Methods of paths. `replace` with one argument is a path's, too; a text's has two.
METHODS = {
    *("write_text", "write_bytes", "unlink", "rmdir", "mkdir", "rename", "touch", "chmod", "symlink_to"),
    "hardlink_to",
}
# What libraries write with, to a path or a file: the number of arguments without either.
LIBRARIES = {
    **dict.fromkeys(("ParquetWriter", "CSVWriter", "savefig", "new_file", "extractall"), 0),
    **dict.fromkeys(("write_parquet", "write_csv", "write_ndjson", "write_ipc", "write_feather"), 0),
    **dict.fromkeys(("sink_parquet", "sink_csv"), 0),
    "write_table": 1,
}
PLACES = {"file", "where", "path", "sink", "fname", "dest", "target"}
MODES = re.compile(r"[wax+]")

_FS = r"(?:write|rename|copy|hard_link|remove_\w+|create_dir\w*|set_permissions|soft_link)"
RUST = re.compile(
    r"\b(?:File::(?:create(?:_new|_buffered)?|options)|OpenOptions|DirBuilder|symlink(?:at)?"
    rf"|fs::(?:{_FS}|\{{[^}}]*\b{_FS}\b)"
    r"|(?:libc|fcntl|unistd)::(?:open(?:at2?)?|creat|rename(?:at2?)?|unlink(?:at)?|mkdir(?:at)?|truncate))\b"
)


def main() -> int:
    """Check the project, or the one under `--root`; 1 if something writes another way."""
    options = argparse.ArgumentParser(description="Forbid every way to write a file but the one.")
    options.add_argument("--root", type=Path, default=ROOT, help="the project to check")
    root = options.parse_args().root
    wrong = [*python_faults(root), *rust_faults(root)]
    for line in wrong:
        print(f"error: {line}")
    print(f"writes: {len(wrong)} not by rexmit.files or the crate files")
    return 1 if wrong else 0


def python_faults(root: Path) -> Iterator[str]:
    """Every other way in the Python package."""
    for path in sorted((root / "python" / "rexmit").rglob("*.py")):
        where = path.relative_to(root).as_posix()
        # The folder of the studies is a link into the package.
        if "_studies" in path.parts or is_allowed(where):
            continue
        tree = ast.parse(path.read_text())
        for name, line in writes(tree):
            if not is_allowed(where, name):
                yield f"{where}:{line}: {name} writes, removes or renames; use rexmit.files"


def writes(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """What a module calls, or hands on to be called, that writes; and where."""
    modules = imported(tree)
    handed = files_in_hand(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if name := call(node, modules, handed):
                yield name, node.lineno
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            whole = full_name(node, modules)
            module, _, function = whole.rpartition(".")
            if function in CALLS.get(module, ()):
                yield whole, node.lineno


def call(node: ast.Call, modules: dict[str, str], handed: set[str]) -> str | None:
    """The name of what is called, where it writes a file of another's choice."""
    target = node.func
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    whole = full_name(target, modules)
    if name == "open" and not whole.startswith(("os.", "tarfile.", "webbrowser.")):
        place = 0 if isinstance(target, ast.Attribute) and whole not in ("io.open", "gzip.open") else 1
        return "open" if opens_to_write(node, place) else None
    own = isinstance(target, ast.Attribute) and is_own(target, modules)
    if name in LIBRARIES and not own:
        places = [word.value for word in node.keywords if word.arg in PLACES] + node.args
        return None if len(places) <= LIBRARIES[name] or any(is_file(one, handed) for one in places) else name
    if isinstance(target, ast.Attribute) and not whole.startswith("os."):
        if name in METHODS:
            return None if own else name
        if name == "replace" and len(node.args) == 1 and not node.keywords:
            return name
    return None


def opens_to_write(node: ast.Call, place: int) -> bool:
    """True unless its mode is a text that reads."""
    given = [word.value for word in node.keywords if word.arg == "mode"] or node.args[place : place + 1]
    if not given:
        return False
    mode = given[0]
    return not (isinstance(mode, ast.Constant) and isinstance(mode.value, str)) or bool(
        MODES.search(mode.value)
    )


def is_own(target: ast.Attribute, modules: dict[str, str]) -> bool:
    """True for a function of a module, such as `files.write_text`, which is not a method of a path."""
    return isinstance(target.value, ast.Name) and modules.get(target.value.id, "").startswith("rexmit")


def is_file(node: ast.expr, handed: set[str]) -> bool:
    """True for a name that stands for an open file."""
    return isinstance(node, ast.Name) and node.id in handed


def files_in_hand(tree: ast.Module) -> set[str]:
    """Names of parameters that are open files by their annotation, and of buffers in memory."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            if re.match(r"(typing\.)?(IO|BinaryIO|TextIO)\b", ast.unparse(node.annotation)):
                found.add(node.arg)
        elif isinstance(node, ast.Assign) and ast.unparse(node.value) in ("io.BytesIO()", "io.StringIO()"):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def imported(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for, in full."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.split(".")[0]
                found[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {(one.asname or one.name): f"{node.module}.{one.name}" for one in node.names}
    return found


def full_name(node: ast.expr, modules: dict[str, str]) -> str:
    """`os.unlink` for `unlink` that was imported from os; nothing for what was not imported."""
    if isinstance(node, ast.Name):
        return modules.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = full_name(node.value, modules)
        return f"{before}.{node.attr}" if before else ""
    return ""


def rust_faults(root: Path) -> Iterator[str]:
    """Every other way in the crates."""
    for path in sorted([*root.glob("crates/*/src/**/*.rs"), *root.glob("crates/adapters/*/src/**/*.rs")]):
        where = path.relative_to(root).as_posix()
        if "tests" in path.parts or path.name == "tests.rs" or is_allowed(where):
            continue
        code = without_tests(without_comments(path.read_text()))
        for found in RUST.finditer(code):
            name = " ".join(found[0].split())
            if not is_allowed(where, name):
                line = line_of(code, found.start())
                yield f"{where}:{line}: {name} writes, removes or renames; use rexmit_files"


def is_allowed(where: str, name: str = "") -> bool:
    """True where the list of exceptions has the file, a folder above it, or this name in it."""
    folders = (one for one in ALLOWED if one.endswith("/"))
    return where in ALLOWED or f"{where}:{name}" in ALLOWED or any(map(where.startswith, folders))


if __name__ == "__main__":
    sys.exit(main())
