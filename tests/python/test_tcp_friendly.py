"""`rexmit.tcp_friendly` and its command: conditions, cycles and measures, on captures of runs."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import rexmit
from hypothesis import given
from hypothesis import strategies as st
from rexmit.analyse.friendly import Cycles, Growth, Verdict, choose_window, judge
from rexmit.analyse.friendly.conditions import Manner, counts_segments
from rexmit.analyse.friendly.measures import _Ratio

from .conftest import Command
from .peers import linux

RENO = {"inherits": "linux-2.6.15", "congestion.algorithm": "reno", "congestion.growth": "counter"}
EACH = {**RENO, "delayed_ack.policy": "immediate"}
SECOND = {**RENO, "delayed_ack.policy": "every-second"}
LINUX_6 = {"inherits": "linux-6.1"}
WIDE = {"buffers.send": "4 MiB", "buffers.receive": "4 MiB", "buffers.max": "4 MiB"}

CONDITIONS = {"one-loss", "acks", "receiver-window", "data", "sack", "growth", "equilibrium"}

Run = Callable[..., Path]


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in flat.items():
        *above, last = key.split(".")
        table = found
        for part in above:
            table = table.setdefault(part, {})
        table[last] = value
    return found


def scenario(**changes: Any) -> dict[str, Any]:
    """A bulk transfer of Reno with SACK over a queue of 16 KiB; every segment is acknowledged."""
    transfer = {"bulk": "60 s"} | changes.get("transfer", {})
    if "writes" in transfer:
        del transfer["bulk"]
    path = {
        "rate": "1 Mbit/s",
        "delay": "20 ms",
        "down": {"queue": "16 KiB"},
        "up": {"queue": "1000 packets"},
    }
    return {
        "hosts": {
            "server": {"stack": nested(changes.get("server", RENO))},
            "client": {"stack": nested(changes.get("client", EACH))},
        },
        "path": path | changes.get("path", {}),
        "transfers": [{"from": "server", "to": "client", **transfer}],
    }


def capture(folder: Path, at: str = "server", **changes: Any) -> Path:
    path = folder / f"{at}.pcapng"
    rexmit.run_one(scenario(**changes), options={f"capture_{at}": path})
    return path


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture at the sender of a flow that fulfils every condition: W = 14, 99 segments a cycle."""
    return capture(tmp_path_factory.mktemp("steady"))


def failing(found: rexmit.TcpFriendly) -> set[str]:
    rows = found.conditions.filter(pl.col("verdict") == "fails")
    return set(rows["condition"]) & CONDITIONS


HOLDS: dict[str, dict[str, Any]] = {
    "every segment acknowledged": {},
    "every second segment acknowledged": {"client": SECOND},
    "Linux's quick ACKs after each loss": {"client": RENO},
    "a wide window": {
        "server": {**RENO, **WIDE},
        "client": {**EACH, **WIDE},
        "path": {"rate": "10 Mbit/s", "down": {"queue": "64 KiB"}},
        "transfer": {"bulk": "120 s"},
    },
    "Reno of Linux 6.1": {"server": {**LINUX_6, "congestion.algorithm": "reno"}},
}

FAILS: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    # What is changed, the conditions that fail, further reasons.
    "a small receive window": (
        {"client": {**EACH, "buffers.receive": "10000 bytes", "buffers.max": "10000 bytes"}},
        {"receiver-window"},
        {"losses", "cycles"},
    ),
    "a thin application": (
        {"transfer": {"writes": "1000 x 1448 bytes", "pause": "50 ms"}},
        {"data"},
        {"losses", "cycles"},
    ),
    "a bursty application": (
        {"transfer": {"writes": "30 x 64 KiB", "pause": "2 s"}},
        {"data"},
        {"cycles"},
    ),
    "SACK off": (
        {"server": {**RENO, "options.sack": False, "options.dsack": False}},
        {"sack"},
        set(),
    ),
    "CUBIC on a small window": ({"server": LINUX_6}, {"growth"}, set()),
    "CUBIC on a large window": (
        {
            "server": LINUX_6,
            "client": {**EACH, **WIDE},
            "path": {"rate": "10 Mbit/s", "delay": "50 ms", "down": {"queue": "128 KiB"}},
            "transfer": {"bulk": "120 s"},
        },
        # Its last growth before a loss is so fast that many segments are lost; p counts loss events.
        {"one-loss", "growth"},
        set(),
    ),
    "reordering that causes retransmissions": (
        # A sender that learns from it would stop to retransmit.
        {
            "server": {**RENO, "recovery.max_reordering": 0, "recovery.reduction_undo": False},
            "path": {"down": {"queue": "16 KiB", "reorder": {"position": "50", "period": 100, "past": 5}}},
        },
        set(),
        {"reordering"},
    ),
    "reordering that causes none": (
        {"path": {"down": {"queue": "16 KiB", "reorder": {"position": "50", "period": 100, "past": 2}}}},
        set(),
        {"reordering"},
    ),
    "random loss": (
        {"path": {"down": {"queue": "1000 packets", "loss": "1 %"}}},
        {"one-loss", "equilibrium"},
        set(),
    ),
    "much random loss": (
        {"path": {"down": {"queue": "1000 packets", "loss": "5 %"}}},
        {"one-loss", "equilibrium"},
        {"timeouts"},
    ),
    # Linux acknowledges 16 segments at once after each loss, which is half of such a cycle.
    "a receiver that changes its manner": (
        {"client": RENO, "path": {"delay": "10 ms", "down": {"queue": "8 KiB"}}},
        {"acks"},
        set(),
    ),
    "nothing lost": (
        {
            "server": {**RENO, **WIDE},
            "client": {**EACH, **WIDE},
            "path": {"down": {"queue": "1000 packets"}},
            "transfer": {"writes": "1 x 600 kB"},
        },
        set(),
        {"losses", "cycles"},
    ),
}


@pytest.mark.parametrize("changes", HOLDS.values(), ids=HOLDS)
def test_a_flow_that_fulfils_every_condition(changes: dict[str, Any], tmp_path: Path) -> None:
    found = rexmit.tcp_friendly(capture(tmp_path, **changes))
    [flow] = found.flows.iter_rows(named=True)
    assert (flow["applies"], flow["failed"], flow["unseen"]) == ("yes", "", "")
    assert set(found.conditions["verdict"]) == {"holds"}
    assert flow["window_cycles"] >= 0.9 * (flow["cycles"] - 1)
    assert flow["w_start"] == flow["w_end"]


@pytest.mark.parametrize(("changes", "conditions", "reasons"), FAILS.values(), ids=FAILS)
def test_exactly_the_condition_that_is_violated_is_named(
    changes: dict[str, Any], conditions: set[str], reasons: set[str], tmp_path: Path
) -> None:
    found = rexmit.tcp_friendly(capture(tmp_path, **changes))
    [flow] = found.flows.iter_rows(named=True)
    assert flow["applies"] == "no"
    assert failing(found) == conditions
    rows = found.conditions.filter(pl.col("decides"))
    assert set(rows["condition"]) - CONDITIONS == reasons
    assert set(flow["failed"].split(",")) == set(rows["condition"])


def test_a_short_flow_is_told_only_where_it_is_asked_for(tmp_path: Path, rexmit: Command) -> None:
    path = capture(tmp_path, transfer={"writes": "1 x 60000 bytes"})
    shown = rexmit("model", "tcp-friendly", path)
    assert "no direction carries 100 segments: 1 direction carries less" in shown.stdout
    asked = rexmit("model", "tcp-friendly", path, "--connection", 1, "--json")
    [flow] = json.loads(asked.stdout)["flows"]
    assert flow["applies"] == "no"
    assert "length" in flow["failed"].split(",")


def test_a_notebook_shows_the_verdict_and_the_measures(tmp_path: Path, steady: Path) -> None:
    found = rexmit.tcp_friendly(steady)
    [flow] = found.flows.iter_rows(named=True)
    shown = found._repr_html_()
    assert f">{flow['sender']}</td>" in shown
    assert f">{flow['p']:.4g}</td>" in shown
    assert ">Yes.</td>" in shown
    changes, _, _ = FAILS["nothing lost"]
    assert "No. Fails: " in rexmit.tcp_friendly(capture(tmp_path, **changes))._repr_html_()


def test_the_measures_are_those_of_the_thesis_cycle(steady: Path) -> None:
    # W is even: 3/8 W^2 + 7/4 W segments delivered (4.4), and F_avg by (4.11).
    found = rexmit.tcp_friendly(steady)
    [flow] = found.flows.iter_rows(named=True)
    w = 14
    delivered = 3 / 8 * w**2 + 7 / 4 * w
    assert flow["w"] == w
    assert flow["parity"] == "even"
    assert flow["window_segments"] == (delivered + 1) * flow["window_cycles"]
    assert flow["p"] == pytest.approx(1 / (delivered + 1))
    assert flow["p_delivered"] == pytest.approx(1 / delivered)
    f_avg = (7 * w**3 + 12 * w**2 - 52 * w) / (9 * w**2 + 18 * w - 48)
    assert flow["f_samples"] == pytest.approx(f_avg, rel=1e-3)
    assert flow["f"] == pytest.approx(f_avg, rel=1e-3)
    # The bottleneck is always busy: its rate less the headers, of 52 bytes.
    assert flow["rate_bit_s"] == pytest.approx(1e6 * 1448 / 1500, rel=1e-3)
    even = found.predictions.filter(pl.col("formula") == "klaver-even").row(0, named=True)
    assert abs(even["error_delivered"]) < 0.002
    assert even["f_delivered"] == pytest.approx(f_avg, rel=1e-6)


def test_the_window_holds_what_the_emulator_dropped_in_it(tmp_path: Path) -> None:
    path = tmp_path / "server.pcapng"
    answer = rexmit.run_one(scenario(), options={"capture_server": path, "verdicts": True})
    [flow] = rexmit.tcp_friendly(path).flows.iter_rows(named=True)
    begin, end = (flow[f"window_{name}_ns"] for name in ("start", "end"))
    verdicts = answer["verdicts"].filter(pl.col("direction").cast(pl.String) == "down")
    time = (
        pl.col("time_ns")
        - verdicts["time_ns"].min()
        + rexmit.analyze(path).segments.filter(pl.col("side") == "server")["time_ns"].min()
    )
    inside = verdicts.filter((time >= begin) & (time < end))
    dropped = inside.filter(pl.col("verdict").cast(pl.String).str.starts_with("drop"))
    assert dropped.height == flow["window_lost"] == flow["window_cycles"]


def test_cycles_add_up_to_the_window(steady: Path) -> None:
    found = rexmit.tcp_friendly(steady)
    [flow] = found.flows.iter_rows(named=True)
    chosen = found.cycles.filter("chosen")
    assert chosen.height == flow["window_cycles"]
    assert not found.cycles["chosen"][0]
    assert chosen["segments"].sum() == flow["window_segments"]
    assert chosen["time_ns"].sum() == flow["window_end_ns"] - flow["window_start_ns"]
    assert flow["p"] == pytest.approx(chosen.height / chosen["segments"].sum())
    # Cycles of a flow without chance are all alike, so that nothing is uncertain.
    assert flow["p_low"] == pytest.approx(flow["p_high"])


def test_intervals_over_cycles_hold_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        segments = random.normal(100.0, 20.0, 12)
        estimate = _Ratio(np.ones(12), segments).estimate()
        inside += estimate.low <= 0.01 <= estimate.high
    assert 0.91 <= inside / 400 <= 0.98


def test_a_capture_at_the_receiver_tells_nothing_of_the_window(tmp_path: Path) -> None:
    found = rexmit.tcp_friendly(capture(tmp_path, at="client"))
    [flow] = found.flows.iter_rows(named=True)
    assert "vantage" in flow["failed"].split(",")
    assert flow["p"] is None
    assert found.predictions.height == 0
    verdicts = dict(found.conditions.select("condition", "verdict").rows())
    for name in ("data", "growth", "equilibrium", "receiver-window", "one-loss", "timeouts"):
        assert verdicts[name] == Verdict.UNSEEN.value
    assert verdicts["sack"] == "holds"


class _WithCwnd:
    """An analysis of packets that carry cwnd in the urgent pointer field, as klaver-2005's kernel's did."""

    def __init__(self, found: rexmit.Analysis, mss: int) -> None:
        self._found = found
        cwnd = (pl.col("outstanding") // mss).cast(pl.UInt16) + 2
        own = (pl.col("side") == "server") & (pl.col("len") > 0)
        self.segments = found.segments.with_columns(
            pl.when(own).then(cwnd).otherwise(pl.col("urgent")).alias("urgent")
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)


def test_cwnd_is_taken_from_the_packets_where_they_carry_it(steady: Path) -> None:
    found = rexmit.analyze(steady, tables=["segments", "sacks", "rtt"])
    [plain] = judge(found)
    [told] = judge(_WithCwnd(found, 1448))  # type: ignore[arg-type]
    assert not plain.flow.carries_cwnd
    assert told.flow.carries_cwnd
    assert plain.measured is not None
    assert told.measured is not None
    assert told.measured.w.value == plain.measured.w.value + 2
    assert told.measured.f_samples == plain.measured.f_samples


def cycles_of(peaks: list[int], segments: list[int], timeouts: list[bool]) -> Cycles:
    number = len(peaks)
    zeros = np.zeros(number, np.int64)
    return Cycles(
        start=np.arange(number),
        stop=np.arange(number) + 1,
        recovered=np.arange(number),
        peak=np.array(peaks, dtype=np.float64),
        stop_peak=np.array([*peaks[1:], peaks[-1]], dtype=np.float64),
        lost=zeros + 1,
        timeout=np.array(timeouts),
        segments=np.array(segments),
        payload=zeros,
        sent=zeros,
        time=zeros,
        samples=zeros,
        rtt=zeros,
        flight=zeros.astype(np.float64),
    )


@given(
    st.lists(
        st.tuples(st.integers(8, 14), st.integers(40, 110), st.sampled_from([False] * 9 + [True])),
        min_size=1,
        max_size=25,
    )
)
def test_the_window_is_a_run_of_cycles_alike_and_no_run_is_much_longer(
    rows: list[tuple[int, int, bool]],
) -> None:
    peaks, segments, timeouts = (list(column) for column in zip(*rows, strict=True))

    def alike(first: int, last: int, spread: float = 0.2) -> bool:
        low, high = min(peaks[first:last]), max(peaks[first:last])
        few, many = min(segments[first:last]), max(segments[first:last])
        share = max(spread, 1 / low)
        calm = not any(timeouts[first:last])
        return first > 0 and calm and high <= low * (1 + share) and many <= few * (1 + share) ** 2

    number = len(peaks)
    runs = [(a, b) for a, b in itertools.combinations(range(number + 1), 2) if alike(a, b)]
    longest = max((b - a for a, b in runs), default=0)
    window = choose_window(cycles_of(peaks, segments, timeouts))
    if window is not None and window.period == 2:
        # Where one of two is alike, the run of all is less than half of them.
        assert longest < 0.5 * (number - 1) <= len(window)
        return
    if longest < 3:
        assert window is None
        return
    assert window is not None
    assert alike(window.first, window.last)
    assert len(window) >= min(longest, max(3, 0.45 * longest))


def test_cycles_that_alternate_are_alike_in_pairs() -> None:
    cycles = cycles_of([30] + [20] * 9, [300] + [300, 700] * 4 + [300], [False] * 10)
    window = choose_window(cycles)
    assert window is not None
    assert (window.first, len(window), window.period) == (1, 8, 2)


@pytest.mark.parametrize(
    ("every", "per_ack", "slope", "counts"),
    [
        (2, 2.0, 0.46, False),  # Reno of Linux with every second segment acknowledged
        (2, 2.0, 0.93, True),  # klaver-2005's patch with the same
        (None, 1.53, 0.49, False),
        (None, 1.53, 0.80, True),
        (1, 1.0, 0.93, False),  # nothing to tell them apart by
        (2, 2.0, 3.0, False),  # not Reno at all
    ],
)
def test_a_sender_that_counts_segments_grows_faster_than_its_acks(
    every: int | None, per_ack: float, slope: float, counts: bool
) -> None:
    growth = Growth(cycles=9, rounds=9.0, peak=14.0, kept=0.5, slope=slope, bend=None, bent=None)
    assert counts_segments(growth, Manner(every, per_ack)) is counts


def test_slow_start_and_what_follows_it_are_left_out() -> None:
    window = choose_window(cycles_of([30, 14, 14, 14, 14, 14], [300, 99, 99, 99, 99, 99], [False] * 6))
    assert window is not None
    assert (window.first, window.last) == (1, 6)


def test_a_window_begins_and_ends_at_the_same_peak() -> None:
    peaks = [20, 41, 40, 42, 40, 41, 40, 39]
    window = choose_window(cycles_of(peaks, [700] * 8, [False] * 8))
    assert window is not None
    assert peaks[window.first] == (peaks[window.last] if window.last < 8 else peaks[-1])


def test_tables_say_what_their_columns_mean_and_an_open_analysis_does(steady: Path) -> None:
    found = rexmit.analyze(steady)
    again = rexmit.tcp_friendly(found)
    direct = rexmit.tcp_friendly(steady)
    for name in ("flows", "cycles", "conditions", "predictions"):
        assert again.table(name).equals(direct.table(name))
        assert list(direct.meaning(name)) == direct.table(name).columns
    with pytest.raises(rexmit.UsageError, match=r"no table 'flow'.*flows"):
        direct.table("flow")
    assert repr(direct).endswith("1 yes>")


def test_the_command_says_the_verdict_the_measures_and_the_formulas(rexmit: Command, steady: Path) -> None:
    done = rexmit("model", "tcp-friendly", steady)
    assert (done.returncode, done.stderr) == (0, "")
    assert "May the TCP-friendly formula be applied? Yes." in done.stdout
    lines = {line.split("  ")[0]: line for line in done.stdout.splitlines()}
    assert "14" in lines["W"].split()
    assert "+0.0 %" in lines["Klaver, even W"]
    assert "outside the range of its assumptions" in lines["Mathis 1997"]


def test_the_command_says_which_condition_fails_and_predicts_nothing(rexmit: Command, tmp_path: Path) -> None:
    path = capture(tmp_path, server=LINUX_6)
    done = rexmit("model", "tcp-friendly", path)
    assert "No. What fails: 6 window grows as Reno's." in done.stdout
    assert "of the window, not half" in done.stdout
    assert "Klaver" not in done.stdout


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_written(rexmit: Command, steady: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"table.{ending}"
    done = rexmit("model", "tcp-friendly", steady, steady, "--out", out, "--table", "predictions")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == str(out)
    table = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert table.height == 2 * table["formula"].n_unique()


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_window_is_drawn(rexmit: Command, steady: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"window.{ending}"
    done = rexmit("model", "tcp-friendly", steady, "--plot", out)
    assert done.returncode == 0
    assert out.read_bytes().startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[ending])
    if ending == "svg":
        assert out.stat().st_size < 2_000_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.pcapng"], "none.pcapng: there is no such capture"),
        (["{}", "--connection", "7"], "no connection 7; {} has 1 TCP connection, counted from 1"),
        (["{}", "--out", "flows.xls"], "--out flows.xls: cannot write '.xls'; end it in .parquet or .csv"),
        (["{}", "--plot", "x.xyz"], "--plot x.xyz: cannot draw '.xyz'; end it in .svg, .png or .pdf"),
        (
            ["{}", "--plot", "nope/x.svg"],
            "--plot nope/x.svg: there is no folder nope; make it, or choose another",
        ),
        (["{}", "--table", "cycles"], "--table does nothing without --out FILE; give both"),
        (["{}", "{}", "--connection", "1"], "--connection names a connection of one capture; give one"),
        (["{}", "--mss", "1448 bytes"], "--mss is for numbers, not for captures"),
        (["--loss", "0.01", "--rtt", "40 ms", "--connection", "1"], "--connection needs a CAPTURE"),
        (["--loss", "0.01"], "name a CAPTURE, or give --loss P and --rtt TIME"),
        ([], "name a CAPTURE, or give --loss P and --rtt TIME"),
    ],
)
def test_a_slip_is_one_line(rexmit: Command, steady: Path, arguments: list[str], message: str) -> None:
    done = rexmit("model", "tcp-friendly", *(text.format(steady) for text in arguments))
    assert done.returncode == 2
    assert done.stderr == f"rexmit: error: {message.format(steady)}\n"


def test_numbers_take_the_place_of_a_capture(rexmit: Command) -> None:
    done = rexmit("model", "tcp-friendly", "--loss", "0.01", "--rtt", "100 ms", "--json")
    assert done.returncode == 0
    results = {row["formula"]: row["segments"] for row in json.loads(done.stdout)["results"]}
    assert results["mathis"] == pytest.approx((3 / 2) ** 0.5 / 0.1, rel=1e-3)


PUBLIC = sorted((linux.CAPTURES / "public").glob("*.pcap*"))


@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.name)
def test_captures_of_others_get_an_answer(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rexmit.analyze(path, tables=["segments", "sacks", "rtt"])
        for number in found.connections["connection"].to_list()[:10]:
            looked = rexmit.tcp_friendly(found, connection=number)
            # Nothing of them is long enough for equilibrium, and each says a sentence of each condition.
            assert set(looked.flows["applies"]) <= {"no"}
            assert looked.conditions.height == 13 * looked.flows.height
            assert (
                looked.conditions["sentence"].str.len_chars().min() is None
                or (looked.conditions["sentence"].str.len_chars() > 5).all()
            )
