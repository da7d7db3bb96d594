"""Becomes a program that sees this machine's files, can write to few of them, and reaches nothing else here.

`python -ISB _cage.py PLAN PROGRAM [ARGUMENT]...`, where PLAN is JSON:

- `folder`: a folder of the program's own, which it may write to; `memory` in it becomes a file system of
  `bytes` in memory;
- `writable`: more folders that it may write to;
- `readable`: all that it sees beside these; null for every file that its user may read.

The program is in namespaces of its own (user, mount, network, IPC) and has no capabilities: not even a kernel
that runs as this program can undo this. Where a step of it fails, the program does not start.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x8000000, 0x10000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
SYS_MOUNT_SETATTR = 442
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = 1, 24, 28, 38
SECBITS = 0b101111
"""No capabilities by being root, none kept, and this for ever [Linux include/uapi/linux/securebits.h]."""

CAPABILITIES = 64
"""More than there are."""

CAP_VERSION_3 = 0x20080522
DEVICES = ("null", "zero", "full", "random", "urandom")
COVERED = ("/run", "/sys", "/dev")
"""What a guest mounts over anyway. `/proc` follows when it is needed no more."""

SMALL = 64 << 20
TEMPORARY = 1 << 30
"""Bytes of /tmp, which is in memory."""

_libc = ctypes.CDLL(None, use_errno=True)


def main(plan: str, *command: str) -> None:
    """Builds the cage and becomes the program in it."""
    told = json.loads(plan)
    parent = os.getppid()
    folder = Path(told["folder"])
    for name in ("memory", "layers", "root"):
        (folder / name).mkdir(exist_ok=True)
    _leave_the_namespaces()
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    _set_read_only("/", True, AT_RECURSIVE)
    if told["readable"] is None:
        _cover(folder, told["writable"])
    else:
        _build(folder, told["readable"], told["writable"])
    _mount("tmpfs", folder / "memory", "tmpfs", MS_NOSUID | MS_NODEV, f"size={told['bytes']},mode=700")
    if told["readable"] is None:
        _mount("tmpfs", "/proc", "tmpfs", MS_RDONLY, f"size={SMALL}")
    _drop_all()
    _call(_libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0), "PR_SET_PDEATHSIG")
    # A parent that ended before would not be noticed.
    if os.getppid() == parent:
        os.execvp(command[0], command)


def _leave_the_namespaces() -> None:
    user, group = os.geteuid(), os.getegid()
    _call(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET), "a user namespace")
    # Root sees everyone's files as they are; others see their own.
    whole = f"0 0 {2**32 - 1}"
    if user != 0 or not (_map("uid", whole) and _map("gid", whole)):
        Path("/proc/self/setgroups").write_text("deny")
        for kind, number in (("uid", user), ("gid", group)):
            if not _map(kind, f"{number} {number} 1"):
                raise OSError(None, f"/proc/self/{kind}_map")


def _map(kind: str, text: str) -> bool:
    try:
        Path(f"/proc/self/{kind}_map").write_text(text)
    except PermissionError:
        return False
    return True


def _cover(folder: Path, writable: Iterable[str]) -> None:
    """The root of the machine, read only, without devices and what the machine tells of itself."""
    kept = [(path, os.open(path, os.O_PATH)) for path in (str(folder), *writable)]
    devices = [(f"/dev/{name}", os.open(f"/dev/{name}", os.O_PATH)) for name in DEVICES]
    _mount("tmpfs", folder / "layers", "tmpfs", MS_NOSUID | MS_NODEV, f"size={TEMPORARY},mode=755")
    for name in ("above", "work"):
        (folder / "layers" / name).mkdir()
    (folder / "layers" / "above").chmod(0o1777)
    layers = f"lowerdir=/tmp,upperdir={folder}/layers/above,workdir={folder}/layers/work"
    # Not over a /tmp in which something is mounted: that stays read only.
    with suppress(OSError):
        _mount("overlay", "/tmp", "overlay", MS_NOSUID | MS_NODEV, f"{layers},userxattr")
    for place in COVERED:
        _mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, f"size={SMALL},mode=755")
    for path, descriptor in devices:
        Path(path).touch()
        _bind(f"/proc/self/fd/{descriptor}", path)
        os.close(descriptor)
    for path, descriptor in kept:
        Path(path).mkdir(parents=True, exist_ok=True)
        _bind(f"/proc/self/fd/{descriptor}", path)
        _set_read_only(path, False)
        os.close(descriptor)
    for place in COVERED:
        _set_read_only(place, True)


def _build(folder: Path, readable: Iterable[str], writable: Iterable[str]) -> None:
    """A root of its own, with nothing in it but what is named."""
    root = folder / "root"
    _mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, f"size={TEMPORARY},mode=755")
    for name in ("proc", "sys", "run", "tmp", "dev"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    for path in (*readable, *(f"/dev/{name}" for name in DEVICES)):
        place = root / path.lstrip("/")
        if place.exists() or place.is_symlink():
            continue
        if os.path.islink(path):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(os.readlink(path))
        elif os.path.isdir(path):
            place.mkdir(parents=True)
            _bind(path, place, MS_REC)
        elif os.path.exists(path):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
            _bind(path, place)
    for path in (str(folder), *writable):
        place = root / path.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        _bind(path, place)
        _set_read_only(place, False)
    os.chdir(root)
    _call(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "a root of its own")
    _call(_libc.umount2(b".", MNT_DETACH), "leaving the former root")
    os.chdir("/")


def _mount(
    source: str | None, place: object, kind: str | None, flags: int, options: str | None = None
) -> None:
    words = [None if word is None else os.fsencode(str(word)) for word in (source, place, kind, options)]
    done = _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    _call(done, f"mounting {kind or 'again'} at {place}")


def _bind(source: str, place: object, flags: int = 0) -> None:
    _mount(source, place, None, MS_BIND | flags)


class _Attributes(ctypes.Structure):
    """`struct mount_attr` of mount_setattr(2)."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace")]


def _set_read_only(place: object, wanted: bool, flags: int = 0) -> None:
    flag = MOUNT_ATTR_RDONLY
    attributes = _Attributes(set=flag) if wanted else _Attributes(clear=flag)
    words = (
        os.fsencode(str(place)),
        ctypes.c_uint(flags),
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )
    _call(_libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, *words), f"making {place} read only")


def _drop_all() -> None:
    """Gives up every capability, also for programs to come."""
    _call(_libc.prctl(PR_SET_SECUREBITS, SECBITS, 0, 0, 0), "PR_SET_SECUREBITS")
    for number in range(CAPABILITIES):
        _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAP_VERSION_3, 0)
    _call(_libc.capset(header, (ctypes.c_uint32 * 6)()), "giving up capabilities")
    _call(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")


def _call(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
"""The number of pivot_root(2)."""

if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
