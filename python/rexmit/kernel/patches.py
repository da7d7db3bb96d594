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
    """Edits with one reason. A build goes on without an optional patch that does not fit."""

    name: str
    reason: str
    optional: bool
    edits: tuple[Edit, ...]


def patches_text(hz: int) -> str:
    """The text of the patches for a kernel with `hz` ticks a second."""
    return (files("rexmit.kernel") / "data" / "patches.toml").read_text().replace("@HZ@", str(hz))


def load_patches(text: str) -> list[Patch]:
    """The patches that a text in TOML holds."""
    return [_patch(table) for table in tomllib.loads(text)["patch"]]


def apply_patches(tree: Path, patches: list[Patch]) -> tuple[list[str], list[str]]:
    """Changes the source in `tree`; names the patches that were applied, and optional ones that were not.

    A patch is applied whole or not at all. Raises KernelError where one that is not optional does not fit.
    """
    applied: list[str] = []
    left: list[str] = []
    for patch in patches:
        try:
            changed = _changed(tree, patch)
        except (OSError, ValueError) as error:
            if not patch.optional:
                why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
                raise KernelError(
                    f"the patch {patch.name!r} does not fit this source: {why}; "
                    "use Debian's linux-source-6.1 or another 6.1"
                ) from None
            left.append(patch.name)
            continue
        for path, content in changed.items():
            put(path, content)
        applied.append(patch.name)
    return applied, left


def _changed(tree: Path, patch: Patch) -> dict[Path, str]:
    changed: dict[Path, str] = {}
    for edit in patch.edits:
        path = tree / edit.file
        changed[path] = edit.apply(changed[path] if path in changed else path.read_text())
    return changed


def _patch(table: dict[str, Any]) -> Patch:
    edits = tuple(Edit(**edit) for edit in table["edit"])
    return Patch(table["name"], " ".join(table["reason"].split()), table.get("optional", False), edits)
