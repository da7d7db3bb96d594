"""Make sure that there is a kernel with a virtual clock before tests boot it.

With `REXMIT_REQUIRE_ALL=1` it is built where it is not in the cache, which takes some minutes. Elsewhere its
absence is reported as a skipped test is, with what to do.
"""

from __future__ import annotations

import os
import sys

from rexmit.kernel import (
    DEFAULT_VERSION,
    BuildOptions,
    Kernel,
    KernelError,
    build,
    check_boot,
    find_kernel,
)
from rexmit.run.progress import shown_progress


def main() -> int:
    """0 if there is a kernel that starts, or if its absence may be skipped."""
    required = os.environ.get("REXMIT_REQUIRE_ALL") == "1"
    try:
        kernel = built() if required else find_kernel(name=DEFAULT_VERSION)
    except KernelError as error:
        if required:
            return fail(error)
        print(f"SKIPPED [1] what boots a kernel with a virtual clock: {error}")
        return 0
    try:
        booted = check_boot(kernel)
    except KernelError as error:
        return fail(error)
    print(f"kernel: Linux {kernel.version}, HZ={kernel.hz}, boots in {booted.seconds:.2f} s")
    return 0


def built() -> Kernel:
    """The kernel, built now if it is not in the cache."""
    with shown_progress() as progress:
        return build(BuildOptions(version=DEFAULT_VERSION, progress=progress))


def fail(error: KernelError) -> int:
    """Say in one line why there is none."""
    print(f"kernel: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
