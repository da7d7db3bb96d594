"""`rexmit pattern` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Command


def test_patterns_go_to_a_file_and_come_back(rexmit: Command, tmp_path: Path) -> None:
    made = rexmit("pattern", "make", "4,18", "--file", "data", "--factor", "2", "--out", "p.bin")
    assert made.returncode == 0, made.stderr
    text = rexmit("pattern", "convert", "p.bin").stdout
    assert 'position = "4,18"' in text
    (tmp_path / "p.txt").write_text(text)
    assert rexmit("pattern", "convert", "p.txt", "--to", "file", "--out", "q.bin").returncode == 0
    assert (tmp_path / "p.bin").read_bytes() == (tmp_path / "q.bin").read_bytes()
    assert "...x.............x" in rexmit("pattern", "show", "p.bin").stdout
    shown = json.loads(rexmit("pattern", "show", "4,18", "--json").stdout)
    assert shown["pattern"] == "4,18"


def test_a_pattern_that_names_no_packet_is_warned_of(rexmit: Command) -> None:
    done = rexmit("pattern", "make", "0")
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert "warning: position 0 names no packet" in done.stderr
    done = rexmit("pattern", "make", "40", "--period", 32)
    assert (done.returncode, done.stdout) == (0, "position = 40\nperiod = 32\n")
    assert "warning: position 40 never comes" in done.stderr
    assert rexmit("pattern", "make", "4", "--period", 32).stderr == ""


def test_a_capture_is_no_pattern(rexmit: Command, tmp_path: Path) -> None:
    (tmp_path / "a.pcapng").write_bytes(b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x80")
    for command in ("show", "convert"):
        done = rexmit("pattern", command, "a.pcapng")
        assert done.returncode == 2
        assert "a.pcapng: this is a capture (pcapng), not a pattern file" in done.stderr


def test_a_random_pattern_is_fixed_by_its_seed(rexmit: Command) -> None:
    made = [
        rexmit("pattern", "make", "--random", "5 %", "--length", 1000, "--seed", s).stdout for s in (7, 7, 8)
    ]
    assert made[0] == made[1]
    assert made[0] != made[2]
