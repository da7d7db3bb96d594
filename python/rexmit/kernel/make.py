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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rexmit.errors import UsageError, one_line
from rexmit.files import append, keep_copy, put, remove_tree
from rexmit.kernel import needs
from rexmit.kernel.cache import BUILDING, DEFAULT_HZ, OF_BUILD, Kernel, building, cache_folder, with_hash
from rexmit.kernel.configure import HZ_CHOICES, OPTIONAL, REQUIRED, options_text, verify
from rexmit.kernel.driver import add_driver, driver_text
from rexmit.kernel.errors import KernelError
from rexmit.kernel.needs import require_platform, require_room, require_tools
from rexmit.kernel.patches import apply_patches, load_patches, patches_text
from rexmit.kernel.source import Source, identify, unpack

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much it is."""

DYING_S = 5
"""How long what was killed may take to die."""
LOOK_S = 0.2
"""Time between two looks for signals."""
STEPS = 1369
"""Lines that `make` prints for this configuration of 6.1: what progress is measured against."""

_LOG = "build.log"
_STEP = re.compile(r"  [A-Z][A-Z0-9_]+ +\S")
_UNWANTED = re.compile(
    r"(MAKE.*|MFLAGS|KBUILD_.*|KCONFIG_.*|(K|USER|HOST)[A-Z]*FLAGS|CROSS_COMPILE|LLVM.*|(SUB)?ARCH|LOCALVERSION|[OVWCM])"
)


@dataclass(frozen=True)
class BuildOptions:
    """What to build: `source` (None: Debian's), `hz` ticks a second, `jobs` at once (None: every core).

    `force` builds again what was built; `progress` is told how far it is.
    """

    source: Path | None = None
    hz: int = DEFAULT_HZ
    jobs: int | None = None
    force: bool = False
    progress: Progress | None = None


def build(options: BuildOptions | None = None) -> Kernel:
    """The kernel of these options: from the cache, or built now, which takes some minutes.

    Two builds at once take turns. A build that is stopped leaves nothing that looks like a kernel. Raises
    KernelError, of one line, for whatever is missing, and where the compiler fails.
    """
    options = options or BuildOptions()
    if options.hz not in HZ_CHOICES:
        raise UsageError(f"hz is {options.hz}; choose one of {', '.join(map(str, HZ_CHOICES))}")
    require_platform()
    report = options.progress or (lambda stage, done, total: None)
    if options.source is None and not needs.DEBIAN_SOURCE.exists():
        require_tools(None)  # says all that is missing, not the source alone
    source = identify(options.source)
    key = key_of(source, options.hz)
    if not options.force and (kernel := with_hash(key)) is not None:
        return kernel
    require_tools(options.source)
    folder = cache_folder()
    with building(folder, lambda holder: report(f"waiting for the build of process {holder}", 0, 1)):
        if not options.force and (kernel := with_hash(key)) is not None:
            return kernel
        require_room(folder)
        with _temporary(folder) as work:
            return _build(source, key, options, work, report)


def key_of(source: Source, hz: int) -> str:
    """The hash of all that decides what is built, 16 hexadecimal digits: source, options, patches, driver."""
    parts = [source.hash, options_text(REQUIRED), options_text(OPTIONAL), patches_text(hz), str(hz)]
    parts.append(driver_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _build(source: Source, key: str, options: BuildOptions, work: Path, report: Progress) -> Kernel:
    started = time.monotonic()
    tree = work / "source"
    log = work / _LOG
    report("unpacking the source", 0, 1)
    version = unpack(source, tree)
    report("unpacking the source", 1, 1)
    applied, left = apply_patches(tree, load_patches(patches_text(options.hz)))
    add_driver(tree)
    make = _make(options.jobs or len(os.sched_getaffinity(0)))
    if source.is_tree:
        _logged([*make, "mrproper"], tree, log)  # whatever else was built there
    _configure(tree, make, log, report)
    absent = verify(tree / ".config", options.hz)
    _compile(tree, make, log, report)
    whole = work / "kernel"
    whole.mkdir()
    _logged(["strip", "-o", str(whole / "linux"), str(tree / "linux")], tree, log)
    shutil.copyfile(tree / ".config", whole / "config")
    kernel = Kernel(
        folder=cache_folder() / f"{version}-{key}",
        version=version,
        hz=options.hz,
        hash=key,
        sha256=hashlib.sha256((whole / "linux").read_bytes()).hexdigest(),
        source=str(source.path),
        source_hash=source.hash,
        patches=tuple(applied),
        unpatched=tuple(left),
        absent=tuple(absent),
        compiler=_compiler(),
        build_seconds=round(time.monotonic() - started, 1),
        built=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    facts = json.dumps(kernel.facts(), indent=2, ensure_ascii=False) + "\n"
    put(whole / "kernel.json", facts)
    _publish(whole, kernel.folder)
    return kernel


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


def _make(jobs: int) -> list[str]:
    return ["make", "ARCH=um", "LOCALVERSION=", f"--jobs={jobs}"]


def _configure(tree: Path, make: Sequence[str], log: Path, report: Progress) -> None:
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


def _compile(tree: Path, make: Sequence[str], log: Path, report: Progress) -> None:
    done = 0

    def step(line: str) -> None:
        nonlocal done
        if _STEP.match(line):
            done += 1
            report("compiling", min(done, STEPS - 1), STEPS)

    report("compiling", 0, STEPS)
    _logged([*make, "linux"], tree, log, step)
    report("compiling", STEPS, STEPS)


def _logged(command: Sequence[str], tree: Path, log: Path, step: Callable[[str], None] | None = None) -> None:
    """Runs one command, its output to the log and by lines to `step`.

    Raises KernelError with the last lines where it fails, and keeps the log.
    """
    last: deque[str] = deque(maxlen=400)
    with (
        append(log) as file,
        subprocess.Popen(
            command,
            cwd=tree,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Of our session: where a scheduler counts by sessions, one of its own would not be nice.
            process_group=0,
        ) as running,
    ):
        assert running.stdout is not None
        try:
            for line in _lines(running.stdout.fileno()):
                file.write(line.encode())
                last.append(line.rstrip())
                if step is not None:
                    step(line)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            raise
    if running.returncode != 0:
        raise KernelError(_failure(command, list(last), _keep(log)))


def _lines(descriptor: int) -> Iterator[str]:
    """Lines as they come.

    It wakes up now and then: a signal that came just before a read that waits would be heeded at its end.
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


def _failure(command: Sequence[str], last: list[str], log: Path) -> str:
    """One line: what failed, what it complained of, where the whole log is."""
    telling = [line for line in last if re.search(r"error|Error|No space|not found|undefined", line)]
    said = " | ".join((telling or last)[:3]) or "it said nothing"
    return f"`{' '.join(command[:2])} ...{command[-1]}` failed: {one_line(said)}; the whole log: {log}"


def _keep(log: Path) -> Path:
    """The log of a failed build, beside the kernels; one is kept."""
    kept = cache_folder() / "failed-build.log"
    keep_copy(log, kept)
    return kept


def _environment() -> dict[str, str]:
    """The caller's environment without what would steer the build; no machine and no date get into it."""
    kept = {name: value for name, value in os.environ.items() if not _UNWANTED.fullmatch(name)}
    fixed = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_VERSION": "1"}
    return {**kept, **fixed, "KBUILD_BUILD_USER": "rexmit", "KBUILD_BUILD_HOST": "rexmit", "LC_ALL": "C"}


def _compiler() -> str:
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout.partition("\n")[0]
