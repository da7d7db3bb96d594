"""The reference page of results folders: every file, table and column, from the code that writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import rexmit
from rexmit.run.columns import level_table
from rexmit.run.details import DETAILS
from rexmit.run.meanings import LATENESS, MERGED, RUN, RUNS, SINGLE_RUNS
from rexmit.run.real import LATENESS as LATENESS_TYPES
from rexmit.run.schema import FILES, SCHEMA, STUDY_KEYS

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
    yield from ["", "## runs.parquet", "", "A row a run. Columns, in this order:"]
    table = results.arrow().schema
    yield from ["", "### Which run it is", "", *_rows(RUN, table)]
    yield from ["", _FACTORS, "", *_rows(*_factor_rows(results))]
    yield from ["", "### Responses", "", *_rows({n: RUNS[n] for n in _responses(table)}, table)]
    late = pa.schema(LATENESS_TYPES)
    yield from ["", "On `uml` and `kernel` three more:", "", *_rows(LATENESS, late)]
    seeds = pa.schema([(name, pa.int64()) for name in MERGED])
    yield from [
        "",
        "Where results with several seeds are merged, two more at the end:",
        "",
        *_rows(MERGED, seeds),
    ]
    for detail in DETAILS:
        behind = {one.after: one.field for one in detail.derived}
        fields = [one for field in detail.fields for one in (field, behind.get(field[0])) if one is not None]
        whole = pa.schema([(name, kind) for name, kind, _ in fields])
        meanings = {name: text for name, _, text in fields}
        yield from [
            "",
            f"## {detail.file}",
            "",
            f"Where the scenario has `{detail.hint}`. `run`, `replication` and",
        ]
        yield from ["the columns of the factors, as in `runs.parquet`; then", "", *_rows(meanings, whole)]
    yield from ["", "## Tables of single runs", "", _SINGLE]
    traces = results.trace(0)
    for kind in ("state", "verdicts", "transmissions"):
        yield from ["", f"### {kind}", "", *_rows(SINGLE_RUNS[kind], traces[kind].to_arrow().schema)]
    yield from ["", READERS.read_text().strip(), ""]


def _factor_rows(results: rexmit.Results) -> tuple[Mapping[str, str], pa.Schema]:
    factor = results.spec().design.factors[0]
    schema = level_table(factor).schema
    return {one.name: one.metadata[b"meaning"].decode() for one in schema}, schema


def _responses(schema: pa.Schema) -> list[str]:
    names: list[str] = schema.names
    return names[names.index("completed") :]


def _rows(meanings: Mapping[str, str], schema: pa.Schema) -> Iterator[str]:
    yield from ["| column | type | meaning |", "|---|---|---|"]
    for name, text in meanings.items():
        kind = str(schema.field(name).type).removeprefix("large_")
        yield f"| `{name}` | {TYPES.get(kind, kind)} | {text} |"


_HEAD = f"""\
# Results folders

What `rexmit run STUDY --out DIR` leaves is a data set: Parquet and JSON that any program reads. This page is
made from the code that writes them; it is version {SCHEMA} of the layout. `rexmit sql DIR` lists the same for
one folder, and [answers questions in SQL](../guide/sql.md); what the tables are for is told in
[Results](../guide/results.md)."""

_RULES = """\
A file gets its final name only when it is whole. `runs.parquet` and the tables beside it hold nothing of time
or machine: the same study gives the same bytes. Each column of a Parquet file says its meaning in the
metadata of its field, under `meaning`.

The version stands in `study.json` as `schema`. New files, tables, columns and keys may come without another
version; what would mislead a reader of the old one raises it. A folder of a later version is refused in one
line, and one without a version, from before there was one, is of version 1."""

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
