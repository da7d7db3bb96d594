"""Each rule of the house is broken once in a small project: the checker must see it, and only it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Lay = Callable[[dict[str, str]], Path]

LINTS = "[lints]\nworkspace = true\n"


def crate(name: str, source: str = "", manifest: str = "", lints: str = LINTS) -> dict[str, str]:
    return {
        f"crates/{name}/Cargo.toml": f'[package]\nname = "rexmit-{name}"\n{lints}{manifest}',
        f"crates/{name}/src/lib.rs": source,
    }


CLEAN = {
    **crate("units", "pub fn f() -> std::time::Duration { std::time::Duration::ZERO }"),
    **crate("tcp", "use std::{fmt, collections::BTreeMap};", "[dependencies]\nrexmit-units = {}\n"),
    **crate("capture", "use std::io::{Read, Write as W};"),
    **crate("sim", "use std::{fs, time::Instant};", "[dependencies]\nrexmit-other = {}\n"),
    **crate("adapters/other", "unsafe fn f() {}", "[dependencies]\nrexmit-stack = {}\n", ""),
    **crate("python", "unsafe fn f() {}", lints=""),
    **crate("analysis", manifest="[dev-dependencies]\nrexmit-sim = {}\n"),
    "crates/path/Cargo.toml": LINTS,
    "crates/path/src/lib.rs": (
        '// unsafe, std::env::var\npub const A: &str = "std::fs::read unsafe";\n'
        "#[cfg(test)]\nmod tests {\n use std::fs;\n fn f() { if true { std::thread::yield_now() } }\n}\n"
        "pub fn lifetime<'a>(x: &'a str) -> &'a str { x }\n"
    ),
    "crates/path/src/queue/tests.rs": "use std::fs;",
    "python/rexmit/__init__.py": '"""Top."""\nfrom rexmit.study import spec\n__all__ = ["Study"]\n',
    "python/rexmit/_native.pyi": "",
    "python/rexmit/study/__init__.py": "from rexmit import _native\nfrom .spec import x\n",
    "python/rexmit/study/spec.py": "from . import other\nimport rexmit.units\nx = other\n",
    "python/rexmit/study/other.py": "",
    "python/rexmit/units.py": "",
    "python/rexmit/models/__init__.py": "import math\nfrom rexmit.errors import RexmitError\n",
    "python/rexmit/errors.py": "",
    "python/rexmit/analyse.py": "from rexmit.models import x\n",
    "python/rexmit/cli/__init__.py": "from rexmit import report, models\n",
    "python/rexmit/report/__init__.py": "",
    "examples/first.py": "import rexmit\nrexmit.Study\nfrom rexmit import Study\n",
}


def test_a_clean_project_passes(script: Run, lay: Lay) -> None:
    done = script("check_imports.py", "--root", str(lay(CLEAN)))
    assert done.stdout == "import rules: 0 broken\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            crate("tcp", manifest="[dependencies]\nrexmit-other = {}\n"),
            "crates/tcp/Cargo.toml: tcp -> adapters is not an arrow of the house",
        ),
        (crate("analysis", manifest="[dependencies]\nrexmit-tcp = {}\n"), "analysis -> tcp is not an arrow"),
        (crate("analysis", manifest="[dependencies]\nrexmit-sim = {}\n"), "analysis -> sim is not an arrow"),
        (crate("tcp", manifest="[dependencies]\nrexmit-path = {}\n"), "tcp -> path is not an arrow"),
        (crate("tcp", manifest="[build-dependencies]\nrexmit-sim = {}\n"), "tcp -> sim is not an arrow"),
        (
            crate("live", manifest="[dependencies]\nrexmit-analysis = {}\n"),
            "live -> analysis is not an arrow",
        ),
        (crate("tcp", manifest='[dependencies]\nrand = "0.9"\n'), "tcp may not use rand"),
        (crate("tcp", lints=""), "which forbids unsafe code"),
        (crate("novel"), "the crate novel is not in ARROWS"),
        (crate("tcp", "fn f() { unsafe { g() } }"), "lib.rs:1: `unsafe` outside"),
        (crate("path", "use std::time::Instant;"), "std::time::Instant reaches a clock"),
        (crate("path", "use std::{fmt, time::{Duration, SystemTime}};"), "std::time::SystemTime"),
        (crate("path", "\n\nuse std::time;"), "lib.rs:3: std::time reaches a clock"),
        (crate("path", "fn f() { ::std::env::var(X); }"), "std::env::var reaches the environment"),
        (crate("path", "use std::{self as s};"), "all of std under another name"),
        (crate("path", "use std as s;"), "all of std under another name"),
        (crate("path", "use std::fs;"), "std::fs reaches files"),
        (crate("path", "use std::io::Read;"), "std::io::Read reaches input and output"),
        (crate("path", "use std::net::{IpAddr, UdpSocket};"), "std::net::UdpSocket reaches sockets"),
        (crate("path", "use std::{net as n, fmt};"), "std::net reaches sockets"),
        (crate("capture", "use std::io::stdin;"), "std::io::stdin reaches input and output"),
        (crate("capture", "use std::fs::File;"), "std::fs::File reaches files"),
        (crate("tcp", '"a\\"b" /* " */ ; std::process::exit(1)'), "std::process::exit reaches processes"),
        (crate("tcp", "const Q: char = '\"'; fn f() { std::fs::read(A) }"), "std::fs::read reaches files"),
        (crate("tcp", "#[cfg(test)]\nmod tests;\nuse std::fs;"), "lib.rs:3: std::fs"),
        (
            {"python/rexmit/study/spec.py": "from rexmit import run\n"},
            "spec.py:1: a part may not use the top",
        ),
        ({"python/rexmit/units.py": "import rexmit.study.spec\n"}, "units.py:1: units -> study"),
        ({"python/rexmit/study/spec.py": "from ..cli import main\n"}, "spec.py:1: study -> cli"),
        ({"python/rexmit/study/other.py": "def f():\n    from rexmit.report import x\n"}, "study -> report"),
        (
            {"python/rexmit/models/a.py": "from rexmit.units import x\n"},
            "models -> units: models stands alone",
        ),
        ({"python/rexmit/units.py": "from rexmit.models import x\n"}, "units -> models: models stands alone"),
        ({"python/rexmit/novel.py": ""}, "novel is not in LAYERS"),
        ({"studies/a/figures.py": "from rexmit.run import backends\n"}, "rexmit.run is not a public name"),
        ({"studies/a/figures.py": "import rexmit.plot\n"}, "rexmit.plot is not a public name"),
        ({"examples/first.py": "import rexmit\nrexmit.hidden()\n"}, "first.py:2: rexmit.hidden"),
    ],
)
def test_each_broken_rule_is_seen(script: Run, lay: Lay, files: dict[str, str], message: str) -> None:
    done = script("check_imports.py", "--root", str(lay({**CLEAN, **files})))
    assert message in done.stdout
    assert done.stdout.endswith("import rules: 1 broken\n")
    assert done.returncode == 1
