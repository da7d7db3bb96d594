"""A Linux kernel with a virtual clock: built once from Debian's source, found again in a cache.

User-Mode Linux runs the kernel as an ordinary process. In its time-travel mode the clock stands still while
code runs and jumps to the next timer when the guest is idle, so a run depends neither on the host's load nor
on its speed. `build` makes such a kernel, `find_kernel` returns it, `boot` starts it.

The build asks nothing of the network and changes no source in place. Several versions stand side by side and
are chosen by name (`versions.py`); a copy of a tree named as a source is kept (`kept.py`).
"""

from __future__ import annotations

from rexmit.kernel.boot import BootCheck, boot_command, check_boot, engine_words, init_words
from rexmit.kernel.cache import Kernel, cache_folder, find_kernel, kernels
from rexmit.kernel.configure import HZ_CHOICES
from rexmit.kernel.errors import KernelError
from rexmit.kernel.kept import KeptFolder, kept_folders
from rexmit.kernel.make import BuildOptions, build, clean_up
from rexmit.kernel.needs import missing
from rexmit.kernel.versions import DEFAULT_VERSION, VERSIONS, debian_source, installed
from rexmit.kernel.words import why_it_ended

__all__ = [
    "DEFAULT_VERSION",
    "HZ_CHOICES",
    "VERSIONS",
    "BootCheck",
    "BuildOptions",
    "KeptFolder",
    "Kernel",
    "KernelError",
    "boot_command",
    "build",
    "cache_folder",
    "check_boot",
    "clean_up",
    "debian_source",
    "engine_words",
    "find_kernel",
    "init_words",
    "installed",
    "kept_folders",
    "kernels",
    "missing",
    "why_it_ended",
]
