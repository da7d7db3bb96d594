"""Build the live demo of the documentation's front page: the model as WebAssembly, and the script around it.

`build()` makes `.cache/demo`, which the hook `scripts/front_page.py` puts into the site. Nothing is done
while a hash of its inputs is that of the last build. `make docs` and `make test` call it; where the target
cannot be compiled for there is one line that says why, and with REXMIT_REQUIRE_ALL=1 that is an error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import cross
import setup

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "demo"
MODULE = FOLDER / "rexmit_web.wasm"
FILES = ("demo.js", "demo.css", "demo-model.js")
# A page has only the part of the workspace that the model needs; adapters are not compiled for it.
CRATES = (
    "web", "sim", "scenario", "stacks", "tcp", "sctp", "traffic", "network", "path", "stack", "wire", "units",
    "tables", "capture", "files", "program", "adapters/linux",
)  # fmt: skip


def main() -> int:
    """Build; 1 where that failed, or where it could not be and all is required."""
    try:
        done = build()
    except cross.MissingError as error:
        print(f"SKIP live demo: {error}")
        return 1 if os.environ.get("REXMIT_REQUIRE_ALL") == "1" else 0
    except subprocess.CalledProcessError as error:
        print(f"live demo: failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    size = sum((FOLDER / name).stat().st_size for name in FILES) / 1e6
    print(f"live demo: {done}, {size:.1f} MB to load")
    return 0


def build() -> str:
    """Make the demo unless it is current, and say what was done. Raises MissingError, CalledProcessError."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    return f"{_module()}; {_script()}"


def _module() -> str:
    inputs = setup.digest(module_inputs())
    if _is_current("module", inputs, [MODULE]):
        return "the module is current"
    started = time.monotonic()
    cross.cargo(cross.WASM, "build", ["--profile=page", "--package=rexmit-web"])
    built = cross.target_dir() / cross.WASM / "page" / "rexmit_web.wasm"
    shutil.copyfile(built, MODULE)
    _remember("module", inputs)
    return f"the module was compiled in {time.monotonic() - started:.0f} s"


def _script() -> str:
    from rexmit.analyse.words import CAUSES, LETTERS
    from rexmit.plot.causes import COLOURS

    causes = json.dumps(
        {
            name: {"title": title, "letter": LETTERS[name], "colour": COLOURS[name]}
            for name, title in CAUSES.items()
        },
        ensure_ascii=False,
    )
    web = [path for path in (ROOT / "web" / "src").rglob("*") if path.is_file()]
    inputs = setup.digest(
        [*web, ROOT / "web" / "demo.mjs", ROOT / "web" / "package-lock.json", MODULE], causes
    )
    if _is_current("script", inputs, [FOLDER / name for name in FILES]):
        return "its script is current"
    (FOLDER / "causes.json").write_text(causes)
    command = ["node", "demo.mjs", str(MODULE), str(FOLDER / "causes.json"), str(FOLDER)]
    subprocess.run(command, cwd=ROOT / "web", stdin=subprocess.DEVNULL, check=True)
    _remember("script", inputs)
    return "its script was built"


def module_inputs() -> list[Path]:
    """Every file that the module is compiled from."""
    files = [ROOT / name for name in ("Cargo.toml", "Cargo.lock", "scripts/cross.py")]
    folders = [ROOT / "crates" / name for name in CRATES] + [ROOT / "profiles"]
    for folder in folders:
        files += [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if not {"tests", "target"} & {*path.relative_to(ROOT).parts[2:]}]


def _is_current(name: str, inputs: str, made: list[Path]) -> bool:
    stamp = FOLDER / f"{name}.stamp"
    return stamp.exists() and stamp.read_text() == inputs and all(path.exists() for path in made)


def _remember(name: str, inputs: str) -> None:
    (FOLDER / f"{name}.stamp").write_text(inputs)


if __name__ == "__main__":
    sys.exit(main())
