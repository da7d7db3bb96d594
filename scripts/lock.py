"""Write `requirements.lock`: every Python package at one version, with the hashes of its files.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"


def main() -> int:
    """Write the lock, or with `--check` only say whether it is current."""
    if "--check" in sys.argv[1:]:
        return check()
    command = [sys.executable, "-m", "piptools", "compile", "--quiet", "--generate-hashes"]
    command += ["--strip-extras", "--allow-unsafe", "--no-header", "--no-annotate"]
    command += ["--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-options"]
    wanted = "\n".join(requirements())
    done = subprocess.run([*command, "--output-file", str(LOCK), "-"], input=wanted, text=True, cwd=ROOT)
    if done.returncode != 0:
        return 1
    LOCK.write_text(f"{first_line()}\n{LOCK.read_text().lstrip()}")
    return 0


def check() -> int:
    """Fail if the dependencies changed since the lock was written."""
    if LOCK.read_text().startswith(first_line() + "\n"):
        return 0
    print("requirements.lock is older than the dependencies in pyproject.toml: make lock")
    return 1


def first_line() -> str:
    """A comment that names the dependencies by a hash."""
    digest = hashlib.sha256("\n".join(requirements()).encode()).hexdigest()
    return f"# Made by `make lock`. Dependencies: {digest[:16]}"


def requirements() -> list[str]:
    """What building, using and developing the package asks for, each once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = set(project["build-system"]["requires"]) | set(project["project"].get("dependencies", []))
    for group in project.get("dependency-groups", {}).values():
        wanted |= set(group)
    return sorted(wanted)


if __name__ == "__main__":
    sys.exit(main())
