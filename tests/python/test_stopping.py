"""A signal ends every command soon, with one line and the code 128 + n, and nothing half-written is left."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import rexmit
from rexmit import _native
from rexmit.run.stopping import asked, workers

SOON = 5.0
"""Seconds. On a machine that has nothing else to do it is one."""

PATIENCE = 120.0
ENDLESS = """
[scenario]
hosts.server.stack = "freebsd-6.0"
hosts.client.stack = "freebsd-6.0"
path.rate = "1 Gbit/s"
path.delay = "1 ms"
limit = "1000 h"

[[scenario.transfers]]
from = "server"
to = "client"
bulk = "1000 h"
"""

Until = Callable[[subprocess.Popen[str]], bool]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of many runs."""
    out = tmp_path_factory.mktemp("stopping") / "results"
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"])
    study.run(out, progress=False)
    return out


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A capture of 20 million packets, a segment of four bytes and its acknowledgment by turns."""
    path = tmp_path_factory.mktemp("large") / "large.pcap.zst"
    at_once, times = 500_000, 20
    kind = np.dtype(
        [("head", "<u4", 4), ("ip", "u1", 20), ("ports", ">u2", 2), ("numbers", ">u4", 2), ("end", "u1", 12)]
    )
    records = np.zeros(2 * at_once, kind)
    hosts = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    for turn, (size, ends, ports) in enumerate([(44, hosts, (1000, 80)), (44, hosts[::-1], (80, 1000))]):
        own = records[turn::2]
        own["head"][:, 2:] = size
        ip = struct.pack("!BBHHHBBH", 0x45, 0, size if turn == 0 else 40, 1, 0, 64, 6, 0) + b"".join(ends)
        own["ip"] = np.frombuffer(ip, "u1")
        own["ports"] = ports
        own["end"][:, :4] = (0x50, 0x10, 0xFF, 0xFF)
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for part in range(times):
            place = np.arange(part * at_once, (part + 1) * at_once, dtype=np.int64)
            for turn in (0, 1):
                own, moment = records[turn::2], place * 10 + 5 * turn
                own["head"][:, 0] = 1_000_000 + moment // 1_000_000
                own["head"][:, 1] = moment % 1_000_000
            records["numbers"][0::2, 0] = 100 + 4 * place
            records["numbers"][0::2, 1] = 200
            records["numbers"][1::2, 0] = 200
            records["numbers"][1::2, 1] = 104 + 4 * place
            file.write(records.tobytes())
    yield path
    path.unlink()


def has_worked(seconds: float) -> Until:
    """Until a command has had so much of a processor: reading the package takes a second."""

    def look(running: subprocess.Popen[str]) -> bool:
        words = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") >= seconds

    return look


def there_is(path: Path, pattern: str) -> Until:
    """Until a file shows that it works."""
    return lambda _: any(path.glob(pattern))


def stop(
    words: list[object], until: Until, number: signal.Signals = signal.SIGINT, ignored: bool = False
) -> tuple[int, list[str]]:
    """Starts a command, sends it a signal, and returns its exit code and what it said then.

    With `ignored` SIGINT is ignored from the start, as by a job in a shell's background. SIGHUP is not,
    although whoever started the tests may have ignored it (`nohup`).
    """
    former = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignored else None
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        running = subprocess.Popen(
            [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGHUP, hung_up)
        if ignored:
            signal.signal(signal.SIGINT, former)
    try:
        last = time.monotonic() + PATIENCE
        while not until(running):
            assert running.poll() is None, f"it ended before it could be stopped: {running.communicate()[1]}"
            assert time.monotonic() < last, "it did not begin"
            time.sleep(0.01)
        running.send_signal(number)
        said = running.communicate(timeout=SOON)[1].splitlines()
    finally:
        running.kill()
        running.wait()
    # What it says of its progress is not part of the answer.
    return running.returncode, [
        line for line in said if ": error: " in line or "Traceback" in line or not line
    ]


def left_in(folder: Path) -> list[str]:
    """What a command has left half-written."""
    return [str(path) for path in folder.rglob("*") if ".tmp" in path.name or ".partial" in path.name]


@pytest.mark.parametrize(
    ("number", "ignored"),
    [
        (signal.SIGINT, False),
        (signal.SIGINT, True),
        (signal.SIGTERM, False),
        (signal.SIGHUP, False),
        pytest.param(signal.SIGTERM, True, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, True, marks=pytest.mark.long),
    ],
)
def test_an_analysis_ends_at_a_signal(large: Path, number: signal.Signals, ignored: bool) -> None:
    found = stop(["analyze", large], has_worked(2), number, ignored)
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    assert found == (128 + number, [f"rexmit: error: {word}"])


def test_a_pair_and_its_judgement_end_at_a_signal(large: Path, tmp_path: Path) -> None:
    words: list[object] = ["analyze", large, large]
    assert stop(words, has_worked(4)) == (130, ["rexmit: error: interrupted"])
    native = _native.PairAnalysis(
        (str(large), str(large)),
        '{"filter": null, "loss_event_rtts": 2, "missing_reports": 3, "threads": 1, "segments": false, '
        '"rtt": false, "chunks": false, "held": false}',
        False,
        False,
        False,
    )
    for _ in range(20):
        assert native.step(1 << 16)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - a fast machine has finished before the signal
        native.finish()
        time.sleep(SOON)


@pytest.mark.parametrize("more", [["--out", "page.html"], ["--out", "graph.png"]])
def test_graphs_end_at_a_signal(large: Path, tmp_path: Path, more: list[str]) -> None:
    out = tmp_path / more[1]
    assert stop(["plot", large, "--out", out], has_worked(3)) == (130, ["rexmit: error: interrupted"])
    assert list(tmp_path.iterdir()) == []


def test_tables_of_an_analysis_are_whole_or_absent(large: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    assert stop(["analyze", large, "--tables", out], has_worked(2))[0] == 130
    assert not list(tmp_path.rglob("*.parquet"))
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "ignored"),
    [
        (signal.SIGINT, False),
        (signal.SIGTERM, True),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, False, marks=pytest.mark.long),
    ],
)
def test_a_run_without_an_end_is_stopped(tmp_path: Path, number: signal.Signals, ignored: bool) -> None:
    study, out = tmp_path / "endless.toml", tmp_path / "out"
    study.write_text(ENDLESS)
    found = stop(["run", study, "--out", out], has_worked(2), number, ignored)
    assert found == (128 + number, ["rexmit: error: stopped after 0 of 1; go on with --resume"])
    assert left_in(out) == []
    assert '"outcome": "interrupted"' in (out / "provenance.json").read_text()


def test_a_capture_of_a_long_run_is_stopped(tmp_path: Path) -> None:
    study, out = tmp_path / "long.toml", tmp_path / "out"
    # A second for the run, many for its captures' bytes.
    study.write_text(ENDLESS.replace('bulk = "1000 h"', 'bulk = "3 GB"'))
    until = there_is(out, "runs.parquet")
    found = stop(["run", study, "--out", out, "--capture", "all"], until)
    assert found == (130, ["rexmit: error: stopped after 0 of 1; go on with --resume"])
    assert left_in(out) == []
    assert not list((out / "captures").iterdir())


def test_a_report_ends_at_a_signal(folder: Path, tmp_path: Path) -> None:
    words: list[object] = [
        "report",
        folder,
        "--out",
        tmp_path / "r.html",
        "--with-runs",
        "all",
        "--max-size",
        "1 GB",
    ]
    assert stop(words, has_worked(4)) == (130, ["rexmit: error: interrupted"])
    assert list(tmp_path.iterdir()) == []


def test_a_search_for_a_buffer_ends_at_a_signal() -> None:
    code, said = stop(BUFFER, has_worked(2))
    assert (code, len(said)) == (130, 1), said
    assert "--resume" not in said[0]


BUFFER: list[object] = [
    *("model", "buffer-size", "--simulate", "--buffers", "1..1000"),
    *("--down-rate", "1 Gbit/s", "--up-rate", "100 Mbit/s", "--delay", "15 ms"),
]


def test_what_a_pool_does_ends_with_it() -> None:
    begun = threading.Event()

    def work() -> None:
        begun.set()
        _native.run_one(SCENARIO, 1, "", "{}", asked)

    with pytest.raises(ZeroDivisionError), workers(2) as pool:  # noqa: PT012 - the block is what is tested
        futures = [pool.submit(work) for _ in range(4)]
        assert begun.wait(PATIENCE)
        raise ZeroDivisionError
    assert isinstance(futures[0].exception(), KeyboardInterrupt)
    assert futures[3].cancelled()


def test_a_long_call_raises_what_a_handler_raises() -> None:
    def handler(*_: object) -> None:
        raise TimeoutError("enough")

    former = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeoutError, match="enough"):
            _native.run_one(SCENARIO, 1, "", "{}")
    finally:
        signal.signal(signal.SIGALRM, former)


SCENARIO = """{
    "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
    "path": {"rate": "1 Gbit/s", "delay": "1 ms"},
    "limit": "1000 h",
    "transfers": [{"from": "server", "to": "client", "bulk": "1000 h"}]
}"""


def test_tests_heed_an_interrupt_though_a_shell_has_it_ignored() -> None:
    own = Path(__file__)
    name = "test_report_runs.py::test_an_interrupt_leaves_the_page_that_was"
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(own.with_name(name))],
            cwd=own.parents[2],
            capture_output=True,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, former)
    assert done.returncode == 0, done.stdout[-2000:]
