"""The JSON Schema of a study's file: for editors, which complete and check with it while one writes.

It is made of the schema of a scenario, which the native code exports, and of what `spec`, `factors` and
`design` take. It refuses nothing that a run would take; what it cannot say (that a profile exists, that two
settings fit together, that a level fits behind an unquoted name) the loader does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rexmit import _native
from rexmit.study.design import LARGEST_SEED, MOST_RUNS
from rexmit.study.factors import LEVEL_TABLES
from rexmit.study.measures import KEYS, NEEDED, REASONS, STATS
from rexmit.study.responses import SOURCES
from rexmit.tables import reserved

Schema = dict[str, Any]

_NUMBERS = r"^\s*[0-9]+(\.\.[0-9]+)?\s*(,\s*[0-9]+(\.\.[0-9]+)?\s*)*$"
_VALUES: Schema = {"type": "array", "minItems": 1}
_TEXTS = {
    "title": "One line that says what is looked at.",
    "source": "Where it comes from: a paper and its section.",
    "question": "What the runs are to answer.",
    "description": "What a reader should know besides.",
}


def study_schema() -> Schema:
    """The JSON Schema (draft 2020-12) of a study file: `[scenario]`, `[vary]`, `[design]` and the texts.

    For editors, which complete and check with it. It refuses nothing that a run would take. What it cannot
    say, `rexmit run` does: that a profile exists, that two settings fit together.
    """
    native: Schema = json.loads(_native.schema())
    complete = _required_of(native)
    definitions = {name: _relaxed(part) for name, part in native.pop("$defs").items()}
    scenario = _relaxed(
        {key: value for key, value in native.items() if key not in ("$schema", "title", "anyOf")}
    )
    definitions["Scenario"] = {**scenario, "minProperties": 1}
    known = dict(_settings(definitions["Scenario"], definitions, ""))
    definitions |= _levels() | {"Vary": _vary(known), "Together": _together(known)}
    return {
        "$schema": native["$schema"],
        "title": "Study",
        "description": "One scenario and what varies, with its design.",
        "type": "object",
        "properties": {
            **{key: {"type": "string", "description": text} for key, text in _TEXTS.items()},
            "scenario": {"$ref": "#/$defs/Scenario"},
            "vary": {"$ref": "#/$defs/Vary"},
            "design": _design(),
            "responses": _responses(),
        },
        "required": ["scenario"],
        "additionalProperties": False,
        # Where nothing varies, no factor can give what the scenario leaves out.
        "if": {"not": {"required": ["vary"]}},
        "then": {"properties": {"scenario": complete}},
        "$defs": definitions,
    }


def _responses() -> Schema:
    return {
        "type": "object",
        "description": "Columns of the table of runs: measures of connections and links, or numbers in what "
        "programs print or write.",
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "additionalProperties": {
            "if": {"type": "object", "required": ["measure"]},
            "then": _measure(),
            "else": _of_program(),
        },
    }


def _of_program() -> Schema:
    texts = {
        "match": "A regular expression of Python, whose first group is the number where it first matches.",
        "json": "Where the number is in JSON: keys and list indices, with dots between.",
        "unit": "Its unit, such as ms.",
        "meaning": "One line that says what it is.",
    }
    return {
        "type": "object",
        "properties": {
            "from": {"enum": list(SOURCES), "description": "A host's program, and which of its outputs."},
            **{key: {"type": "string", "description": text} for key, text in texts.items()},
        },
        "required": ["from"],
        "oneOf": [{"required": ["match"]}, {"required": ["json"]}],
        "additionalProperties": False,
    }


def _measure() -> Schema:
    """A measure: the keys of all kinds, and for each kind those that are its own."""
    names: Schema = {"type": "array", "minItems": 1, "items": {"type": "string"}}
    ends = {key: {"type": "string"} for key in ("name", "from", "to")}
    link = {"type": "object", "properties": ends, "required": ["name"], "additionalProperties": False}
    keys: dict[str, Schema] = {
        "transfers": {**names, "description": "Which transfers count, by their names. Default: all."},
        "over": {**names, "description": "The transfers of the denominator."},
        "link": {
            "anyOf": [{"type": "string"}, link],
            "description": 'A direction of a link: "bottleneck" from its first point, or { name, from, to }.',
        },
        "from": {"type": "string", "description": "Where a window begins, such as 5 s."},
        "to": {"type": "string", "description": "Where it ends. Default: at the end of the run."},
        "reason": {"enum": list(REASONS), "description": "Which drops count. Default: all."},
        "stat": {"enum": list(STATS), "default": "mean", "description": "Which statistic of the values."},
        "unit": {"enum": ["ms", "packets"], "default": "ms", "description": "Of a queue."},
        "at_least": {"type": "string", "description": "Only flows of at least this size, such as 100 kB."},
        "below": {"type": "string", "description": "Only flows smaller than this."},
        "within": {
            "type": "number",
            "exclusiveMinimum": 1,
            "description": "The factor around the fair share.",
        },
        "span": {"type": "string", "default": "5 s", "description": "How long all stay within it."},
        "meaning": {"type": "string", "description": "One line that says what it is."},
    }
    kinds = [
        {
            "if": {"properties": {"measure": {"const": kind}}},
            "then": {"propertyNames": {"enum": ["measure", "meaning", *own]}, "required": list(NEEDED[kind])},
        }
        for kind, own in KEYS.items()
    ]
    return {
        "type": "object",
        "properties": {
            "measure": {"enum": list(KEYS), "description": "What is computed of each run."},
            **keys,
        },
        "required": ["measure"],
        "additionalProperties": False,
        "allOf": kinds,
    }


def _design() -> Schema:
    replications = "How often each combination of levels is run."
    seed = "All random numbers come from it."
    whole = {"type": "integer", "default": 1}
    return {
        "type": "object",
        "description": "How often, and from which seed.",
        "properties": {
            "replications": {**whole, "minimum": 1, "maximum": MOST_RUNS, "description": replications},
            "seed": {**whole, "minimum": 0, "maximum": LARGEST_SEED, "description": seed},
            "sequence": _sequence(),
        },
        "additionalProperties": False,
    }


def _sequence() -> Schema:
    """Runs one after the other at the same hosts."""
    along = (
        "Factors, or replication: runs that differ in nothing else follow each other, in the order of the "
        "levels. The last one named varies fastest."
    )
    gap = "Virtual time from the end of a run to the start of the next."
    return {
        "type": "object",
        "description": "Runs one after the other: each begins with what its hosts kept of those before it.",
        "properties": {
            "along": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "uniqueItems": True,
                "description": along,
            },
            "gap": {"type": "string", "default": "0 s", "description": gap},
        },
        "required": ["along"],
        "additionalProperties": False,
    }


# The scenario


def _relaxed(part: Any) -> Any:
    """The same without `required`: what is left out, a factor may give."""
    if isinstance(part, dict):
        return {
            key: _relaxed(value)
            for key, value in part.items()
            if not (key == "required" and isinstance(value, list))
        }
    return [_relaxed(one) for one in part] if isinstance(part, list) else part


def _required_of(schema: Schema) -> Schema:
    """What a whole scenario must have: hosts with their stacks, or programs, and transfers with both ends."""
    transfers = {"items": {"required": schema["$defs"]["TransferSpec"].get("required", [])}}
    needed = {"required": schema["required"], "anyOf": schema["anyOf"]}
    return {**needed, "properties": {"transfers": transfers}}


def _settings(part: Schema, definitions: Schema, prefix: str) -> Iterator[tuple[str, Schema]]:
    """Each setting of the scenario that has a name of its own: its dotted name, and what it takes.

    Names are regular expressions where they have numbers, or a name that is free (a host's). Below tables
    that stand for one value (`path.down.drop`), and below stacks, every name is let through.
    """
    for key, value in part.get("properties", {}).items():
        name = prefix + re.escape(key)
        yield name, value
        table = _table_of(value, definitions)
        if value.get("type") == "array":
            yield f"{name}\\.[0-9]+", value["items"]
            items = _table_of(value["items"], definitions) or {}
            yield from _settings(items, definitions, f"{name}\\.[0-9]+\\.")
        elif table is not None:
            yield from _settings(table, definitions, f"{name}\\.")
        elif not _is_plain(value, definitions):
            yield f"{name}\\..+", {}
    free = part.get("additionalProperties")
    if isinstance(free, dict) and (table := _table_of(free, definitions)) is not None:
        yield f"{prefix}[^.]+", free
        yield from _settings(table, definitions, f"{prefix}[^.]+\\.")


def _table_of(part: Schema, definitions: Schema) -> Schema | None:
    """The table that a part refers to, if it is one and nothing else."""
    found: Schema = definitions.get(str(part.get("$ref", "")).rpartition("/")[2], part)
    return found if "properties" in found else None


def _is_plain(part: Schema, definitions: Schema) -> bool:
    """True for a value with nothing inside: text, a number, a choice."""
    found = definitions.get(str(part.get("$ref", "")).rpartition("/")[2], part)
    if any("const" in one or "enum" in one for one in (found, *found.get("oneOf", []))):
        return True
    choices = found.get("anyOf")
    if choices:
        return all(_is_plain(one, definitions) for one in choices)
    kinds = found.get("type", "object")
    return not {"object", "array"} & set([kinds] if isinstance(kinds, str) else kinds)


# What varies


def _levels() -> Schema:
    """The ways to write levels; the same as `factors` takes."""
    numbers = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": _NUMBERS}]}
    labels = {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "items": {"type": ["string", "number", "boolean"]},
        "description": "What a table of results calls the levels, one for each.",
    }
    position = 'Positions of packets, one level for each, 0 for none: "0..20", "0,4,10..12".'
    inside: dict[str, Schema] = {
        "position": {**numbers, "description": position},
        "range": {**numbers, "description": 'Numbers, one level for each: "10..50".'},
        "step": {"type": "integer", "minimum": 1, "default": 1, "description": "The step within the range."},
        "unit": {"type": "string", "description": 'Unit of the numbers: "ms" makes "10 ms" of 10.'},
        "levels": {**_VALUES, "description": "The values, as the setting takes them."},
        "labels": labels,
        "together": {"$ref": "#/$defs/Together"},
    }
    tables = {
        f"Levels{kind.capitalize()}": {
            "type": "object",
            "properties": {key: inside[key] for key in sorted(keys, key=list(inside).index)},
            "required": [kind],
            "additionalProperties": False,
        }
        for kind, keys in LEVEL_TABLES.items()
    }
    nested = {
        "type": "object",
        "description": "Settings inside this one; write their dotted names in quotes to have them checked.",
        "minProperties": 1,
        "not": {"anyOf": [{"required": [kind]} for kind in LEVEL_TABLES]},
    }
    return tables | {
        "LevelTable": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in tables]},
        "Values": {**_VALUES, "uniqueItems": True},
        "Nested": {**nested, "additionalProperties": _any_of("Values", "LevelTable", "Nested")},
    }


def _vary(known: dict[str, Schema]) -> Schema:
    """`[vary]`: levels of a setting by its dotted name, or of several together by a name of one's own."""
    exact: Schema = {}
    patterns: Schema = {}
    for name, value in known.items():
        plain = name.replace("\\", "")
        typed = {**_VALUES, "uniqueItems": True, **({"items": value} if value else {})}
        levels: Schema = {"anyOf": [typed, {"$ref": "#/$defs/LevelTable"}]}
        if re.escape(plain) != name:
            patterns[f"^{name}$"] = levels
            continue
        if "." not in plain:
            levels["anyOf"].append({"$ref": "#/$defs/Nested"})
        exact[plain] = levels | {key: value[key] for key in ("description",) if key in value}
    columns = {name: False for name in sorted(reserved()) if name not in exact}
    return {
        "type": "object",
        "description": "Factors: the dotted name of a setting, in quotes, and its levels.",
        "properties": exact | columns,
        "patternProperties": patterns,
        "additionalProperties": {"$ref": "#/$defs/LevelsTogether"},
    }


def _together(known: dict[str, Schema]) -> Schema:
    """Settings that vary together, each with its levels; equal ones may follow each other."""
    names = [name.replace("\\", "") for name in known]
    exact = [name for name, own in zip(names, known, strict=True) if re.escape(name) == own]
    patterns = {f"^{name}$" for name in known} - {f"^{re.escape(name)}$" for name in exact}
    nested = {"type": "object", "minProperties": 1}
    tops = {name: {"anyOf": [_VALUES, nested]} for name in exact if "." not in name}
    return {
        "type": "object",
        "description": "Settings by their dotted names, in quotes, each with as many levels as the others.",
        "minProperties": 1,
        "properties": dict.fromkeys(exact, _VALUES) | tops,
        "patternProperties": dict.fromkeys(sorted(patterns), _VALUES),
        "additionalProperties": False,
    }


def _any_of(*names: str) -> Schema:
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
