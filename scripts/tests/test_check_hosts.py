"""Each way to count hosts is taken once in a small project: the checker must see it, and only it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Lay = Callable[[dict[str, str]], Path]

RUST = "crates/sim/src/world.rs"

CLEAN = {
    RUST: """
// The peer is not 1 - host, and no host is called "server" here.
fn f(ends: &Ends<u8>, at: EndIndex) -> u8 {
    let half = (size / 2, size % 2, 1 - share, mask ^ 10, words[0], "hosts.server.mtu", 2 * time);
    ends[at.peer()]
}

#[cfg(test)]
mod tests {
    fn g() { assert_eq!((name(HostId::new(2)), "server"), (None, "server")); }
}
""",
    "crates/network/src/two_hosts.rs": 'fn f() -> (&str, HostId) { ("server", HostId::new(1 - host)) }',
    # A window less one and a place; the slope of a line; a flag that is turned; the names of a file.
    "crates/tcp/tests/rules.rs": "fn f() { (win - 1 - i, to.1 - from.1, TAG ^ 1, 2 * n, n % 2) }",
    "crates/sim/tests/runs.rs": 'fn f() { json!({ "hosts": { "server": {} } }) }',
    "crates/analysis/src/rows.rs": 'const SIDES: [&str; 2] = ["client", "server"];',
    "fuzz/target/made.rs": "fn f() { 1 - host }",
}


def test_types_pass(script: Run, lay: Lay) -> None:
    done = script("check_hosts.py", "--root", str(lay(CLEAN)))
    assert (done.returncode, done.stdout) == (0, "hosts: 0 places that count them\n")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("all[1 - host]", "1 - host"),
        ("all[1 - *host]", "1 - *host"),
        ("all[1 - plan.opener]", "1 - plan.opener"),
        ("all[1 - i]", "1 - i"),
        ("senders[n ^ 1]", "n ^ 1"),
        ("let host = index % 2;", "index % 2"),
        ("self.react(end.index / 2)", "end.index / 2"),
        ("2 * connection + host", "2 * connection"),
        ("2 * *connection as usize", "2 * *connection"),
        ("captures[0].clone()", "captures[0]"),
        ("emulator.ports()[1].got", "ports()[1]"),
        ("HostId::new(n)", "HostId::new"),
        ('let name = "server";', '"server"'),
        ('resolved.address("client")', '"client"'),
    ],
)
def test_arithmetic_is_seen(script: Run, lay: Lay, code: str, found: str) -> None:
    done = script("check_hosts.py", "--root", str(lay({**CLEAN, RUST: f"fn f() {{ {code} }}"})))
    assert done.returncode == 1
    assert done.stdout.startswith(f"error: {RUST}:1: {found}; ")


@pytest.mark.parametrize(
    "path",
    [
        "crates/analysis/src/tables/sides.rs",
        "crates/adapters/other/examples/bulk.rs",
        "crates/tcp/tests/common/pair.rs",
        "crates/sim/src/world/tests.rs",
        "foreign/src/listing.rs",
        "benches/captures.rs",
    ],
)
def test_every_folder_is_read(script: Run, lay: Lay, path: str) -> None:
    done = script("check_hosts.py", "--root", str(lay({**CLEAN, path: "fn f() { all[1 - host] }"})))
    assert done.returncode == 1
    assert done.stdout.startswith(f"error: {path}:1: 1 - host; ")


def test_the_project_itself_passes(script: Run) -> None:
    done = script("check_hosts.py")
    assert done.stdout == "hosts: 0 places that count them\n"
