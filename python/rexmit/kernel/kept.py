"""Folders of builds that are kept, one per source tree: a second build compiles what changed.

Beside the kernels stands, for each tree that was named as a source, a copy of it with patches in place and
all objects. Before a build it is brought up to date by content: a file is written only where it differs, so
`make` sees just that. The tree itself is read and never touched.

A kill at any moment must not let an old object pass for a new one. Before a file is written, the list of what
the copy holds forgets it; while `make` runs, a mark stands in the folder, and whatever a build made since the
mark was set is removed before the next, since a compiler may have been killed half-way through writing it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rexmit.files import make_folder, put, remove_file, remove_tree, write_bytes
from rexmit.kernel.cache import cache_folder
from rexmit.kernel.errors import KernelError
from rexmit.kernel.snapshot import (
    LINK,
    File,
    Snapshot,
    digest_of,
    hash_of,
    look,
    read_snapshot,
    sources,
    write_snapshot,
)


@dataclass
class State:
    """What the copy of a tree is known to hold.

    `files` are digests by name; `configured` stands for all that decided its configuration. `changed` are the
    files that are not compiled yet as they are, and `complete` is whether all was compiled once.
    """

    files: dict[str, str]
    configured: str = ""
    changed: list[str] = field(default_factory=list)
    complete: bool = False


@dataclass(frozen=True)
class KeptFolder:
    """A folder of builds, as `rexmit kernel status` shows it."""

    source: str
    folder: Path
    used: str
    bytes: int

    def facts(self) -> dict[str, object]:
        """As JSON has it."""
        return {**asdict(self), "folder": str(self.folder)}


class KeptBuild:
    """The folder of builds of one tree with one number of ticks a second.

    Whoever builds holds the lock of the folder of kernels.
    """

    def __init__(self, source: Path, hz: int) -> None:
        self.source = source
        self.folder = _folder_of(source)
        self.tree = self.folder / str(hz)
        self._state_file = self.folder / f"{hz}.json"
        self._mark = self.folder / f"{hz}{_UNFINISHED}"
        self.state = State({})

    def look(self) -> Snapshot:
        """What is in the source now, which is remembered."""
        make_folder(self.folder)
        found = look(self.source, read_snapshot(self.folder / _SNAPSHOT))
        write_snapshot(self.folder / _SNAPSHOT, found)
        about = {"source": str(self.source), "used": datetime.now(UTC).isoformat(timespec="seconds")}
        write_bytes(self.folder / _ABOUT, json.dumps(about).encode())
        return found

    def bring_up_to_date(self, snapshot: Snapshot, over: Mapping[str, bytes]) -> None:
        """Makes the copy what the source is, with the files `over` it."""
        self.state = self._read_state()
        if self._mark.exists():
            made = self._remove_made_since(self._mark.stat().st_mtime_ns)
            # A new configuration is newer than all objects, which would all be compiled again.
            if any(name.startswith(_CONFIGURATION) for name in made):
                self.state.configured = ""
        wanted = sources(snapshot) | {name: digest_of(content) for name, content in over.items()}
        changed = {name for name, digest in wanted.items() if self.state.files.get(name) != digest}
        gone = self.state.files.keys() - wanted.keys()
        if changed or gone:
            self._forget(changed | gone)
            for name in gone:
                (self.tree / name).unlink(missing_ok=True)
            for name in sorted(changed):
                self._write(name, wanted[name], over.get(name))
            self.state.files = wanted
            self._keep_state()

    @contextmanager
    def making(self) -> Iterator[None]:
        """While `make` changes the copy: it ended by itself unless the block raises more than KernelError."""
        put(self._mark, "")
        try:
            yield
        except KernelError:
            self._end()
            raise
        self._end()

    def configuring(self, options: str) -> str:
        """What stands for all that decides the configuration, of which `options` is one part."""
        lists = {
            name: digest
            for name, digest in self.state.files.items()
            if name.rpartition("/")[2].startswith("Kconfig") or name.startswith("scripts/kconfig/")
        }
        return hashlib.sha256(f"{options}\0{hash_of(lists)}".encode()).hexdigest()

    def steps(self, whole: int) -> int:
        """How many steps `make` will take, of a build that takes `whole` from scratch.

        The notes that it left beside each object name the files that the object was made from. Each folder's
        archive, up to the top, is one step more, and linking some. Where no build came to the end, what is
        there is subtracted from the whole.
        """
        changed = {name: self._changed_at(name) for name in self.state.changed}
        named = {prefix + name: at for name, at in changed.items() for prefix in ("", "./")}
        folders: set[Path] = set()
        old = new = 0
        for note in self.tree.rglob(".*.o.cmd"):
            since = note.stat().st_mtime_ns
            read = note.read_text(errors="replace").split()
            if all(named.get(name, 0) <= since for name in read):
                old += 1
            else:
                new += 1
                folders.update(note.relative_to(self.tree).parents)
        steps = new + len(folders) + _LINKING if self.state.complete else whole - old
        return max(min(steps, whole), 1)

    def compiled(self) -> None:
        """Nothing is left to compile."""
        self.state.changed = []
        self.state.complete = True

    def _changed_at(self, name: str) -> int:
        """When a file of the copy was written; the end of time for one that is gone."""
        try:
            return (self.tree / name).lstat().st_mtime_ns
        except OSError:
            return 1 << 63

    def _end(self) -> None:
        remove_file(self._mark)
        self._keep_state()

    def _read_state(self) -> State:
        try:
            return State(**json.loads(self._state_file.read_bytes()))
        except (OSError, ValueError, TypeError):
            # Nobody knows what the copy holds.
            remove_tree(self.tree, _OF_TREE)
            return State({})

    def _keep_state(self) -> None:
        write_bytes(self._state_file, json.dumps(asdict(self.state)).encode())

    def _forget(self, names: set[str]) -> None:
        left = {name: digest for name, digest in self.state.files.items() if name not in names}
        self.state.files = left
        self.state.changed = sorted({*self.state.changed, *names})
        self._keep_state()

    def _write(self, name: str, digest: str, content: bytes | None) -> None:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            remove_tree(path, _ANY)  # of sources that are gone, with what was made of them
        if digest.startswith(LINK):
            path.unlink(missing_ok=True)
            os.symlink(digest.removeprefix(LINK), path)
            return
        source = self.source / name
        executable = content is None and bool(source.stat().st_mode & stat.S_IXUSR)
        content = source.read_bytes() if content is None else content
        if digest_of(content, executable) != digest:
            raise KernelError(f"{source}: changed while it was read; build again")
        put(path, content, executable)

    def _remove_made_since(self, moment: int) -> list[str]:
        """Removes what was made from a moment on, in nanoseconds since 1970; returns the names."""
        gone = []
        for where, _, names in os.walk(self.tree):
            for name in names:
                path = Path(where, name)
                inside = str(path.relative_to(self.tree))
                if inside not in self.state.files and path.lstat().st_mtime_ns >= moment - _COARSE_NS:
                    path.unlink()
                    gone.append(inside)
        return gone


def known_snapshot(source: Path) -> dict[str, File]:
    """What was seen of a tree last."""
    return read_snapshot(_folder_of(source) / _SNAPSHOT)


def kept_folders() -> list[KeptFolder]:
    """Every folder of builds, the one used last first."""
    found = []
    for folder in (cache_folder() / _ALL).glob("*"):
        if _OF_KEPT.fullmatch(folder.name):
            try:
                about = json.loads((folder / _ABOUT).read_bytes())
                source, used = str(about["source"]), str(about["used"])
            except (OSError, ValueError, KeyError, TypeError):
                source, used = "", ""
            found.append(KeptFolder(source, folder, used, _size(folder)))
    return sorted(found, key=lambda one: one.used, reverse=True)


def remove_kept(source: Path | None = None) -> list[KeptFolder]:
    """Removes the folder of builds of a tree, or all; says which. Whoever calls it holds the lock."""
    folder = None if source is None else _folder_of(source.absolute())
    chosen = [one for one in kept_folders() if folder is None or one.folder == folder]
    for one in chosen:
        remove_tree(one.folder, _OF_KEPT)
    return chosen


def _folder_of(source: Path) -> Path:
    named = hashlib.sha256(os.fsencode(source)).hexdigest()[:16]
    return cache_folder() / _ALL / named


def _size(folder: Path) -> int:
    """Bytes on the disk."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            total += os.lstat(os.path.join(where, name)).st_blocks * 512
    return total


_ALL = "trees"
_ABOUT = "about.json"
_SNAPSHOT = "files.json"
_CONFIGURATION = (".config", "include/config/", "include/generated/autoconf.h")
"""What Kconfig writes."""

_UNFINISHED = ".unfinished"
_OF_KEPT = re.compile(r"[0-9a-f]{16}")
_OF_TREE = re.compile(r"\d+")
_ANY = re.compile(r".*", re.DOTALL)
_COARSE_NS = 1_000_000_000
"""A file system may note times this coarsely."""
_LINKING = 12
"""Steps of linking and of what goes before it, in any build."""
