"""Write `requirements.lock`: every Python package at one version, with the hashes of its files.

`requirements-demo.lock` is the part of it that `make demo` installs: what the package itself asks for.

`make lock` runs this after a change of the dependencies in `pyproject.toml`. The first line of the
lock remembers which dependencies it was made for, so that a check can tell when it is stale. Versions
are chosen for the Python that runs this: use the oldest one that counts, Debian 12's 3.11.2
(`make lock PYTHON=/usr/bin/python3` in a fresh copy).
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
DEMO = ROOT / "requirements-demo.lock"


def main() -> int:
    """Write both locks, or with `--check` only say whether they are current."""
    if "--check" in sys.argv[1:]:
        return check()
    written = compile_lock(LOCK, requirements()) and compile_lock(
        DEMO, of_demo(), ["--constraint", str(LOCK)]
    )
    return 0 if written else 1


def compile_lock(lock: Path, wanted: list[str], options: Sequence[str] = ()) -> bool:
    """Choose versions and write a lock; false where that fails."""
    command = [sys.executable, "-m", "piptools", "compile", "--quiet", "--generate-hashes", *options]
    command += ["--strip-extras", "--allow-unsafe", "--no-header", "--no-annotate"]
    command += ["--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-options"]
    line = [*command, "--output-file", str(lock), "-"]
    if subprocess.run(line, input="\n".join(wanted), text=True, cwd=ROOT).returncode != 0:
        return False
    lock.write_text(f"{first_line(wanted)}\n{lock.read_text().lstrip()}")
    return True


def check() -> int:
    """Fail if the dependencies changed since the locks were written, or if one is not part of the other."""
    for lock, wanted in ((LOCK, requirements()), (DEMO, of_demo())):
        if not lock.read_text().startswith(first_line(wanted) + "\n"):
            print(f"{lock.name} is older than the dependencies in pyproject.toml: make lock")
            return 1
    if others := {*DEMO.read_text().splitlines()[1:]} - {*LOCK.read_text().splitlines()}:
        print(f"requirements-demo.lock is not part of requirements.lock ({min(others).strip()}): make lock")
        return 1
    return 0


def first_line(wanted: list[str]) -> str:
    """A comment that names the dependencies by a hash."""
    digest = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    return f"# Made by `make lock`. Dependencies: {digest[:16]}"


def requirements() -> list[str]:
    """What building, using and developing the package asks for, each once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = set(project["build-system"]["requires"]) | set(project["project"].get("dependencies", []))
    for group in project.get("dependency-groups", {}).values():
        wanted |= set(group)
    return sorted(wanted)


def of_demo() -> list[str]:
    """What using the package asks for."""
    return sorted(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])


if __name__ == "__main__":
    sys.exit(main())
