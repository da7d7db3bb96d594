"""Hold the arrows of the house: which part may use which.

Rust, from each `Cargo.toml` and each source file that is not a test:

- A crate's `[dependencies]` and `[build-dependencies]` on other crates of the workspace follow
  `ARROWS` below, or lead along several of them. Tests may see more (`[dev-dependencies]`).
- Below `scenario`, `sim` and `live`, nothing reads a clock, the environment, a file, a socket or another
  process, starts a thread or waits: `FORBIDDEN` below lists the names, `BANNED_CRATES` the crates
  that would do it for them. Only `capture`, `analysis`, `tables` and `frames` may name `std::io`: they read
  and write through a reader or writer that the caller gives, `tables` into memory; `frames` has its errors.
- `unsafe` is written in `live`, `python`, `program` and `adapters` only.

Python, from the syntax tree of each file:

- `LAYERS` below lists the parts of the package `rexmit`, lowest first; a part uses those below it.
  `models` stands alone: it uses `errors`, and what analyses, draws or prints uses it. Nothing inside
  uses the top of the package, `rexmit` itself.
- Files in `studies/` and `examples/` use the public names only: those in `rexmit.__all__`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Set
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Crate (without `rexmit-`) and the crates that it may use directly; what those use is allowed too.
ARROWS: dict[str, set[str]] = {
    "units": set(),
    "wire": {"units"},
    "tables": {"units"},
    "path": {"units", "wire"},
    "stack": {"units", "wire"},
    "tcp": {"stack"},
    "sctp": {"stack"},
    "network": set(),
    "traffic": {"stack", "network"},
    "capture": {"units", "wire"},
    "frames": {"wire", "path"},
    "files": set(),
    "analysis": {"units", "wire", "capture", "tables"},
    "tls": {"stack"},
    "program": {"stack"},
    "clib": set(),
    "adapters": {"stack", "tls", "program", "clib"},
    "stacks": {"tcp", "sctp", "program", "adapters"},
    "scenario": {"path", "tcp", "sctp", "traffic", "network", "stacks", "tables"},
    "sim": {"scenario", "path", "tcp", "sctp", "traffic", "network", "capture", "files", "stacks"},
    "live": {"scenario", "path", "traffic", "network", "capture", "files", "frames", "adapters"},
    "python": {"sim", "live", "network", "capture", "analysis"},
    "web": {"sim"},
    "inside": {"live"},
    "guest": {"live", "files", "scenario"},
}
MAY_WRITE_UNSAFE = {"live", "program", "adapters", "python", "inside", "web"}
MAY_READ_THE_WORLD = {
    "clib",
    "files",
    "scenario",
    "sim",
    "live",
    "program",
    "adapters",
    "python",
    "inside",
    "guest",
}
MAY_NAME_IO = {"capture", "analysis", "tables", "frames"}
FORBIDDEN = {
    "time::Instant": "a clock",
    "time::SystemTime": "a clock",
    "time::UNIX_EPOCH": "a clock",
    "env": "the environment",
    "fs": "files",
    "net": "sockets",
    "process": "processes",
    "thread": "threads",
    "io": "input and output",
    "os": "the operating system",
}
# Address types hold no socket.
HARMLESS = {"net::IpAddr", "net::Ipv4Addr", "net::Ipv6Addr", "net::SocketAddr"}
BANNED_CRATES = {"chrono", "getrandom", "instant", "rand", "time", "tokio", "web-time"}

# Parts of the Python package, lowest first; parts in one row may use each other, so rows are few.
LAYERS: list[set[str]] = [
    {"_native", "errors"},
    {"units", "places", "files", "nesting", "start", "terminal"},
    {"inputs", "tables"},
    {"kernel"},
    {"study", "links"},
    {"run"},
    {"analyse"},
    {"plot"},
    {"report"},
    {"diff"},
    {"api"},
    {"cli"},
]
# Parts beside the layers, and what of the package each may use.
ALONE: dict[str, set[str]] = {
    "models": {"errors"},
    "_agent": set(),
    "_cage": set(),
    "_leash": set(),
    "stack": set(),
}
USE_MODELS = {"analyse", "plot", "report", "api", "cli"}


def main() -> int:
    """Check the project, or the one under `--root`; 1 if an arrow is wrong."""
    options = argparse.ArgumentParser(description="Hold the arrows of the house.")
    options.add_argument("--root", type=Path, default=ROOT, help="the project to check")
    root = options.parse_args().root
    wrong = [*rust_faults(root), *python_faults(root)]
    for line in wrong:
        print(f"error: {line}")
    print(f"import rules: {len(wrong)} broken")
    return 1 if wrong else 0


# Rust


def rust_faults(root: Path) -> Iterator[str]:
    """Every broken rule in `crates/`."""
    of_adapters = sorted(root.glob("crates/adapters/*/Cargo.toml"))
    adapters = {path.parent.name for path in of_adapters}
    for manifest in sorted([*root.glob("crates/*/Cargo.toml"), *of_adapters]):
        folder = manifest.parent
        crate = "adapters" if folder.parent.name == "adapters" else folder.name
        where = str(manifest.relative_to(root))
        if crate not in ARROWS:
            yield f"{where}: the crate {crate} is not in ARROWS of scripts/check_imports.py"
            continue
        yield from manifest_faults(where, crate, tomllib.loads(manifest.read_text()), adapters)
        for path in sorted((folder / "src").rglob("*.rs")):
            if "tests" not in path.relative_to(folder).parts and path.name != "tests.rs":
                yield from source_faults(str(path.relative_to(root)), crate, path.read_text())


def manifest_faults(
    where: str, crate: str, manifest: dict[str, dict[str, object]], adapters: Set[str] = frozenset()
) -> Iterator[str]:
    """Dependencies that no arrow allows, and a lint table that would allow `unsafe`."""
    allowed = reachable(crate)
    for table in ("dependencies", "build-dependencies"):
        for name in manifest.get(table, {}):
            other = name.removeprefix("rexmit-")
            other = "adapters" if other in adapters else other
            if name.startswith("rexmit-") and other not in allowed:
                yield f"{where}: {crate} -> {other} is not an arrow of the house"
            if name in BANNED_CRATES and crate not in MAY_READ_THE_WORLD:
                yield f"{where}: {crate} may not use {name}, which reads a clock or ambient randomness"
    if crate not in MAY_WRITE_UNSAFE and manifest.get("lints", {}).get("workspace") is not True:
        yield f"{where}: needs `[lints] workspace = true`, which forbids unsafe code"


def reachable(crate: str) -> set[str]:
    """Every crate that arrows lead to from `crate`."""
    found: set[str] = set()
    waiting = list(ARROWS[crate])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += ARROWS[name]
    return found


def source_faults(where: str, crate: str, text: str) -> Iterator[str]:
    """Words that this crate may not write."""
    code = without_tests(without_comments(text))
    if crate not in MAY_WRITE_UNSAFE and (found := re.search(r"\bunsafe\b", code)):
        yield f"{where}:{line_of(code, found.start())}: `unsafe` outside live, adapters and python"
    if crate in MAY_READ_THE_WORLD:
        return
    for path, line in std_paths(code):
        reason = forbidden(path, crate)
        if reason is not None:
            yield f"{where}:{line}: std::{path} reaches {reason}, which only sim and live may"


def forbidden(path: str, crate: str) -> str | None:
    """What the path below `std::` reaches, if `crate` may not reach it."""
    if path in ("", "*", "self"):
        return "all of std under another name"
    if any(path == name or path.startswith(name + "::") for name in HARMLESS):
        return None
    if path == "io" or path.startswith("io::"):
        if crate in MAY_NAME_IO and not re.search(r"\b(stdin|stdout|stderr)\b", path):
            return None
        return FORBIDDEN["io"]
    if path in ("time", "time::self", "time::*"):
        return FORBIDDEN["time::Instant"]
    for name, reason in FORBIDDEN.items():
        if path == name or path.startswith(name + "::"):
            return reason
    return None


def std_paths(code: str) -> Iterator[tuple[str, int]]:
    """Each path below `std::` that the code names, its groups in braces spelt out, and its line."""
    for found in re.finditer(r"(?<![\w:])(?:::)?std\s*::\s*", code):
        line = line_of(code, found.start())
        for path in expand(code, found.end())[0]:
            yield path, line
    for found in re.finditer(r"\buse\s+(?:::)?std\s*(?:;|as\b)", code):
        yield "", line_of(code, found.start())


def expand(code: str, at: int) -> tuple[list[str], int]:
    """Read one path or group of a use tree at `at`; its paths and where it ends."""
    at = skip_space(code, at)
    if code[at : at + 1] == "{":
        paths: list[str] = []
        at = skip_space(code, at + 1)
        while at < len(code) and code[at] != "}":
            inner, at = expand(code, at)
            paths += inner
            alias = re.compile(r"\s*as\s+\w+").match(code, at)
            at = skip_space(code, alias.end() if alias else at)
            at = skip_space(code, at + 1) if code[at : at + 1] == "," else at
            if not inner:
                break
        return paths, at + 1
    word = re.compile(r"\w+|\*").match(code, at)
    if word is None:
        return [], at
    rest = re.compile(r"\s*::\s*(?=[\w{*])").match(code, word.end())
    if rest is None:
        return [word[0]], word.end()
    tails, at = expand(code, rest.end())
    return [f"{word[0]}::{tail}" for tail in tails], at


def skip_space(code: str, at: int) -> int:
    """The first place from `at` on that is not white space."""
    while at < len(code) and code[at].isspace():
        at += 1
    return at


def without_comments(text: str) -> str:
    """The code with comments and the insides of string literals blanked, lines kept."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]{1,8}?|[^\\\'\n])\'',
        re.DOTALL,
    )
    return token.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def without_tests(code: str) -> str:
    """The code with modules and items under `#[cfg(test)]` blanked, lines kept."""
    out = code
    for found in re.finditer(r"#\[cfg\((?:test|all\(test\b[^]]*)\)\]", code):
        end = item_end(code, found.end())
        out = out[: found.start()] + re.sub(r"[^\n]", " ", out[found.start() : end]) + out[end:]
    return out


def item_end(code: str, at: int) -> int:
    """Where the item that begins at `at` ends: at its `;`, or after its balanced braces."""
    depth = 0
    for here in range(at, len(code)):
        if code[here] == "{":
            depth += 1
        elif code[here] == "}":
            depth -= 1
            if depth == 0:
                return here + 1
        elif code[here] == ";" and depth == 0:
            return here + 1
    return len(code)


def line_of(code: str, at: int) -> int:
    """The line number of a place in the text."""
    return code.count("\n", 0, at) + 1


# Python


def python_faults(root: Path) -> Iterator[str]:
    """Every broken rule in `python/rexmit`, `studies` and `examples`."""
    package = root / "python" / "rexmit"
    for path in sorted(package.rglob("*.py")):
        # The folder of the studies is a link into the package; they are checked below.
        if "_studies" not in path.parts:
            yield from module_faults(path.relative_to(package), ast.parse(path.read_text()), package.parent)
    top = package / "__init__.py"
    public = public_names(ast.parse(top.read_text())) if top.exists() else set()
    for folder in ("studies", "examples"):
        for path in sorted((root / folder).rglob("*.py")):
            yield from user_faults(str(path.relative_to(root)), ast.parse(path.read_text()), public)


def module_faults(module: Path, tree: ast.Module, base: Path) -> Iterator[str]:
    """Imports of one file of the package that go up, or sideways out of `models`."""
    where = f"python/rexmit/{module}"
    part = module.parts[0].removesuffix(".py")
    if part in ("__init__", "__main__"):
        return
    own = rank(part)
    if own is None and part not in ALONE:
        yield f"{where}: {part} is not in LAYERS of scripts/check_imports.py"
        return
    for name, line in imported(tree, ["rexmit", *module.parts[:-1]], base):
        other = name.split(".")[1] if "." in name else ""
        if other == part:
            continue
        height = rank(other)
        if other == "":
            yield f"{where}:{line}: a part may not use the top of the package"
        elif other in ALONE.get(part, set()):
            continue
        elif part in ALONE or (other in ALONE and part not in USE_MODELS):
            yield f"{where}:{line}: {part} -> {other}: models stands alone"
        elif other not in ALONE and (height is None or own is None or height >= own):
            yield f"{where}:{line}: {part} -> {other} is not an arrow of the house"


def rank(part: str) -> int | None:
    """How high a part stands; None if it is in no layer."""
    return next((height for height, row in enumerate(LAYERS) if part in row), None)


def imported(tree: ast.Module, package: list[str], base: Path) -> Iterator[tuple[str, int]]:
    """The full names inside `rexmit` that a file imports, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "rexmit":
                    yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            if module.split(".")[0] != "rexmit":
                continue
            for alias in node.names:
                inner = base.joinpath(*module.split("."), alias.name)
                is_module = any(inner.with_suffix(end).exists() for end in (".py", ".pyi")) or inner.is_dir()
                yield (f"{module}.{alias.name}" if is_module else module), node.lineno


def public_names(tree: ast.Module) -> set[str]:
    """The names in `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            return {str(name) for name in ast.literal_eval(node.value)}
    return set()


def user_faults(where: str, tree: ast.Module, public: set[str]) -> Iterator[str]:
    """Uses of `rexmit` in a study or example that are not public."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [a.name.split(".")[1] for a in node.names if a.name.startswith("rexmit.")]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "rexmit":
            deeper = node.module.split(".")[1:2]
            names = deeper or [alias.name for alias in node.names]
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "rexmit"
        ):
            names = [node.attr]
        for name in names:
            if name not in public and name != "__version__":
                line = getattr(node, "lineno", 0)
                yield f"{where}:{line}: rexmit.{name} is not a public name (rexmit.__all__)"


if __name__ == "__main__":
    sys.exit(main())
