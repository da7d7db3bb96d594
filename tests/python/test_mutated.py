"""Files of strangers, mutated: whatever they hold, they are read or refused with one line.

Python's counterpart of fuzz/: the same seeds give the same inputs, a bounded number of them.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import rexmit
from rexmit.analyse import load_published
from rexmit.errors import RexmitError, StudySlips, printable
from rexmit.run.results import failures_of
from rexmit.study.spec import load_spec

ROOT = Path(__file__).resolve().parents[2]
INPUTS = 400
# What a value may become: of the wrong kind, too large, empty, or made to rule a terminal.
VALUES = ["0", "-1", "1.5", "nan", "1e999", "9" * 30, "true", '""', '"\\u001b[31m\\n"', "[]", "{}", "[[1]]"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of two runs."""
    folder = tmp_path_factory.mktemp("mutated") / "results"
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s"])
    study.set("path.delay", ["5 ms"]).set("path.down.drop", [0, 5]).set("design.replications", 1).run(folder)
    return folder


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a few of them changed, cut out, doubled, or all after them gone."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        # The end matters as much as the rest: there stands what a Parquet file says of itself.
        last = len(out) - 1
        at = chance.randint(0, last) if chance.random() < 0.5 else chance.randint(max(0, last - 400), last)
        end = min(len(out), at + chance.choice([1, 2, 4, 8, 100]))
        match chance.randrange(6):
            case 0:
                out[at] ^= 1 << chance.randrange(8)
            case 1:
                out[at:end] = bytes(chance.choice([0, 0x7F, 0x80, 0xFF]) for _ in range(end - at))
            case 2:
                del out[at:end]
            case 3:
                out[at:at] = out[at:end]
            case 4:
                out[at:end] = chance.randbytes(end - at)
            case _:
                del out[at : len(out) if chance.random() < 0.2 else at + 1]
        if not out:
            return b""
    return bytes(out)


def changed_lines(text: str, separator: str, chance: random.Random) -> str:
    """The text with a few values changed, or keys, or lines gone or doubled."""
    lines = text.splitlines()
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        key, found, value = lines[at].partition(separator)
        match chance.randrange(4):
            case 0 if found:
                lines[at] = f"{key}{found}{chance.choice(VALUES)}"
            case 1 if found:
                lines[at] = f"{key}x{found}{value}"
            case 2:
                lines.insert(at, lines[at])
            case _:
                del lines[at]
        if not lines:
            return ""
    return "\n".join(lines)


def inputs(seed: int, mutate: Callable[[random.Random], bytes]) -> Iterator[bytes]:
    """So many inputs, each from its own seed."""
    for number in range(INPUTS):
        yield mutate(random.Random(f"{seed}-{number}"))


def refused_in_one_line(work: Callable[[], object]) -> bool:
    """Whether the work was refused; any error but one of ours is a failure. Slips have a line each."""
    try:
        work()
    except RexmitError as error:
        text = str(error)
        assert text
        lines = text.split("\n") if isinstance(error, StudySlips) else [text]
        assert all(line == printable(line) for line in lines), "it would rule a terminal"
        return True
    return False


def test_tables_of_runs(finished: Path, tmp_path: Path):
    folder = tmp_path / "results"
    shutil.copytree(finished, folder)
    whole = (finished / "runs.parquet").read_bytes()

    def read() -> None:
        results = rexmit.open_results(folder)
        for batch in results.batches(rows=1):
            assert batch.num_rows <= 1
        assert len(results) == results.arrow().num_rows
        results.table()
        failures_of(results)
        repr(results)
        results._repr_html_()
        results.sql("select count(*) from runs")

    refused = 0
    for data in inputs(1, lambda chance: mutated(whole, chance)):
        (folder / "runs.parquet").write_bytes(data)
        refused += refused_in_one_line(read)
    assert refused > INPUTS // 4, "most of them should be hurt"


def test_tables_of_runs_with_other_columns(finished: Path, tmp_path: Path):
    folder = tmp_path / "results"
    shutil.copytree(finished, folder)
    table = pq.read_table(finished / "runs.parquet")

    def read() -> None:
        results = rexmit.open_results(folder)
        results.table()
        failures_of(results)
        results._repr_html_()

    for name in table.column_names:
        for other in (table.drop([name]), table.set_column(0, name, [["a\x1b[31m"] * len(table)])):
            pq.write_table(other, folder / "runs.parquet")
            refused_in_one_line(read)


@pytest.mark.parametrize("name", ["hurtig-2006/linux-short", "deboer-2005/queue", "pedersen-2006/thin"])
def test_studies(name: str, tmp_path: Path):
    text = (ROOT / "studies" / f"{name}.toml").read_text()
    path = tmp_path / "study.toml"

    def read() -> None:
        spec = load_spec(path)
        spec.base()
        spec.scenario_of(0)
        spec.to_table()
        rexmit.Study.load(path)

    for number, data in enumerate(inputs(2, lambda chance: changed_lines(text, " = ", chance).encode())):
        path.write_bytes(mutated(data, random.Random(number)) if data and number % 4 == 0 else data)
        refused_in_one_line(read)


@pytest.mark.parametrize("name", ["hurtig-2006", "merritt-2010"])
def test_published_numbers(name: str, tmp_path: Path):
    text = (ROOT / "studies" / name / "published.csv").read_text()
    path = tmp_path / "published.csv"
    for number, data in enumerate(inputs(3, lambda chance: changed_lines(text, ",", chance).encode())):
        path.write_bytes(mutated(data, random.Random(number)) if data and number % 2 == 0 else data)
        refused_in_one_line(lambda: load_published(path))
