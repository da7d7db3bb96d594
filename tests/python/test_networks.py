"""Studies of networks: what their tables tell, and what their files may name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import rexmit
from rexmit.errors import StudyError
from rexmit.study.schema import study_schema

EXAMPLES = Path(__file__).parents[2] / "examples" / "networks"
EXAMPLE_NAMES = sorted(path.name for path in EXAMPLES.glob("*.toml"))


def dumbbell(**more: Any) -> dict[str, Any]:
    """Two senders and a sink; 20 kB each."""
    host = {"stack": "linux-6.1", "at": "left", "access": {"delay": "1 ms"}}
    return {
        "scenario": {
            "hosts": {"near": host, "far": host, "sink": {**host, "at": "right"}},
            "links": {"middle": {"between": ["left", "right"], "rate": "10 Mbit/s", "delay": "5 ms"}},
            "transfers": [
                {"name": "one", "from": "near", "to": "sink", "bulk": "20 kB"},
                {"name": "two", "from": "far", "to": "sink", "bulk": "20 kB"},
            ],
            **more,
        }
    }


def test_a_network_has_tables_of_transfers_and_links(tmp_path: Path) -> None:
    study = rexmit.Study.from_dict(dumbbell(measure={"every": "10 ms"}))
    results = study.run(out=tmp_path / "out", progress=False)
    assert results.table()["completed"].all()
    assert results.table()["packets_down"].null_count() == 1
    query = "select transfer, sender, bytes from transfers order by all"
    assert results.sql(query).to_dicts() == [
        {"transfer": "one", "sender": "near", "bytes": 20_000},
        {"transfer": "two", "sender": "far", "bytes": 20_000},
    ]
    assert results.sql("select sum(bytes) as n from transfers_over_time")["n"].to_list() == [40_000]
    passed = results.sql(
        "select (select passed_bytes from links where link = 'middle' and from_point = 'left') = "
        "(select sum(passed_bytes) from links_over_time where from_point = 'left') as same"
    )
    assert passed["same"].to_list() == [True]


@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_the_schema_takes_the_examples(name: str) -> None:
    with (EXAMPLES / name).open("rb") as file:
        jsonschema.Draft202012Validator(study_schema()).validate(tomllib.load(file))


def test_a_factor_may_not_have_the_name_of_a_column_that_is_measured() -> None:
    study = dumbbell()
    together = {"labels": ["a"], "together": {"links.middle.rate": ["1 Mbit/s"]}}
    with pytest.raises(StudyError, match=r"vary\.link: is a column"):
        rexmit.Study.from_dict({**study, "vary": {"link": together}})
    two = {"hosts": {"server": {"stack": "rfc"}, "client": {"stack": "rfc"}}, "transfers": []}
    rates = {"labels": ["a"], "together": {"path.rate": ["1 Mbit/s"]}}
    rexmit.Study.from_dict({"scenario": two, "vary": {"link": rates}})


def test_files_of_flows_are_named_from_the_study_and_held_to_their_hash(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("start (ms),size (kB)\n0,10\n5,20\n")
    (tmp_path / "sizes.csv").write_text("size,probability\n1 kB,0\n9 kB,1\n")
    text = """
[scenario]
hosts.server.stack = "rfc"
hosts.client.stack = "rfc"
path.rate = "10 Mbit/s"
measure = {}
[[scenario.transfers]]
from = "server"
to = "client"
flows = { file = "flows.csv" }
[[scenario.transfers]]
from = "server"
to = "client"
flows = { count = 3, every = "1 ms", size = { cdf = "sizes.csv" } }
"""
    (tmp_path / "study.toml").write_text(text)
    study = rexmit.Study.load(tmp_path / "study.toml")
    results = study.run(out=tmp_path / "out", progress=False)
    assert results.table()["completed"].all()
    sizes = results.sql("select bytes from transfers where transfer = '0' order by 1")
    assert sizes["bytes"].to_list() == [10_000, 20_000]
    (tmp_path / "flows.csv").write_text("start (ms),size (kB)\n0,99\n")
    with pytest.raises(StudyError, match="is not the file that this study was made with"):
        study.run(progress=False)
    (tmp_path / "flows.csv").unlink()
    with pytest.raises(
        StudyError, match=r"transfers\.0\.flows\.file: cannot read .*flows\.csv: No such file"
    ):
        rexmit.Study.load(tmp_path / "study.toml")


@pytest.mark.parametrize("name", EXAMPLE_NAMES)
def test_the_examples_run(name: str) -> None:
    study = rexmit.Study.load(EXAMPLES / name)
    for number, transfer in enumerate(study.spec.scenario["transfers"]):
        if "flows" in transfer:
            study = study.set(f"transfers.{number}.flows.count", 20)
        elif str(transfer["bulk"]).endswith(" s"):
            study = study.set(f"transfers.{number}.bulk", "500 ms")
        else:
            study = study.set(f"transfers.{number}.bulk", "10 kB")
    assert study.run(progress=False).table()["completed"].all()
