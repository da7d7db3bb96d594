"""Tables of single runs: state over time, verdicts, transmissions."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import rexmit

from .conftest import Command


def test_tables_are_kept_of_the_runs_asked_for(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    kinds = [word for kind in ("state", "verdicts", "transmissions") for word in (f"--{kind}", "all")]
    done = rexmit("run", study_file, "--out", "out", *kinds)
    assert done.returncode == 0, done.stderr
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    for run in runs.iter_rows(named=True):
        name = tmp_path / "out" / "tables" / f"run-{run['run']:08d}"
        state = pl.read_parquet(f"{name}-state.parquet")
        assert state["time_ns"].is_sorted()
        assert set(state["host"]) == {"server", "client"}
        assert state.filter(host="server")["timeouts"].max() == run["timeouts_server"]
        verdicts = pl.read_parquet(f"{name}-verdicts.parquet")
        assert verdicts.filter(direction="down").height == run["packets_down"]
        assert verdicts["dropped"].sum() == run["drops_down"] + run["drops_up"]
        sent = pl.read_parquet(f"{name}-transmissions.parquet")
        assert sent.height == verdicts.height
        again = sent.filter(pl.col("transmission") > 1, pl.col("payload_bytes") > 0)
        assert again.height == run["retransmits"]
        assert sent.filter(reason="fast").height == run["fast_retransmits"]
    again = rexmit("run", study_file, "--out", "out", "--resume", "--state", "all")
    assert again.returncode == 0, again.stderr


def test_state_is_noted_when_it_is_asked_for(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    def state(when: str) -> pl.DataFrame:
        done = rexmit("run", study_file, "--out", when, "--state", "all", "--state-at", when)
        assert done.returncode == 0, done.stderr
        table = pl.read_parquet(tmp_path / when / "tables" / "run-00000000-state.parquet")
        return table.filter(host="server")

    changes, writes, grid = state("changes"), state("writes"), state("5 ms")
    first = grid["time_ns"][0]
    assert 0 <= first - changes["time_ns"][0] < 5_000_000
    assert grid["time_ns"].to_list() == [first + n * 5_000_000 for n in range(grid.height)]
    for row in grid.iter_rows(named=True):
        last = changes.filter(pl.col("time_ns") <= row["time_ns"]).row(-1, named=True)
        assert {**last, "time_ns": row["time_ns"]} == row
    assert 1 <= writes.height < changes.height
    assert set(writes["time_ns"]) <= set(changes["time_ns"])
    alone = rexmit("run", study_file, "--state-at", "writes")
    assert (alone.returncode, alone.stderr.count("\n")) == (2, 1)
    assert "goes with state" in alone.stderr
    for wrong in ("often", "0 ms", "10"):
        done = rexmit("run", study_file, "--state", "all", "--state-at", wrong)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f'state_at: "{wrong}"' in done.stderr


def test_no_table_is_kept_unasked(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    assert rexmit("run", study_file, "--out", "out", "--state", "failed").returncode == 0
    assert not list((tmp_path / "out").glob("tables/*"))


def test_a_run_is_traced_from_python() -> None:
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", "1 Mbit/s").set("path.delay", "10 ms")
    results = study.set("design.replications", 1).run(progress=False)
    run = results.run_number(path__down__drop=18)
    trace = results.trace(run)
    assert trace["verdicts"].filter("dropped")["position"].to_list() == [18]
    server = trace["state"].filter(host="server")
    assert server["cwnd"].min() == 1448, "one segment after the timeout"
