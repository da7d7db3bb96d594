"""What is printed carries no control character from a file, and no style where none is wanted."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from rexmit import Study
from rexmit.errors import printable
from rexmit.terminal import clean

from .conftest import Command

HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\x08\r\u202eback\u2066\x7f"
RAW = set("\x1b\x07\x08\r\x7f\x9b\u202e\u2066\x00")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a study whose every word is hostile, and tables with hostile names."""
    place = tmp_path_factory.mktemp("terminal")
    table = {
        **{key: f"{key} {HOSTILE}" for key in ("title", "source", "question", "description")},
        "scenario": {
            "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
            "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
            "transfers": [{"from": "server", "to": "client", "writes": "8 x 2500 bytes"}],
        },
        "vary": {
            f"pair {HOSTILE}": {
                "together": {"path.delay": ["5 ms", "20 ms"]},
                "labels": [f"near {HOSTILE}", f"far {HOSTILE}"],
            }
        },
    }
    out = place / f"out {HOSTILE}".replace("\r", "").replace("/", "")
    Study.from_dict(table, f"name {HOSTILE}").run(out, progress=False, capture="all", state="all")
    tables = place / "tables"
    tables.mkdir()
    name = f"t{HOSTILE}.parquet".replace("/", "")
    pl.DataFrame({f"column {HOSTILE}": [f"cell {HOSTILE}"]}).write_parquet(tables / name)
    return out


def test_no_command_prints_a_control_character_of_a_file(
    rexmit: Command, folder: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study\x1b[31m.toml"
    study.write_bytes((folder / "study.toml").read_bytes())
    capture = next((folder / "captures").glob("*server*"))
    beside = tmp_path / "c\x1b[31m\x07.pcapng"
    beside.write_bytes(capture.read_bytes())
    commands: list[tuple[object, ...]] = [
        ("studies", study),
        ("studies", study, "--json"),
        ("run", study, "--out", tmp_path / "again\x1b[31m"),
        ("run", study, "--out", folder, "--resume"),
        ("run", f"{study}\x1b[31m"),
        ("report", folder, "--with-runs", "none", "--out", tmp_path / "page\x1b.html"),
        ("plot", folder, "--format", "svg"),
        ("compare", folder),
        ("merge", folder, "--averages", tmp_path / "means\x07.csv"),
        ("sql", folder),
        ("sql", folder, "select * from runs, factors"),
        ("sql", folder, "select * from runs", "--json"),
        ("sql", folder, f"select '{HOSTILE}' as \"{HOSTILE}\" from nothing"),
        ("sql", folder.parent / "tables"),
        ("sql", folder.parent / "tables", "select * from columns"),
        ("analyze", beside),
        ("analyze", beside, "--connection", "1"),
        ("analyze", capture, "--filter", f"tcp {HOSTILE}"),
        ("pattern", "show", HOSTILE),
        ("model", "buffer", folder),
        ("doctor", HOSTILE),
    ]
    printed = ""
    for words in commands:
        done = rexmit(*words)
        found = RAW.intersection(done.stdout + done.stderr)
        assert not found, (words, found, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, (words, done.stderr)
        printed += done.stdout + done.stderr
    assert "\\x1b[31mred" in printed, "what was there is shown, as escapes"


def test_a_csv_that_goes_to_a_program_has_the_bytes_of_the_answer(rexmit: Command, folder: Path) -> None:
    done = rexmit("sql", folder, "select chr(27) || 'x' as a", "--csv")
    assert done.stdout == "a\n\x1bx\n"


@pytest.mark.parametrize(
    ("colour", "styled"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)]
)
def test_a_terminal_gets_styles_unless_no_color_is_set(
    lost_segment: Path, colour: dict[str, str], styled: bool
) -> None:
    said = on_terminal(["analyze", str(lost_segment), "--connection", "1"], colour)
    assert ("\x1b[" in said) == styled
    assert "retransmission" in said


def test_what_is_no_terminal_gets_no_styles_though_colour_is_forced(lost_segment: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", "analyze", str(lost_segment)],
        capture_output=True,
        text=True,
        env={**os.environ, "FORCE_COLOR": "1"},
        check=True,
    )
    assert "\x1b" not in done.stdout + done.stderr


def test_a_study_under_no_color_shows_lines_and_no_bar(study_file: Path, tmp_path: Path) -> None:
    said = on_terminal(["run", str(study_file), "--out", str(tmp_path / "out")], {"NO_COLOR": "1"})
    assert "\x1b" not in said
    assert "results in" in said


def on_terminal(words: list[str], environment: dict[str, str]) -> str:
    """What a command prints on a terminal."""
    main, other = pty.openpty()
    before = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", *words],
        stdin=subprocess.DEVNULL,
        stdout=other,
        stderr=other,
        env={**before, "TERM": "xterm-256color", **environment},
    )
    os.close(other)
    found = b""
    try:
        while data := os.read(main, 1 << 16):
            found += data
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(main)
        process.wait()
    return found.decode().replace("\r\n", "\n")


def test_long_texts_are_cleaned_as_short_ones() -> None:
    letters = [chr(code) for code in (*range(0x3000), *range(0xD7F0, 0x10100), 0xE0001, 0x10FFFF)]
    whole = "a\n".join(letters)
    assert clean(whole) == "a\n".join(letter if letter in "\n\t" else printable(letter) for letter in letters)


def test_a_command_that_has_ended_cannot_be_interrupted_any_more() -> None:
    """Its process leaves at once: freeing what it holds would take a while in which a signal kills it."""
    code = "import atexit, sys, rexmit.cli; atexit.register(print, 'late'); rexmit.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "studies", "--json"], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("]\n")
