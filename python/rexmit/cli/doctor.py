"""`rexmit doctor`: what this machine can run, and what is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from rexmit import _native
from rexmit.cli.common import console, json_option, print_json
from rexmit.errors import RexmitError
from rexmit.kernel import KernelError, find_kernel, kernels
from rexmit.run.backends import BACKENDS
from rexmit.run.emulation import probe
from rexmit.run.provenance import environment
from rexmit.run.stacks import Stack, lacking, third_parties

_PART_SECONDS = 1.5
"""How long each of the emulator's eight measurements takes, beside what it waits for."""
_SAFE_FACTOR = 100
"""A round trip is safe where it is this many times the error at the 99th percentile: an error below 1 %."""


_NEEDS = {
    **{stack.backend: stack.name for stack in third_parties().values()},
    "uml": "kernel",
    "kernel": "namespaces",
}
"""The check that a backend goes by."""


@click.command(epilog="\b\nExamples:\n  rexmit doctor --json\n  sudo rexmit doctor --emulator")
@click.option(
    "--emulator", is_flag=True, help="Measure the live emulator on this machine: 15 seconds, needs root."
)
@json_option
def doctor(emulator: bool, as_json: bool) -> None:
    """Show what this machine can run and what is missing. Missing extras are not an error."""
    if emulator:
        _emulator(as_json)
        return
    facts = environment()
    checks = [_tshark(), _ns3(), _kernel(), _ccache(), *map(_stack, third_parties().values()), _namespaces()]
    if as_json:
        print_json({**facts, "backends": list(BACKENDS), "checks": checks})
        return
    click.echo(f"rexmit {facts['version']} (native code {facts['native_version']}), Python {facts['python']}")
    click.echo(f"{facts['system']} {facts['kernel']} on {facts['machine']}, {facts['cores']} usable cores")
    table = Table("", "what", "for", "found, or what to do", box=None, pad_edge=False)
    found = {str(check["name"]): bool(check["found"]) for check in checks}
    for name, what in BACKENDS.items():
        need = _NEEDS.get(name)
        usable = need is None or found[need]
        told = "built in" if usable else f"needs: {need}, see below"
        table.add_row(_mark(usable), f"backend {name}", what, told)
    for check in checks:
        table.add_row(
            _mark(bool(check["found"])), str(check["name"]), str(check["for"]), str(check["detail"])
        )
    console().print(table)


def _emulator(as_json: bool) -> None:
    """Measures the emulator and says which experiments its errors allow."""
    found = _measure()
    found["advice"] = _advice(found)
    if as_json:
        print_json(found)
        return
    table = Table("mode", "packets/s", "p50, us", "p99, us", "largest, us", "lost", box=None, pad_edge=False)
    for row in found["delays"]:
        errors = [f"{row[key]:,.1f}" for key in ("p50_us", "p99_us", "max_us")]
        table.add_row(row["mode"], f"{row['packets_per_second']:,}", *errors, f"{row['lost']:,}")
    click.echo("error of a delay of 10 ms, from the sender's stamp to that of the receiver's kernel:")
    console().print(table)
    click.echo(f"error of a rate of 100 Mbit/s: {100 * found['rate_error']:+.3f} %")
    click.echo(f"highest rate of 64-byte packets: {found['packets_per_second']:,} a second")
    for line in found["advice"]:
        click.echo(line)


def _measure() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_native.measure_emulator(_PART_SECONDS))
    except PermissionError as error:
        raise RexmitError(f"doctor --emulator needs root, or a user namespace of its own: {error}") from None
    except OSError as error:
        raise RexmitError(f"this machine cannot run the live emulator: {error}") from None
    return found


def _advice(found: dict[str, Any]) -> list[str]:
    """A sentence for each mode on what is safe, and one on what the emulator itself calls invalid."""
    lines = []
    for mode in dict.fromkeys(row["mode"] for row in found["delays"]):
        rows = [row for row in found["delays"] if row["mode"] == mode]
        for row in rows:
            least = _SAFE_FACTOR * row["p99_us"] / 1000
            load = f"{mode}, up to {row['packets_per_second']:,} packets/s"
            lines.append(
                f"{load}: a round trip of {least:,.1f} ms or more is accurate to 1 % for 99 of 100 packets"
            )
            if row["invalid"]:
                lines.append(f"{load}: {row['invalid']}")
    return lines


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
        others = dict.fromkeys(one.version for one in kernels() if one.version != kernel.version)
        more = f"; --kernel chooses {', '.join(others)}" if others else ""
        found, detail = True, f"Linux {kernel.version}, HZ={kernel.hz}: {kernel.path}{more}"
    except KernelError as error:
        found, detail = False, str(error)
    return {"name": "kernel", "for": "Linux's own stack in virtual time", "found": found, "detail": detail}


def _ccache() -> dict[str, object]:
    path = shutil.which("ccache")
    detail = str(path) if path else "install Debian's package ccache"
    what = "rexmit kernel build, which takes from it what was compiled before"
    return {"name": "ccache", "for": what, "found": path is not None, "detail": detail}


def _stack(stack: Stack) -> dict[str, object]:
    lacks = lacking(stack)
    return {
        "name": stack.name,
        "for": f"{stack.summary}, in virtual time",
        "found": lacks is None,
        "detail": lacks or f"built in: {stack.version}",
    }


def _namespaces() -> dict[str, object]:
    if sys.platform != "linux":
        found, detail = False, "needs Linux"
    else:
        answer = probe()
        found = "wrong" not in answer
        detail = _emulated_by(answer) if found else answer["wrong"]
    return {
        "name": "namespaces",
        "for": "rexmit emulate, and runs on this machine's kernel",
        "found": found,
        "detail": detail,
    }


def _emulated_by(answer: dict[str, Any]) -> str:
    """How emulations are made here."""
    who = "in user namespaces, between two programs (--server)" if answer["rootless"] else "as root"
    through = "TUN devices" if answer["carrier"] == "tun" else f"veth pairs ({answer['closed']})"
    hidden = "" if answer["own_proc"] else "; programs see the machine's processes in /proc"
    return f"{who}, through {through}{hidden}"


def _first_line(command: list[str | None]) -> str:
    try:
        done = subprocess.run(
            [c for c in command if c], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {error}"
    return done.stdout.partition("\n")[0]
