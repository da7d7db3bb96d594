"""Manual pages (man 7) of the commands, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from rexmit._native import version

EXIT_CODES = (
    ("0", "All is well."),
    ("1", "A failure: a run that failed, a number outside its tolerance, a damaged capture."),
    ("2", "The command was called wrongly."),
    ("130", "It was interrupted; finished runs are kept."),
)
FILES = (
    ("results/", "Where rexmit run puts the results of a study, unless --out says otherwise."),
    ("study.toml", "A study: a scenario, what varies, and the design."),
)


def page_name(path: str) -> str:
    """The name of the page of a command: `rexmit-kernel-build` of `rexmit kernel build`."""
    return path.replace(" ", "-")


def walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, with their names."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(f"{path} {name}", inner)


def manual_page(path: str, command: click.Command) -> str:
    """The page of a command, in section 1."""
    return "\n".join(_page(path, command)) + "\n"


def _page(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    name = page_name(path)
    yield f'.TH {_text(name.upper())} 1 "" "rexmit {version()}" "rexmit"'
    yield ".SH NAME"
    summary = command.get_short_help_str(limit=400).rstrip(".")
    yield f"{_text(name)} \\- {_text(summary)}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(path)}"
    yield _text(" ".join(command.collect_usage_pieces(context)))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help or "")
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for inner in command.list_commands(context):
            one = command.get_command(context, inner)
            assert one is not None
            yield from _entry(_bold(inner), one.get_short_help_str(limit=400))
    yield ".SH OPTIONS"
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            yield from _entry(_bold(record[0]), record[1])
    yield from _entry(_bold("-h, --help"), "Show the help of the command and exit.")
    if command.epilog:
        yield ".SH EXAMPLES"
        yield from _paragraphs(re.sub(r"^(\x08\n)?Examples?:\n", r"\1", command.epilog))
    yield ".SH EXIT STATUS"
    for code, text in EXIT_CODES:
        yield from _entry(_bold(code), text)
    if path == "rexmit":
        yield ".SH FILES"
        for file, text in FILES:
            yield from _entry(_bold(file), text)
    yield from _see_also(path, command, context)


def _see_also(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    others = []
    if " " in path:
        others.append(path.rsplit(" ", 1)[0])
    if isinstance(command, click.Group):
        others += [f"{path} {inner}" for inner in command.list_commands(context)]
    if others:
        yield ".SH SEE ALSO"
        yield ",\n".join(f".BR {_text(page_name(one))} (1)" for one in others).replace(",\n", " ,\n")


def _entry(head: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield head
    yield _text(text) or "\\&"


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those that begin with a backspace keep their lines."""
    for number, part in enumerate(re.split(r"\n\s*\n", text.strip("\n"))):
        if part.lstrip().startswith("\b"):
            yield ".PP"
            yield ".nf"
            yield from (_text(line, keep=True) for line in part.replace("\b", "").strip("\n").split("\n"))
            yield ".fi"
        else:
            if number:
                yield ".PP"
            yield _text(part)


def _bold(text: str) -> str:
    return f"\\fB{_text(text)}\\fR"


def _text(text: str, keep: bool = False) -> str:
    """A text in which roff sees nothing of its own."""
    plain = text.rstrip() if keep else " ".join(text.split())
    plain = plain.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    plain = plain.replace("^", "\\(ha").replace("~", "\\(ti")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
