import json
from pathlib import Path

import pytest

from .conftest import load

check = load("check_licences.py")


@pytest.mark.parametrize(
    ("expression", "good"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("", False),
        ("MIT OR GPL-3.0", True),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("(GPL-3.0 OR MIT) AND Zlib", True),
        ("(GPL-3.0 AND MIT) OR LGPL-2.1", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT WITH some-exception", False),
        ("(MIT", False),
        ("MIT MIT", False),
    ],
)
def test_expressions(expression: str, good: bool) -> None:
    allowed = {"MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"}
    assert check.satisfied(expression, allowed) is good


def test_a_banned_package_is_refused() -> None:
    package = {"name": "openssl-sys", "version": "1.0.0", "license": "MIT"}
    assert check.faults(package, {"MIT"}, {"openssl-sys"}) == [
        "error: openssl-sys 1.0.0 is banned by deny.toml"
    ]


def test_of_the_pages_only_what_is_shipped_is_judged(tmp_path: Path) -> None:
    packages = {
        "": {"name": "rexmit-web"},
        "node_modules/uplot": {"version": "1.6.32", "license": "MIT"},
        "node_modules/eslint": {"version": "9.0.0", "license": "GPL-3.0", "dev": True},
    }
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": packages}))
    assert check.of_pages(tmp_path) == [{"name": "uplot", "version": "1.6.32", "license": "MIT"}]
