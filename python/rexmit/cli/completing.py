"""What a shell offers for an argument: names of studies, settings, backends, responses, tables.

Each takes what click gives a `shell_complete`: the context with what stands before, the parameter, and the
word as far as it is written. Nothing is an error here: where a file cannot be read, nothing is offered.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, split_arg_string

from rexmit.errors import RexmitError
from rexmit.units import plural


def study_names(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """The studies of the package that begin with this word; files where there is none."""
    found = _items(study_titles(), word)
    return found or files(context, parameter, word)


def study_titles() -> dict[str, str]:
    """The studies of the package with their titles, as `list_studies` has them, and quicker."""
    found = {}
    for path in sorted(_STUDIES.glob("*/*.toml"), key=lambda path: path.with_suffix("")):
        text = path.read_text(encoding="utf-8")
        title = _TITLE.search(text)
        if _SCENARIO.search(text):
            found[f"{path.parent.name}/{path.stem}"] = title[1] if title else ""
    return found


_STUDIES = Path(__file__).parent.parent / "_studies"
_TITLE = re.compile(r'^title = "(.*)"', re.MULTILINE)
_SCENARIO = re.compile(r"^\[{1,2}scenario\b", re.MULTILINE)


def settings(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """`KEY=` for the factors of the study that is named before, its design, and what its scenario sets."""
    from rexmit.study import load_spec

    spec = None
    for before in _words():
        with suppress(RexmitError):
            spec = spec or load_spec(before)
    if spec is None or "=" in word:
        return []
    names = [factor.name for factor in spec.design.factors]
    helps = {
        factor.name: f"a factor with {plural(len(factor.levels), 'level')}" for factor in spec.design.factors
    }
    names += ["design.replications", "design.seed", "design.sequence", *_keys(spec.base())]
    return [
        CompletionItem(f"{name}=", help=helps.get(name))
        for name in dict.fromkeys(names)
        if name.startswith(word)
    ]


def backends(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """The backends."""
    from rexmit.run.backends import BACKENDS

    return [CompletionItem(name, help=text) for name, text in BACKENDS.items() if name.startswith(word)]


def kernels(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Names of the kernels that were built: their versions, by two numbers and whole, and with the hash."""
    from rexmit.kernel import kernels as built

    found: dict[str, str] = {}
    for one in built():
        about = f"Linux {one.version}, HZ {one.hz}, built {one.built}"
        short = ".".join(one.version.split(".")[:2])
        for name in (short, one.version, f"{one.version}-{one.hash}"):
            found.setdefault(name, about)
    return _items(found, word)


def sources(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """The versions whose sources of Debian are on this machine."""
    from rexmit.kernel import debian_source, installed

    return _items({version: str(debian_source(version)) for version in installed()}, word)


def responses(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """The columns of numbers of the first results folder that is named before; every response without one."""
    from rexmit.tables import SEEDS
    from rexmit.tables import responses as known

    columns = {name: one.meaning for name, one in known().items() if name not in SEEDS}
    found = [named for before in _words() if (named := _columns_of(Path(before)))]
    columns = found[0] if found else columns
    left_out = {"completed", "error", "late"}
    return _items({name: text for name, text in columns.items() if name not in left_out}, word)


def analysis_tables(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """The tables of an analysis, after those already named, with commas between."""
    from rexmit.analyse.captures import TABLES

    before, comma, last = word.rpartition(",")
    taken = before.split(",")
    names = [name for name in ("all", *TABLES) if name.startswith(last) and name not in taken]
    return [CompletionItem(f"{before}{comma}{name}") for name in names]


def command_names(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """The commands below those that are named before."""
    command = context.find_root().command
    for name in context.params.get(parameter.name or "") or ():
        inner = command.get_command(context, name) if isinstance(command, click.Group) else None
        if inner is None:
            return []
        command = inner
    if not isinstance(command, click.Group):
        return []
    return [CompletionItem(name) for name in command.list_commands(context) if name.startswith(word)]


def files(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Files and folders, as the shell itself offers them."""
    return [CompletionItem(word, type="file")]


def _words() -> list[str]:
    """The words of the line; click does not parse those in front of an option that lacks its value."""
    return split_arg_string(os.environ.get("COMP_WORDS", ""))[1:]


def _items(texts: Mapping[str, str], word: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text) for name, text in texts.items() if name.startswith(word)]


def _columns_of(folder: Path) -> dict[str, str]:
    import pyarrow as pa

    from rexmit.run.columns import FIRST_RESPONSE
    from rexmit.run.parquet import table_schema

    try:
        schema = table_schema(folder / "runs.parquet")
    except (OSError, RexmitError, pa.ArrowException):
        return {}
    names = schema.names[schema.names.index(FIRST_RESPONSE) :] if FIRST_RESPONSE in schema.names else []
    return {name: (schema.field(name).metadata or {}).get(b"meaning", b"").decode() for name in names}


def _keys(table: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Dotted keys of the values in a table."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{before}{key}.")
        elif not isinstance(value, list):
            yield f"{before}{key}"
