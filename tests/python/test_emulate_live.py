"""What `rexmit emulate` shows on a terminal while it runs, and that nothing else on it is disturbed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rexmit.cli.emulate_panel import HISTORY, History, Panel, has_room, state_lines
from rexmit.cli.emulate_show import LiveState

from .conftest import commands, running

pytestmark = pytest.mark.real_time

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="this host as the other end needs root")

COUNTS = ("dropped_by_pattern", "dropped_by_loss", "queue_full", "dropped_by_aqm", "longer_than_burst")


def test_bars_are_as_high_as_values() -> None:
    history = History()
    assert history.bars() == " " * HISTORY
    for value in (0.0, 1.0, 4.0, 8.0):
        history.add(value)
    assert history.bars() == " " * (HISTORY - 3) + "▂▅█"
    assert history.bars("01") == " " * (HISTORY - 3) + "001"
    for _ in range(HISTORY):
        history.add(2.0)
    assert history.bars() == "█" * HISTORY


def test_columns_stand_under_each_other() -> None:
    assert state_lines([("a", "rate"), ("down", 3)]) == ["a     rate", "down  3   "]


def test_a_panel_keeps_to_its_lines_and_gives_them_back() -> None:
    with terminal(60, 20) as screen, Panel() as panel:
        panel.show(["first", "x" * 100])
        panel.show(["second", ""])
    text = screen.text
    assert "\x1b[1;18r" in text, "others scroll in the 18 lines above"
    assert "\x1b[19;1H\x1b[2Kfirst" in text
    assert "\x1b[20;1H\x1b[2K" + "x" * 60 + "\x1b8" in text
    assert text.count("\x1b[1;18r") == 1
    assert text.count("\x1b7") == text.count("\x1b8"), "the cursor goes back to where it was"
    assert text.endswith("\x1b7\x1b[r\x1b8\x1b[J")


def test_a_small_terminal_has_a_line() -> None:
    with terminal(60, 11) as screen:
        assert not has_room()
        with LiveState() as state:
            state.show(now(1, 1_250_000))
            state.show(now(2, 2_500_000, queue_full=3))
    assert "\x1b[1;" not in screen.text
    assert "2 s | down 10.00 Mbit/s, queue 7 packets, dropped 3 by a full queue | up 0 bit/s" in screen.text
    assert screen.text.endswith("\r\x1b[K")


def test_a_large_one_has_rate_queue_and_drops_by_reason() -> None:
    with terminal(100, 30) as screen, LiveState() as state:
        state.show(now(1, 0))
        state.show(now(2, 1_250_000, queue_full=3, dropped_by_loss=2))
    text = re.sub(r"\x1b[78]|\x1b\[[0-9;]*[A-Za-z]", "|", screen.text)
    assert re.search(r"2 s +rate +queue +drops", text)
    assert re.search(r"down +10\.00 Mbit/s +█ +7 packets +██ +2 loss, 3 queue full", text)
    assert re.search(r"up +0 bit/s +0 packets +none", text)


@NEEDS_ROOT
def test_a_shell_stops_goes_on_and_interrupts_its_jobs() -> None:
    code = "import sys; from rexmit.cli import main; main(sys.argv[1:])"
    ours, its = pty.openpty()
    shell = subprocess.Popen(
        [sys.executable, "-c", code, "emulate", "-q", "--", "bash", "--norc", "-i"],
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        env=os.environ | {"TERM": "dumb", "PS1": "ready> "},
    )
    os.close(its)
    with shell, open(ours, "r+b", buffering=0) as screen:

        def say(words: str, answer: str) -> None:
            screen.write(words.encode())
            heard = ""
            until = time.monotonic() + 30
            while not re.search(answer, heard):
                assert time.monotonic() < until, heard
                if select.select([screen], [], [], 1)[0]:
                    heard += screen.read(1 << 16).decode()

        say("", "ready> ")
        job = f"sleep {time.time_ns() % 10**9 + 10**6}"
        say(f"{job}\n", job)
        while job.replace(" ", "\0") not in commands():
            time.sleep(0.05)
        say("\x1a", r"Stopped(?s:.*)ready> ")
        say("fg\n", job)
        # The shell names the job first, then gives it the terminal; in between, Ctrl-C is for the shell.
        (number,) = (pid for pid, words in running().items() if words == job.replace(" ", "\0") + "\0")
        while os.tcgetpgrp(ours) != os.getpgid(number):
            time.sleep(0.01)
        say("\x03", "ready> ")
        say("echo code $?\n", "code 130")
        say("sleep 1000 & jobs\n", "Running")
        say("exit 7\n", "exit")
        assert shell.wait(timeout=30) == 7


@NEEDS_ROOT
def test_a_command_prints_above_the_panel() -> None:
    code = "import sys; from rexmit.cli import main; main(sys.argv[1:])"
    command = "for n in 1 2 3 4; do sleep 0.4; echo line $n >&2; done"
    with terminal(100, 30) as screen:
        arguments = ["emulate", "--delay", "1ms", "--server", "sleep 60", "--server-ready", "0.1 s"]
        subprocess.run(
            [sys.executable, "-c", code, *arguments, "--", "sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=sys.stderr.fileno(),
            env=os.environ | {"TERM": "xterm"},
            check=True,
        )
    text = screen.text
    assert "\x1b[1;26r" in text
    assert text.index("\x1b[1;26r") < text.index("line 4") < text.index("\x1b[r")
    assert "queue" in text
    assert "late by" in text[text.index("\x1b[r") :]


def now(seconds: int, down_bytes: int, **drops: int) -> dict[str, Any]:
    nothing = dict.fromkeys(COUNTS, 0)
    down = {"carried_bytes": down_bytes, "queue_packets": 7, **nothing, **drops}
    return {
        "time_ns": seconds * 10**9,
        "down": down,
        "up": {"carried_bytes": 0, "queue_packets": 0, **nothing},
    }


class Screen:
    """What was printed on a terminal."""

    text = ""


@contextmanager
def terminal(columns: int, rows: int) -> Iterator[Screen]:
    """Standard error as a terminal of this size."""
    screen = Screen()
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    printed = bytearray()

    def read() -> None:
        while True:
            try:
                found = os.read(ours, 1 << 16)
            except OSError:
                return
            printed.extend(found)

    reader = threading.Thread(target=read)
    reader.start()
    before = sys.stderr
    term = os.environ.get("TERM")
    with open(its, "w", encoding="utf-8", buffering=1) as sys.stderr:
        os.environ["TERM"] = "xterm"
        try:
            yield screen
        finally:
            sys.stderr.flush()
            os.environ.pop("TERM")
            if term is not None:
                os.environ["TERM"] = term
            opened, sys.stderr = sys.stderr, before
    assert opened.closed
    reader.join()
    os.close(ours)
    screen.text = printed.decode()
