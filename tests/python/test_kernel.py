"""Kernels with a virtual clock: the cache, builds of a miniature source, and the real one if it is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from rexmit.errors import UsageError
from rexmit.kernel import (
    BuildOptions,
    Kernel,
    KernelError,
    boot_command,
    build,
    cache_folder,
    check_boot,
    engine_words,
    find_kernel,
    init_words,
    kernels,
    missing,
    needs,
    versions,
)
from rexmit.kernel.configure import OPTIONAL, REQUIRED, absent_options, options_text
from rexmit.kernel.make import key_of
from rexmit.kernel.patches import Edit, apply_patches, load_patches, patches_text
from rexmit.kernel.source import identify, unpack, version_of

from .conftest import Command

MERGE = 'shift; cat "$@" > .merged && mv .merged .config\n'
MAKEFILE = """VERSION = {version}
PATCHLEVEL = 1
SUBLEVEL = 7
EXTRAVERSION =
mrproper:
\trm -f stale.h
allnoconfig:
\t{configure}
\t: > .config
olddefconfig:
\tsed -n 's/^.default \\(.*\\)/CONFIG_HZ=\\1/p' arch/um/Kconfig >> .config
linux:
\t@echo '  CC      init/main.o'
\t{compile}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of its own. The miniature's executable is /bin/true, which is not a guest."""
    monkeypatch.setenv("REXMIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("rexmit.kernel.make.check_boot", lambda kernel: None)
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The miniature of a source: the places that patches look for, and a Makefile that builds at once."""
    return miniature(tmp_path / "linux")


def miniature(
    tree: Path, version: int = 6, configure: str = ":", compile_: str = "cp /bin/true linux"
) -> Path:
    written: list[str] = []
    for patch in load_patches(patches_text(1000)):
        for edit in patch.ways[0]:
            # A patch may stand upon what another puts there.
            if any(edit.anchor in text for text in written):
                continue
            written.append(edit.text)
            path = tree / edit.file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                # The rate of ticks stands alone in a line, as the Makefile above reads it.
                file.write(edit.anchor + "\n")
    merge = tree / "scripts" / "kconfig" / "merge_config.sh"
    merge.parent.mkdir(parents=True)
    merge.write_text(MERGE)
    (tree / "Makefile").write_text(MAKEFILE.format(version=version, configure=configure, compile=compile_))
    return tree


def packed(tree: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz") as file:
        file.add(tree, "linux-6.1")
    return archive


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def left_over(cache: Path) -> list[str]:
    """What is there beside what stays: the lock, the counts of steps, and copies of trees."""
    return [path.name for path in cache.iterdir() if path.name not in (".lock", "steps.json", "trees")]


def test_a_build_makes_a_kernel_with_its_facts_and_leaves_the_source_alone(cache: Path, tree: Path) -> None:
    # What a build of another configuration left is not part of the source.
    for name in ("linux", ".config", "net/core/neighbour.o", "include/generated/stale.h"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("old")
    before = contents(tree)
    stages: list[str] = []
    options = BuildOptions(tree, progress=lambda stage, done, total: stages.append(stage))
    kernel = build(options)
    assert contents(tree) == before
    assert left_over(cache) == [f"6.1.7-{kernel.hash}"]
    assert sorted(path.name for path in kernel.folder.iterdir()) == ["config", "kernel.json", "linux"]
    assert os.access(kernel.path, os.X_OK)
    assert "CONFIG_HZ=1000" in kernel.config.read_text()
    assert kernel.patches == tuple(patch.name for patch in load_patches(patches_text(1000)))
    assert {"hz", "clock", "random-seed", "no-escape"} < set(kernel.patches)
    assert (kernel.version, kernel.hz, kernel.unpatched, kernel.absent) == ("6.1.7", 1000, (), ())
    assert list(dict.fromkeys(stages)) == [
        *("reading the source", "copying the source", "configuring", "compiling", "booting"),
    ]
    assert kernel.unfitting == ()
    [copy] = (cache / "trees").glob("*/1000")
    assert (copy / "linux").read_bytes() != b"old"
    assert not (copy / "include" / "generated" / "stale.h").exists()
    assert find_kernel() == kernel
    facts = json.loads((kernel.folder / "kernel.json").read_text())
    assert facts["version"] == "6.1.7"
    assert facts["hash"] == kernel.hash
    assert facts["source"] == str(tree)


def test_a_kernel_is_built_once_and_again_only_by_force(cache: Path, tree: Path) -> None:
    first = build(BuildOptions(tree))
    assert build(BuildOptions(tree)) == first
    (first.folder / "mark").touch()
    again = build(BuildOptions(tree, force=True))
    assert again.folder == first.folder
    assert not (again.folder / "mark").exists()
    assert left_over(cache) == [first.folder.name]


def test_each_rate_of_ticks_is_a_kernel_of_its_own(cache: Path, tree: Path) -> None:
    fast, slow = build(BuildOptions(tree)), build(BuildOptions(tree, hz=250))
    assert fast.hash != slow.hash
    assert "CONFIG_HZ=250" in slow.config.read_text()
    assert find_kernel(250) == slow
    assert find_kernel() == fast, "1000 is the default, whichever is newer"
    assert find_kernel(name="6.1") == fast
    with pytest.raises(KernelError, match="HZ=100"):
        find_kernel(100)
    with pytest.raises(UsageError, match="choose one of 100, 250, 1000"):
        build(BuildOptions(tree, hz=300))


def test_an_archive_is_unpacked(cache: Path, tree: Path, tmp_path: Path) -> None:
    archive = packed(tree, tmp_path / "linux.tar.gz")
    stages: list[str] = []
    kernel = build(BuildOptions(archive, progress=lambda stage, done, total: stages.append(stage)))
    assert kernel.version == "6.1.7"
    assert next(iter(stages)) == "unpacking the source"
    assert not (cache / "trees").exists()
    assert kernel.source_hash != identify(tree).hash


def test_what_no_build_reads_is_not_unpacked(tree: Path, tmp_path: Path) -> None:
    left_out = ["Documentation/tcp.rst", "sound/pci/a.c", "drivers/gpu/drm/a.h", "arch/arm/boot/a.dts"]
    left_out += ["arch/xtensa/a.S", "tools/testing/a.c"]
    unpacked = ["Documentation/Kconfig", "sound/Makefile", "arch/arm/Kconfig", "include/sound/core.h"]
    unpacked += ["arch/x86/a.c", "arch/um/a.S", "drivers/net/tun.c", "tools/lib/sound/a.c"]
    for name in (*left_out, *unpacked):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("\n")
    source = identify(packed(tree, tmp_path / "linux.tar.gz"))
    assert unpack(source, tmp_path / "there") == "6.1.7"
    assert [name for name in unpacked if not (tmp_path / "there" / name).exists()] == []
    assert [name for name in left_out if (tmp_path / "there" / name).exists()] == []


def test_the_hash_follows_all_that_decides_the_kernel(
    cache: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {key_of(identify(tree), 1000)}
    (tree / "net" / "core" / "neighbour.o").touch()
    assert key_of(identify(tree), 1000) in keys, "what was built in a tree is not its source"
    keys.add(key_of(identify(tree), 250))
    for name in ("options_text", "patches_text"):
        with monkeypatch.context() as patched:
            patched.setattr(f"rexmit.kernel.make.{name}", lambda _: "something else")
            keys.add(key_of(identify(tree), 1000))
    (tree / "net" / "new.c").write_text("int x;")
    keys.add(key_of(identify(tree), 1000))
    assert len(keys) == 5


def test_what_is_missing_is_named_in_one_line_with_its_packages(
    cache: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "_PROGRAMS", {"no-flex": "flex", "no-bison": "bison", "cc": "gcc"})
    with pytest.raises(KernelError) as wrong:
        build(BuildOptions(tree))
    assert str(wrong.value) == (
        "a build needs what is not on this machine: no-flex (flex), no-bison (bison); "
        "on Debian: apt-get install bison flex"
    )
    monkeypatch.setattr(versions, "SOURCES", Path("/no"))
    assert missing()["/no/linux-source-6.1.tar.xz"] == "linux-source-6.1"
    with pytest.raises(
        KernelError, match=r"apt-get install bison flex linux-source-6\.1, then run `rexmit ker"
    ):
        find_kernel()


def test_nothing_is_begun_without_room(cache: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "ROOM", 10**18)
    with pytest.raises(KernelError, match=r"a build needs 1000000000\.0 GB for a while and .* GB are free"):
        build(BuildOptions(tree))
    assert left_over(cache) == []


def test_other_systems_are_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(KernelError, match="needs Linux on x86_64; this is linux on aarch64"):
        build(BuildOptions(tree))


def test_linux_5_and_what_is_no_source_are_refused(cache: Path, tmp_path: Path) -> None:
    old = miniature(tmp_path / "old", version=5)
    archive = tmp_path / "old.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(old, "linux-5.1")
    for source in (old, archive):
        with pytest.raises(KernelError, match=r"is Linux 5\.1\.7; .* needs a source of Linux 6\.x"):
            build(BuildOptions(source))
    text = tmp_path / "notes.txt"
    text.write_text("nothing")
    with pytest.raises(KernelError, match="is not a tar archive"):
        build(BuildOptions(text))
    with pytest.raises(KernelError, match="is not a source of Linux"):
        build(BuildOptions(tmp_path))
    with pytest.raises(KernelError, match="cannot be read"):
        build(BuildOptions(tmp_path / "absent.tar.xz"))
    assert left_over(cache) == []


def test_a_failing_compiler_is_quoted_and_its_log_kept(cache: Path, tmp_path: Path) -> None:
    said = ("In file included from net/x.c:1:", "net/x.c:3:7: error: no such thing", "b.c:1: error: b")
    compile_ = "; ".join(f"echo '{line}'" for line in said)
    tree = miniature(tmp_path / "linux", compile_=f"{compile_}; exit 1")
    with pytest.raises(KernelError) as wrong:
        build(BuildOptions(tree))
    assert str(wrong.value).startswith(f"{tree}/net/x.c:3: error: no such thing; "), (
        "the first, with its place"
    )
    log = cache / "failed-build.log"
    assert str(wrong.value).endswith(f"the whole log: {log}")
    assert "\n" not in str(wrong.value)
    assert "CC      init/main.o" in log.read_text()
    assert left_over(cache) == [log.name]
    assert kernels() == []


def test_an_option_that_was_not_taken_is_an_error_unless_it_is_optional(
    cache: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {REQUIRED: "CONFIG_NET=y\n", OPTIONAL: "CONFIG_VIRTIO_UML=y\n"}
    monkeypatch.setattr("rexmit.kernel.configure.options_text", lambda name: shown[name])
    monkeypatch.setattr("rexmit.kernel.make.options_text", lambda name: "CONFIG_NET=y\n")
    assert build(BuildOptions(tree)).absent == ("CONFIG_VIRTIO_UML",)
    monkeypatch.setattr("rexmit.kernel.make.options_text", lambda name: "CONFIG_NEW=y\n")
    with pytest.raises(KernelError, match="does not take CONFIG_NET=y"):
        build(BuildOptions(tree))


def test_the_lists_of_options_are_well_formed() -> None:
    for name in (REQUIRED, OPTIONAL):
        lines = [line for line in options_text(name).splitlines() if line and not line.startswith("#")]
        assert all(line.startswith("CONFIG_") and "=" in line for line in lines)
        assert len(lines) == len(set(lines))
    assert absent_options("# a word\nCONFIG_A=y\nCONFIG_B=y\n", "CONFIG_A=y\n# CONFIG_B is not set\n") == [
        "CONFIG_B=y"
    ]


def test_a_version_is_read_from_a_makefile() -> None:
    assert version_of("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL =\nEXTRAVERSION = -rc3\n") == "6.12.0-rc3"
    assert version_of("all:\n\ttrue\n") == ""


def test_patches_find_each_anchor_once_and_say_why(tree: Path) -> None:
    patches = load_patches(patches_text(250))
    assert all(len(patch.reason) > 40 for patch in patches)
    done = apply_patches(tree, patches)
    assert (done.names, done.unfitting) == (tuple(patch.name for patch in patches), {})
    assert "default 250" in (tree / "arch/um/Kconfig").read_text()
    random = (tree / "drivers/char/random.c").read_text()
    assert random.count("rexmit_set_seed();") >= 2
    assert random.index("static bool rexmit_seeded") < random.index("if (rexmit_seeded)")


def test_a_patch_that_does_not_fit_names_its_place(tree: Path) -> None:
    (tree / "net/core/neighbour.c").write_text("nothing\n")
    patches = load_patches(patches_text(1000))
    file = tree / "drivers/char/random.c"
    file.write_text(file.read_text().replace("extract_entropy(key", "extract_other(key"))
    before = file.read_text()
    with pytest.raises(
        KernelError, match=r"'random-seed' does not fit this source: .*random\.c has no places like"
    ):
        apply_patches(tree, patches)
    assert file.read_text() == before, "a patch is applied whole or not at all"
    fitting = [patch for patch in patches if patch.name == "neighbours"]
    done = apply_patches(tree, fitting)
    assert done.names == ()
    assert done.unfitting["neighbours"].startswith("net/core/neighbour.c has no places like")


def test_an_engines_guest_tells_the_place_of_a_fault() -> None:
    """Registers are of the level of information, and the kernel takes the last level that is given."""
    kernel = Kernel(Path("k"), "6.1.1", 1000, "", "", "", "", (), (), (), "", 0.0, "")
    words = boot_command(kernel, engine_words("library", "job"))
    assert [word for word in words if word.startswith("loglevel=")][-1] == "loglevel=7"
    assert "loglevel=5" in boot_command(kernel, init_words("program"))


def test_an_edit_goes_before_after_or_instead() -> None:
    results = [Edit("f", "b", insert, "X").apply("abc") for insert in ("before", "after", "instead")]
    assert results == ["aXbc", "abXc", "aXc"]
    with pytest.raises(ValueError, match="has 2 places like 'b'"):
        Edit("f", "b", "after", "X").apply("bb")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("kept", [False, True])
def test_a_stopped_build_leaves_no_kernel(
    cache: Path, tmp_path: Path, number: signal.Signals, kept: bool
) -> None:
    tree = miniature(tmp_path / "linux", compile_="sleep 15")
    source = tree if kept else packed(tree, tmp_path / "linux.tar.gz")
    command = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", "kernel", "build"]
    with subprocess.Popen([*command, "--source", str(source)], stderr=subprocess.PIPE, text=True) as running:
        waited = 0.0
        begun = "trees/*/1000/.config" if kept else ".build-*/source/.config"
        while not list(cache.glob(begun)) and waited < 60:
            time.sleep(0.05)
            waited += 0.05
        running.send_signal(number)
        said = running.communicate()[1]
    assert running.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -9}[number]
    assert kernels() == []
    if number == signal.SIGKILL:
        assert [name[:7] for name in left_over(cache)] == [".build-"]
        build(BuildOptions(miniature(tmp_path / "other")))
    else:
        assert len([line for line in said.splitlines() if "error" in line]) == 1
    assert [name for name in left_over(cache) if name.startswith(".")] == [], "the next build clears up"


def test_a_second_build_waits_for_the_first(cache: Path, tmp_path: Path) -> None:
    slow = miniature(tmp_path / "linux", compile_="sleep 2; cp /bin/true linux")
    command = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", "kernel", "build", "--json"]
    running = [
        subprocess.Popen([*command, "--no-boot", "--source", str(slow)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    facts = [json.loads(one.communicate(timeout=60)[0]) for one in running]
    assert facts[0] == facts[1], "the second finds what the first has built"


def test_damaged_kernels_are_passed_over(cache: Path, tree: Path) -> None:
    kernel = build(BuildOptions(tree))
    (kernel.folder / "linux").unlink()
    assert kernels() == []
    assert build(BuildOptions(tree)).folder == kernel.folder, "it is built again in its place"
    (kernel.folder / "kernel.json").write_text("{")
    assert kernels() == []


def test_the_cache_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REXMIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "rexmit" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "rexmit" / "kernels"


def test_status_tells_programs_what_is_there(cache: Path, tree: Path, rexmit: Command) -> None:
    empty = json.loads(rexmit("kernel", "status", "--json").stdout)
    assert (empty["kernels"], empty["default"], empty["boot"]) == ([], None, None)
    assert empty["folder"] == str(cache)
    nothing = rexmit("kernel", "status", "--check")
    assert nothing.returncode == 1
    assert "run `rexmit kernel build`" in nothing.stderr
    kernel = build(BuildOptions(tree))
    told = json.loads(rexmit("kernel", "status", "--json").stdout)
    assert told["default"] == kernel.hash
    assert told["kernels"] == [kernel.facts()]
    assert kernel.hash in rexmit("kernel", "status").stdout
    assert rexmit("kernel", "path").stdout == f"{kernel.path}\n"
    # The miniature's executable is /bin/true.
    failed = rexmit("kernel", "status", "--check")
    assert failed.returncode == 1
    assert "does not start: it said nothing" in failed.stderr


def test_two_boots_of_one_seed_are_the_same_and_of_another_are_not() -> None:
    try:
        kernel = find_kernel()
    except KernelError as error:
        pytest.skip(str(error))
    first, second, other = check_boot(kernel, 1), check_boot(kernel, 1), check_boot(kernel, 2)
    assert first.random == second.random != other.random
    assert first.reseeded == second.reseeded == other.reseeded, "a new seed leaves nothing of the first"
    assert first.repeats
    assert first.slept == second.slept
    assert first.release == kernel.version
