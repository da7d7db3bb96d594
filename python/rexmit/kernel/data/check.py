"""The first process of a trial boot: draws random bytes, reseeds, sleeps, tells what it saw, powers off.

Runs in the guest as `python -ISB check.py FOLDER`; nothing of rexmit is on its path.
"""

import ctypes
import json
import os
import sys
import time
from pathlib import Path

POWER_OFF = 0x4321FEDC
"""LINUX_REBOOT_CMD_POWER_OFF, reboot(2)."""


def main(folder: Path) -> None:
    """Writes `told.json` into the folder."""
    first = os.urandom(16).hex()
    libc = ctypes.CDLL(None)
    libc.mount(b"none", bytes(folder / "sys"), b"sysfs", 0, None)
    seed = folder / "sys/module/random/parameters/seed"
    before = reseeded(seed)
    began = time.monotonic()
    time.sleep(1000)
    slept = time.monotonic() - began
    told = {
        "release": os.uname().release,
        "random": first,
        "reseeded": before,
        "repeats": before == reseeded(seed),
        "slept": slept,
    }
    (folder / "told.json").write_text(json.dumps(told))


def reseeded(seed: Path) -> str:
    """64 bytes drawn after seed 7 was set."""
    if seed.exists():
        seed.write_text("7")
    return os.urandom(64).hex()


try:
    main(Path(sys.argv[1]))
finally:
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)
