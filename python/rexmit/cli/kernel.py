"""`rexmit kernel`: builds the Linux kernel with a virtual clock, and says what is there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from rexmit.cli.common import console, json_option, print_json
from rexmit.cli.groups import Commands
from rexmit.cli.stopping import ended
from rexmit.kernel import (
    HZ_CHOICES,
    BootCheck,
    BuildOptions,
    Kernel,
    cache_folder,
    check_boot,
    find_kernel,
    kernels,
    missing,
)
from rexmit.kernel import build as build_kernel
from rexmit.kernel.cache import DEFAULT_HZ
from rexmit.kernel.needs import install_line
from rexmit.run.progress import shown_progress


@click.group(
    cls=Commands,
    epilog="""\b
Example:
  rexmit kernel build
  rexmit kernel status --check""",
)
def kernel() -> None:
    """Build the Linux kernel with a virtual clock, once, and show what is there.

    It is User-Mode Linux: a program that needs no privileges. Kernels are kept in $REXMIT_CACHE, else in
    $XDG_CACHE_HOME/rexmit, else in ~/.cache/rexmit.
    """


@kernel.command(
    epilog="""\b
Examples:
  rexmit kernel build
  rexmit kernel build --hz 250 --jobs 4
  rexmit kernel build --source linux-6.1.99.tar.xz"""
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Archive or tree of Linux 6.x, which stays as it is. Default: Debian's package linux-source-6.1.",
)
@click.option(
    "--hz",
    type=click.Choice([str(hz) for hz in HZ_CHOICES]),
    default=str(DEFAULT_HZ),
    show_default=True,
    help="Ticks a second, which TCP's timers count.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Compilers at once. Default: one a core.")
@click.option("--force", is_flag=True, help="Build again what was built.")
@json_option
def build(source: Path | None, hz: str, jobs: int | None, force: bool, as_json: bool) -> None:
    """Build the kernel, which takes some minutes, unless it was built from just the same before."""
    try:
        with shown_progress() as progress:
            built = build_kernel(BuildOptions(source, int(hz), jobs, force, progress))
    except KeyboardInterrupt as error:
        raise ended(error, "the build was stopped; nothing of it is left") from None
    if as_json:
        print_json(built.facts())
    else:
        click.echo(f"Linux {built.version}, HZ={built.hz}: {built.path}")


@kernel.command(
    epilog="""\b
Examples:
  rexmit kernel status --check
  rexmit kernel status --json"""
)
@click.option("--check", is_flag=True, help="Boot the kernel that is used by default.")
@json_option
def status(check: bool, as_json: bool) -> None:
    """Show the kernels that were built, which is used by default, and what a build would lack."""
    found = kernels()
    # An error where there is none: a check of nothing is no success.
    default = find_kernel() if found or check else None
    booted = check_boot(default) if check and default is not None else None
    lacking = missing()
    if as_json:
        print_json(
            {
                "folder": str(cache_folder()),
                "default": None if default is None else default.hash,
                "kernels": [kernel.facts() for kernel in found],
                "missing": lacking,
                "boot": None if booted is None else asdict(booted),
            }
        )
        return
    _show(found, default, lacking)
    if booted is not None:
        _show_boot(booted)


@kernel.command(epilog="\b\nExample:\n  $(rexmit kernel path) --version")
@click.option("--hz", type=click.Choice([str(hz) for hz in HZ_CHOICES]), help="The one with these ticks.")
def path(hz: str | None) -> None:
    """Print the path of the kernel that is used by default."""
    click.echo(find_kernel(None if hz is None else int(hz)).path)


def _show(found: list[Kernel], default: Kernel | None, lacking: dict[str, str]) -> None:
    click.echo(f"kernels in {cache_folder()}")
    table = Table(
        "", "version", "HZ", "hash", "built", "seconds", "patches", "compiler", box=None, pad_edge=False
    )
    for one in found:
        mark = "default" if one == default else ""
        patches = ", ".join([*one.patches, *(f"without {name}" for name in one.unpatched)])
        seconds = f"{one.build_seconds:.0f}"
        table.add_row(mark, one.version, str(one.hz), one.hash, one.built, seconds, patches, one.compiler)
    if found:
        console().print(table)
    else:
        click.echo("none was built; `rexmit kernel build` builds one")
    if lacking:
        names = ", ".join(lacking)
        click.echo(f"a build would lack {names}; on Debian: {install_line(lacking)}")


def _show_boot(booted: BootCheck) -> None:
    click.echo(
        f"boots Linux {booted.release} and powers off in {booted.seconds:.2f} s; "
        f"a sleep of 1000 s took {booted.slept:.6f} s of its clock; "
        f"a seed {'repeats' if booted.repeats else 'does not repeat'} its random numbers"
    )
