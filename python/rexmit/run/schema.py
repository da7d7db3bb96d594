"""The version of the layout of results folders, and what their files hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rexmit.errors import StoreError, one_line
from rexmit.run.backends import BACKENDS
from rexmit.run.stack_programs import KEY as STACK_PROGRAMS
from rexmit.run.stacks import third_parties

SCHEMA = 2
"""Version of the layout. A new file, table or column leaves it as is; what would mislead readers of the old
one raises it. Since 2, what nobody knows is null in the tables of single runs; it was the largest number."""

UNMARKED = 2
"""The first version in whose tables null, and no mark, stands for what nobody knows."""

KEY = "schema"
"""Its key in study.json. A folder from before there was one has none, and the layout of version 1."""


FILES = {
    "study.toml": (
        "always",
        "the study with every default filled in, profiles included; `rexmit run DIR/study.toml` repeats it",
    ),
    "study.json": ("always", "the same for programs, with the levels of each factor; see below"),
    "provenance.json": (
        "always",
        "version, seed, machine, kernel, packages, and each session with its command",
    ),
    "runs.parquet": ("when the study has finished", "one row per run, sorted by run"),
    "intervals.parquet": ("with `intervals` in the scenario", "one row per interval and sender"),
    "retransmissions.parquet": ("with `retransmissions = true`", "what was sent again, counted by class"),
    "messages.parquet": (
        "with `messages = true`",
        "how late messages were: one row per connection with a sender",
    ),
    "parts/part-FROM-TO.parquet": (
        "while the study runs",
        "finished runs from FROM, before TO: `run`, `replication` and the responses, without the factors",
    ),
    "captures/run-NUMBER-HOST.pcapng": (
        "with `--capture`",
        "packets at a host of a run: server or client, or one of a network",
    ),
    "captures/run-NUMBER-HOST-CONNECTION.sqlog": (
        "with `--capture`, of a QUIC that logs",
        "what a host's code has logged about a connection (qlog), a JSON text sequence",
    ),
    "tables/run-NUMBER-state.parquet": ("with `--state`", "state of the hosts over time, of a run"),
    "tables/run-NUMBER-verdicts.parquet": ("with `--verdicts`", "what the path did to each packet of a run"),
    "tables/run-NUMBER-transmissions.parquet": (
        "with `--transmissions`",
        "why each packet of a run was sent",
    ),
    "figures/": ("after `rexmit plot DIR`", "figures of the study, as SVG and PNG"),
    "report.html": ("after `rexmit report DIR`", "the report, one page that needs no other file"),
}
"""The files of a results folder: when they are there, and what they hold. A number has eight digits."""

STUDY_KEYS: Mapping[str, tuple[str, bool, str]] = {
    KEY: (
        "integer",
        False,
        f"version of this layout, now {SCHEMA}; absent in folders from before there was one, which are of 1",
    ),
    "version": ("string", True, "version of rexmit that wrote the folder"),
    "name": ("string", True, "name of the study, such as hurtig-2006/short"),
    "file": ("string", False, "file of the study, where it was run; null for one that was made in Python"),
    "title": ("string", False, "title of the study"),
    "source": ("string", False, "where its numbers come from"),
    "question": ("string", False, "what it asks"),
    "description": ("string", False, "how it goes about it"),
    "backend": ("string", True, f"what ran it: {', '.join(BACKENDS)}"),
    **{
        name: ("string", False, f"where a host had the stack {name}: the version of the library")
        for name in third_parties()
    },
    STACK_PROGRAMS: (
        "array",
        False,
        "where the stack of a host was a program: `host`, `program` (the command), its `name` and "
        "`version` as it says them, and `led` (true) where its clock was the run's",
    ),
    "kernel": ("string", False, "of uml and kernel: the version of the kernel"),
    "hz": ("integer", False, "of uml: ticks of the kernel a second"),
    "patches": ("array", False, "of uml: names of the patches in the kernel"),
    "hash": ("string", False, "of uml: hash of all that the kernel was built from"),
    "kernels": (
        "array",
        False,
        "of uml, where not all runs have one kernel: `kernel`, `hz`, `patches` and `hash` of each; above "
        "stand all versions and hashes with commas between, and the `hz` of the first",
    ),
    "scenario": ("object", True, "the scenario of run 0 with every default filled in"),
    "factors": (
        "array",
        True,
        "the factors in the order of the design, each with its name, levels and labels",
    ),
    "replications": ("integer", True, "runs with the same levels"),
    "seed": ("integer", True, "seed of the random streams; of merged results the smallest"),
    "sequence": (
        "object",
        False,
        "where runs follow each other at the same hosts: `along` which factors (or replication), and the "
        "`gap` between two",
    ),
    "responses": ("object", False, "the study's own responses, as its file says them, by name"),
    "seeds": ("array", False, "of merged results: the seeds of the runs"),
    "shard": (
        "array",
        False,
        "of a part of a study's runs: its number, from 1, and how many parts there are",
    ),
    "runs": ("integer", True, "runs of the whole design"),
}
"""The keys of study.json: their type, whether every folder has them, and what they hold."""


def record_schema() -> dict[str, Any]:
    """The JSON Schema of study.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "study.json of a results folder of rexmit",
        "type": "object",
        "properties": {
            key: {"type": kind if required else [kind, "null"], "description": text}
            for key, (kind, required, text) in STUDY_KEYS.items()
        },
        "required": [key for key, (_, required, _) in STUDY_KEYS.items() if required],
    }


def layout_of(study: Mapping[str, Any]) -> int:
    """The version of the layout of the folder that this study.json is of."""
    return int(study.get(KEY, 1))


def check_schema(study: Mapping[str, Any], folder: Path) -> None:
    """Raises StoreError for a folder that a newer version of this package has written in another layout."""
    found = study.get(KEY, 1)
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise StoreError(f"{folder}: study.json: {KEY} is {one_line(repr(found))}, not a layout version")
    if found > SCHEMA:
        raise StoreError(f"{folder}: was written by a newer rexmit ({KEY} {found}); this one reads {SCHEMA}")
