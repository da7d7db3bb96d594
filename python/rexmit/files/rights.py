"""With whose rights files are written.

Root writes as root only where nobody else can lead it elsewhere: every folder on the way to the file, and
every link on it, is root's own, and none of the folders may be written by others (but for those with the
sticky bit, such as /tmp). Elsewhere files are opened with the rights of the user who called sudo, whose they
then are; and without sudo a folder of somebody else is refused.

In a user namespace root has no more rights than whoever made it, and nothing is to be guarded. Not modelled:
access control lists, and capabilities of a user who is not root.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rexmit import _native
from rexmit.errors import StoreError

_MOST_LINKS = 40
"""As Linux's own limit on links in a path [path_resolution(7)]."""


@dataclass(frozen=True)
class Rights:
    """The rights of a user, or, without `user`, of this process as it is."""

    user: int | None = None
    group: int = 0
    groups: tuple[int, ...] = ()

    @contextmanager
    def taken(self, path: Path) -> Iterator[None]:
        """Has them while the block lasts, in this thread alone, which starts no other one meanwhile.

        `path` is what the block writes. Raises StoreError of one line where the user may not write it.
        """
        if self.user is None:
            yield
            return
        try:
            _native.take_rights(self.user, self.group, list(self.groups))
        except OSError as error:
            raise StoreError(
                f"{path}: the rights of {name_of(self.user)}, who called sudo, cannot be taken: {error}"
            ) from None
        try:
            yield
        except PermissionError as error:
            raise StoreError(
                f"{path}: cannot be written by {name_of(self.user)}, who called sudo ({error.strerror}); "
                "choose another --out, or change its rights"
            ) from None
        finally:
            _native.give_rights_back()


def rights_for(folder: Path) -> Rights:
    """The rights with which this process writes to a folder. Raises StoreError where root had better not."""
    if not _is_root():
        return Rights()
    why_not = unsafe_for_root(folder)
    if why_not is None:
        return Rights()
    caller = _caller_of_sudo()
    if caller is None:
        raise StoreError(
            f"{folder}: {why_not}, so root writes nothing there; choose another --out, or run it as that "
            "folder's user or with sudo"
        )
    return caller


def unsafe_for_root(folder: Path) -> str | None:
    """Why others could lead elsewhere what root writes into a folder; None if they cannot.

    The folder need not be there already.
    """
    at = Path(folder.anchor or "/")
    left = list(reversed(folder.absolute().parts[1:]))
    links = 0
    while True:
        facts = at.lstat()
        if facts.st_uid != 0:
            return f"{at} belongs to {name_of(facts.st_uid)}"
        if facts.st_mode & _by_others(facts) and not facts.st_mode & stat.S_ISVTX:
            return f"{at} may be written by others"
        if not left:
            return None
        name = left.pop()
        if name == "..":
            at = at.parent
            continue
        try:
            there = (at / name).lstat()
        except FileNotFoundError:
            return None
        if not stat.S_ISLNK(there.st_mode):
            at = at / name
            continue
        links += 1
        if there.st_uid != 0 or links > _MOST_LINKS:
            return f"{at / name} is a link of {name_of(there.st_uid)}"
        target = Path(os.readlink(at / name))
        left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        at = Path(target.anchor) if target.is_absolute() else at


def name_of(user: int) -> str:
    """The name of a user, or the number of one without a name."""
    if sys.platform != "win32":
        import pwd

        try:
            return f"user {pwd.getpwuid(user).pw_name}"
        except KeyError:
            pass
    return f"user {user}"


def _is_root() -> bool:
    """True with root's rights over the files of others: root in the user namespace that has them all."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return False
    try:
        first = Path("/proc/self/uid_map").read_text().split()
    except OSError:
        return True
    return first[:2] == ["0", "0"]


def _caller_of_sudo() -> Rights | None:
    """The user who called sudo, as it says in the environment; None without one."""
    if sys.platform == "win32":
        return None
    try:
        user, group = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        return None
    if user <= 0:
        return None
    import pwd

    try:
        groups = os.getgrouplist(pwd.getpwuid(user).pw_name, group)
    except KeyError:
        groups = [group]
    return Rights(user, group, tuple(groups))


def _by_others(facts: os.stat_result) -> int:
    """The bits by which users other than root could write. The group root is root's own."""
    return stat.S_IWOTH | (stat.S_IWGRP if facts.st_gid != 0 else 0)
