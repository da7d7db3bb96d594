"""`rexmit doctor`: what this machine can run, and what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from rexmit.cli.common import console, json_option, print_json
from rexmit.kernel import KernelError, find_kernel
from rexmit.run.backends import BACKENDS
from rexmit.run.provenance import environment

_USER_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")


@click.command(epilog="\b\nExample:\n  rexmit doctor --json")
@json_option
def doctor(as_json: bool) -> None:
    """Show what this machine can run and what is missing. Missing extras are no error."""
    facts = environment()
    checks = [_tshark(), _ns3(), _kernel(), _namespaces()]
    if as_json:
        print_json({**facts, "backends": list(BACKENDS), "checks": checks})
        return
    click.echo(f"rexmit {facts['version']} (native code {facts['native_version']}), Python {facts['python']}")
    click.echo(f"{facts['system']} {facts['kernel']} on {facts['machine']}, {facts['cores']} usable cores")
    table = Table("", "what", "for", "found, or what to do", box=None, pad_edge=False)
    for name, what in BACKENDS.items():
        table.add_row(_mark(True), f"backend {name}", what, "built in")
    for check in checks:
        table.add_row(
            _mark(bool(check["found"])), str(check["name"]), str(check["for"]), str(check["detail"])
        )
    console().print(table)


def _mark(found: bool) -> Text:
    return Text("yes", style="green") if found else Text("no", style="yellow")


def _tshark() -> dict[str, object]:
    path = shutil.which("tshark")
    detail = _first_line([path, "--version"]) if path else "install Debian's package tshark"
    return {"name": "tshark", "for": "tests of captures", "found": path is not None, "detail": detail}


def _ns3() -> dict[str, object]:
    found = sorted(
        header
        for root in ("/usr/include", "/usr/local/include")
        for header in Path(root).glob("ns3*/ns3/core-module.h")
    )
    detail = str(found[0].parents[1]) if found else "install Debian's package libns3-dev"
    return {"name": "ns-3", "for": "make bench", "found": bool(found), "detail": detail}


def _kernel() -> dict[str, object]:
    try:
        kernel = find_kernel()
        found, detail = True, f"Linux {kernel.version}, HZ={kernel.hz}: {kernel.path}"
    except KernelError as error:
        found, detail = False, str(error)
    return {"name": "kernel", "for": "Linux's own stack in virtual time", "found": found, "detail": detail}


def _namespaces() -> dict[str, object]:
    if sys.platform != "linux":
        found, detail = False, "needs Linux"
    else:
        try:
            found = int(_USER_NAMESPACES.read_text()) > 0
            detail = "user namespaces are allowed" if found else f"raise {_USER_NAMESPACES}"
        except (OSError, ValueError):
            found, detail = False, "this kernel has no user namespaces"
    return {
        "name": "namespaces",
        "for": "live emulation, of a later release",
        "found": found,
        "detail": detail,
    }


def _first_line(command: list[str | None]) -> str:
    try:
        done = subprocess.run(
            [c for c in command if c], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {error}"
    return done.stdout.partition("\n")[0]
