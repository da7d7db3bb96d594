"""Each column is described once: in the files, on the pages and in what is refused stands the same."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rexmit
from rexmit.errors import StudyError
from rexmit.run.details import DETAILS, PROGRAMS
from rexmit.study.factors import parse_factor
from rexmit.tables import (
    Column,
    analysis,
    detail,
    lateness,
    reserved,
    reserved_where_measured,
    responses,
    run_columns,
    single,
    single_kinds,
)
from rexmit.tables import arrow as tables_arrow
from rexmit.tables.described import MEASURED, SEEDS, Columns

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one run that has every table."""
    out: Path = tmp_path_factory.mktemp("described") / "out"
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).set("path.delay", ["5 ms"])
    study = study.set("path.down.drop", [9]).set("intervals", "1 s")
    study = study.set("retransmissions", True).set("messages", True).set("measure.every", "1 s")
    study.run(out, progress=False, state="all", verdicts="all", transmissions="all")
    return out


def tables() -> dict[str, Columns]:
    """Every table of a folder, by its file."""
    model = {name: one for name, one in responses().items() if name not in {*lateness(), *SEEDS}}
    found: dict[str, Columns] = {"runs.parquet": {**run_columns(), **model}}
    found |= {one.file: {**run_columns(), **one.columns} for one in DETAILS}
    kinds = [kind for kind in single_kinds() if kind != "messages"]
    return found | {f"tables/run-00000000-{kind}.parquet": single(kind) for kind in kinds}


def made_by_a_model() -> dict[str, Columns]:
    """Those of them that no real kernel is needed for."""
    return {file: columns for file, columns in tables().items() if file != PROGRAMS.file}


def test_each_column_is_in_the_file_as_it_is_described(folder: Path) -> None:
    for file, columns in made_by_a_model().items():
        schema = pq.read_schema(folder / file)
        assert [name for name in schema.names if not name.startswith("path.")] == list(columns), file
        for name, column in columns.items():
            found = schema.field(name)
            assert found.type == tables_arrow.arrow_type(column.type), (file, name)
            told = {key.decode(): text.decode() for key, text in found.metadata.items()}
            assert told == column.metadata(), (file, name)


def test_an_agent_answers_lists_that_become_the_same_table(folder: Path) -> None:
    for kind in ("state", "verdicts"):
        table = pq.read_table(folder / f"tables/run-00000000-{kind}.parquet")
        lists = {name: table.column(name).to_pylist() for name in sorted(table.column_names)}
        found = tables_arrow.from_lists(lists, single(kind))
        assert found.equals(table)
        assert found.schema.equals(table.schema, check_metadata=True)


def test_null_is_where_the_description_has_it(folder: Path) -> None:
    for file, columns in made_by_a_model().items():
        table = pq.read_table(folder / file)
        for name, column in columns.items():
            nulls = table.column(name).null_count
            assert column.null is not None or nulls == 0, (file, name)
            if pa.types.is_uint64(table.schema.field(name).type):
                assert 2**64 - 1 not in table.column(name).to_pylist(), (file, name)
    assert pq.read_table(folder / "tables/run-00000000-state.parquet").column("ssthresh").null_count
    assert (
        pq.read_table(folder / "tables/run-00000000-transmissions.parquet").column("arrived_ns").null_count
        == 1
    )


def test_each_column_is_on_the_page_of_reference() -> None:
    page = (REFERENCE / "results-folder.md").read_text()
    for columns in (*tables().values(), lateness(), SEEDS):
        for column in columns.values():
            row = f"| {column.unit or ''} | {column.meaning} | {column.null or ''} |"
            assert re.search(rf"^\| `{column.name}` \| [^|]+ {re.escape(row)}$", page, re.MULTILINE), column
    page = (REFERENCE / "tables.md").read_text()
    for columns in analysis().values():
        for column in columns.values():
            assert f"`{column.name}`" in page
            assert f"| {column.unit or ''} | {column.meaning} | {column.null or ''} |" in page, column


def test_no_factor_may_have_the_name_of_a_column_of_a_study() -> None:
    levels = {"together": {"path.rate": ["1 Mbit/s", "2 Mbit/s"]}}
    names = {name for file, columns in tables().items() if not file.startswith("tables/") for name in columns}
    assert names | {*lateness(), *SEEDS} <= reserved_where_measured()
    of_measured = {name for one in MEASURED for name in detail(one)}
    assert names - of_measured <= reserved()
    assert "link" not in reserved()
    for name in reserved():
        with pytest.raises(StudyError, match="is the name of a column of the results"):
            parse_factor(name, levels)


def test_a_name_of_what_is_measured_is_kept_from_studies_that_measure() -> None:
    levels = {"together": {"path.rate": ["1 Mbit/s", "2 Mbit/s"]}, "labels": ["slow", "fast"]}
    study = rexmit.Study.load("hurtig-2006/short").set("vary.link", levels)
    study.spec.check()
    with pytest.raises(StudyError, match=r"vary\.link: is a column of what connections"):
        study.set("measure", {}).spec.check()


def test_a_described_unit_is_the_ending_of_the_name() -> None:
    """Times and rates say their unit in their names, which no description may contradict."""
    endings = {"_ns": "ns", "_ms": "ms", "_bit_s": "bit/s"}
    every: list[Column] = [
        one for table in (*tables().values(), *analysis().values()) for one in table.values()
    ]
    assert len(every) > 300
    for column in every:
        for ending, unit in endings.items():
            assert (column.unit == unit) == column.name.endswith(ending), column
        assert column.meaning


def test_drops_by_reason_sum_up_to_all(folder: Path) -> None:
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).set("path.delay", ["5 ms"])
    study = study.set("path.down.drop", [0, 9]).set("path.loss", "2 %").set("path.queue", "2 packets")
    table = study.run(progress=False).table()
    reasons = ("pattern", "random", "queue", "aqm")
    for way in ("down", "up"):
        total = sum(table[f"drops_{way}_{by}"] for by in reasons)
        assert total.to_list() == table[f"drops_{way}"].to_list()
    assert table["drops_down_pattern"].sum() > 0
    assert table["drops_down_random"].sum() > 0


def test_verdicts_say_fate_cause_and_effects_in_columns() -> None:
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"]).set("path.delay", ["5 ms"])
    study = study.set("path.down.drop", [9]).set("path.down.duplicate", 11)
    study = study.set("path.down.hold", {"position": 12, "by": "3 ms"})
    verdicts = study.run(progress=False).trace(0)["verdicts"]
    down = {row["position"]: row for row in verdicts.filter(direction="down").iter_rows(named=True)}
    told = {
        at: tuple(down[at][name] for name in ("fate", "cause", "effects", "connection"))
        for at in (8, 9, 11, 12)
    }
    assert told == {
        8: ("delivered", None, None, 0),
        9: ("dropped", "pattern", None, 0),
        11: ("delivered", "pattern", "duplicated", 0),
        12: ("delivered", "pattern", "delayed", 0),
    }
    assert verdicts["dropped"].to_list() == (verdicts["fate"] == "dropped").to_list()
