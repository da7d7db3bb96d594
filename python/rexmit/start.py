"""What keeps short processes short."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def without_pandas() -> None:
    """From here on pandas cannot be imported in this process, as if it were not installed.

    No command has a use for it; but where it is installed pyarrow imports it for the first array, which takes
    a third of the time of a short command. In Python, where `to_pandas` needs it, nothing is changed.
    """
    sys.meta_path.insert(0, _WithoutPandas())


class _WithoutPandas(MetaPathFinder, Loader):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answers for pandas alone."""
        return ModuleSpec(name, self) if name == "pandas" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Raises ModuleNotFoundError, as where it is not installed."""
        raise ModuleNotFoundError(f"{spec.name} is not imported by commands", name=spec.name)
