"""The command `rexmit`."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import click

from rexmit._native import version
from rexmit.cli.groups import Commands
from rexmit.cli.meant import COMMANDS as MEANT
from rexmit.cli.meant import option_of
from rexmit.cli.stopping import ended, heeding_signals, leave, remind
from rexmit.errors import RexmitError, StudySlips, one_line
from rexmit.start import without_pandas
from rexmit.terminal import guarded

USAGE = 2
"""Exit code of a command that was called wrongly."""


COMPLETE = "_REXMIT_COMPLETE"
"""In the environment when a shell asks what may follow; click answers before any command runs."""


COMMANDS = {
    "analyze": "Say why each transfer in CAPTURE is not faster, and what caused each retransmission.",
    "compare": "Print a study's published numbers beside those in DIR, or in several parts of one.",
    "completion": (
        "Print the script with which SHELL completes commands, options, studies, settings and columns."
    ),
    "diff": "Print what differs between A and B: two systems, or two results folders of one design.",
    "doctor": "Show what this machine can run and what is missing.",
    "emulate": "Run COMMAND in a network namespace of its own, behind an emulated path.",
    "kernel": "Build the Linux kernel with a virtual clock, once, and show what is there.",
    "man": "Show the manual page of COMMAND: with man on a terminal, otherwise as roff.",
    "merge": (
        "Join results of one study: runs with other seeds, other levels, parts of a design, or all shards."
    ),
    "model": "Evaluate published formulas: TCP's throughput, the size of a buffer.",
    "pattern": "Make, show and convert patterns: which packets an impairment hits.",
    "plot": "Draw the figures of a results folder, or graphs of a connection in a capture (pcapng, pcap).",
    "report": "Write a report of the study in DIR: one HTML page to explore and share, without other files.",
    "run": "Run STUDY, a built-in one by its name or yours by its file, and store its results.",
    "schema": "Print the JSON Schema of study files, with which an editor completes and checks them.",
    "sql": "Query the results in DIR in SQL.",
    "stack": "Build stacks that are separate programs, and check one of yours.",
    "studies": (
        "List the built-in studies, or show what varies in study NAME (or a file) and its number of runs."
    ),
    "trace": "Show, convert and make traces: links whose rate, delay or loss changes.",
}
"""Each with what `rexmit --help` says of it. Its module, of its name, is loaded when it is called."""


class _Commands(Commands):
    """The commands, each loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"rexmit.cli.{cmd_name}"), cmd_name)
        return command

    def summaries(self, ctx: click.Context) -> Iterable[tuple[str, str]]:
        return COMMANDS.items()

    def meant(self, name: str) -> str | None:
        return MEANT.get(name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            # click would forget which signal it was.
            raise ended(error) from None


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Example:
  rexmit run hurtig-2006/short --out results/short
  rexmit compare results/short""",
)
@click.version_option(version(), prog_name="rexmit", message="%(prog)s %(version)s")
def cli() -> None:
    """A deterministic laboratory for transport protocols."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits: 0 if all is well, 2 for a usage error, 1 for others, 128 + n after signal n.

    Errors are one line on standard error that says what to change.
    """
    own_process = arguments is None
    if own_process:
        remind()
        without_pandas()
    with guarded(), warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _say("warning", str(message))
        code = _ended(arguments)
    if own_process:
        leave(code)
    sys.exit(code)


def _ended(arguments: Sequence[str] | None) -> int:
    try:
        with heeding_signals():
            return _run(arguments)
    except (click.Abort, KeyboardInterrupt) as error:
        stop = ended(error)
        _complain(str(stop))
        return stop.exit_code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = _command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone, as in `rexmit studies | head -1`: not an error of ours.
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        where = error.filename or "standard output"
        _complain(f"{where}: cannot be written or read: {error.strerror or error}")
        return 1
    return code


def _command(arguments: Sequence[str] | None) -> int:
    try:
        code = _root().main(args=arguments, prog_name="rexmit", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        _complain(_with_context(error))
        return error.exit_code
    except RexmitError as error:
        if COMPLETE in os.environ:
            # A shell asks what may follow a line that is not finished: there is nobody to complain to.
            return 0
        for line in error.slips if isinstance(error, StudySlips) else (str(error),):
            _complain(line)
        return error.exit_code
    return code if isinstance(code, int) else 0


def _root() -> click.Group:
    """The command itself; where a shell asks what may follow, its outline, which loads ten times faster."""
    if COMPLETE not in os.environ:
        return cli
    from rexmit.cli.outline import outlined

    return outlined()


def _drop_output() -> None:
    """What is left of the output goes nowhere: nothing fails again at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _with_context(error: click.ClickException) -> str:
    text = (
        isinstance(error, click.NoSuchOption) and option_of(error)
    ) or error.format_message().removesuffix(".")
    text = _lowered(text)
    context = getattr(error, "ctx", None)
    return f"{text}; see `{context.command_path} --help`" if context else text


def _lowered(text: str) -> str:
    """As errors of rexmit begin; click's begin with a capital."""
    word = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if word.isalpha() and word[1:].islower() else text


def _complain(text: str) -> None:
    _say("error", text)


def _say(kind: str, text: str) -> None:
    print(f"rexmit: {kind}: {one_line(text)}", file=sys.stderr, flush=True)
