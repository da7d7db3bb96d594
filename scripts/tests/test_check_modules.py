"""Circles of modules, laid in a small crate: the checker must see each, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Lay = Callable[[dict[str, str]], Path]

BASE = "crates/analysis/src"
CLEAN = {
    f"{BASE}/lib.rs": "mod core;\nmod tcp;\npub use tcp::Judge;",
    f"{BASE}/core.rs": "pub(in crate::tcp) struct Policy;\n#[cfg(test)]\nmod tests { use crate::tcp::X; }",
    # A parent that declares a child does not use it.
    f"{BASE}/tcp/mod.rs": "mod half;\npub struct Judge;\n// use half::Half;",
    f"{BASE}/tcp/half.rs": "use super::Judge;\nuse crate::core::{self, Policy};",
    f"{BASE}/tcp/half/tests.rs": "use crate::tcp::Judge;",
}

CIRCLES = [
    ({f"{BASE}/core.rs": "use crate::tcp::Judge;", f"{BASE}/tcp/mod.rs": "use crate::core::Policy;"}, "core"),
    ({f"{BASE}/tcp/mod.rs": "mod half;\nuse half::Half;"}, "tcp -> tcp::half -> tcp"),
    ({f"{BASE}/tcp/mod.rs": "mod half;\nfn f() { half::start() }"}, "tcp -> tcp::half -> tcp"),
    ({f"{BASE}/core.rs": "fn f() -> crate::tcp::half::Half { todo!() }"}, "core -> tcp::half -> core"),
]


def test_a_tree_of_modules_passes(lay: Lay, script: Run) -> None:
    result = script("check_modules.py", "--root", str(lay(CLEAN)))
    assert (result.returncode, result.stdout) == (0, "circles of modules: 0\n")


@pytest.mark.parametrize(("change", "circle"), CIRCLES)
def test_a_circle_is_named(change: dict[str, str], circle: str, lay: Lay, script: Run) -> None:
    result = script("check_modules.py", "--root", str(lay({**CLEAN, **change})))
    assert result.returncode == 1
    assert circle in result.stdout
