"""Compile for systems other than this one: WebAssembly, macOS, Windows, musl, Linux on aarch64.

A target whose standard library the installed Rust has is compiled as usual (`rustup target add` brings it).
Elsewhere Debian's `rustc-web` and the standard library's source are fetched and unpacked into `.cache/cross`,
beside whatever is installed (the package itself would take the place of rustup), and the standard library is
compiled along, unless Debian has it compiled for the target, too. Uses the standard library of Python only.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "cross"
TARGET_DIR = ROOT / "target" / "cross"

COMPILER = ["rustc-web", "rust-web-src"]
"""The compiler and the source of the standard library."""

TOOLS = {
    "wasm32-unknown-unknown": ["lld"],
    "x86_64-pc-windows-gnu": ["gcc-mingw-w64-x86-64-posix", "mingw-w64-x86-64-dev"],
}
"""What else Debian has for a target: its linker, its C compiler."""

COMPILED = {"aarch64-unknown-linux-gnu": "arm64"}
"""Targets whose standard library Debian has: the architecture of its packages."""

WASM = "wasm32-unknown-unknown"


class MissingError(Exception):
    """A target cannot be compiled for here; the text says why and what to do."""


@dataclass(frozen=True)
class Toolchain:
    """How cargo is called for a target: what its environment has besides this process's, and its options."""

    environment: dict[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()


def toolchain(target: str) -> Toolchain:
    """What compiles for `target`; fetched where that is possible. Raises MissingError."""
    if _has_library("rustc", target):
        return Toolchain()
    wanted = [*COMPILER, *TOOLS.get(target, [])]
    fetch(wanted)
    bin_folder = FOLDER / "usr" / "bin"
    libraries = FOLDER / "usr" / "lib" / "x86_64-linux-gnu"
    environment = {
        "RUSTC": str(bin_folder / "rustc"),
        # Debian's compiler is a release, and to compile the standard library is an option of nightly ones.
        "RUSTC_BOOTSTRAP": "1",
        "LD_LIBRARY_PATH": os.pathsep.join([str(libraries), os.environ.get("LD_LIBRARY_PATH", "")]),
        "PATH": os.pathsep.join([str(bin_folder), os.environ.get("PATH", os.defpath)]),
    }
    if target in COMPILED:
        fetch_foreign(["libstd-rust-web-dev"], COMPILED[target], FOLDER)
        return Toolchain(environment)
    if target == WASM:
        environment["CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"] = "wasm-ld"
    parts = "std,panic_abort" if target == WASM else "std"
    # Cargo's own choice has `backtrace` beside these: what reads debug symbols of a program that panicked.
    return Toolchain(
        environment, ["-Z", f"build-std={parts}", "-Z", "build-std-features=default,panic-unwind"]
    )


def cargo(target: str, command: str, options: Sequence[str], extra: dict[str, str] | None = None) -> None:
    """Run cargo for a target in the project's folder. Raises MissingError, CalledProcessError."""
    found = toolchain(target)
    environment = {**os.environ, **found.environment, **(extra or {})}
    environment.setdefault("CARGO_TARGET_DIR", str(TARGET_DIR))
    if found.options and command == "check":
        # Cargo compiles the standard library to the end, though what is only checked needs its types alone.
        environment.setdefault(f"CARGO_TARGET_{target.upper().replace('-', '_')}_RUSTFLAGS", "-Zno-codegen")
    line = ["cargo", command, "--quiet", "--locked", "--target", target, *found.options, *options]
    subprocess.run(line, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=True)


def target_dir() -> Path:
    """The folder that cargo compiles into."""
    return Path(os.environ.get("CARGO_TARGET_DIR", TARGET_DIR))


def _has_library(rustc: str, target: str) -> bool:
    """Whether a compiler brings the standard library of a target."""
    command = [rustc, "--print", "target-libdir", "--target", target]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return False
    folder = Path(done.stdout.strip())
    return done.returncode == 0 and any(folder.glob("libstd-*"))


def fetch(packages: Sequence[str]) -> None:
    """Unpack what is missing of Debian's packages, and of what they need and this machine lacks.

    Several checks may want them at once: the first one fetches, the others wait.
    """
    if all(_stamp(name).exists() for name in packages):
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _fetch_alone([name for name in packages if not _stamp(name).exists()])


def _fetch_alone(missing: Sequence[str]) -> None:
    if not missing:
        return
    hint = "`rustup target add` brings a target to an installed Rust"
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise MissingError(f"no {tool} on the path to fetch Debian's {', '.join(missing)} with; {hint}")
    print(f"cross: fetching {', '.join(missing)} ...", file=sys.stderr, flush=True)
    for name in missing:
        # With what it depends on, as apt would install it; files already unpacked come again as they are.
        plan = ["apt-get", "-qq", "--print-uris", "install", "--no-install-recommends", name]
        planned = subprocess.run(plan, capture_output=True, text=True)
        files = [line.split()[1] for line in planned.stdout.splitlines() if line.startswith("'")]
        wanted = [file.partition("_")[0] for file in files] or [name]
        download = ["apt-get", "-qq", "download", *wanted]
        done = subprocess.run(download, cwd=FOLDER, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0 or not any(FOLDER.glob("*.deb")):
            raise MissingError(f"Debian's {name} cannot be fetched (apt-get update first?); {hint}")
        _unpack(FOLDER, FOLDER)
        _stamp(name).touch()
    for posix in (FOLDER / "usr" / "bin").glob("x86_64-w64-mingw32-*-posix"):
        plain = posix.with_name(posix.name.removesuffix("-posix"))
        plain.unlink(missing_ok=True)
        plain.symlink_to(posix.name)


def fetch_foreign(packages: Sequence[str], architecture: str, into: Path, *, whole: bool = False) -> None:
    """Unpack Debian's packages for another processor into a folder; `whole`: with all that they need.

    The lists of apt are fetched into `.cache/cross`: this machine's own need not know the architecture.
    Raises MissingError.
    """
    done = [into / f"{name}.{architecture}.unpacked" for name in packages]
    if all(stamp.exists() for stamp in done):
        return
    if shutil.which("apt-get") is None:
        raise MissingError(f"no apt-get on the path to fetch Debian's {', '.join(packages)} with")
    print(f"cross: fetching {', '.join(packages)} for {architecture} ...", file=sys.stderr, flush=True)
    state = FOLDER / f"apt-{architecture}"
    for folder in (into, state / "lists" / "partial", state / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()  # nothing is installed
    settings = {
        "APT::Architecture": architecture,
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Dir::Cache": state / "archives",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
    }
    lines = [f'{name} "{value}";\n' for name, value in settings.items()]
    (state / "apt.conf").write_text("".join([*lines, f'APT::Architectures {{ "{architecture}"; }};\n']))

    def apt(*words: str) -> str:
        environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
        command = ["apt-get", "-qq", *words]
        ran = subprocess.run(
            command, cwd=state, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if ran.returncode != 0:
            last = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise MissingError(f"Debian's {', '.join(packages)} for {architecture}: {last}")
        return ran.stdout

    apt("update")
    names = list(packages)
    if whole:
        planned = apt("--print-uris", "install", "--no-install-recommends", *packages)
        names = [line.split()[1].partition("_")[0] for line in planned.splitlines() if line.startswith("'")]
    apt("download", *names)
    _unpack(state, into)
    for stamp in done:
        stamp.touch()


def _unpack(folder: Path, into: Path) -> None:
    """Unpack the packages in a folder and remove them."""
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(into)], check=True)
        package.unlink()


def _stamp(package: str) -> Path:
    return FOLDER / f"{package}.unpacked"
