"""Make sure that the programs around other people's stacks are there before tests run them: `programs.py`.

With `REXMIT_REQUIRE_ALL=1` they are built where they are not in the cache. Elsewhere one that is missing is
reported as a skipped test is, with what to do.
"""

from __future__ import annotations

import os
import sys
import time

from rexmit.errors import RexmitError
from rexmit.run.stack_builds import build_stack, stack_sources


def main() -> int:
    """0 if they are there, or if their absence may be skipped."""
    required = os.environ.get("REXMIT_REQUIRE_ALL") == "1"
    for source in stack_sources().values():
        if not source.built and not required:
            print(f"SKIPPED [1] what runs {source.name}: `rexmit stack build {source.name}` builds it")
            continue
        started = time.monotonic()
        try:
            program = build_stack(source)
        except RexmitError as error:
            print(f"stacks: {error}", file=sys.stderr)
            return 1
        print(f"stacks: {source.name} {program}, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
