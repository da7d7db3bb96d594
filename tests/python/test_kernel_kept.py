"""Copies of trees that are kept between builds: what is compiled again, and what a kill leaves of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from rexmit.kernel import BuildOptions, KernelError, build, clean_up, kept_folders, kernels
from rexmit.kernel.kept import KeptBuild
from rexmit.kernel.snapshot import look, read_snapshot, sources, write_snapshot
from rexmit.kernel.steps import remember_steps, steps_of
from rexmit.kernel.words import Complaints, why_it_ended

from .conftest import Command
from .test_kernel import cache, contents, miniature, packed, tree

__all__ = ["cache", "tree"]

OBJECTS = ("net/ipv4/tcp.o", "net/ipv4/tcp_timer.o", "net/core/sock.o")
RULES = f"""linux: {" ".join(OBJECTS)}
\t@echo '  LD      linux'
\t@cp /bin/true linux
%.o: %.c
\t@echo '  CC      $@'
\t@cp $< $@; {{ grep -q broken $< && echo "$<:7:3: error: 'x' undeclared" && rm $@ && exit 1; true; }}
\t@echo 'deps_$@ := $< ./include/net/tcp.h' > $(dir $@).$(notdir $@).cmd
net/ipv4/tcp.o net/ipv4/tcp_timer.o: include/net/tcp.h
"""


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    """A miniature whose Makefile compiles three files, two of which include a header."""
    made = miniature(tmp_path / "git" / "linux")
    for name in (*(name.replace(".o", ".c") for name in OBJECTS), "include/net/tcp.h"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(f"{name}\n")
    makefile = made / "Makefile"
    makefile.write_text(makefile.read_text().partition("linux:")[0] + RULES)
    return made


def compiled(source: Path) -> tuple[list[str], list[tuple[int, int]]]:
    """The objects that a build of a tree has made anew, and what progress told of compiling."""
    before = objects(source)
    told: list[tuple[int, int]] = []

    def hear(stage: str, done: int, total: int) -> None:
        if stage == "compiling":
            told.append((done, total))

    build(BuildOptions(source, progress=hear))
    after = objects(source)
    return sorted(name for name in after if after[name] != before.get(name)), told


def objects(source: Path) -> dict[str, int]:
    copy = KeptBuild(source, 1000).tree
    return {str(path.relative_to(copy)): path.stat().st_mtime_ns for path in copy.rglob("*.o")}


def test_a_second_build_compiles_what_changed(cache: Path, linux: Path) -> None:
    assert compiled(linux)[0] == sorted(OBJECTS)
    before = contents(linux)
    assert compiled(linux) == ([], []), "the kernel is there"
    (linux / "net/ipv4/tcp.c").write_text("changed\n")
    made, told = compiled(linux)
    assert made == ["net/ipv4/tcp.o"]
    assert told[-1][0] == told[-1][1] < 20, "and progress expects no more"
    (linux / "include/net/tcp.h").write_text("other\n")
    assert compiled(linux)[0] == ["net/ipv4/tcp.o", "net/ipv4/tcp_timer.o"]
    (linux / "net/ipv4/tcp_timer.c").unlink()
    (linux / "Makefile").write_text((linux / "Makefile").read_text().replace(" net/ipv4/tcp_timer.o", ""))
    compiled(linux)
    assert not (KeptBuild(linux, 1000).tree / "net/ipv4/tcp_timer.c").exists()
    assert len(kernels()) == 4
    (linux / "net/ipv4/tcp_timer.c").write_text("net/ipv4/tcp_timer.c\n")
    for name, content in before.items():
        (linux / name).write_bytes(content)
    assert contents(linux) == before, "the tree itself has nothing new in it"
    assert compiled(linux) == ([], []), "and what was built of it once is found again"


def test_what_only_looks_new_is_not_compiled(cache: Path, linux: Path) -> None:
    compiled(linux)
    os.utime(linux / "net/ipv4/tcp.c")
    (linux / "net/ipv4/tcp.o").write_text("of a build in place")
    (linux / ".git").mkdir()
    (linux / ".git" / "HEAD").write_text("ref")
    assert compiled(linux) == ([], [])
    build(BuildOptions(linux, force=True))
    assert compiled(linux)[0] == []


def test_patches_and_what_differs_by_a_tick_stay_apart(cache: Path, linux: Path) -> None:
    compiled(linux)
    copy = KeptBuild(linux, 1000).tree
    assert "default 1000" in (copy / "arch/um/Kconfig").read_text()
    assert "@HZ@" not in (copy / "arch/um/Kconfig").read_text()
    build(BuildOptions(linux, hz=250))
    assert "default 250" in (KeptBuild(linux, 250).tree / "arch/um/Kconfig").read_text()
    assert "default 100\n" in (linux / "arch/um/Kconfig").read_text()


def test_an_error_is_told_with_its_place_and_mended(cache: Path, linux: Path) -> None:
    compiled(linux)
    (linux / "net/ipv4/tcp.c").write_text("broken\n")
    with pytest.raises(KernelError) as wrong:
        build(BuildOptions(linux))
    log = cache / "failed-build.log"
    assert str(wrong.value) == f"{linux}/net/ipv4/tcp.c:7: error: 'x' undeclared; the whole log: {log}"
    assert len(kernels()) == 1
    (linux / "net/ipv4/tcp.c").write_text("mended\n")
    made, told = compiled(linux)
    assert made == ["net/ipv4/tcp.o"]
    assert told[0][1] < 20


def test_progress_expects_what_a_build_that_stopped_has_left(cache: Path, linux: Path) -> None:
    (linux / "net/core/sock.c").write_text("broken\n")
    with pytest.raises(KernelError):
        build(BuildOptions(linux))
    (linux / "net/core/sock.c").write_text("mended\n")
    _, told = compiled(linux)
    assert told[0][1] == steps_of("6.1.7") - 2, "two of three objects were there"


def test_an_object_that_a_kill_left_half_written_is_made_again(cache: Path, linux: Path) -> None:
    compiled(linux)
    kept = KeptBuild(linux, 1000)
    for path in kept.tree.rglob("*"):
        os.utime(path, (1_700_000_000 + path.name.endswith(".o"),) * 2)
    with suppress(KeyboardInterrupt), kept.making():
        (kept.tree / OBJECTS[0]).write_text("hal")
        raise KeyboardInterrupt
    made, _ = compiled_by_force(linux)
    assert made == [OBJECTS[0]]
    assert (kept.tree / OBJECTS[0]).read_text() == "net/ipv4/tcp.c\n"


def test_a_stop_of_the_compiler_leaves_the_configuration(cache: Path, linux: Path) -> None:
    """A new one would be newer than all objects, so that all would be compiled again."""
    compiled(linux)
    kept = KeptBuild(linux, 1000)
    config = kept.tree / ".config"
    for path in kept.tree.rglob("*"):
        os.utime(path, (1_700_000_000,) * 2)
    with suppress(KeyboardInterrupt), kept.making():
        (kept.tree / OBJECTS[0]).write_text("hal")
        raise KeyboardInterrupt
    compiled_by_force(linux)
    assert config.stat().st_mtime == 1_700_000_000
    with suppress(KeyboardInterrupt), kept.making():
        config.write_text("CONFIG_")
        raise KeyboardInterrupt
    compiled_by_force(linux)
    assert config.read_text() != "CONFIG_"


def compiled_by_force(source: Path) -> tuple[list[str], None]:
    before = objects(source)
    build(BuildOptions(source, force=True))
    after = objects(source)
    return sorted(name for name in after if after[name] != before.get(name)), None


def test_a_file_that_a_kill_left_new_is_not_taken_for_the_old_one(
    cache: Path, linux: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(linux)
    (linux / "net/ipv4/tcp.c").write_text("new\n")
    with monkeypatch.context() as patched:
        patched.setattr("rexmit.kernel.kept.put", killed_behind("net/ipv4/tcp.c"))
        with pytest.raises(KeyboardInterrupt):
            build(BuildOptions(linux))
    assert (KeptBuild(linux, 1000).tree / "net/ipv4/tcp.c").read_text() == "new\n"
    (linux / "net/ipv4/tcp.c").write_text("net/ipv4/tcp.c\n")
    compiled_by_force(linux)
    assert (KeptBuild(linux, 1000).tree / "net/ipv4/tcp.o").read_text() == "net/ipv4/tcp.c\n"


def killed_behind(name: str) -> Callable[[Path, str | bytes, bool], None]:
    """Writes files, and is killed once it has written this one."""

    def put(path: Path, content: str | bytes, executable: bool = False) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if str(path).endswith(name):
            raise KeyboardInterrupt

    return put


def test_a_copy_of_which_nothing_is_known_is_made_anew(cache: Path, linux: Path) -> None:
    compiled(linux)
    [state] = (cache / "trees").glob("*/1000.json")
    state.write_text("{")
    (linux / "net/ipv4/tcp.c").write_text("changed\n")
    assert compiled(linux)[0] == sorted(OBJECTS)


def test_links_and_programs_are_copied_as_such(cache: Path, linux: Path) -> None:
    (linux / "scripts/run.sh").write_text("#!/bin/sh\n")
    (linux / "scripts/run.sh").chmod(0o755)
    (linux / "scripts/link").symlink_to("../nowhere")
    compiled(linux)
    copy = KeptBuild(linux, 1000).tree
    assert os.access(copy / "scripts/run.sh", os.X_OK)
    assert os.readlink(copy / "scripts/link") == "../nowhere"
    (linux / "scripts/link").unlink()
    (linux / "scripts/link").symlink_to("run.sh")
    (linux / "scripts/run.sh").chmod(0o644)
    compiled(linux)
    assert os.readlink(copy / "scripts/link") == "run.sh"
    assert not os.access(copy / "scripts/run.sh", os.X_OK)


def test_a_folder_in_the_place_of_a_file_and_the_other_way_round(cache: Path, linux: Path) -> None:
    for name in ("lib/one.c", "lib/two/a.c", "lib/three"):
        (linux / name).parent.mkdir(parents=True, exist_ok=True)
        (linux / name).write_text(name)
    (linux / "lib/link").symlink_to("two")
    compiled(linux)
    copy = KeptBuild(linux, 1000).tree
    (copy / "lib/two/made").write_text("an object")
    for name in ("lib/one.c", "lib/two/a.c", "lib/link"):
        (linux / name).unlink()
    (linux / "lib/two").rmdir()
    (linux / "lib/two").write_text("a file")
    for name in ("lib/one.c/b.c", "lib/link/c.c"):
        (linux / name).parent.mkdir()
        (linux / name).write_text(name)
    compiled(linux)
    assert (copy / "lib/two").read_text() == "a file"
    assert (copy / "lib/one.c/b.c").read_text() == "lib/one.c/b.c"
    assert not (copy / "lib/link").is_symlink()
    assert not (copy / "lib/two").is_dir()


def test_what_is_neither_file_nor_link_is_passed_over(cache: Path, linux: Path) -> None:
    os.mkfifo(linux / "net/pipe.c")
    compiled(linux)
    assert not (KeptBuild(linux, 1000).tree / "net/pipe.c").exists()


def test_a_snapshot_reads_what_has_another_stamp_and_leaves_out_what_is_no_source(
    linux: Path, tmp_path: Path
) -> None:
    for name in (
        "arch/arm/kernel/a.c",
        "arch/x86/um/b.c",
        "Documentation/c.rst",
        "Documentation/Kconfig",
        "arch/arm/Kconfig",
    ):
        (linux / name).parent.mkdir(parents=True, exist_ok=True)
        (linux / name).write_text(name)
    (linux / "scripts/fixdep").write_bytes(b"\x7fELF and so on")
    first = look(linux)
    found = sources(first)
    assert {"arch/x86/um/b.c", "Documentation/Kconfig", "arch/arm/Kconfig"} <= found.keys()
    assert not {"arch/arm/kernel/a.c", "Documentation/c.rst", "scripts/fixdep"} & found.keys()
    assert first["net/ipv4/tcp.c"].stamp == (), "it is too new to be known by its times"
    old = 1_700_000_000_000_000_000
    trusted = {n: type(f)("known", f.stamp or stamp_of(linux / n)) for n, f in first.items()}
    assert set(sources(look(linux, trusted)).values()) == {"known"}
    os.utime(linux / "net/ipv4/tcp.c", ns=(old, old))
    assert look(linux, trusted)["net/ipv4/tcp.c"].digest == first["net/ipv4/tcp.c"].digest
    file = tmp_path / "files.json"
    write_snapshot(file, first)
    assert read_snapshot(file) == first
    file.write_text("[1]")
    assert read_snapshot(file) == {}


def stamp_of(path: Path) -> tuple[int, ...]:
    facts = path.lstat()
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def test_a_guest_that_does_not_start_is_no_kernel(
    cache: Path, linux: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(kernel: object) -> None:
        raise KernelError(
            f"{getattr(kernel, 'path', '')}: does not start: Kernel panic - not syncing: no luck"
        )

    monkeypatch.setattr("rexmit.kernel.make.check_boot", refuse)
    for source in (linux, packed(linux, linux.parent / "linux.tar.gz")):
        with pytest.raises(KernelError) as wrong:
            build(BuildOptions(source))
        assert str(wrong.value) == (
            f"{source}: compiles, but its guest does not start: Kernel panic - not syncing: no luck; it was "
            "not kept"
        )
    assert kernels() == []
    assert build(BuildOptions(linux, boot=False)) in kernels()


def test_what_is_kept_is_shown_and_removed(cache: Path, linux: Path, tmp_path: Path, rexmit: Command) -> None:
    assert clean_up() == []
    build(BuildOptions(linux))
    other = miniature(tmp_path / "other")
    build(BuildOptions(other))
    told = json.loads(rexmit("kernel", "status", "--json").stdout)["kept"]
    assert [one["source"] for one in told] == [one.source for one in kept_folders()]
    assert {one["source"] for one in told} == {str(linux), str(other)}
    assert all(one["bytes"] > 10_000 for one in told)
    assert f"kept for the next build of {linux}: " in rexmit("kernel", "status").stdout
    assert rexmit("kernel", "clean", "--source", str(linux)).stdout.startswith("removed ")
    assert [one.source for one in kept_folders()] == [str(other)]
    assert len(json.loads(rexmit("kernel", "clean", "--json").stdout)["removed"]) == 1
    assert rexmit("kernel", "clean").stdout == "nothing is kept\n"
    assert len(kernels()) == 2, "kernels stay"


def test_steps_are_those_of_the_last_whole_build(cache: Path) -> None:
    assert steps_of("6.1.192") == 1242
    assert steps_of("6.2.1") == 1242
    assert steps_of("6.18.1") == steps_of("6.12.117")
    cache.mkdir(parents=True)
    remember_steps("6.12.117", 1500)
    remember_steps("6.1.7", 3)
    assert (steps_of("6.12.1"), steps_of("6.1.192")) == (1500, 3)
    (cache / "steps.json").write_text("damaged")
    assert steps_of("6.1.192") == 1242


def test_the_first_fault_is_heard_wherever_it_stands() -> None:
    said = Complaints()
    for line in ("  CC  a.o", "make: warning", "net/a.c: In function 'f':", "net/a.c:12:3: warning: odd"):
        said.hear(line)
    assert said.fault is None
    said.hear("net/a.c:12:3: fatal error: x.h: No such file or directory\n")
    said.hear("net/b.c:1:3: error: later\n")
    assert said.fault == ("net/a.c", 12, "fatal error: x.h: No such file or directory")
    linked = Complaints()
    for line in (
        "ld: net/a.o: in function `f':",
        "a.c:(.text+0x1): undefined reference to `g'",
        "make: *** Error 1",
    ):
        linked.hear(line)
    assert linked.said() == "a.c:(.text+0x1): undefined reference to `g' | make: *** Error 1"
    assert Complaints().said() == "it said nothing"


def test_a_kernels_end_is_told_by_its_oops_and_its_panic() -> None:
    lines = [
        "<0>[    0.100000] BUG: kernel NULL pointer dereference, address: 0000000000000008",
        "[    0.100000] RIP: 0033:tcp_init+0x12/0x40",
        "[    0.100000] RIP: 0033:later+0x1/0x2",
        "[    0.200000] Kernel panic - not syncing: Fatal exception",
    ]
    assert why_it_ended(lines) == (
        "BUG: kernel NULL pointer dereference, address: 0000000000000008; Kernel panic - not syncing: Fatal "
        "exception (at tcp_init+0x12/0x40)"
    )
    # User-Mode Linux tells no place of a fault inside the engine but in what was called.
    called = ["Stack:", " 00000000 8451b2d0", "Call Trace:", " [<6036b05c>] ? tcp_ack+0xbc/0x17a0"]
    called += [" [<6007fb00>] ? lock_timer_base+0x0/0xe0"]
    segfault = "Kernel panic - not syncing: Segfault with no mm"
    assert why_it_ended([segfault, *called]) == f"{segfault} (at tcp_ack+0xbc/0x17a0)"
    bug = "BUG: failure at net/ipv4/tcp_input.c:3895/tcp_ack()!"
    assert why_it_ended([bug, "Kernel panic - not syncing: BUG!", *called]) == (
        f"{bug}; Kernel panic - not syncing: BUG!"
    )
    assert why_it_ended(["hello", "Kernel panic - no luck", "Rebooting"]) == "Kernel panic - no luck"
    assert why_it_ended(["hello"]) == ""
