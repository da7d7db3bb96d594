"""Build wheels for other systems: `make wheels`, or `scripts/wheels.py TARGET ...`.

The Rust part is compiled by `cross.py`; zig compiles what C there is, and links, except for Windows, whose
linker is Debian's MinGW. What guests of Linux run is left out. Each wheel is opened: its native module must
be of the target's format and processor and export the function that Python calls to load it. The one for
Linux on aarch64 also runs a study, by Debian's Python for that processor under QEMU, with the same table as
here; nobody runs the others. They are built from a copy of what git has, in `.cache/wheels`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cross
import pinned
import polars
import wheel as wheel_of_here

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "scripts" / "wheel-tools.txt"
FOLDER = ROOT / ".cache" / "wheels"
TOOLS, SOURCE, ARM = FOLDER / "tools", FOLDER / "source", FOLDER / "arm64"
OUT = ROOT / "dist" / "wheels"
PAGES = Path("python", "rexmit", "plot", "web")
ENTRY = b"PyInit__native"
STUDY = "hurtig-2006/short"


@dataclass(frozen=True)
class Target:
    """What a wheel's native module begins with, and the bytes that name its processor, from a place on."""

    magic: bytes
    at: int
    machine: bytes
    with_zig: bool = True
    runs: bool = False


ELF, MACH, PE = b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe", b"MZ"
TARGETS = {
    "x86_64-unknown-linux-musl": Target(ELF, 18, b"\x3e\x00"),
    "aarch64-unknown-linux-gnu": Target(ELF, 18, b"\xb7\x00", runs=True),
    "aarch64-unknown-linux-musl": Target(ELF, 18, b"\xb7\x00"),
    "aarch64-apple-darwin": Target(MACH, 4, b"\x0c\x00\x00\x01"),
    "x86_64-apple-darwin": Target(MACH, 4, b"\x07\x00\x00\x01"),
    # Its header says where the processor's number is.
    "x86_64-pc-windows-gnu": Target(PE, 0, b"PE\x00\x00\x64\x86", with_zig=False),
}


def main() -> int:
    """Build each, look into it; 1 if one failed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default: all"
    )
    options.add_argument("--quick", action="store_true", help="by the profile of the tests: compiled sooner")
    chosen = options.parse_args()
    if unknown := set(chosen.targets) - set(TARGETS):
        options.error(f"unknown target {min(unknown)}; known: {', '.join(TARGETS)}")
    if not (ROOT / PAGES).is_dir():
        print("wheels: `make setup` has to build the script of the pages first", file=sys.stderr)
        return 1
    copy_source()
    failed = [name for name in chosen.targets or TARGETS if not built(name, quick=chosen.quick)]
    return 1 if failed else 0


def copy_source() -> None:
    """What git has, and the script of the pages, in a folder of its own: guests' programs are not in it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [name.decode() for name in listed.split(b"\0") if name]
    shutil.rmtree(SOURCE, ignore_errors=True)
    for name in [*names, *(str(path.relative_to(ROOT)) for path in (ROOT / PAGES).iterdir())]:
        if (ROOT / name).exists() and not (SOURCE / name).exists():
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            # With its time, so that cargo compiles only what has changed.
            shutil.copy2(ROOT / name, SOURCE / name, follow_symlinks=False)


def built(name: str, *, quick: bool) -> bool:
    """Build the wheel of one target and look into it."""
    started = time.monotonic()
    print(f"wheels: {name} ...", flush=True)
    try:
        wheel = build(name, "quick" if quick else "release")
    except cross.MissingError as error:
        print(f"wheels: {name}: {error}", file=sys.stderr)
        return False
    except subprocess.CalledProcessError:
        print(f"wheels: {name}: not built", file=sys.stderr)
        return False
    slip = amiss(wheel, TARGETS[name])
    took = time.monotonic() - started
    if slip is None and TARGETS[name].runs:
        try:
            slip = emulated(wheel)
        except (cross.MissingError, subprocess.CalledProcessError) as error:
            slip = f"not run: {error}"
    if slip is not None:
        print(f"wheels: {wheel.name}: {slip}", file=sys.stderr)
        return False
    state = "runs under QEMU as here" if TARGETS[name].runs else "not run"
    size = f"{wheel.stat().st_size / 1e6:.1f} MB"
    print(f"wheels: {wheel.relative_to(ROOT)}, {size}, built in {took:.0f} s; {state}")
    return True


def build(name: str, profile: str) -> Path:
    """The wheel of a target, in a folder of its own."""
    found = cross.toolchain(name)
    environment = {**os.environ, **found.environment, "CARGO_TARGET_DIR": str(cross.target_dir())}
    command = [str(Path(sys.executable).parent / "maturin"), "build", f"--profile={profile}", "--locked"]
    # Of cargo's options, maturin takes the unstable ones.
    command += [*found.options, f"--target={name}"]
    if TARGETS[name].with_zig:
        command.append("--zig")
        programs = str(pinned.programs(LIST, TOOLS))
        environment["PATH"] = os.pathsep.join([programs, environment.get("PATH", os.defpath)])
    if TARGETS[name].magic == MACH:
        # What strips its modules (`rust-objcopy`) comes with rustup alone.
        environment |= {"MATURIN_STRIP": "false", f"CARGO_PROFILE_{profile.upper()}_STRIP": "none"}
    out = OUT / name
    shutil.rmtree(out, ignore_errors=True)
    command += [f"--out={out}"]
    subprocess.run(command, cwd=SOURCE, env=environment, stdin=subprocess.DEVNULL, check=True)
    (wheel,) = out.glob("rexmit-*.whl")
    return wheel


def amiss(wheel: Path, target: Target) -> str | None:
    """What is wrong with a wheel; None if it is as it should be."""
    with zipfile.ZipFile(wheel) as archive:
        natives = [name for name in archive.namelist() if Path(name).name.startswith("_native.")]
        natives = [name for name in natives if not name.endswith(".pyi")]
        if len(natives) != 1:
            return f"{len(natives)} native modules, not one"
        module = archive.read(natives[0])
        if not any(name.startswith(f"{PAGES.relative_to('python')}/") for name in archive.namelist()):
            return "the script of the pages is not in it"
        if "rexmit/_guest" in archive.namelist():
            return "it has what a guest of this machine's Linux runs"
    place = int.from_bytes(module[0x3C:0x40], "little") if target.magic == PE else target.at
    if not module.startswith(target.magic) or not module.startswith(target.machine, place):
        return f"{natives[0]} is not for this target"
    return None if ENTRY in module else f"{natives[0]} does not export {ENTRY.decode()}"


def emulated(wheel: Path) -> str | None:
    """Install a wheel of Linux on aarch64 beside Debian's Python for it and run a study there under QEMU.

    Returns what is wrong: its table of runs must have the same rows as this machine's.
    """
    # pyarrow needs the library of C++.
    cross.fetch_foreign(["python3.11", "libstdc++6"], "arm64", ARM, whole=True)
    cross.fetch(["qemu-user-static"])
    site, results = ARM / "site", FOLDER / "results"
    shutil.rmtree(site, ignore_errors=True)
    shutil.rmtree(results, ignore_errors=True)
    wheel_of_here.write_versions(FOLDER / "versions.txt")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    pip += ["--implementation=cp", "--python-version=3.11", "--only-binary=:all:", f"--target={site}"]
    pip += [f"--platform=manylinux_2_{minor}_aarch64" for minor in range(17, 37)]
    # The newest tag of a platform that pip knows by its old name.
    pip += ["--platform=manylinux2014_aarch64"]
    run([*pip, f"--constraint={FOLDER / 'versions.txt'}", str(wheel)])
    python = [str(cross.FOLDER / "usr" / "bin" / "qemu-aarch64-static"), "-L", str(ARM)]
    python += ["-E", f"PYTHONPATH={site}", str(ARM / "usr" / "bin" / "python3.11")]
    command = ["-m", "rexmit", "run", STUDY, "--out"]
    run([*python, *command, str(results / "there")])
    run([sys.executable, *command, str(results / "here")])
    return differing(results / "here", results / "there")


def differing(here: Path, there: Path) -> str | None:
    """Whether the tables of runs of two folders of results differ, in words; None if they are equal."""
    tables = [polars.read_parquet(folder / "runs.parquet") for folder in (here, there)]
    return None if tables[0].equals(tables[1]) else f"its table of {STUDY} is not as here"


def run(command: Sequence[str]) -> None:
    """Run one command."""
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(main())
