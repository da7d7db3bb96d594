"""`rexmit model`: formulas from numbers, the buffer's rule from numbers, states of runs, and captures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit as package
from rexmit import _native, models
from rexmit.analyse.uplink import CapturedFlows, uplink_from_captures, uplink_from_state
from rexmit.errors import UsageError
from rexmit.units import parse_bytes

from .conftest import Command

LINK = """
title = "An asymmetric link"

[scenario]
hosts.server.stack = "freebsd-6.0"
hosts.client.stack = "freebsd-6.0"
path.delay = "50 ms"
path.down.rate = "2400 kbit/s"
path.down.queue = "50 packets"
path.up.rate = "196 kbit/s"
path.up.queue = "17 packets"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "2000 x 1460 bytes"

[[scenario.transfers]]
from = "client"
to = "server"
writes = "60 x 1460 bytes"
start = "5 s"

[vary]
"path.up.queue" = ["5 packets", "50 packets"]
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of runs with a download, then an upload beside it, with state and captures of each."""
    folder = tmp_path_factory.mktemp("link")
    (folder / "link.toml").write_text(LINK)
    study = package.Study.load(folder / "link.toml")
    study.run(folder / "both", state="all", capture="all", progress=False)
    alone = dict(study.spec.scenario)
    alone["transfers"] = alone["transfers"][:1]
    package.run_one(alone, options={"capture_server": folder / "alone-server.pcapng"})
    package.run_one(alone, options={"capture_client": folder / "alone-client.pcapng"})
    return folder


def state(both: Path, host: str, connection: int, run: int = 0) -> pl.DataFrame:
    table = pl.read_parquet(both / f"both/tables/run-{run:08d}-state.parquet")
    return table.filter((pl.col("host") == host) & (pl.col("connection") == connection))


# From numbers

NUMBERS = [
    "--up-rate",
    "196 kbit/s",
    "--rtt",
    "200 ms",
    "--max-window-down",
    "73 kB",
    "--max-window-up",
    "10 kB",
]


def test_the_buffer_from_numbers(rexmit: Command) -> None:
    done = rexmit("model", "buffer-size", *NUMBERS, "--down-rate", "2.4 Mbit/s", "--flows", "4", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["packets"] == 17
    assert found["bytes"] == 17 * 1500
    assert found["bound_packets"] == pytest.approx(17.7333, abs=1e-3)
    assert found["drain_s"] == pytest.approx(17 * 12000 / 196_000)
    assert found["classic"]["uplink"] == pytest.approx(
        {"bdp_packets": 3.2667, "bdp_sqrt_packets": 1.6333}, abs=1e-3
    )
    assert found["classic"]["downlink"] == pytest.approx({"bdp_packets": 40, "bdp_sqrt_packets": 20})
    assert found["inputs"]["rtt"]["value"] == 0.2
    assert {entry["source"] for entry in found["inputs"].values()} == {"given"}
    assert found["limits"] == list(models.RULE_LIMITS)


def test_the_buffer_is_explained(rexmit: Command) -> None:
    done = rexmit("model", "buffer-size", *NUMBERS, "--packet", "1000 bytes")
    assert "max window down  73,000 bytes  given" in done.stdout
    assert "bound 26.60 packets: an uplink buffer of at most 26 packets (26,000 bytes)" in done.stdout
    assert "it drains in 1.06 s" in done.stdout
    assert all(text in done.stdout for text in models.RULE_LIMITS)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "buffer-size needs --up-rate, --rtt, --max-window-down, --max-window-up; give them, or measure"),
        (NUMBERS[:6], "buffer-size needs --max-window-up; give it, or measure with --results DIR, with"),
        (["--up-rate", "196 kbps"], "'--up-rate': \"196 kbps\" is not a rate: write kbit/s"),
        (["--rtt", "5"], "'--rtt': "),
        (["--max-window-up", "10 kb"], "'10 kb' is not an amount of data such as '64 KiB'; units: bytes, kB"),
        (
            [*NUMBERS[:4], "--max-window-down", "20 kB", "--max-window-up", "10 kB"],
            "the rule gives no buffer: the ",
        ),
        ([*NUMBERS, "--run", "1"], "--run says which run of --results"),
        ([*NUMBERS, "--both", "x"], "--download-alone and --both go together"),
        ([*NUMBERS, "--results", "x", "--both", "x"], "--results and captures are two sources"),
        ([*NUMBERS, "--flows", "0"], "'--flows': 0 is not in the range"),
        ([*NUMBERS[:6], "--max-window-up", "0 bytes", "--up-rate", "0 bit/s"], "'--up-rate'"),
    ],
)
def test_what_gives_no_buffer_is_one_line(rexmit: Command, arguments: list[str], text: str) -> None:
    done = rexmit("model", "buffer-size", *arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


# From states of runs


def test_the_inputs_from_states_are_those_of_the_studys_scripts(both: Path) -> None:
    results = package.open_results(both / "both")
    table = pl.read_parquet(both / "both/tables/run-00000000-state.parquet")
    found = uplink_from_state(table, results.spec().scenario_of(0), "run 0")
    begin = state(both, "client", 1)["time_ns"].min()
    alone = state(both, "server", 0).filter((pl.col("time_ns") < begin) & pl.col("srtt_ns").is_not_null())
    assert found.rtt.value == pytest.approx(alone["srtt_ns"].cast(pl.Float64).mean() / 1e9)  # type: ignore[operator]
    assert 0.1 < found.rtt.value < 0.2
    assert found.max_window_up.value == state(both, "client", 1)["cwnd"].max()
    assert found.max_window_down.value == state(both, "server", 0)["cwnd"].max()
    # This download is limited by its send buffer, and cwnd grows all the same.
    assert (
        "something else (a window, a buffer, the application) was the limit"
        in found.max_window_down.doubts[0]
    )


def test_the_command_from_states(rexmit: Command, both: Path) -> None:
    done = rexmit("model", "buffer-size", "--results", both / "both", "--json")
    rows = json.loads(done.stdout)
    assert [row["levels"] for row in rows] == [
        {"path.up.queue": "5 packets"},
        {"path.up.queue": "50 packets"},
    ]
    one = json.loads(rexmit("model", "buffer-size", "--results", both / "both", "--run", 1, "--json").stdout)
    assert one["packets"] == rows[1]["packets"]
    assert one["inputs"]["up_rate"] == {
        "value": 196_000,
        "source": "run 1: the path's up rate",
        "doubts": [],
        "meaning": "C_U: what the buffer's link sends",
    }
    assert one["inputs"]["down_rate"]["value"] == 2_400_000
    rule = models.UplinkMeasures(**{name: one["inputs"][name]["value"] for name in INPUTS})
    assert one["packets"] == rule.packets()
    shown = rexmit("model", "buffer-size", "--results", both / "both").stdout
    assert "50 packets" in shown
    # What is given goes before what is measured.
    given = rexmit("model", "buffer-size", "--results", both / "both", "--run", 1, "--rtt", "1 s", "--json")
    assert json.loads(given.stdout)["inputs"]["rtt"]["source"] == "given"


INPUTS = ("up_rate", "rtt", "max_window_down", "max_window_up", "packet")


def test_results_without_state_say_so(rexmit: Command, both: Path, tmp_path: Path) -> None:
    package.Study.load(both / "link.toml").run(tmp_path / "bare", progress=False)
    for arguments in ([], ["--run", "0"]):
        done = rexmit("model", "buffer-size", "--results", "bare", *arguments)
        assert done.returncode == 1
        assert "with --state all" in done.stderr
    done = rexmit("model", "buffer-size", "--results", both / "both", "--run", 9)
    assert done.returncode == 2
    assert "there is no run 9" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda transfers: transfers[:1], "has 0 uploads from the client, and the rule is for one"),
        (lambda transfers: [*transfers, transfers[0]], "has 2 downloads from the server"),
        (lambda transfers: [{**transfers[0], "connections": 2}, transfers[1]], "has 2 download"),
    ],
)
def test_a_run_of_other_transfers_is_refused(both: Path, change: Any, message: str) -> None:
    scenario = package.open_results(both / "both").spec().scenario_of(0)
    table = pl.read_parquet(both / "both/tables/run-00000000-state.parquet")
    with pytest.raises(UsageError, match=f"^run 0: {message}"):
        uplink_from_state(table, {**scenario, "transfers": change(scenario["transfers"])}, "run 0")


def test_an_upload_from_the_start_leaves_no_rtt_of_the_download_alone(both: Path) -> None:
    scenario = package.open_results(both / "both").spec().scenario_of(0)
    table = pl.read_parquet(both / "both/tables/run-00000000-state.parquet")
    early = table.with_columns(
        pl.when(pl.col("connection") == 1).then(pl.lit(0)).otherwise(pl.col("time_ns")).alias("time_ns")
    )
    with pytest.raises(UsageError, match="the upload began before the download had an RTT; start it later"):
        uplink_from_state(early, scenario, "run 0")


# From captures


def captured(path: Path) -> CapturedFlows:
    found = package.analyze(path, tables=["segments", "rtt"])
    return CapturedFlows(path.name, found.connections, found.segments, found.rtt)


def test_captures_of_both_ends_show_what_the_senders_had_outstanding(both: Path) -> None:
    # With room for 50 packets nothing is lost, so nothing that is in flight has arrived already.
    ends = [captured(both / f"both/captures/run-00000001-{host}.pcapng") for host in ("server", "client")]
    found = uplink_from_captures(captured(both / "alone-server.pcapng"), ends)
    for measured, host, connection in (
        (found.max_window_down, "server", 0),
        (found.max_window_up, "client", 1),
    ):
        # But for the FIN, what a sender had in flight is what its capture shows.
        assert measured.value == pytest.approx(state(both, host, connection, 1)["in_flight"].max(), abs=1)
        assert measured.doubts == ()
    source = "run-00000001-client.pcapng, connection 2: most bytes outstanding while both run"
    assert found.max_window_up.source == source
    rtt = package.analyze(both / "alone-server.pcapng").rtt.filter(pl.col("method") == "ack")["rtt_ns"]
    assert found.rtt.value == pytest.approx(rtt.mean() / 1e9)  # type: ignore[operator]
    assert found.rtt.source == f"alone-server.pcapng, connection 1: mean of {rtt.len():,} RTT samples"


def test_one_capture_of_both_is_taken_with_a_doubt(both: Path) -> None:
    near = [captured(both / "both/captures/run-00000000-server.pcapng")]
    found = uplink_from_captures(captured(both / "alone-server.pcapng"), near)
    assert "100 % of the RTT away from the sender" in found.max_window_up.doubts[0]
    assert found.max_window_up.value < state(both, "client", 1)["in_flight"].max()  # type: ignore[operator]
    assert not found.max_window_down.doubts


def test_captures_that_lack_a_transfer_are_refused(both: Path) -> None:
    alone = captured(both / "alone-server.pcapng")
    with pytest.raises(
        UsageError, match=r"^alone-server.pcapng: holds no TCP data of an upload from 10.0.1.1 to 10"
    ):
        uplink_from_captures(alone, [alone])
    with pytest.raises(
        UsageError, match=r"alone-client.pcapng, connection 1: was captured 100 % of the RTT away"
    ):
        uplink_from_captures(captured(both / "alone-client.pcapng"), [alone])
    empty = replace(alone, name="empty", connections=alone.connections.clear())
    with pytest.raises(
        UsageError, match=r"^empty: holds no TCP data of a download; give the capture that does$"
    ):
        uplink_from_captures(empty, [alone])


def test_the_command_from_captures(rexmit: Command, both: Path) -> None:
    arguments = ["--up-rate", "196 kbit/s", "--download-alone", both / "alone-server.pcapng"]
    for host in ("server", "client"):
        arguments += ["--both", both / f"both/captures/run-00000000-{host}.pcapng"]
    done = rexmit("model", "buffer-size", *arguments)
    assert done.returncode == 0, done.stderr
    assert "alone-server.pcapng, connection 1: mean of" in done.stdout
    found = json.loads(rexmit("model", "buffer-size", *arguments, "--json").stdout)
    rule = models.UplinkMeasures(**{name: found["inputs"][name]["value"] for name in INPUTS})
    assert found["packets"] == rule.packets()
    assert "download-alone" in rexmit("model", "buffer-size", "--download-alone", "x").stderr


# Formulas


def test_the_table_of_formulas(rexmit: Command) -> None:
    arguments = ["--loss", "1 %", "--loss", "0.2", "--mss", "1460 bytes", "--rtt", "100 ms"]
    found = json.loads(rexmit("model", "tcp-friendly", *arguments, "--json").stdout)
    assert len(found["results"]) == 2 * len(models.FORMULAS)
    rows = {(row["loss"], row["formula"]): row for row in found["results"]}
    assert rows[0.01, "mathis"]["segments"] == pytest.approx(12.2474, abs=1e-3)
    assert rows[0.01, "mathis"]["rate_bit_s"] == pytest.approx(12.2474 * 1460 * 8 / 0.1, rel=1e-4)
    assert rows[0.01, "klaver-odd"]["segments"] == pytest.approx(10.191, abs=1e-3)
    assert rows[0.2, "klaver-odd"]["segments"] is None
    assert not rows[0.2, "mathis"]["holds"]
    shown = rexmit("model", "tcp-friendly", *arguments).stdout
    assert "outside its domain" in shown
    assert "beyond its assumptions" in shown
    assert all(formula.source in shown for formula in models.FORMULAS.values())


def test_what_a_trace_counts_is_turned_into_what_klavers_formulas_take(rexmit: Command) -> None:
    """A cycle with W = 11 has 70 transmissions, and its formula counts 69."""
    options = ("--rtt", "1 s", "--counts-dropped", "--json", "--loss", str(1 / 70))
    rows = json.loads(rexmit("model", "tcp-friendly", *options).stdout)["results"]
    segments = {row["formula"]: row["segments"] for row in rows}
    assert segments["klaver-odd"] == pytest.approx(float(models.klaver_cycle_window(11)))
    assert segments["mathis"] == pytest.approx(float(models.mathis_window(1 / 70)))


def test_options_of_a_flow_reach_the_formulas(rexmit: Command) -> None:
    flow = models.Flow(1000, 0.1, 0.7, True, 8)
    options = (
        "--loss",
        "0.001",
        "--mss",
        "1000 bytes",
        "--rtt",
        "100 ms",
        "--rto",
        "700 ms",
        "--delayed-acks",
    )
    done = rexmit("model", "tcp-friendly", *options, "--max-window", "8 kB", "--json")
    for row in json.loads(done.stdout)["results"]:
        assert row["segments"] == pytest.approx(float(models.FORMULAS[row["formula"]].window(0.001, flow)))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--rtt", "1 s"], "name a CAPTURE, or give --loss P and --rtt TIME"),
        (
            ["--loss", "0", "--rtt", "1 s"],
            "p: 0 is outside the formula's domain; it must be at least 1e-15 and at most 1",
        ),
        (["--loss", "1e-300", "--rtt", "0.1 s"], "p: 1e-300 is outside the formula's domain; it must be at"),
        (["--loss", "120 %", "--rtt", "1 s"], "p: 1.2 is outside"),
        (["--loss", "few", "--rtt", "1 s"], "'few' is not a share such as 0.01 or '1 %'"),
        (["--loss", "0.1", "--rtt", "0 s"], "rtt: 0 is outside"),
        (["--loss", "0.1", "--rtt", "1 s", "--mss", "0 bytes"], "mss: 0 is outside"),
        (
            ["--loss", "1", "--rtt", "1 s", "--counts-dropped"],
            "p: 1 is outside the formula's domain; it must be above",
        ),
    ],
)
def test_a_wrong_flow_is_one_line(rexmit: Command, arguments: list[str], text: str) -> None:
    done = rexmit("model", "tcp-friendly", *arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["merge", "model", "model buffer-size", "model tcp-friendly"])
def test_every_command_has_help_with_an_example(rexmit: Command, command: str) -> None:
    done = rexmit(*command.split(), "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"  rexmit {command} " in done.stdout


# Amounts of data


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1500 bytes", 1500),
        ("80 byte", 80),
        ("64KiB", 65536),
        ("1.5 kB", 1500),
        (" 2e3 B ", 2000),
        ("2 GiB", 2**31),
    ],
)
def test_amounts_of_data_are_read_as_a_scenario_reads_them(text: str, count: int) -> None:
    assert parse_bytes(text) == count
    _native.check_path(json.dumps({"queue": text}))


@pytest.mark.parametrize(
    "text", ["", "bytes", "5", "-1 bytes", "1.5 bytes", "1 kb", "1.kB", "1e30 GB", "٣ bytes"]
)
def test_what_is_no_amount_of_data_is_refused_by_both(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        parse_bytes(text)
    with pytest.raises(ValueError, match="queue"):
        _native.check_path(json.dumps({"queue": text}))
