"""The path of `rexmit emulate`: from options, and from a file that may say nothing that is not understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rexmit import _native
from rexmit.cli.emulate_settings import describe, read_path, split_settings
from rexmit.errors import UsageError

from .conftest import Command, edited


def path_of(*arguments: str, file: Path | None = None) -> dict[str, Any]:
    rest, settings = split_settings(arguments, {})
    assert rest == []
    return read_path(file, settings)


def test_a_key_without_a_direction_is_for_both() -> None:
    assert path_of("--loss", "1 %", "--down.loss=2 %") == {"loss": "1 %", "down": {"loss": "2 %"}}
    outage = '[{ at = "1 s", rate = "0 bit/s" }]'
    assert path_of("--changes", outage) == {"changes": [{"at": "1 s", "rate": "0 bit/s"}]}
    # Whichever comes first.
    assert path_of("--down.rate", "1 Mbit/s", "--rate", "2 Mbit/s")["down"] == {"rate": "1 Mbit/s"}


def test_the_prompt_names_what_is_for_both() -> None:
    assert describe(path_of("--loss", "1 %", "--rate", "1 Mbit/s")) == "rate 1 Mbit/s, loss 1 %"
    assert describe(path_of("--drop", "[1, 2]", "--up.drop", "3")) == "drop, up: drop"


def test_an_option_for_both_overrides_what_a_file_says_of_one(tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text('down.loss = "5 %"\nup.delay = "1 ms"\ndown.rate = "1 Mbit/s"')
    path = path_of("--loss", "1 %", "--rate", "3 Mbit/s", file=file)
    assert path == {"loss": "1 %", "rate": "3 Mbit/s", "up": {"delay": "1 ms"}, "down": {}}
    assert path_of("--up.loss", "2 %", file=file)["down"]["loss"] == "5 %"
    file.write_text('down.jitter = { spread = "5 ms" }')
    assert path_of("--jitter.spread", "2 ms", file=file) == {"down": {"jitter": {"spread": "2 ms"}}}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1", "--loss 1: give its unit: '1 %', or '100 %' for the probability 1"),
        ("0.1", "'0.1 %', or '10 %' for the probability 0.1"),
        ("1e-5", "'0.00001 %', or '0.001 %' for the probability 0.00001"),
    ],
)
def test_a_loss_needs_its_unit(given: str, text: str) -> None:
    for arguments in (["--loss", given], [f"--loss={given}"]):
        with pytest.raises(UsageError) as caught:
            path_of(*arguments)
        assert text in str(caught.value)
    for option in ("--down.loss", "--loss.gilbert_elliott.p"):
        with pytest.raises(UsageError, match="give its unit"):
            path_of(option, given)
    assert path_of("--loss", "0") == {"loss": 0}


def test_the_command_says_so_too(rexmit: Command) -> None:
    done = rexmit("emulate", "--loss", "1", "--", "true")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--loss 1: give its unit" in done.stderr


def test_queues_in_time_and_both_spellings(rexmit: Command) -> None:
    path = path_of("--rate", "10Mbit/s", "--queue", "10 ms", "--aqm", "fq_codel")
    whole, warnings = _native.check_path('{"rate": "10 Mbit/s", "queue": "10 ms", "aqm": "fq_codel"}')
    assert (path["queue"], warnings) == ("10 ms", [])
    assert '"queue":"10 ms"' in whole
    with pytest.raises(UsageError, match=r"path\.down\.queue: a queue in time needs a drain rate"):
        path_of("--queue", "10 ms")
    done = rexmit("emulate", "--rate", "0bit/s", "--", "true")
    assert (done.returncode, "an outage is a change of it" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("[design]", "[desing]", "unknown key 'desing'; did you mean 'design'?"),
        (
            "[[scenario.transfers]]",
            "[scenario.programmes]\nx = 1\n[[scenario.transfers]]",
            "unknown key 'programmes'; did you mean 'programs'?",
        ),
        (
            'path.queue = "99',
            'limitt = "1 s"\npath.queue = "99',
            "unknown key 'limitt'; did you mean 'limit'?",
        ),
        ('to = "client"', 'too = "client"', "transfers.0.too: unknown key 'too'; did you mean 'to'?"),
        (
            "hosts.client.stack",
            "hosts.client.stck",
            "hosts.client.stck: unknown key 'stck'; did you mean 'stack'?",
        ),
        ('path.rate = "1', 'path.rat = "1', "path.rat: unknown key `rat`: did you mean `rate`?"),
    ],
)
def test_unknown_keys_of_a_file_are_refused(study_file: Path, old: str, new: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        path_of("--down.drop", "0", file=edited(study_file, old, new))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_study_varies_needs_a_level(study_file: Path, rexmit: Command) -> None:
    # Its scenario has a delay, but no pattern of losses.
    line = "varies path.down.drop, and an emulation has one path: choose a level, as --down.drop VALUE"
    done = rexmit("emulate", study_file, "--", "true")
    assert (done.returncode, line in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
    assert path_of("--down.drop", "3", file=study_file)["delay"] == "10 ms"
    assert path_of("--drop", "3", file=study_file)["drop"] == 3


def test_a_scenario_alone_is_checked_as_well(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text('[path]\nrate = "1 Mbit/s"\n')
    assert path_of(file=file) == {"rate": "1 Mbit/s"}
    file.write_text('[path]\nrate = "1 Mbit/s"\n[vary]\n"path.rate" = ["1 Mbit/s"]\n')
    with pytest.raises(UsageError, match="vary: unknown key 'vary'"):
        path_of(file=file)
