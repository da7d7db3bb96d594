"""Check that what needs no Linux compiles for macOS and Windows: `scripts/check_targets.py [TARGET ...]`.

The native module of the Python package and all below it are type-checked for each target; nothing is linked
or run. What C there is (of one library) is compiled for Windows and not for macOS, whose headers nobody may
pass on. Nothing is done while a hash of the sources is the same as last time. WebAssembly is checked by
building the live demo. Where a target cannot be compiled for there is one line that says why; with
REXMIT_REQUIRE_ALL=1 that is an error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

import cross
import setup

TARGETS: dict[str, dict[str, str]] = {
    "x86_64-pc-windows-gnu": {},
    # A compiler of C that does nothing: objects are not looked at until somebody links.
    "aarch64-apple-darwin": {
        "CC_aarch64_apple_darwin": "true",
        "AR_aarch64_apple_darwin": "true",
        "SDKROOT": "/",
    },
}
STAMPS = cross.ROOT / ".cache" / "targets"
PACKAGES = ["--package=rexmit-python", "--package=rexmit-analysis", "--features=pyo3/abi3-py311"]
# The live demo's profile, so that build scripts and macros, which run here, are compiled once for all
# targets; but wheels unwind, and what nobody runs is not optimised.
PROFILE = ["--profile=page", "--config=profile.page.panic='unwind'", "--config=profile.page.opt-level=0"]


def main() -> int:
    """Check each target; 1 where one does not compile, or could not be tried and all is required."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    wanted = options.parse_args().targets or list(TARGETS)
    if unknown := set(wanted) - set(TARGETS):
        options.error(f"unknown target {min(unknown)}; known: {', '.join(TARGETS)}")
    return max(check(target) for target in wanted)


def check(target: str) -> int:
    """Check one target; 0 if it compiles."""
    inputs = setup.digest(setup.native_inputs())
    stamp = STAMPS / target
    if stamp.exists() and stamp.read_text() == inputs:
        print(f"{target}: compiled before")
        return 0
    started = time.monotonic()
    # No interpreter of the target is asked: the stable ABI is the same for all.
    environment = {**TARGETS[target], "PYO3_NO_PYTHON": "1"}
    try:
        cross.cargo(target, "check", [*PROFILE, *PACKAGES], environment)
    except cross.MissingError as error:
        print(f"SKIP {target}: {error}")
        return 1 if os.environ.get("REXMIT_REQUIRE_ALL") == "1" else 0
    except subprocess.CalledProcessError:
        print(f"{target}: does not compile", file=sys.stderr)
        return 1
    STAMPS.mkdir(parents=True, exist_ok=True)
    stamp.write_text(inputs)
    print(f"{target}: compiles, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
