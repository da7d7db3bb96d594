"""The kernel's source: an archive or a tree, identified, and put where it may be changed."""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
import subprocess
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from rexmit.errors import one_line
from rexmit.kernel.errors import KernelError
from rexmit.kernel.kept import known_snapshot
from rexmit.kernel.snapshot import Snapshot, hash_of, look, sources
from rexmit.kernel.versions import debian_source, source_package


@dataclass(frozen=True)
class Source:
    """A source of the kernel: where it is, the hash by which it is known, and for a tree what is in it."""

    path: Path
    hash: str
    files: Snapshot | None = None

    @property
    def is_tree(self) -> bool:
        """True for an unpacked tree, False for an archive."""
        return self.path.is_dir()


def identify(path: Path | None) -> Source:
    """The source at `path` (None: Debian's) with its hash.

    An archive's hash is that of its bytes. A tree's is of the names and contents of all that a build can read
    in it, whatever was built there. Raises KernelError where there is none.
    """
    place = debian_source() if path is None else path.absolute()
    if place.is_dir():
        if not (place / "arch" / "um" / "Kconfig").is_file():
            raise KernelError(f"{place}: is not a source of Linux: it has no arch/um/Kconfig")
        _require_six(version_in(place), place)
        return tree_of(place, look(place, known_snapshot(place)))
    try:
        with place.open("rb") as file:
            return Source(place, hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        hint = f"on Debian: apt-get install {source_package()}, or " if path is None else ""
        raise KernelError(
            f"{place}: the kernel's source cannot be read ({one_line(error.strerror)}); "
            f"{hint}name one with --source"
        ) from None


def tree_of(place: Path, files: Snapshot) -> Source:
    """The source that a tree with these files is."""
    return Source(place, hash_of(sources(files)), files)


def unpack(source: Source, tree: Path) -> str:
    """Unpacks an archive into the new folder `tree` and returns its version, such as 6.1.192.

    Left out are files that no build reads, half of all. Raises KernelError for a damaged archive, one of
    something else, and any kernel but 6.x.
    """
    top, makefile = _makefile_in(source.path)
    _require_six(version_of(makefile), source.path)
    tree.mkdir()
    command = ["tar", "--extract", "--file", str(source.path), "--directory", str(tree)]
    # An archive of several blocks is read by all cores.
    if source.path.suffix == ".xz" and shutil.which("xz"):
        command += ["--use-compress-program", "xz --threads=0"]
    done = subprocess.run(
        [*command, "--strip-components=1", "--no-same-owner", "--anchored", "--wildcards", *_unread(top)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        said = one_line(done.stderr).split(" tar: ")[0]
        raise KernelError(f"{source.path}: cannot be unpacked: {said}")
    version = version_in(tree)
    _require_six(version, source.path)
    return version


def version_of(makefile: str) -> str:
    """The version that the first lines of the kernel's Makefile give; empty where they give none."""
    pattern = r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)"
    numbers: dict[str, str] = dict(re.findall(pattern, makefile, re.MULTILINE))
    if "VERSION" not in numbers or "PATCHLEVEL" not in numbers:
        return ""
    dotted = [numbers["VERSION"], numbers["PATCHLEVEL"], numbers.get("SUBLEVEL") or "0"]
    return ".".join(dotted) + numbers.get("EXTRAVERSION", "")


def version_in(tree: Path) -> str:
    """The version of a tree; empty where its Makefile gives none."""
    try:
        return version_of((tree / "Makefile").read_text(errors="replace"))
    except OSError:
        return ""


def _require_six(version: str, place: Path) -> None:
    if not version:
        raise KernelError(f"{place}: is not a source of Linux: its Makefile gives no version")
    if not version.startswith("6."):
        raise KernelError(
            f"{place}: is Linux {version}; a kernel with a virtual clock needs a source of Linux 6.x"
        )


_UNREAD_FOLDERS = (
    *("Documentation", "drivers/gpu", "drivers/media", "sound", "tools/testing"),
    *("arch/[!ux]*", "arch/xtensa"),
)
_UNREAD_ENDS = (".c", ".h", ".S", ".dts", ".dtsi", ".dtso", ".rst", ".yaml", ".txt")
"""What no build reads: all of other architectures, drivers and texts but Makefiles and Kconfig files."""


def _unread(top: str) -> list[str]:
    """The words that let `tar` leave that out of an archive whose files stand in the folder `top`."""
    escaped = re.sub(r"([*?\[\\])", r"\\\1", top)
    return [f"--exclude={escaped}/{folder}/*{end}" for folder in _UNREAD_FOLDERS for end in _UNREAD_ENDS]


def _makefile_in(archive: Path) -> tuple[str, str]:
    """The folder at the top of an archive and the Makefile in it, near the beginning of Linux's."""
    try:
        with tarfile.open(archive) as members:
            for member in members:
                if member.name.removeprefix("./").count("/") == 1 and member.name.endswith("/Makefile"):
                    file = members.extractfile(member)
                    text = file.read().decode(errors="replace") if file is not None else ""
                    return member.name.removesuffix("/Makefile"), text
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError):
        raise KernelError(f"{archive}: is not a tar archive of Linux's source, or a damaged one") from None
    return "", ""
