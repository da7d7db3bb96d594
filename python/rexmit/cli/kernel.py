"""`rexmit kernel`: builds the Linux kernel with a virtual clock, and says what is there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from rexmit.cli import completing
from rexmit.cli.common import console, json_option, print_json
from rexmit.cli.groups import Commands
from rexmit.cli.stopping import ended
from rexmit.errors import UsageError
from rexmit.kernel import (
    DEFAULT_VERSION,
    HZ_CHOICES,
    BootCheck,
    BuildOptions,
    Kernel,
    cache_folder,
    check_boot,
    clean_up,
    find_kernel,
    installed,
    kept_folders,
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

    The kernel is User-Mode Linux, a program that needs no privileges. Kernels are kept in $REXMIT_CACHE, or
    else in $XDG_CACHE_HOME/rexmit, or else in ~/.cache/rexmit.
    """


@kernel.command(
    epilog="""\b
Examples:
  rexmit kernel build
  rexmit kernel build --version 6.12
  rexmit kernel build --hz 250 --jobs 4
  rexmit kernel build --source linux-6.1.99.tar.xz"""
)
@click.option(
    "--version",
    shell_complete=completing.sources,
    help=f"Version of Debian's source: its package linux-source-VERSION. Default: {DEFAULT_VERSION}.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Archive or tree of Linux 6.x to build instead of Debian's source; it is not changed.",
)
@click.option(
    "--hz",
    type=click.Choice([str(hz) for hz in HZ_CHOICES]),
    default=str(DEFAULT_HZ),
    show_default=True,
    help="Ticks per second, the unit of TCP's timers.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Compilers at once. Default: one per core.")
@click.option("--force", is_flag=True, help="Build the kernel even if it was built before.")
@click.option(
    "--no-boot", is_flag=True, help="With --source: keep the kernel without checking that it boots."
)
@json_option
def build(
    version: str | None,
    source: Path | None,
    hz: str,
    jobs: int | None,
    force: bool,
    no_boot: bool,
    as_json: bool,
) -> None:
    """Build the kernel, unless exactly the same was built before. The first build takes some minutes.

    If the source is a tree, such as a git checkout with your changes, a copy is kept with all objects, and
    the next build compiles only what changed. `rexmit kernel clean` removes such copies.
    """
    try:
        with shown_progress() as progress:
            built = build_kernel(BuildOptions(source, version, int(hz), jobs, force, not no_boot, progress))
    except KeyboardInterrupt as error:
        raise ended(error, "the build was stopped; nothing of it counts as a kernel") from None
    if as_json:
        print_json(built.facts())
    else:
        click.echo(f"Linux {built.version}, HZ={built.hz}: {built.path}")
        for text in built.unfitting:
            click.echo(f"without the patch {text}")


@kernel.command(epilog="\b\nExamples:\n  rexmit kernel clean\n  rexmit kernel clean --source ~/linux")
@click.option("--source", type=click.Path(path_type=Path), help="Remove only what was kept of this tree.")
@json_option
def clean(source: Path | None, as_json: bool) -> None:
    """Remove the copies kept of source trees, so that their next builds start from scratch. Kernels stay."""
    with shown_progress() as progress:
        removed = clean_up(source, progress)
    if as_json:
        print_json({"removed": [one.facts() for one in removed]})
    else:
        for one in removed:
            click.echo(f"removed {_megabytes(one.bytes)} of {one.source or one.folder}")
        if not removed:
            click.echo("nothing is kept" if source is None else f"nothing is kept of {source}")


@kernel.command(
    epilog="""\b
Examples:
  rexmit kernel status --check
  rexmit kernel status --check --kernel 6.12
  rexmit kernel status --json"""
)
@click.option("--check", is_flag=True, help="Boot the kernel that is used by default.")
@click.option("--kernel", "name", shell_complete=completing.kernels, help="With --check: boot this one.")
@json_option
def status(check: bool, name: str | None, as_json: bool) -> None:
    """Show the kernels that were built, which one is the default, and what is missing for a build."""
    if name is not None and not check:
        raise UsageError("--kernel: goes with --check, and says which kernel is booted")
    found = kernels()
    # An error where there is none: a check of nothing is no success.
    default = find_kernel() if found or (check and name is None) else None
    chosen = default if name is None else find_kernel(name=name)
    booted = check_boot(chosen) if check and chosen is not None else None
    lacking = missing()
    if as_json:
        print_json(
            {
                "folder": str(cache_folder()),
                "default": None if default is None else default.hash,
                "kernels": [kernel.facts() for kernel in found],
                "sources": installed(),
                "missing": lacking,
                "kept": [one.facts() for one in kept_folders()],
                "boot": None if booted is None else asdict(booted),
            }
        )
        return
    _show(found, default, lacking)
    if booted is not None:
        _show_boot(booted)


@kernel.command(epilog="\b\nExample:\n  $(rexmit kernel path --kernel 6.12) --version")
@click.option("--hz", type=click.Choice([str(hz) for hz in HZ_CHOICES]), help="A kernel with these ticks.")
@click.option("--kernel", "name", shell_complete=completing.kernels, help="The kernel of this name.")
def path(hz: str | None, name: str | None) -> None:
    """Print the path of the default kernel, or of the one that is named.

    A kernel's name is its version (6.12, 6.12.117), the beginning of its hash, or both with a dash between.
    """
    click.echo(find_kernel(None if hz is None else int(hz), name).path)


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
    for kept in kept_folders():
        what = kept.source or "an unknown tree"
        click.echo(f"kept for the next build of {what}: {_megabytes(kept.bytes)} in {kept.folder}")
    if lacking:
        names = ", ".join(lacking)
        click.echo(f"a build would lack {names}; on Debian: {install_line(lacking)}")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


def _show_boot(booted: BootCheck) -> None:
    click.echo(
        f"boots Linux {booted.release} and powers off in {booted.seconds:.2f} s; "
        f"a sleep of 1000 s took {booted.slept:.6f} s of its clock; "
        f"a seed {'repeats' if booted.repeats else 'does not repeat'} its random numbers"
    )
