"""All slips of a study's file at once, each with its line; and nothing that only follows from another."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from rexmit.cli import main
from rexmit.errors import StudyError, StudySlips
from rexmit.study import list_studies, load_spec
from rexmit.study.lines import key_lines
from rexmit.study.slips import _slips
from rexmit.study.spec import _parse

from .conftest import Command

MANY = """\
titel = "twelve slips"
[scenario]
hosts.server.stack = "linux-6.2"
hosts.client.stcak = "linux-6.1"
path.latency = "5 ms"
path.bandwidth = "5 Mbit"
path.queue = "10"

[[scenario.transfers]]
from = "sevrer"
to = "client"
writes = "10 x 2500"

[vary]
"hosts.server.stack.cc" = ["reno", "cubic"]
"path.down.delay" = [
    "1 ms",
    "2 msec", # not a unit
]

[design]
repetitions = 2
seed = -1
"""

TOLD = [
    (1, "unknown key 'titel'; did you mean 'title'?"),
    (3, "hosts.server.stack: unknown profile `linux-6.2`: did you mean `linux-6.1`?"),
    (4, "hosts.client.stcak: unknown key `stcak`: did you mean `stack`?"),
    (5, "path.latency: unknown key `latency`: did you mean `delay`?"),
    (6, "path.bandwidth: unknown key `bandwidth`: did you mean `rate`?"),
    (6, 'path.bandwidth: "5 Mbit" is not a rate: write Mbit/s'),
    (7, 'path.queue: "10" is not a queue: write a number and one of packets, bytes'),
    (10, "transfers.0.from: unknown host `sevrer`: did you mean `server`?"),
    (12, 'transfers.0.writes: "2500" is not an amount of data'),
    (15, "hosts.server.stack.cc: unknown key `cc`: did you mean `congestion.algorithm`?"),
    (18, 'path.down.delay: "2 msec" is not a duration'),
    (22, "design: unknown key 'repetitions'; did you mean 'replications'?"),
    (23, "design.seed: -1 is not a whole number"),
]


def test_all_slips_of_a_file_are_told_at_once_with_their_lines(rexmit: Command, tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY)
    done = rexmit("run", "many.toml", "--out", "out")
    assert done.returncode == 2
    told = done.stderr.splitlines()
    assert len(told) == len(TOLD)
    for line, (number, text) in zip(told, TOLD, strict=True):
        assert line.startswith(f"rexmit: error: many.toml:{number}: {text}"), line
    assert not (tmp_path / "out").exists()


def test_the_mended_file_runs(rexmit: Command, tmp_path: Path) -> None:
    mended = MANY
    for wrong, right in (
        ("titel", "title"),
        ("6.2", "6.1"),
        ("stcak", "stack"),
        ("latency", "delay"),
        ("bandwidth", "rate"),
        ("Mbit", "Mbit/s"),
        ('"10"', '"10 packets"'),
        ("sevrer", "server"),
        ("x 2500", "x 2500 bytes"),
        (".cc", ".congestion.algorithm"),
        ("msec", "ms"),
        ("repetitions", "replications"),
        ("-1", "1"),
    ):
        mended = mended.replace(wrong, right, 1)
    (tmp_path / "mended.toml").write_text(mended)
    assert rexmit("run", "mended.toml", "--out", "out").returncode == 0


def test_in_python_the_error_has_a_line_for_each(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY)
    with pytest.raises(StudySlips) as caught:
        load_spec(tmp_path / "many.toml")
    assert len(caught.value.slips) == len(TOLD)
    assert str(caught.value).splitlines() == list(caught.value.slips)


def test_what_only_the_native_code_finds_is_whole_too(rexmit: Command, study_file: Path) -> None:
    text = study_file.read_text()
    study_file.write_text(text.replace("[scenario]", '[scenario]\npath.buffer = "3"\nlimits = "5 s"', 1))
    told = rexmit("run", study_file).stderr.splitlines()
    at = text.splitlines().index("[scenario]") + 2
    assert len(told) == 2
    assert f"small.toml:{at}: path.buffer: unknown key `buffer`: did you mean `queue`?" in told[0]
    assert f"small.toml:{at + 1}: limits: unknown key `limits`: did you mean `limit`?" in told[1]


def test_a_setting_of_the_command_line_has_no_line(rexmit: Command, study_file: Path) -> None:
    done = rexmit("run", study_file, "--set", 'path.rate="1 Mbit"')
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert 'small.toml: path.rate: "1 Mbit" is not a rate' in done.stderr


def test_what_mending_leaves_out_is_not_told_to_be_missing(rexmit: Command) -> None:
    study = Path(__file__).parents[2] / "examples/stacks/quic-losses.toml"
    done = rexmit("run", study, "--set", 'hosts.client.stack="rfc"')
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "hosts: server has quic, client tcp: give both hosts stacks of one protocol" in done.stderr


def test_what_is_missing_beside_another_slip_is_told(rexmit: Command, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(
        """title = "two"
[scenario]
path = { rate = "10 Mbit/s", delay = "10 ms" }
transfers = [{ from = "server", to = "client", writes = "20 x 1000 bytes" }]
hosts.server.stack = "linux-9"
hosts.client.tick_phase = "1 ms"
"""
    )
    first, second = rexmit("run", "two.toml").stderr.splitlines()
    assert "two.toml:5: hosts.server.stack: unknown profile `linux-9`" in first
    assert "two.toml:6: hosts.client: `stack` is missing" in second


def test_no_study_of_the_package_has_a_slip() -> None:
    """Mending must find nothing where nothing is wrong."""
    for entry in list_studies()[::4]:
        table = tomllib.loads(entry.path.read_text())

        def parse(given: dict[str, object], entry=entry):  # type: ignore[no-untyped-def]
            return _parse(given, entry.name, entry.path)

        assert list(_slips(table, parse)) == [], entry.name


@pytest.mark.parametrize("wrong", ["hosts = 3", "transfers = 3", "hosts.server = 3", "transfers = [3]", ""])
def test_a_file_that_is_wrong_as_a_whole_ends_with_its_first_slip(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "x.toml").write_text(f"[scenario]\n{wrong}\npath.rate = 5\n")
    from rexmit.api import Study

    with pytest.raises(StudyError) as caught:
        Study.load(tmp_path / "x.toml").run(progress=False)
    assert 1 <= len(str(caught.value).splitlines()) <= 4


def test_the_line_of_each_key() -> None:
    text = '''# a comment with a.key = 1
a.b = 1
"c.d" = { x = [1, 2], "y z" = """
w = 3
""" }

[e]
f = [
  "one", # a comma, in a comment
  { g = 'x = "' },
]
[[h]]
i = 1
[[h]]
i = 2
[h.j]
k = 3
'''
    tomllib.loads(text)
    lines = key_lines(text)
    expected = {"a": 2, "a.b": 2, "c.d": 3, "c.d.x.1": 3, "c.d.y z": 3, "e": 7, "e.f": 8, "e.f.0": 9}
    expected |= {"e.f.1": 10, "e.f.1.g": 10, "h": 12, "h.0.i": 13, "h.1": 14, "h.1.i": 15, "h.1.j.k": 17}
    assert {key: lines.get(key) for key in expected} == expected
    assert not any("w" in key.split(".") for key in lines)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "x", "--latency", "5ms"], "it is a setting: --set path.delay=VALUE"),
        (["run", "x", "--down.loss", "1%"], "it is a setting: --set path.down.loss=VALUE"),
        (["run", "x", "--repeats", "3"], "it is a setting: --set design.replications=VALUE"),
        (["draw", "x"], "there is no command 'draw'; did you mean 'plot'?"),
        (["list"], "did you mean 'studies'?"),
        (["simulate", "x"], "did you mean 'run'?"),
    ],
)
def test_words_of_others_are_understood(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    told = capsys.readouterr().err
    assert (left.value.code, len(told.splitlines())) == (2, 1)
    assert text in told
