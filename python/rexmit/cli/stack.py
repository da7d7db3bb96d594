"""`rexmit stack`: programs as stacks of hosts, built, and checked if they are a user's."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from rexmit.cli.common import console, json_option, print_json
from rexmit.cli.groups import Commands

_SIGNS = {"passed": "ok", "failed": "failed", "told": ""}


@click.group(cls=Commands, epilog='\b\nExample:\n  rexmit stack check "./mine --fast"')
def stack() -> None:
    """Build stacks that are separate programs, and check one of yours."""


@stack.command(
    epilog="\b\nExamples:\n  rexmit stack check ./mine\n"
    '  rexmit stack check "./mine --fast" --protocol sctp\n'
    "  rexmit stack check --lead ./mine"
)
@click.argument("program")
@click.option(
    "--protocol",
    type=click.Choice(["tcp", "sctp", "quic"]),
    default="tcp",
    show_default=True,
    help="The program's protocol. For TCP and SCTP its peer is the model, for QUIC a copy of itself.",
)
@click.option(
    "--lead", is_flag=True, help="Replace its clock and random numbers with the run's, as stack.lead does."
)
@json_option
@click.pass_context
def check(ctx: click.Context, program: str, protocol: str, lead: bool, as_json: bool) -> None:
    """Check a program as a stack: run it, lose and repeat packets, make odd calls, and run it again.

    PROGRAM is a command, split into words as by a shell. Exit code 1 if a check fails.
    """
    # Loaded where it is used: it needs the backends.
    from rexmit.run.stack_check import check_program

    found = list(check_program(program, protocol, Path.cwd(), lead=lead))
    failed = sum(one.found == "failed" for one in found)
    if as_json:
        print_json({"program": program, "protocol": protocol, "checks": [asdict(one) for one in found]})
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        for one in found:
            table.add_row(_SIGNS[one.found], one.name, one.text)
        console().print(table)
        click.echo(f"{len(found)} checks, {failed} failed")
    if failed:
        ctx.exit(1)


@stack.command(epilog="\b\nExamples:\n  rexmit stack build\n  rexmit stack build --force")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--force", is_flag=True, help="Build even what was built before.")
@json_option
def build(names: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Build the stacks that are written in other languages: all of them, or those named.

    Each is built once, and again when its files have changed. They are kept in $REXMIT_CACHE, or else in
    $XDG_CACHE_HOME/rexmit, or else in ~/.cache/rexmit.
    """
    # Loaded where it is used: it needs the native code.
    from rexmit.run.stack_builds import build_stack, source_of, stack_sources

    chosen = [source_of(name) for name in names] or list(stack_sources().values())
    built = {}
    for source in chosen:
        if not as_json and (force or not source.built):
            click.echo(f"{source.name}: building, which takes some minutes ...", err=True)
        built[source.name] = str(build_stack(source, force=force))
        if not as_json:
            click.echo(f"{source.name}: {built[source.name]}")
    if as_json:
        print_json(built)
