"""Folders that an older rexmit has written, in `tests/layouts`, are read: what they lack, they lack."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
import rexmit
from rexmit.errors import StoreError
from rexmit.report.explorer import explorer_of
from rexmit.run.schema import SCHEMA
from rexmit.run.tables import run_table, table_path

from .conftest import Command

FIRST = Path(__file__).parents[1] / "layouts" / "1"
"""Six runs by the last rexmit that wrote layout 1, whose tables have 2**64 - 1 for what nobody knows."""


def study() -> rexmit.Study:
    """The study of that folder."""
    found = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"])
    found = found.set("path.delay", ["5 ms", "10 ms"]).set("path.down.drop", [9])
    return found.set("intervals", "100 ms").set("retransmissions", True).set("messages", True)


def test_a_folder_of_the_first_layout_is_read() -> None:
    results = rexmit.open_results(FIRST)
    assert SCHEMA > 1 == results.study["schema"]
    assert len(results) == 6
    assert not [name for name in results.column_names if name.startswith("drops_down_")]
    assert results.intervals()["goodput_bit_s"].null_count() == 0
    assert results.messages()["delivered"].sum() == results.messages()["written"].sum() > 0
    assert results.retransmissions().height == 6
    assert explorer_of(results) is not None


def test_its_runs_come_out_the_same_today() -> None:
    old = rexmit.open_results(FIRST)
    new = study().run(progress=False)
    assert new.table().select(old.column_names).equals(old.table())
    for name in ("intervals", "retransmissions", "messages"):
        before, now = getattr(old, name)(), getattr(new, name)()
        assert now.select(before.columns).equals(before), name


@pytest.mark.parametrize("kind", ["state", "verdicts", "transmissions"])
def test_what_nobody_knows_is_null_in_its_tables_of_single_runs(kind: str) -> None:
    path = table_path(FIRST, 3, kind)
    stored, table = pl.read_parquet(path), run_table(path)
    marks = sum(
        (stored[name] == 2**64 - 1).sum() for name in stored.columns if stored[name].dtype == pl.UInt64
    )
    assert marks == sum(column.null_count() for column in table) - sum(c.null_count() for c in stored)
    assert (marks > 0) == (kind != "verdicts")
    again = rexmit.open_results(FIRST).trace(3)[kind]
    assert again.select(table.columns).equals(table)


def test_sql_says_what_its_marks_are(rexmit: Command) -> None:
    done = rexmit("sql", FIRST, "select count(*) from state where srtt_ns is null")
    assert done.stderr.count("\n") == 1
    assert "state: written by an older rexmit, where 18446744073709551615 stands for null" in done.stderr
    for words in ([], ["select count(*) from runs"]):
        assert rexmit("sql", FIRST, *words).stderr == ""


def test_runs_of_two_layouts_are_not_mixed(tmp_path: Path) -> None:
    new = tmp_path / "new"
    study().run(new, progress=False)
    with pytest.raises(StoreError, match=r'is of a different study .*: version was "0\.1\.0"'):
        rexmit.merge_results([FIRST, new], tmp_path / "both")
    begun = tmp_path / "begun"
    shutil.copytree(FIRST, begun)
    # As if this version had written the first layout.
    record = json.loads((begun / "study.json").read_text())
    (begun / "study.json").write_text(json.dumps(record | {"version": rexmit.__version__}))
    with pytest.raises(StoreError, match=r"columns of runs\.parquet differ"):
        rexmit.merge_results([begun, new], tmp_path / "both")
    (begun / "runs.parquet").unlink()
    with pytest.raises(StoreError, match=r"begun by another rexmit \(schema 1, this one writes 2\)"):
        study().run(begun, progress=False, resume=True)


def test_a_merged_folder_is_of_the_layout_of_its_parts(tmp_path: Path) -> None:
    merged = rexmit.merge_results([FIRST], tmp_path / "merged")
    assert merged.study["schema"] == 1
    assert merged.table().equals(rexmit.open_results(FIRST).table())
