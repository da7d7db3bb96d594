"""Build the wheel and prove that it works alone: `make wheel`.

The wheel is installed into a fresh environment, outside the project's folder, and runs a published
study there. `--quick` builds it by the profile of the tests, from what `make setup` has compiled; `--trained`
with profile-guided optimisation: it is built twice, and `train.py` runs in between.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def main() -> int:
    """Build, install alone, run; 1 at the first step that fails."""
    for old in DIST.glob("rexmit-*.whl"):
        old.unlink()
    maturin = str(Path(sys.executable).parent / "maturin")
    # Quiet where all is well: the compiler has shown its warnings before.
    profile = "quick" if "--quick" in sys.argv[1:] else "release"
    command = [maturin, "build", f"--profile={profile}", "--locked", "--quiet", "--out", str(DIST)]
    if "--trained" in sys.argv[1:]:
        command.append("--pgo")
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout)
        return done.returncode
    (wheel,) = DIST.glob("rexmit-*.whl")
    if "-abi3-" not in wheel.name:
        print(f"wheel: {wheel.name} is not for the stable ABI", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="rexmit-wheel-") as folder:
        prove(wheel, Path(folder))
    print(f"wheel: dist/{wheel.name} runs alone ({wheel.stat().st_size / 1e6:.1f} MB)")
    return 0


def prove(wheel: Path, folder: Path) -> None:
    """Install the wheel into a new environment in `folder` and run a study with it."""
    run([sys.executable, "-m", "venv", "alone"], folder)
    python = str(folder / "alone" / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    write_versions(folder / "versions.txt")
    run([*pip, "--constraint", "versions.txt", str(wheel)], folder)
    rexmit = str(folder / "alone" / "bin" / "rexmit")
    run([rexmit, "run", "hurtig-2006/short", "--out", "results"], folder)
    if not (folder / "results" / "runs.parquet").is_file():
        raise SystemExit("wheel: the run left no runs.parquet")
    # The script of the pages came along: it is in the page that opens from disk.
    run([rexmit, "report", "results", "--out", "report.html"], folder)
    if script(wheel) not in (folder / "report.html").read_text():
        raise SystemExit("wheel: the report lacks the script that is in the wheel")


def write_versions(path: Path) -> None:
    """The versions of the lock, so that what is proved here is what was tested."""
    lock = (ROOT / "requirements.lock").read_text().replace(" \\\n", "\n")
    pins = [line for line in lock.splitlines() if "==" in line and not line.startswith((" ", "#"))]
    path.write_text("\n".join(pins))


def script(wheel: Path) -> str:
    """The script of the pages as the wheel brings it."""
    try:
        return zipfile.ZipFile(wheel).read("rexmit/plot/web/rexmit.js").decode().strip()
    except KeyError:
        raise SystemExit("wheel: python/rexmit/plot/web is not in it") from None


def run(command: Sequence[str], folder: Path) -> None:
    """Run one command away from the project, with nothing of it in the environment."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    subprocess.run(command, cwd=folder, env=kept, stdin=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        print(f"wheel: failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        sys.exit(1)
