from pathlib import Path

import pytest

from .conftest import load

fuzz = load("fuzz.py")

HELD = """
INFO: seed corpus: files: 174 min: 1b max: 1069b total: 13816b rss: 29Mb
#174\tINITED cov: 400 ft: 800 corp: 170/13Kb exec/s: 0 rss: 29Mb
#1623294\tDONE   cov: 416 ft: 829 corp: 174/13Kb lim: 4096 exec/s: 73786 rss: 29Mb
Done 1623294 runs in 22 second(s)
stat::number_of_executed_units: 1623294
stat::average_exec_per_sec:     73786
"""
PANICKED = """
#10\tNEW    cov: 12 ft: 13 corp: 2/2b lim: 4 exec/s: 0 rss: 29Mb
thread '<unnamed>' (7) panicked at fuzz/src/../bodies/packet.rs:27:5:
assertion `left == right` failed
==7== ERROR: libFuzzer: deadly signal
stat::number_of_executed_units: 11
stat::average_exec_per_sec:     0
"""
OUT_OF_MEMORY = "==8== ERROR: libFuzzer: out-of-memory (malloc(536870913))\n"


def test_what_libfuzzer_says_of_a_target_that_held() -> None:
    result = fuzz.read_output("packet", HELD)
    assert (result.inputs, result.per_second, result.coverage) == (1_623_294, 73_786, 416)
    assert result.stored == 400
    assert (result.corpus, result.failure, result.message) == ("174/13Kb", None, "")


def test_a_panic_is_told_with_its_place_and_other_failures_by_their_kind() -> None:
    panic = fuzz.read_output("packet", PANICKED)
    assert panic.message == "assertion `left == right` failed (fuzz/src/../bodies/packet.rs:27:5)"
    assert panic.inputs == 11
    assert fuzz.read_output("packet", OUT_OF_MEMORY).message == "out-of-memory (malloc(536870913))"


def test_a_failure_is_one_line_that_says_how_to_see_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    place = fuzz.FUZZ / "regressions" / "packet" / "crash-0123456789ab"
    held = fuzz.Result("units", 10, 5, 3, "1/1b")
    failed = fuzz.Result("packet", 11, 0, 12, "2/2b", place, "it did not hold")
    assert fuzz.report([held, failed]) == 1
    errors = [line for line in capsys.readouterr().out.splitlines() if line.startswith("error")]
    assert errors == [
        "error: packet: it did not hold; to see it again: "
        "python scripts/fuzz.py packet --input fuzz/regressions/packet/crash-0123456789ab"
    ]
    assert fuzz.report([held]) == 0


def test_a_corpus_is_packed_to_the_same_bytes_and_unpacked_to_the_same_files(tmp_path: Path) -> None:
    folder, again = tmp_path / "corpus", tmp_path / "again"
    folder.mkdir()
    again.mkdir()
    for name, data in (("b", b"two"), ("a", b"one"), ("empty", b"")):
        (folder / name).write_bytes(data)
    fuzz.pack(folder, tmp_path / "one.tar.gz")
    fuzz.unpack(tmp_path / "one.tar.gz", again)
    fuzz.pack(again, tmp_path / "two.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    assert sorted(path.read_bytes() for path in again.iterdir()) == [b"", b"one", b"two"]
    fuzz.unpack(tmp_path / "absent.tar.gz", again)


def test_each_target_has_a_corpus_and_each_corpus_a_target() -> None:
    archives = sorted(path.name.removesuffix(".tar.gz") for path in (fuzz.FUZZ / "corpus").iterdir())
    bodies = sorted(path.stem for path in (fuzz.FUZZ / "bodies").glob("*.rs"))
    assert archives == bodies == sorted(fuzz.TARGETS)
    assert sum(path.stat().st_size for path in (fuzz.FUZZ / "corpus").iterdir()) < 2 << 20


def test_a_failed_input_is_kept_as_a_regression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    lines = [
        "#!/bin/sh",
        'for a in "$@"; do case $a in -artifact_prefix=*) p=${a#*=};; esac; done',
        "printf boom > ${p}crash-da39a3; printf slow > ${p}slow-unit-1",
        f"cat <<'END'\n{PANICKED}END",
        "exit 77",
    ]
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)
    monkeypatch.setattr(fuzz, "FUZZ", tmp_path)
    (tmp_path / "scratch").mkdir()
    result = fuzz.fuzz(program, "packet", 1, tmp_path / "scratch")
    assert result.failure.parent == tmp_path / "regressions" / "packet"
    assert result.failure.read_bytes() == b"boom"
    assert result.message.startswith("assertion `left == right` failed")
    assert [path.name for path in result.failure.parent.iterdir()] == [result.failure.name]


def test_a_corpus_that_reaches_less_than_it_did_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = tmp_path / "coverage.toml"
    edges.write_text("# Edges.\n\npacket = 9\n")
    monkeypatch.setattr(fuzz, "EDGES", edges)
    results = [fuzz.Result(name, 10, 5, reached, "1/1b", stored=reached) for name, reached in RECORDED]
    fuzz.record_edges(results)
    assert edges.read_text() == "# Edges.\n\npacket = 100\nunits = 50\n"
    fuzz.report(
        [
            fuzz.Result("packet", 10, 5, 95, "1/1b", stored=91),
            fuzz.Result("units", 9, 5, 60, "1/1b", stored=44),
        ]
    )
    printed = capsys.readouterr().out
    warnings = [line for line in printed.splitlines() if line.startswith("warning")]
    assert warnings == [
        "warning: units: its stored corpus reaches 44 edges, where it reached 50; "
        "grow it: python scripts/fuzz.py units --seconds 600 --keep"
    ]
    assert any(line.split() == ["units", "9", "5", "60", "16", "1/1b"] for line in printed.splitlines())


RECORDED = [("packet", 100), ("units", 50)]


def test_every_target_has_its_edges_on_record() -> None:
    assert sorted(fuzz.edges_on_record()) == sorted(fuzz.TARGETS)
