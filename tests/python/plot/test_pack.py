"""Blocks of the pages: what Python writes is what the script reads (web/tests/block.test.ts has the file)."""

import base64
import gzip
from pathlib import Path

import numpy as np
import pytest
from rexmit.plot.pack import Scaled, pack

FILE = Path(__file__).resolve().parents[3] / "web" / "tests" / "block.txt"

HEAD = {"title": "Überlauf ☃", "none": None}
TABLES = {
    "1-server.segments": {
        "small": np.array([0, 255, 3]),
        "large": np.array([2**53, 0, 2**40]),
        "far": np.array([2**40, 2**40 + 1, 2**40 + 70_000]),
        "rising": np.array([1000, 1000, 1300]),
        "signed": np.array([-5, 7, 0]),
        "real": np.array([0.5, np.nan, np.inf]),
        "seconds": Scaled(np.array([0, 1_000_000, 2_500_000_000]), 1e-9),
        "truth": np.array([True, False, True]),
        "text": ["timeout", None, "timeout"],
    },
    "empty": {"none": np.array([], dtype=np.int64)},
}


def unpacked(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


def test_the_committed_block_is_what_is_written() -> None:
    # Compared unpacked: another version of zlib packs otherwise.
    assert unpacked(pack(HEAD, TABLES)) == unpacked(FILE.read_text())


def test_a_block_is_the_same_each_time() -> None:
    assert pack(HEAD, TABLES) == pack(HEAD, TABLES)


def test_numbers_take_the_least_room() -> None:
    times = np.arange(0, 10**12, 10**7)
    block = pack({}, {"t": {"time": Scaled(times, 1e-9)}})
    assert len(block) < len(times) / 10


def test_whole_numbers_beyond_what_a_page_reads_exactly_are_refused() -> None:
    with pytest.raises(ValueError, match="9007199254740993 is beyond"):
        pack({}, {"t": {"n": np.array([2**53 + 1])}})


def test_what_is_no_number_in_the_head_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        pack({"mean": float("nan")}, {})
