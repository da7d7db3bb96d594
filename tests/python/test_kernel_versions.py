"""Kernels of several versions: built and chosen by name, and what a study's runs have of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit.errors import StudyError, UsageError
from rexmit.kernel import BuildOptions, Kernel, KernelError, build, find_kernel, installed, versions
from rexmit.kernel.patches import apply_patches, load_patches, patches_text
from rexmit.run.backends import as_recorded
from rexmit.run.chosen_kernels import ChosenKernels, named_kernels
from rexmit.run.record import read_record

from .conftest import Command
from .test_kernel import miniature

Make = Callable[..., Kernel]

STUDY: dict[str, Any] = {
    "scenario": {
        "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
        "path": {"rate": "1 Mbit/s", "delay": "10 ms"},
        "transfers": [{"from": "server", "to": "client", "writes": "10 x 2500 bytes"}],
    },
}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes kernels that look as if they had been built, each later than the one before."""
    monkeypatch.setenv("REXMIT_CACHE", str(tmp_path / "cache"))
    count = iter(range(60))

    def make(version: str, digits: str, hz: int = 1000, source: str = "") -> Kernel:
        key = (digits * 16)[:16]
        folder = tmp_path / "cache" / "kernels" / f"{version}-{key}"
        folder.mkdir(parents=True)
        facts = {
            "version": version,
            "hz": hz,
            "hash": key,
            "sha256": "",
            "source": source,
            "source_hash": "",
            "patches": ["hz"],
            "unpatched": [],
            "absent": [],
            "compiler": "gcc",
            "build_seconds": 1.0,
            "built": f"2026-01-01T00:00:{next(count):02}+00:00",
        }
        (folder / "kernel.json").write_text(json.dumps(facts))
        (folder / "linux").write_text("")
        (folder / "linux").chmod(0o755)
        return find_kernel(name=key)

    return make


def study(**vary: Any) -> rexmit.Study:
    table = {**STUDY, "vary": {name.replace("__", "."): levels for name, levels in vary.items()}}
    return rexmit.Study.from_dict(table)


def test_a_version_names_the_newest_kernel_of_it_and_the_default_stays_6_1(made: Make) -> None:
    old, slow = made("6.1.190", "a"), made("6.1.192", "b", hz=250)
    other = made("6.12.117", "c")
    assert find_kernel() == old, "the default is 6.1 whatever is newer, with 1000 ticks"
    assert find_kernel(name="6.12") == find_kernel(name="6.12.117") == other
    assert find_kernel(name="6.1.192") == find_kernel(250) == slow
    assert find_kernel(name="cccccc") == find_kernel(name=f"6.12.117-{'c' * 16}") == other
    newer = made("6.1.193", "d")
    assert find_kernel() == find_kernel(name="6.1") == newer
    assert find_kernel(prefer=["c" * 16, "a" * 16]) == other
    assert find_kernel(name="6.1", prefer=["c" * 16, "a" * 16]) == old


def test_a_name_that_no_kernel_has_is_told_with_those_there_are(made: Make) -> None:
    with pytest.raises(
        KernelError, match=r"no kernel 6\.12 with a virtual clock in \S+; .*--version 6\.12`$"
    ):
        find_kernel(name="6.12")
    made("6.1.190", "a")
    made("6.12.117", "b", source="/usr/src/linux-source-6.12.tar.xz")
    made("6.12.117", "d", source="/home/me/linux")
    made("6.1.192", "c", hz=250)
    names = f"6.1.192-{'c' * 16} (HZ=250), 6.12.117-{'b' * 16}, 6.1.190-{'a' * 16}"
    having = f"which has {names} and 1 more (`rexmit kernel status`); "
    other = "name one of these, or build a tree of yours: `rexmit kernel build --source TREE`"
    for name, hz, advice in (
        ("6.13", None, "run `rexmit kernel build --version 6.13`"),
        ("6.13.2", None, "run `rexmit kernel build --version 6.13`"),
        ("6.12.1", None, other),
        ("deadbeef", None, other),
        ("linux-6.1", None, other),
        ("6.12", 100, "run `rexmit kernel build --version 6.12 --hz 100`"),
        ("bbbbb", None, "write 6 digits of a hash or more: bbbbbb"),
        ("5.4", None, "only Linux 6.x can have one"),
    ):
        with pytest.raises(KernelError) as told:
            find_kernel(hz, name)
        assert having in str(told.value)
        assert str(told.value).endswith(advice)


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_of_a_kernel_is_refused(made: Make, name: str, rexmit: Command) -> None:
    made("6.1.190", "a")
    empty = "kernel: no name; write a version, such as 6.12, or the beginning of a hash"
    with pytest.raises(UsageError, match=empty):
        find_kernel(name=name)
    for command in (
        ("run", "hurtig-2006/short", "--backend", "uml", "--kernel", name),
        ("kernel", "status", "--check", "--kernel", name),
        ("kernel", "path", "--kernel", name),
        ("emulate", "--virtual", "--kernel", name, "--server", "true", "--", "true"),
    ):
        said = rexmit(*command)
        assert (said.returncode, said.stderr) == (2, f"rexmit: error: {empty}\n"), command
    said = rexmit("kernel", "build", "--version", name)
    assert said.returncode == 2
    assert said.stderr.startswith(f"rexmit: error: version: {name!r} names no source of Debian: write two")


def test_a_kernel_of_ones_own_source_takes_the_place_of_no_other(made: Make) -> None:
    debians = made("6.1.190", "a", source="/usr/src/linux-source-6.1.tar.xz")
    own = made("6.1.192", "b", source="/home/me/linux")
    assert find_kernel() == find_kernel(name="6.1") == debians
    assert find_kernel(name="6.1.192") == find_kernel(name="bbbbbb") == own
    only = made("6.12.1", "c", source="/home/me/linux-6.12")
    assert find_kernel(name="6.12") == only, "where there is no other"


def test_without_a_6_1_the_newest_of_others_is_the_default(made: Make) -> None:
    made("6.6.1", "a")
    newest = made("6.12.117", "b")
    assert find_kernel() == newest


def test_a_source_of_debian_is_named_by_its_version(
    made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "SOURCES", tmp_path)
    for name in ("linux-source-6.12.tar.xz", "linux-source-6.1.tar.xz", "linux-source-6.9.tar.gz"):
        (tmp_path / name).write_text("no archive")
    assert installed() == ["6.1", "6.12"]
    with pytest.raises(KernelError) as wrong:
        build(BuildOptions(version="6.13"))
    assert str(wrong.value) == (
        f"a build needs what is not on this machine: {tmp_path}/linux-source-6.13.tar.xz "
        "(linux-source-6.13); on Debian: apt-get install linux-source-6.13; of Debian's sources 6.1 and 6.12 "
        "are here"
    )
    with pytest.raises(KernelError, match=r"linux-source-6\.12\.tar\.xz: is not a tar archive"):
        build(BuildOptions(version="6.12"))
    with pytest.raises(UsageError, match=r"'6\.12\.117' names no source .* such as 6\.1 or 6\.12"):
        build(BuildOptions(version="6.12.117"))
    with pytest.raises(UsageError, match="leave it out if a source is given"):
        build(BuildOptions(tmp_path, version="6.12"))


def test_a_patch_has_other_edits_for_other_code(tmp_path: Path) -> None:
    tree = miniature(tmp_path / "linux")
    [patch] = [patch for patch in load_patches(patches_text(1000)) if patch.name == "no-escape"]
    [edit] = patch.ways[1]
    (tree / edit.file).write_text(edit.anchor)
    assert apply_patches(tree, [patch]).names == ("no-escape",)
    assert (tree / edit.file).read_text().count("PTRACE_O_EXITKILL") == 1
    (tree / edit.file).write_text("")
    with pytest.raises(
        KernelError, match=r"'no-escape' does not fit this source: .*process\.c has no places"
    ):
        apply_patches(tree, [patch])


def test_every_patch_that_does_not_fit_is_named(tmp_path: Path) -> None:
    tree = miniature(tmp_path / "linux")
    for name in ("arch/um/Kconfig", "arch/um/os-Linux/util.c", "net/core/neighbour.c"):
        (tree / name).write_text("")
    with pytest.raises(KernelError, match=r"'hz' does not fit .*; the patch 'host-randomness' does not fit"):
        apply_patches(tree, load_patches(patches_text(1000)))


def test_hosts_name_the_kernel_of_a_run(made: Make) -> None:
    first, second = made("6.1.192", "a"), made("6.12.117", "b")
    both = ChosenKernels(
        study(hosts__server__linux__version=["6.12", "6.1"], path__delay=["1 ms", "2 ms"]).spec
    )
    assert [both.of(run) for run in range(4)] == [second, second, first, first]
    assert both.all() == [second, first]
    facts = both.facts()
    assert facts["kernel"] == "6.12.117, 6.1.192"
    assert [one["kernel"] for one in facts["kernels"]] == ["6.12.117", "6.1.192"]
    assert as_recorded(facts).kernels == ("b" * 16, "a" * 16)
    plain = study().spec
    assert ChosenKernels(plain).all() == [first]
    named = ChosenKernels(plain, "6.12")
    assert named.all() == [second]
    assert "kernels" not in named.facts()
    assert ChosenKernels(plain, prefer=as_recorded(named.facts()).kernels).all() == [second]
    tables = study(hosts__client__linux=[{"sack": True}, {"version": "6.12"}]).spec
    assert [ChosenKernels(tables).of(run) for run in range(2)] == [first, second]
    assert named_kernels(tables) == []
    assert named_kernels(study().set("hosts.client.linux.version", "6.12").spec) == [
        "hosts.client.linux.version"
    ]


def test_two_hosts_of_a_run_have_one_kernel(made: Make) -> None:
    made("6.1.192", "a")
    made("6.12.117", "b")
    named = study().set("hosts.server.linux.version", "6.12")
    assert ChosenKernels(named.set("hosts.client.linux.version", "6.12.117").spec).of(0).version == "6.12.117"
    with pytest.raises(StudyError) as wrong:
        ChosenKernels(named.set("hosts.client.linux.version", "6.1").spec)
    assert str(wrong.value) == (
        "study: hosts.server.linux.version '6.12', hosts.client.linux.version '6.1': all hosts of a run are "
        "in one guest and have one kernel; name the same for all, or for one of them"
    )
    with pytest.raises(StudyError, match="have one kernel"):
        ChosenKernels(
            named.set("vary.hosts.client.linux.version", ["6.12", "6.1"]).spec,
        )


def test_a_kernel_that_is_not_there_and_one_of_another_backend_are_errors(
    made: Make, rexmit: Command
) -> None:
    made("6.1.192", "a")
    with pytest.raises(KernelError, match=r"kernel build --version 6\.12"):
        ChosenKernels(study(hosts__server__linux__version=["6.1", "6.12"]).spec)
    said = rexmit("run", "hurtig-2006/short", "--kernel", "6.12")
    assert said.returncode == 2
    assert said.stderr == (
        "rexmit: error: kernel: is for guests, which backend uml has, and for hosts that are Linux "
        "(`linux:`); model has none here\n"
    )
    said = rexmit("run", "hurtig-2006/short", "--kernel", "6.12", "--backend", "uml")
    assert "no kernel 6.12 with a virtual clock" in said.stderr
    assert "rexmit kernel build --version 6.12" in said.stderr
    assert said.stderr.count("\n") == 1


def test_a_record_of_several_kernels_is_checked(made: Make, tmp_path: Path) -> None:
    out = tmp_path / "out"
    study().run(out, progress=False)
    record = json.loads((out / "study.json").read_text())
    for kernels, wrong in (([{"hash": "ab"}], None), (["6.1"], r"kernels\[0\]: '6\.1' is not a kernel")):
        (out / "study.json").write_text(json.dumps({**record, "kernels": kernels}))
        if wrong is None:
            assert read_record(out)["kernels"] == kernels
            continue
        with pytest.raises(rexmit.StoreError, match=wrong):
            read_record(out)


@pytest.mark.second_kernel
class TestWithTheKernels:
    """With 6.1 and 6.12 as they are built."""

    @pytest.fixture(autouse=True)
    def kernels(self) -> None:
        """Skips where one of the two has not been built."""
        for name in ("6.1", "6.12"):
            try:
                find_kernel(name=name)
            except KernelError as error:
                pytest.skip(str(error))

    def test_one_study_runs_on_both_and_each_run_comes_again(self, tmp_path: Path) -> None:
        both = study(hosts__server__linux__version=["6.1", "6.12"], path__down__drop={"position": "0..3"})
        results = both.run(tmp_path / "both", backend="uml", capture="all", progress=False)
        found = results.table()
        assert found["completed"].all()
        assert found["error"].null_count() == len(found)
        assert [one["kernel"].rpartition(".")[0] for one in results.study["kernels"]] == ["6.1", "6.12"]
        again = rexmit.open_results(tmp_path / "both")
        last = len(found) - 1
        assert again.capture(last)["time_ns"] == found["time_ns"][last]
        alone = study(path__down__drop={"position": "0..3"})
        for name, part in zip(("6.1", "6.12"), found.partition_by("hosts.server.linux.version"), strict=True):
            one = alone.run(backend="uml", kernel=name, progress=False)
            assert str(one.study["kernel"]).startswith(f"{name}.")
            assert one.table()["bytes"].to_list() == part["bytes"].to_list()

    def test_a_setting_that_a_version_does_not_know_is_told_with_the_version(self) -> None:
        wrong = study(hosts__server__linux__version=["6.1", "6.12"]).set(
            "hosts.server.linux.sysctl", {"net.ipv4.tcp_plb_enabled": 0}
        )
        with pytest.raises(StudyError, match=r"Linux 6\.1\.\d+ has no sysctl net\.ipv4\.tcp_plb_enabled"):
            wrong.run(backend="uml", progress=False)
        bad = study().set("hosts.client.linux.congestion", "quic")
        with pytest.raises(StudyError, match=r"Linux 6\.12\.\d+ has no congestion control \"quic\"; it has "):
            bad.run(backend="uml", kernel="6.12", progress=False)


def test_pages_of_results_name_kernels_by_what_stays_true_of_them() -> None:
    """A hash is another with every patch, so that a page's would soon be of no kernel that can be built."""
    pages = sorted((Path(__file__).parents[2] / "docs" / "studies").glob("*.md"))
    assert pages
    named = {
        page.name: re.findall(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{16}\b", page.read_text()) for page in pages
    }
    assert {page: hashes for page, hashes in named.items() if hashes} == {}
