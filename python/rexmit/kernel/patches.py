"""The changes of the kernel's source, as data: `data/patches.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rexmit.files import put
from rexmit.kernel.errors import KernelError


@dataclass(frozen=True)
class Edit:
    """One insertion: `text` goes `before` or `after` the anchor, or `instead` of it, in `file`."""

    file: str
    anchor: str
    insert: str
    text: str

    def apply(self, content: str) -> str:
        """The changed content. Raises ValueError where the anchor does not stand in it exactly once."""
        if (found := content.count(self.anchor)) != 1:
            place = next(line for line in self.anchor.splitlines() if line.strip()).strip()
            raise ValueError(f"{self.file} has {found or 'no'} places like {place!r}")
        parts = {"before": self.text + self.anchor, "after": self.anchor + self.text, "instead": self.text}
        return content.replace(self.anchor, parts[self.insert])


@dataclass(frozen=True)
class Patch:
    """Edits with one reason. A build goes on without an optional patch that does not fit.

    `ways` are its edits, and others for sources that have other code there: the first that fits is taken.
    """

    name: str
    reason: str
    optional: bool
    ways: tuple[tuple[Edit, ...], ...]


@dataclass(frozen=True)
class Applied:
    """What became of patches: the names of those that are in the source, and why each other is not."""

    names: tuple[str, ...]
    unfitting: dict[str, str]


def patches_text(hz: int) -> str:
    """The text of the patches for a kernel with `hz` ticks a second."""
    return (files("rexmit.kernel") / "data" / "patches.toml").read_text().replace("@HZ@", str(hz))


def load_patches(text: str) -> list[Patch]:
    """The patches that a text in TOML holds."""
    return [_patch(table) for table in tomllib.loads(text)["patch"]]


def apply_patches(tree: Path, patches: list[Patch]) -> Applied:
    """Changes the source in `tree`, and says which patches were applied and why others were not.

    A patch is applied whole or not at all. Raises KernelError, before anything is written, where some that
    are not optional do not fit; it names them all.
    """
    changed, applied = changed_files(tree, patches)
    for file, content in changed.items():
        put(tree / file, content)
    return applied


def changed_files(tree: Path, patches: list[Patch]) -> tuple[dict[str, str], Applied]:
    """The files of a source that patches change, as they are then; nothing is written.

    Raises KernelError as `apply_patches` does.
    """
    changed: dict[str, str] = {}
    names: list[str] = []
    unfitting: dict[str, str] = {}
    needed: list[str] = []
    for patch in patches:
        fits, why = _fitting(tree, patch, changed)
        if fits is not None:
            changed |= fits
            names.append(patch.name)
            continue
        unfitting[patch.name] = why
        if not patch.optional:
            needed.append(f"the patch {patch.name!r} does not fit this source: {why}")
    if needed:
        raise KernelError(f"{'; '.join(needed)}; use Debian's linux-source-6.1 or linux-source-6.12")
    return changed, Applied(tuple(names), unfitting)


def _fitting(tree: Path, patch: Patch, changed: dict[str, str]) -> tuple[dict[str, str] | None, str]:
    """What the first way that fits makes of the files; else None, and why the first does not fit."""
    reasons = []
    for edits in patch.ways:
        try:
            return _edited(tree, edits, changed), ""
        except OSError as error:
            reasons.append(f"{error.filename}: {error.strerror}")
        except ValueError as error:
            reasons.append(str(error))
    return None, reasons[0]


def _edited(tree: Path, edits: tuple[Edit, ...], changed: dict[str, str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for edit in edits:
        before = files.get(edit.file, changed.get(edit.file))
        files[edit.file] = edit.apply((tree / edit.file).read_text() if before is None else before)
    return files


def _patch(table: dict[str, Any]) -> Patch:
    given = [table["edit"], *(other["edit"] for other in table.get("otherwise", []))]
    ways = tuple(tuple(Edit(**edit) for edit in edits) for edits in given)
    return Patch(table["name"], " ".join(table["reason"].split()), table.get("optional", False), ways)
