"""Write the pages of the documentation that come from the code: `make schema`.

The scenario's page comes from the JSON Schema, the commands' from their `--help`, the profiles' from
the files with the source of each value, and the table of published studies from their lists. With
`--check`, nothing is written and a page that would change is an error, so the pages cannot fall behind.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from evidence_table import PAGE, page_of_studies
from limits_page import limits_page
from results_page import results_page
from rexmit import _native
from rexmit.cli import cli, outline
from rexmit.cli.roff import manual_page, page_name, walk
from rexmit.run.schema import record_schema
from rexmit.study import study_schema
from rexmit.tables import analysis
from rexmit.tables.described import Columns

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "reference"
MAN = ROOT / "man" / "data" / "share" / "man" / "man1"
Schema = dict[str, Any]


def main() -> int:
    """Write or check every generated file."""
    options = argparse.ArgumentParser(description="Write the pages that come from the code.")
    options.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    check = options.parse_args().check
    stale = [path for path, text in pages().items() if update(path, text, check)]
    for path in stale:
        print(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}")
    if check and stale:
        print("make schema writes them anew")
    return 1 if check and stale else 0


def pages() -> dict[Path, str]:
    """Each generated file and what it should hold."""
    schema: Schema = json.loads(_native.schema())
    return {
        DOCS / "scenario.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n",
        DOCS / "study.schema.json": json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n",
        DOCS / "scenario.md": "\n".join(scenario_page(schema)),
        DOCS / "commands.md": "\n".join(commands_page()),
        DOCS / "tables.md": "\n".join(tables_page(analysis())),
        DOCS / "settings.md": "\n".join(settings_page(json.loads(_native.profile_schema()))),
        DOCS / "quic-settings.md": "\n".join(quic_settings_page(json.loads(_native.quic_profile_schema()))),
        DOCS / "sctp-settings.md": "\n".join(sctp_settings_page(json.loads(_native.sctp_profile_schema()))),
        DOCS / "limits.md": "\n".join(limits_page()),
        DOCS / "results-folder.md": "\n".join(results_page()),
        DOCS / "record.schema.json": json.dumps(record_schema(), indent=2) + "\n",
        DOCS / "profiles.md": "\n".join(profiles_page()),
        PAGE: page_of_studies(),
        outline.FILE: outline.text(cli),
        **{MAN / f"{page_name(path)}.1": manual_page(path, command) for path, command in walk("rexmit", cli)},
    }


def update(path: Path, text: str, check: bool) -> bool:
    """True if the file is not what it should be; writes it unless only checking."""
    old = path.read_text() if path.exists() else ""
    if old == text:
        return False
    if check:
        lines = difflib.unified_diff(
            old.splitlines(), text.splitlines(), "committed", "current", lineterm="", n=0
        )
        print("\n".join(list(lines)[:20]))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return True


# The scenario


def scenario_page(schema: Schema) -> Iterator[str]:
    """Every key of a scenario, in the order in which a reader meets them."""
    yield "# Scenario"
    yield ""
    yield "This page lists every key of a scenario; it is generated from the program's own [JSON"
    yield "Schema](scenario.schema.json). A scenario specifies one run completely; unknown keys are"
    yield "refused. In a study it is the table `[scenario]`, and a factor is the dotted name of one of"
    yield "these keys."
    yield from tables(schema, "scenario")


def tables(schema: Schema, title: str) -> Iterator[str]:
    """A table of keys for the whole and for each part of it, then a table of values."""
    definitions: dict[str, Schema] = schema["$defs"]
    names = order(schema, definitions)
    keyed = [name for name in names if "properties" in definitions[name]]
    for name, part in [(title, schema), *((name, definitions[name]) for name in keyed)]:
        yield from ["", f"## {heading(name)} {{ #{name.lower()} }}", "", text_of(part), ""]
        yield "| key | value | default | meaning |"
        yield "|---|---|---|---|"
        required = part.get("required", [])
        for key, value in part.get("properties", {}).items():
            default = "required" if key in required else shown_default(value)
            yield f"| `{key}` | {kind(value, definitions)} | {default} | {cell(text_of(value))} |"
    yield from ["", "## Values { #values }", "", "| value | written as | example |", "|---|---|---|"]
    for name in names:
        if "properties" not in definitions[name]:
            part = definitions[name]
            examples = ", ".join(f"`{json.dumps(e)}`" for e in part.get("examples", []))
            anchor = f"[](){{ #{name.lower()} }}"
            yield f"| {anchor}{heading(name)} | {meaning(part, definitions)} | {examples} |"
    yield ""


def order(schema: Schema, definitions: dict[str, Schema]) -> list[str]:
    """The definitions in the order in which the scenario refers to them."""
    found: list[str] = []
    waiting = references(schema.get("properties", {}))
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting = [*references(definitions[name]), *waiting]
    return found


def references(part: Any) -> list[str]:
    """The names of the definitions that a part of the schema refers to."""
    if isinstance(part, dict):
        own = [part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else []
        return own + [name for value in part.values() for name in references(value)]
    if isinstance(part, list):
        return [name for value in part for name in references(value)]
    return []


def kind(part: Schema, definitions: dict[str, Schema]) -> str:
    """What may be written for a key, with links."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[1]
        return f"[{heading(name)}](#{name.lower()})"
    if "anyOf" in part:
        kinds = [kind(one, definitions) for one in part["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if part.get("type") == "array":
        return f"list of {kind(part['items'], definitions)}"
    named = part.get("type", "any")
    kinds = named if isinstance(named, list) else [named]
    words = {"integer": "whole number", "string": "text", "boolean": "`true` or `false`", "object": "table"}
    return " or ".join(words.get(one, one) for one in kinds if one != "null")


def meaning(part: Schema, definitions: dict[str, Schema]) -> str:
    """What a value that is not a table may be."""
    if "oneOf" in part:
        choices = [f"`{one['const']}`: {text_of(one)}" for one in part["oneOf"]]
        return cell(f"{text_of(part)} {' '.join(choices)}")
    words = text_of(part)
    return cell(f"{words[:1].upper()}{words[1:]}")


def heading(name: str) -> str:
    """A definition's name as words: `DirectionOverride` is direction override."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return re.sub(" (table|spec|override|config|kind)$", "", words)


def shown_default(part: Schema) -> str:
    """The default, where the schema states one that says something."""
    default = part.get("default")
    return "" if default in (None, {}, []) else f"`{json.dumps(default)}`"


def text_of(part: Schema) -> str:
    """The description on one line."""
    return " ".join(str(part.get("description", "")).split())


def cell(text: str) -> str:
    """A text for a table's cell."""
    return " ".join(text.split()).replace("|", "\\|")


# Commands


def commands_page() -> Iterator[str]:
    """The help of each command, as it prints it."""
    yield from [
        "# Commands",
        "",
        "This page lists all commands with their options, as `rexmit COMMAND --help` prints them. Exit",
        "codes: 0 for success; 1 for a finding (for `run` a run that failed, for `compare` a number outside",
        "its tolerance, for `diff` a condition that holds, for `analyze` a damaged capture) or for",
        "what could not be done, which an error line says; 2 for wrong usage.",
        "",
    ]
    for path, command in walk("rexmit", cli):
        context = click.Context(command, info_name=path, max_content_width=90, terminal_width=90)
        text = command.get_help(context).strip()
        yield from [f"## {path}", "", "```text", text, "```", ""]


# Tables of an analysis


def tables_page(described: Mapping[str, Columns]) -> Iterator[str]:
    """Every column of every table."""
    yield "# Tables of an analysis"
    yield ""
    yield "This page lists the tables that `rexmit analyze --tables DIR` writes and `rexmit.analyze`"
    yield "returns. Times count from 1970, sequence numbers from the SYN, which is 0, and TSNs from the"
    yield "initial one; the number of a packet is Wireshark's `frame.number`. Each file has these"
    yield "meanings in its metadata. In `--json` the keys are the same; those that begin with `client_`"
    yield "or `server_` are under `client` and `server`."
    for name, columns in described.items():
        yield from [
            "",
            f"## {name}",
            "",
            "| column | type | unit | meaning | null |",
            "|---|---|---|---|---|",
        ]
        done = set()
        for column in columns.values():
            # Both sides have the same columns: they are told once.
            side, _, field = column.name.partition("_")
            shown = f"client_{field}, server_{field}" if side in ("client", "server") else column.name
            if shown not in done:
                done.add(shown)
                names = ", ".join(f"`{part}`" for part in shown.split(", "))
                about = f"{column.unit or ''} | {column.meaning} | {column.null or ''}"
                yield f"| {names} | {column_type(column.type)} | {about} |"
    yield ""


def column_type(kind: str) -> str:
    """A column's type in words."""
    if kind.startswith("dict:"):
        return " ".join(f"`{name}`" for name in json.loads(kind.removeprefix("dict:")))
    words = {"|b1": "true or false", "utf8-json": "text", "<f8": "number"}
    return words.get(kind.removesuffix("?"), "whole number")


# Profiles


def settings_page(schema: Schema) -> Iterator[str]:
    """Every key of a TCP profile."""
    yield "# Settings of a TCP profile"
    yield ""
    yield "This page lists every setting of a TCP profile; it is generated from the JSON Schema. In a"
    yield "profile's file a table such as `recovery` is `[recovery]`; in a scenario the same value is"
    yield "`hosts.server.stack.recovery.dupack_threshold`. [Profiles](profiles.md) has the values of the"
    yield "built-in profiles, with their sources."
    yield from tables(schema, "profile")


def sctp_settings_page(schema: Schema) -> Iterator[str]:
    """Every key of an SCTP profile."""
    yield "# Settings of an SCTP profile"
    yield ""
    yield 'This page lists every setting of an SCTP profile, whose file starts with `protocol = "sctp"`;'
    yield "it is generated from the JSON Schema. In a scenario a value is"
    yield "`hosts.server.stack.recovery.missing_reports`. [Profiles](profiles.md) has the values of the"
    yield "built-in profiles, with their sources."
    yield from tables(schema, "profile")


def quic_settings_page(schema: Schema) -> Iterator[str]:
    """Every key of a QUIC profile."""
    yield "# Settings of a QUIC profile"
    yield ""
    yield 'This page lists every setting of a QUIC profile, whose file starts with `protocol = "quic"`;'
    yield "it is generated from the JSON Schema. In a scenario a value is"
    yield "`hosts.server.stack.recovery.initial_rtt`. rexmit has no model of QUIC: an absent setting is"
    yield "the default of [the host's code](../guide/stacks.md), and a setting that this code lacks is"
    yield "refused."
    yield from tables(schema, "profile")


def profiles_page() -> Iterator[str]:
    """Each profile's values with their sources."""
    yield from ["# Profiles: every value and its source", ""]
    yield "This page lists the values of every built-in profile. The meaning of each key is on the pages"
    yield "[of TCP](settings.md), [of SCTP](sctp-settings.md) and [of QUIC](quic-settings.md). A profile"
    yield "that inherits lists only what it changes."
    for name, summary in _native.profiles():
        table = tomllib.loads((ROOT / "profiles" / f"{name}.toml").read_text())
        sources = table.pop("sources", {})
        yield from ["", f"## {name}", "", f"{summary}.", ""]
        if "inherits" in table:
            yield from [f"Inherits from `{table.pop('inherits')}`.", ""]
        table.pop("summary", None)
        yield from ["| key | value | source |", "|---|---|---|"]
        for key, value in flat(table, ""):
            yield f"| `{key}` | `{json.dumps(value, ensure_ascii=False)}` | {cell(source(sources, key))} |"
    yield ""


def flat(table: Schema, prefix: str) -> Iterator[tuple[str, Any]]:
    """Dotted keys and their values."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def source(sources: dict[str, str], key: str) -> str:
    """The source of a value, or of the table that holds it."""
    while key not in sources and "." in key:
        key = key.rsplit(".", 1)[0]
    # Square brackets would be read as links.
    return sources.get(key, "").replace("[", "\\[").replace("]", "\\]")


if __name__ == "__main__":
    sys.exit(main())
