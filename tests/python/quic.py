"""What tests of QUIC share: the stacks that speak it, a small study, and tshark."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit.run.stacks import lacking, third_parties

STACKS = [name for name, stack in third_parties().items() if "quic" in stack.protocols]

stacks = pytest.mark.parametrize("code", STACKS)
pairs = pytest.mark.parametrize(
    ("server", "client"), [(one, other) for one in STACKS for other in STACKS if one != other]
)


@pytest.fixture(autouse=True)
def is_here(request: pytest.FixtureRequest) -> None:
    """Skips the tests of code that is not there and need not be."""
    given = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    for code in {given.get(key, STACKS[0]) for key in ("code", "server", "client")}:
        if (lacks := lacking(third_parties()[code])) is not None:
            assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", lacks
            pytest.skip(lacks)


def study(
    code: str,
    *,
    transfer: dict[str, Any] | None = None,
    path: dict[str, Any] | None = None,
    host: dict[str, Any] | None = None,
    client: str | None = None,
    **rest: Any,
) -> rexmit.Study:
    """20 kB from the server over 10 Mbit/s and 100 ms there and back; the client may have other code."""
    given = {"from": "server", "to": "client", "writes": "20 x 1000 bytes", **(transfer or {})}
    return rexmit.Study.from_dict(
        {
            "title": "quic",
            "scenario": {
                "hosts": {
                    name: {"stack": "rfc9000", "code": code_of, **(host or {})}
                    for name, code_of in (("server", code), ("client", client or code))
                },
                "path": {"rate": "10 Mbit/s", "delay": "50 ms", **(path or {})},
                "transfers": [given],
                **rest.pop("scenario", {}),
            },
            **rest,
        }
    )


def shown(capture: Path, *fields: str, where: str = "quic") -> list[list[str]]:
    """The fields of a capture's packets, as tshark shows them."""
    tshark = shutil.which("tshark")
    if tshark is None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", "no tshark"
        pytest.skip("no tshark on this machine")
    asked = [part for field in fields for part in ("-e", field)]
    command = [tshark, "-r", str(capture), "-Y", where, "-T", "fields", *asked]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in text.splitlines()]
