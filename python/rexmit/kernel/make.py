"""The build: unpack, patch, configure, compile, and put what came of it into the cache under its name."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rexmit.errors import UsageError, one_line
from rexmit.files import append, keep_copy, put, remove_tree
from rexmit.kernel.boot import check_boot
from rexmit.kernel.cache import BUILDING, DEFAULT_HZ, OF_BUILD, Kernel, building, cache_folder, with_hash
from rexmit.kernel.configure import HZ_CHOICES, OPTIONAL, REQUIRED, options_text, verify
from rexmit.kernel.driver import driver_files, driver_text
from rexmit.kernel.errors import KernelError
from rexmit.kernel.kept import KeptBuild, KeptFolder, remove_kept
from rexmit.kernel.needs import require_platform, require_room, require_tools
from rexmit.kernel.patches import Applied, changed_files, load_patches, patches_text
from rexmit.kernel.source import Source, identify, tree_of, unpack, version_in
from rexmit.kernel.steps import Counter, remember_steps, steps_of
from rexmit.kernel.versions import DEFAULT_VERSION, check_version, debian_source
from rexmit.kernel.words import Complaints

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much it is."""

DYING_S = 5
"""How long what was killed may take to die."""
LOOK_S = 0.2
"""Time between two looks for signals."""
_UNWANTED = re.compile(
    r"(MAKE.*|MFLAGS|KBUILD_.*|KCONFIG_.*|(K|USER|HOST)[A-Z]*FLAGS|CROSS_COMPILE|LLVM.*|(SUB)?ARCH|LOCALVERSION|[OVWCM])"
)


@dataclass(frozen=True)
class BuildOptions:
    """What to build: `source` (None: Debian's of `version`), with `hz` ticks a second.

    `jobs` compilers run at once (None: one a core). `force` builds again what was built; `boot` checks that
    a kernel of one's own source starts before it counts as one; `progress` is told how far it is.
    """

    source: Path | None = None
    version: str | None = None
    hz: int = DEFAULT_HZ
    jobs: int | None = None
    force: bool = False
    boot: bool = True
    progress: Progress | None = None


def build(options: BuildOptions | None = None) -> Kernel:
    """The kernel of these options: from the cache, or built now, which takes some minutes.

    Two builds at once take turns. A build that is stopped leaves nothing that looks like a kernel. Raises
    KernelError, of one line, for whatever is missing, and where the compiler fails.
    """
    options = options or BuildOptions()
    if options.hz not in HZ_CHOICES:
        raise UsageError(f"hz is {options.hz}; choose one of {', '.join(map(str, HZ_CHOICES))}")
    if options.source is not None and options.version is not None:
        raise UsageError("version: names one of Debian's sources; leave it out if a source is given")
    version = DEFAULT_VERSION if options.version is None else options.version
    check_version(version)
    require_platform()
    report = options.progress or (lambda stage, done, total: None)
    if options.source is None and not debian_source(version).exists():
        require_tools(None, version)  # says all that is missing, not the source alone
    source = identify(options.source or debian_source(version))
    key = key_of(source, options.hz)
    if not options.force and (kernel := with_hash(key)) is not None:
        return kernel
    require_tools(options.source, version)
    folder = cache_folder()
    with building(folder, lambda holder: report(f"waiting for the build of process {holder}", 0, 1)):
        kept = KeptBuild(source.path, options.hz) if source.is_tree else None
        if kept is not None:
            report("reading the source", 0, 1)
            source = tree_of(source.path, kept.look())  # it may have changed while another build had its turn
            key = key_of(source, options.hz)
            report("reading the source", 1, 1)
        if not options.force and (kernel := with_hash(key)) is not None:
            return kernel
        if kept is None or not kept.tree.exists():
            require_room(folder)
        with _temporary(folder) as work:
            return _build(_Job(source, key, options, work, report), kept)


def clean_up(source: Path | None = None, progress: Progress | None = None) -> list[KeptFolder]:
    """Removes what is kept of builds of a tree, or of all, after any build that is under way; says what."""
    if not cache_folder().exists():
        return []
    report = progress or (lambda stage, done, total: None)
    with building(cache_folder(), lambda holder: report(f"waiting for the build of process {holder}", 0, 1)):
        return remove_kept(source)


def key_of(source: Source, hz: int) -> str:
    """The hash of all that decides what is built, 16 hexadecimal digits: source, options, patches, driver."""
    required, optional, ticks = _configuration(hz)
    parts = [source.hash, required, optional, patches_text(hz), ticks, driver_text()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Job:
    """A build: of what, under which hash, how, in which new folder, and who is told how far it is."""

    source: Source
    key: str
    options: BuildOptions
    work: Path
    report: Progress

    @property
    def log(self) -> Path:
        """What all of its commands printed."""
        return self.work / "build.log"


@dataclass(frozen=True)
class _Ready:
    """A tree in which `make` may begin: its version, what became of the patches, the files put over it."""

    tree: Path
    version: str
    applied: Applied
    over: Collection[str]


def _build(job: _Job, kept: KeptBuild | None) -> Kernel:
    started = time.monotonic()
    ready, absent = _from_archive(job) if kept is None else _from_kept(job, kept)
    whole = job.work / "kernel"
    whole.mkdir()
    _logged(["strip", "-o", str(whole / "linux"), str(ready.tree / "linux")], ready.tree, job.log)
    shutil.copyfile(ready.tree / ".config", whole / "config")
    kernel = Kernel(
        folder=cache_folder() / f"{ready.version}-{job.key}",
        version=ready.version,
        hz=job.options.hz,
        hash=job.key,
        sha256=hashlib.sha256((whole / "linux").read_bytes()).hexdigest(),
        source=str(job.source.path),
        source_hash=job.source.hash,
        patches=ready.applied.names,
        unpatched=tuple(ready.applied.unfitting),
        unfitting=tuple(f"{name}: {why}" for name, why in ready.applied.unfitting.items()),
        absent=tuple(absent),
        compiler=_compiler(),
        build_seconds=round(time.monotonic() - started, 1),
        built=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if job.options.boot and job.options.source is not None:
        _try(kernel, whole, job)
    facts = json.dumps(kernel.facts(), indent=2, ensure_ascii=False) + "\n"
    put(whole / "kernel.json", facts)
    _publish(whole, kernel.folder)
    return kernel


def _from_archive(job: _Job) -> tuple[_Ready, list[str]]:
    """Unpacks, patches, configures and compiles in a folder that goes with the build."""
    tree = job.work / "source"
    job.report("unpacking the source", 0, 1)
    version = unpack(job.source, tree)
    job.report("unpacking the source", 1, 1)
    over, applied = overlay(tree, job.options.hz)
    for name, content in over.items():
        put(tree / name, content)
    ready = _Ready(tree, version, applied, over)
    make = _make(job)
    _configure(ready, make, job)
    absent = verify(tree / ".config", job.options.hz)
    remember_steps(version, _compile(ready, make, job, steps_of(version)))
    return ready, absent


def _from_kept(job: _Job, kept: KeptBuild) -> tuple[_Ready, list[str]]:
    """Brings the kept copy of a tree up to date and compiles what changed."""
    assert job.source.files is not None
    over, applied = overlay(job.source.path, job.options.hz)
    job.report("copying the source", 0, 1)
    kept.bring_up_to_date(job.source.files, over)
    job.report("copying the source", 1, 1)
    ready = _Ready(kept.tree, version_in(job.source.path), applied, over)
    make = _make(job)
    with kept.making():
        options = kept.configuring("\0".join([*_configuration(job.options.hz), *make[:-1], _compiler()]))
        whole = options != kept.state.configured
        if whole:
            kept.state.configured = ""
            _configure(ready, make, job)
        absent = verify(kept.tree / ".config", job.options.hz)
        kept.state.configured = options
        known = steps_of(ready.version)
        from_nothing = whole and not kept.state.complete
        done = _compile(ready, make, job, known if whole else kept.steps(known))
        kept.compiled()
        if from_nothing:
            remember_steps(ready.version, done)
    return ready, absent


def overlay(tree: Path, hz: int) -> tuple[dict[str, bytes], Applied]:
    """The files that are put over a source, by name (the driver's, and what patches change); the patches."""
    changed, applied = changed_files(tree, load_patches(patches_text(hz)))
    return {name: content.encode() for name, content in {**changed, **driver_files()}.items()}, applied


def _try(kernel: Kernel, whole: Path, job: _Job) -> None:
    """Boots what was built of somebody's source, before it counts as a kernel."""
    job.report("booting", 0, 1)
    try:
        check_boot(replace(kernel, folder=whole))
    except KernelError as error:
        why = str(error).removeprefix(f"{whole / 'linux'}: ")
        raise KernelError(f"{job.source.path}: compiles, but its guest {why}; it was not kept") from None
    job.report("booting", 1, 1)


def _publish(whole: Path, folder: Path) -> None:
    """Gives the finished folder its name; one that stood there, damaged or built again, makes room first."""
    for path in whole.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    if folder.exists():
        folder.rename(whole.with_name("former"))
    whole.rename(folder)


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A folder beside the kernels for as long as the block lasts, and not a byte of it afterwards."""
    work = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder))
    try:
        yield work
    except OSError as error:
        where = error.filename or folder
        raise KernelError(f"{where}: the build stopped: {one_line(error.strerror or error)}") from None
    finally:
        _remove(work)


def _remove(work: Path) -> None:
    """Removes the folder, though a process of the build that is just being killed may still write a file."""
    last = time.monotonic() + DYING_S
    remove_tree(work, OF_BUILD)
    while work.exists() and time.monotonic() < last:
        time.sleep(0.05)
        remove_tree(work, OF_BUILD)


def _make(job: _Job) -> list[str]:
    jobs = job.options.jobs or len(os.sched_getaffinity(0))
    # Where ccache is installed, what was compiled before in whatever folder is taken from its cache.
    compilers = [f"{name}=ccache gcc" for name in ("CC", "HOSTCC")] if shutil.which("ccache") else []
    return ["make", "ARCH=um", "LOCALVERSION=", *compilers, f"--jobs={jobs}"]


def _configuration(hz: int) -> list[str]:
    """All that decides the configuration besides the source."""
    return [options_text(REQUIRED), options_text(OPTIONAL), str(hz)]


def _configure(ready: _Ready, make: Sequence[str], job: _Job) -> None:
    tree, log, report = ready.tree, job.log, job.report
    report("configuring", 0, 3)
    _logged([*make, "allnoconfig"], tree, log)
    report("configuring", 1, 3)
    for name in (REQUIRED, OPTIONAL):
        put(tree / name, options_text(name))
    merge = ["sh", "scripts/kconfig/merge_config.sh", "-m", ".config", REQUIRED, OPTIONAL]
    _logged(merge, tree, log)
    report("configuring", 2, 3)
    _logged([*make, "olddefconfig"], tree, log)
    report("configuring", 3, 3)


def _compile(ready: _Ready, make: Sequence[str], job: _Job, expected: int) -> int:
    """Compiles and returns in how many steps. A fault of the source is told with its place."""
    count = Counter(expected, lambda done, total: job.report("compiling", done, total))
    said = Complaints()

    def hear(line: str) -> None:
        count.hear(line)
        said.hear(line)

    try:
        _logged([*make, "linux"], ready.tree, job.log, hear)
    except KernelError:
        if said.fault is None:
            raise
        file, line, text = said.fault
        name = file.removeprefix(f"{ready.tree}/")
        patched = " of the patched copy" if name in ready.over else ""
        place = job.source.path / name if job.source.is_tree else name
        raise KernelError(f"{place}:{line}{patched}: {text}; the whole log: {_kept_log()}") from None
    count.end()
    return count.done


def _logged(command: Sequence[str], tree: Path, log: Path, step: Callable[[str], None] | None = None) -> None:
    """Runs one command, its output to the log and by lines to `step`.

    Raises KernelError with what it complained of where it fails, and keeps the log.
    """
    said = Complaints()
    with (
        append(log) as file,
        subprocess.Popen(
            command,
            cwd=tree,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # In our session: where a scheduler groups by session, `nice` would not work from one of its own.
            process_group=0,
        ) as running,
    ):
        assert running.stdout is not None
        try:
            for line in _lines(running.stdout.fileno()):
                file.write(line.encode())
                said.hear(line)
                if step is not None:
                    step(line)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            raise
    if running.returncode != 0:
        keep_copy(log, _kept_log())
        raise KernelError(
            f"`{' '.join(command[:2])} ...{command[-1]}` failed: {said.said()}; the whole log: {_kept_log()}"
        )


def _kept_log() -> Path:
    """Where the log of a failed build is kept, beside the kernels; only one is."""
    return cache_folder() / "failed-build.log"


def _lines(descriptor: int) -> Iterator[str]:
    """Lines as they arrive.

    It wakes up now and then: a signal that came just before a blocking read would be heeded only at its end.
    """
    left = b""
    while True:
        if not select.select([descriptor], [], [], LOOK_S)[0]:
            continue
        data = os.read(descriptor, 1 << 16)
        *whole, left = (left + data).split(b"\n")
        yield from (line.decode(errors="replace") + "\n" for line in whole)
        if not data:
            if left:
                yield left.decode(errors="replace")
            return


def _environment() -> dict[str, str]:
    """The caller's environment without what would steer the build; no machine and no date get into it."""
    kept = {name: value for name, value in os.environ.items() if not _UNWANTED.fullmatch(name)}
    fixed = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_VERSION": "1"}
    return {**kept, **fixed, "KBUILD_BUILD_USER": "rexmit", "KBUILD_BUILD_HOST": "rexmit", "LC_ALL": "C"}


def _compiler() -> str:
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout.partition("\n")[0]
