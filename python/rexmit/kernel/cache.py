"""The folder of kernels: where it is, what is in it, who may build into it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from rexmit.errors import StoreError, UsageError
from rexmit.files import LockFile, make_folder, remove_tree
from rexmit.kernel.driver import PATCH
from rexmit.kernel.errors import KernelError
from rexmit.kernel.needs import install_line, missing
from rexmit.kernel.versions import DEFAULT_VERSION, build_line, is_of, version_of_source

DEFAULT_HZ = 1000
"""Ticks a second of the kernel that is meant where none is named."""

BUILDING = ".build-"
"""Beginning of the name of a folder in which a kernel is being built; after a kill it is worthless."""

_SHORTEST_HASH = 6
"""Digits of a hash that are enough to name a kernel."""

OF_BUILD = re.compile(re.escape(BUILDING) + r"\w+")
"""The name of a folder in which a kernel is being built."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built, and how: the facts of its `kernel.json`.

    `hash` is of all that it was built from: the source, the configuration, the patches, `hz`. `sha256` is of
    the executable. `absent` are optional options that its version did not take, `unpatched` the patches that
    did not fit, and `unfitting` says of each of these why.
    """

    folder: Path
    version: str
    hz: int
    hash: str
    sha256: str
    source: str
    source_hash: str
    patches: tuple[str, ...]
    unpatched: tuple[str, ...]
    absent: tuple[str, ...]
    compiler: str
    build_seconds: float
    built: str
    unfitting: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The executable."""
        return self.folder / "linux"

    @property
    def has_driver(self) -> bool:
        """True where it can run an engine inside: kernels of earlier releases cannot."""
        return PATCH in self.patches

    @property
    def config(self) -> Path:
        """Its whole configuration, as Kconfig wrote it."""
        return self.folder / "config"

    def facts(self) -> dict[str, Any]:
        """All facts as JSON has them."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "folder"}
        listed = {key: list(value) if isinstance(value, tuple) else value for key, value in named.items()}
        return {"path": str(self.path), **listed}


def cache_folder() -> Path:
    """The user's folder of kernels: in $REXMIT_CACHE, else $XDG_CACHE_HOME/rexmit, else ~/.cache/rexmit."""
    if own := os.environ.get("REXMIT_CACHE"):
        return Path(own).absolute() / "kernels"
    # The specification of base directories: a relative path is invalid and passed over.
    common = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (common if common.is_absolute() else Path.home() / ".cache") / "rexmit" / "kernels"


def kernels() -> list[Kernel]:
    """Every kernel that was built, the newest build first; damaged ones are left out."""
    found = [_read(path.parent) for path in cache_folder().glob("*/kernel.json")]
    whole = [kernel for kernel in found if kernel is not None]
    return sorted(whole, key=lambda kernel: (kernel.built, kernel.hash), reverse=True)


def find_kernel(hz: int | None = None, name: str | None = None, prefer: Sequence[str] = ()) -> Kernel:
    """The newest kernel with `hz` ticks a second that `name` means.

    A name is a version (`6.1` means any 6.1.x), the beginning of a hash, six digits or more, or a version
    and a hash, as its folder has them. Without one, `DEFAULT_VERSION` goes before others; without `hz`,
    `DEFAULT_HZ` does; and Debian's before those of one's own sources, so that building one changes no other
    results. Of those that fit, the first whose hash is in `prefer` goes before all. Raises
    KernelError, which says how to build one, where there is none, and UsageError for an empty name.
    """
    if name is not None and not name.strip():
        raise UsageError("kernel: no name; write a version, such as 6.12, or the beginning of a hash")
    fitting = [
        one for one in kernels() if (hz is None or one.hz == hz) and (name is None or is_called(one, name))
    ]
    if not fitting:
        raise KernelError(_no_kernel(hz, name))

    def rank(kernel: Kernel) -> tuple[int, bool, bool, bool]:
        place = prefer.index(kernel.hash) if kernel.hash in prefer else len(prefer)
        own = version_of_source(Path(kernel.source)) is None
        return place, not is_of(kernel.version, DEFAULT_VERSION), kernel.hz != DEFAULT_HZ, own

    return min(fitting, key=rank)  # the first of equals, which is the newest


def is_called(kernel: Kernel, name: str) -> bool:
    """Whether a name means this kernel: its version, the beginning of its hash, or both."""
    whole = f"{kernel.version}-{kernel.hash}"
    by_hash = len(name) >= _SHORTEST_HASH and kernel.hash.startswith(name)
    return is_of(kernel.version, name) or by_hash or whole == name


def _no_kernel(hz: int | None, name: str | None) -> str:
    """That there is none, which there are, and what to do."""
    kind = " ".join(part for part in (name, f"with HZ={hz}" if hz else "") if part)
    there = kernels()
    having = f", which has {_listed(there)}" if there and name is not None else ""
    told = f"no kernel{' ' + kind if kind else ''} with a virtual clock in {cache_folder()}{having}"
    return f"{told}; {_instead(there, hz, name)}"


def _instead(there: Sequence[Kernel], hz: int | None, name: str | None) -> str:
    """What to do where no kernel is called so."""
    fitting = [one for one in there if hz is None or one.hz == hz]
    short = next((one.hash for one in fitting if name and one.hash.startswith(name)), None)
    if short is not None:
        return f"write {_SHORTEST_HASH} digits of a hash or more: {short[:_SHORTEST_HASH]}"
    numbers = re.fullmatch(r"(\d+\.\d+)(\.\d+)?", name or "")
    if numbers and not numbers[1].startswith("6."):
        return "only Linux 6.x can have one"
    # Debian has one source of each version: where that was built, it is not the one that is meant.
    other = numbers is None or (
        numbers[2] is not None and any(is_of(one.version, numbers[1]) for one in there)
    )
    if name is not None and other and fitting:
        return "name one of these, or build a tree of yours: `rexmit kernel build --source TREE`"
    lacking = missing()
    first = f"first {install_line(lacking)}, then " if lacking else ""
    ticks = hz if hz is not None and hz != DEFAULT_HZ else None
    return f"{first}run `{build_line(numbers and numbers[1], ticks)}`"


def _listed(there: Sequence[Kernel]) -> str:
    """Of each version the kernel that it means, by its whole name, and how many more there are."""
    kinds = {(one.version, one.hz): None for one in there}
    named = [find_kernel(hz, version) for version, hz in kinds]
    names = [f"{one.version}-{one.hash}{'' if one.hz == DEFAULT_HZ else f' (HZ={one.hz})'}" for one in named]
    more = len(there) - len(named)
    return ", ".join(names) + (f" and {more} more (`rexmit kernel status`)" if more else "")


def with_hash(key: str) -> Kernel | None:
    """The kernel that was built from just what `key` stands for."""
    return next((kernel for kernel in kernels() if kernel.hash == key), None)


@contextmanager
def building(folder: Path, say_waiting: Callable[[str], None]) -> Iterator[None]:
    """Holds the folder of kernels for one build, after any other that has it; a kill releases it.

    What killed builds left is removed. Raises KernelError where the folder cannot be made.
    """
    try:
        make_folder(folder)
        lock = LockFile(folder)
    except StoreError as error:
        raise KernelError(f"{error}; name another folder in REXMIT_CACHE") from None
    try:
        try:
            if not lock.take():
                say_waiting(lock.holder())
                lock.take(wait=True)
        except StoreError as error:
            raise KernelError(f"{error}; name another folder in REXMIT_CACHE") from None
        for left in folder.glob(f"{BUILDING}*"):
            remove_tree(left, OF_BUILD)
        yield
    finally:
        lock.close()


def _read(folder: Path) -> Kernel | None:
    """The kernel in a folder; None where something of it is missing or damaged."""
    if folder.name.startswith("."):
        return None
    try:
        facts = json.loads((folder / "kernel.json").read_text())
        # Those that have a default came later: older folders are without them.
        known = {field.name: field.default is MISSING for field in fields(Kernel) if field.name != "folder"}
        values = {name: facts[name] for name, needed in known.items() if needed or name in facts}
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        kernel = Kernel(folder=folder, **{**values, **lists})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kernel if os.access(kernel.path, os.X_OK) and isinstance(kernel.hz, int) else None
