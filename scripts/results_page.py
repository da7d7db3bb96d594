"""The reference page of results folders: every file, table and column, from the code that writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import rexmit
from rexmit.run.columns import level_table
from rexmit.run.details import DETAILS
from rexmit.run.schema import FILES, SCHEMA, STUDY_KEYS
from rexmit.tables import SEEDS, Column, lateness, responses, run_columns, single
from rexmit.tables.arrow import arrow_type

READERS = Path(__file__).resolve().parent / "results_readers.md"
"""How other programs read a folder: written by hand, and run by a test."""

TYPES = {"string": "text", "bool": "true or false", "double": "number"}
"""Words for types of Arrow; whole numbers are named as they are."""


def results_page() -> Iterator[str]:
    """The whole page."""
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).set("path.delay", ["10 ms"])
    results = study.set("path.down.drop", [9]).run(progress=False)
    yield _HEAD
    yield from ["", "## Files", "", "| file | is there | holds |", "|---|---|---|"]
    for name, (when, text) in FILES.items():
        yield f"| `{name}` | {when} | {text} |"
    yield from ["", _RULES, "", "## study.json", "", _STUDY, "", "| key | type | always | holds |"]
    yield "|---|---|---|---|"
    for key, (kind, always, text) in STUDY_KEYS.items():
        yield f"| `{key}` | {kind} | {'yes' if always else ''} | {text} |"
    yield from ["", "## runs.parquet", "", "One row per run. Columns, in this order:"]
    own = [one for name, one in responses().items() if name not in lateness() and name not in SEEDS]
    yield from ["", "### Which run it is", "", *_rows(run_columns().values())]
    yield from ["", _FACTORS, "", *_rows(_factor_rows(results))]
    yield from ["", "### Responses", "", *_rows(own)]
    yield from ["", "On `uml` and `kernel` three more:", "", *_rows(lateness().values())]
    yield from ["", "Where results with several seeds are merged, two more at the end:", ""]
    yield from _rows(SEEDS.values())
    for detail in DETAILS:
        yield from [
            "",
            f"## {detail.file}",
            "",
            f"Where the scenario has `{detail.hint}`. `run`, `replication` and",
        ]
        yield from [
            "the columns of the factors, as in `runs.parquet`; then",
            "",
            *_rows(detail.columns.values()),
        ]
    yield from ["", "## Tables of single runs", "", _SINGLE]
    for kind in ("state", "verdicts", "transmissions"):
        yield from ["", f"### {kind}", "", *_rows(single(kind).values())]
    yield from ["", READERS.read_text().strip(), ""]


def _factor_rows(results: rexmit.Results) -> Iterator[Column]:
    for one in level_table(results.spec().design.factors[0]).schema:
        told = {key.decode(): text.decode() for key, text in one.metadata.items()}
        kind = {"string": "utf8-json", "int64": "<i8"}[str(one.type).removeprefix("large_")]
        yield Column(one.name, kind, told["meaning"], told.get("unit"), told.get("null"))


def _rows(columns: Iterable[Column]) -> Iterator[str]:
    yield from ["| column | type | unit | meaning | null |", "|---|---|---|---|---|"]
    for one in columns:
        kind = str(arrow_type(one.type))
        about = f"{one.unit or ''} | {one.meaning} | {one.null or ''}"
        yield f"| `{one.name}` | {TYPES.get(kind, kind)} | {about} |"


_HEAD = f"""\
# Results folders

What `rexmit run STUDY --out DIR` leaves is a data set: Parquet and JSON that any program reads. This page is
made from the code that writes them; it is version {SCHEMA} of the layout. `rexmit sql DIR` lists the same for
one folder, and [answers questions in SQL](../guide/sql.md); what the tables are for is told in
[Results](../guide/results.md)."""

_RULES = """\
A file gets its final name only when it is whole. `runs.parquet` and the tables beside it hold nothing of time
or machine: the same study gives the same bytes. Each column of a Parquet file says in the metadata of its
field what it holds (`meaning`), in which `unit`, and what `null` stands for.

The version stands in `study.json` as `schema`. New files, tables, columns and keys may come without another
version; what would mislead a reader of the old one raises it. A folder of a later version is refused in one
line, and one without a version, from before there was one, is of version 1.

Version 2: what nobody knows is null in the tables of single runs, where version 1 had the largest number of
its type. `rexmit` reads both; to SQL and other programs an old file shows its numbers."""

_STUDY = """\
What decides the results, and texts. There is a [JSON Schema](record.schema.json) of it; that of `scenario` is
on the [scenario's page](scenario.md), where `stack` is the whole profile here."""

_FACTORS = """\
### Factors

Each under its dotted name, and as a number beside it where it is a rate (`_bit_s`) or a time (`_ns`). Of a
factor that sets several settings together, its own name and then each setting. For `path.rate`:"""

_SINGLE = """\
`tables/run-NUMBER-KIND.parquet`. The number of the run is in the name of the file alone; `rexmit sql` has it
as a column `run`, in front."""
