"""What is in a tree of the kernel's source: the files that a build can read, each with a digest.

A tree that was looked at before is looked at again in about a second: a file whose stamp is the same is not
read. Left out are what a build made, whatever git and editors keep in names that begin with a dot, other
architectures, and large parts that a guest has no use for; of these the Kconfig files and the Makefiles
count, since Kconfig and make read all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rexmit.errors import one_line
from rexmit.files import write_bytes
from rexmit.kernel.errors import KernelError

BUILT = ""
"""In place of a digest: what a build made, of which a copy is to know nothing."""

LINK = "link "
EXECUTABLE = "x"
"""What begins the digest of a link, and of a program."""


@dataclass(frozen=True)
class File:
    """A file or link: a digest of its content, and the stamp by which it is known to be unchanged.

    The stamp has its size, times in ns and number. It is empty where the file was so new when it was read
    that a later change may have left the same stamp.
    """

    digest: str
    stamp: tuple[int, ...]


Snapshot = Mapping[str, File]
"""Files by their path in the tree."""


def look(tree: Path, before: Snapshot | None = None) -> dict[str, File]:
    """What is in a tree now. Raises KernelError where a file cannot be read."""
    try:
        return _look(tree, before or {})
    except OSError as error:
        where = error.filename or tree
        raise KernelError(f"{where}: cannot be read: {one_line(error.strerror or error)}") from None


def sources(snapshot: Snapshot) -> dict[str, str]:
    """The digests of what is not a result of a build, by name, in order."""
    return {name: file.digest for name, file in sorted(snapshot.items()) if file.digest != BUILT}


def hash_of(digests: Mapping[str, str]) -> str:
    """One hash of names and contents."""
    whole = hashlib.sha256()
    for name, digest in sorted(digests.items()):
        whole.update(f"{name}\0{digest}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()


def digest_of(content: bytes, executable: bool = False) -> str:
    """The digest of a file with this content."""
    return (EXECUTABLE if executable else "") + hashlib.sha256(content).hexdigest()


def read_snapshot(path: Path) -> dict[str, File]:
    """What `write_snapshot` wrote; nothing where that is not there, or damaged."""
    try:
        given = json.loads(path.read_bytes())
        return {name: File(str(digest), tuple(map(int, stamp))) for name, (digest, stamp) in given.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Keeps a snapshot in a file."""
    write_bytes(path, json.dumps({n: [f.digest, f.stamp] for n, f in snapshot.items()}).encode())


def _look(tree: Path, known: Snapshot) -> dict[str, File]:
    settled = time.time_ns() - _SETTLING_NS
    found: dict[str, File] = {}
    for name, entry in _walk(tree):
        facts = entry.stat(follow_symlinks=False)
        stamp = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
        old = known.get(name)
        if old is not None and old.stamp == stamp:
            found[name] = old
            continue
        with suppress(FileNotFoundError):  # one that an editor has just taken away
            new = max(facts.st_mtime_ns, facts.st_ctime_ns) > settled
            found[name] = File(_digest(Path(entry.path), facts.st_mode), () if new else stamp)
    return found


def _digest(path: Path, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return LINK + os.readlink(path)
    content = path.read_bytes()
    return BUILT if content.startswith(b"\x7fELF") else digest_of(content, bool(mode & stat.S_IXUSR))


def _walk(tree: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file and link that counts, by its path in the tree."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        light = bool(_LIGHT.match(f"{folder}/"))
        with os.scandir(tree / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if not _LEFT_OUT.fullmatch(name):
                        waiting.append(name)
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    listed = entry.name.startswith(("Kconfig", "Makefile", "Kbuild"))
                    if listed or not (light or _MADE.fullmatch(entry.name) or name in _MADE_ON_TOP):
                        yield name, entry


_SETTLING_NS = 2_000_000_000
"""A file that changed within so long before it was read may change again and keep its times."""

_LEFT_OUT = re.compile(r"include/(generated|config)|arch/.+/include/generated")
_LIGHT = re.compile(r"(Documentation|drivers/gpu|drivers/media|sound|tools/testing|arch/(?!(um|x86)/)[^/]+)/")
_MADE = re.compile(
    r".*\.(o|a|ko|cmd|mod|mod\.c|order|s|i|lst|dwo|elf|so|so\.dbg|gz|xz|bz2|zst|tmp|orig|rej|lex\.c|tab\.[ch])"
    r"|.*~|modules\.builtin.*|Module\.symvers|System\.map|vmlinux(\.(o|lds|map|symvers|unstripped))?"
)
_MADE_ON_TOP = {"linux"}
