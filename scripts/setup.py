"""Prepare everything that the other commands need: `make setup`.

`--only demo` prepares what `make demo` needs and nothing else: the packages that rexmit itself imports, the
script of the pages, and a native module of the models, without third parties' stacks and real kernels. A
checkout that was set up whole stays whole. `--optimised` builds the native module as wheels have it: by the
profile `release` of Cargo.toml, otherwise `quick`.

Makes `.venv`, installs the pinned Python packages, installs the few Debian packages that are
missing, and builds the script of the pages and the native module. What a third party's library needs
stands in `crates/adapters/NAME/setup.toml`; without root it is unpacked into `.cache/NAME`. Each step is
skipped while a hash of its inputs is the one that its stamp in `.cache/stamps` remembers. Uses the
standard library only: it runs before anything is installed. `--only guests` builds what guests run and
nothing else, for wheels that are built elsewhere. What compiles and what downloads run side by side.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = ROOT / ".cache" / "stamps"
WEB = ROOT / "web"
INSIDE = ROOT / "python" / "rexmit" / "_inside.so"
GUEST = ROOT / "python" / "rexmit" / "_guest"
PAGES = ROOT / "python" / "rexmit" / "plot" / "web"

# Program that must be on the path, or file that must be there, and the Debian package that brings it.
DEBIAN = {
    "cc": "gcc",
    "c++": "g++",
    "openssl": "openssl",
    "node": "nodejs",
    "npm": "npm",
    "chromium": "chromium",
    "tshark": "tshark",
    "tcptrace": "tcptrace",
    "/usr/include/ns3/tcp-socket-base.h": "libns3-dev",
    # What programs around other people's stacks are compiled with.
    "cmake": "cmake",
    "git": "git",
}
MODULES = {"ensurepip": "python3-venv"}
# What `rexmit kernel build` needs, and what experiments in its guests do, by its path if not a program.
KERNEL = {
    "/usr/src/linux-source-6.1.tar.xz": "linux-source-6.1",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "ip": "iproute2",
    "ethtool": "ethtool",
    "curl": "curl",
    "iperf3": "iperf3",
    "gtlsclient": "ngtcp2-client",
    "gtlsserver": "ngtcp2-server",
}
# What a release of Debian may not have: tried once, and not asked for again.
TRIED = {
    "/usr/src/linux-source-6.12.tar.xz": "linux-source-6.12",  # the second version of the kernel
    "ccache": "ccache",  # with which a kernel is compiled again in a minute
}
# Without these nothing can be built; without the others some tests are skipped.
NEEDED = {"cc", "ensurepip", "node", "npm"}
# Profiles of Cargo.toml: compiled soon, and optimised over crates.
QUICK, OPTIMISED = "quick", "release"


def main() -> int:
    """Run every step whose inputs changed."""
    asked = sys.argv[1:]
    if asked == ["--only", "guests"]:
        return 0 if build_for_guests(OPTIMISED, ["--locked"]) else 1
    if asked not in ([], ["--only", "demo"], ["--optimised"]):
        return fail(f"{' '.join(asked)}: write nothing, --only demo, --only guests or --optimised")
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is read before the right Python is known
        return fail(f"rexmit needs Python 3.11 or newer, and this is {sys.version.split()[0]}")
    if shutil.which("cargo") is None:
        return fail("rexmit needs a Rust toolchain (1.91 or newer): no `cargo` on the path")
    if asked == ["--only", "demo"] and not stamp("environment").exists():
        return 0 if set_up_demo() else 1
    return 0 if set_up(OPTIMISED if asked == ["--optimised"] else QUICK) else 1


def set_up(profile: str) -> bool:
    """Prepare everything; the native module by a profile of Cargo.toml, or a better one that it has."""
    libraries = third_party()
    for library in libraries:
        fetch(library)
    if not debian_packages():
        return False
    for library in libraries:
        step(library.name, digest([], extra=str(library.found())), library.look_again, True)
    found = "\n".join(str(library.found()) for library in libraries)
    inputs = digest(native_inputs(), found)
    if stamp("native module").exists() and stamp("native module").read_text() == f"{inputs} {OPTIMISED}":
        profile = OPTIMISED
    # A developer's new dependency may still be missing in Cargo.lock; where all is required it may not.
    locked = ["--locked"] if os.environ.get("REXMIT_REQUIRE_ALL") == "1" else []

    def compile_beside() -> bool:
        """All but what asks Python, which is not there yet."""
        more = ["--package=rexmit-sim", "--package=rexmit-analysis"]
        return build_for_guests(profile, [*locked, *more])

    with ThreadPoolExecutor() as beside:
        there = (INSIDE.exists() and GUEST.exists()) or not has_guests()
        guests = beside.submit(step, "what guests run", f"{inputs} {profile}", compile_beside, there)
        done = environment("environment", ROOT / "requirements.lock")
        tools = digest([WEB / "package-lock.json"])
        done = done and step("tools of the pages", tools, install_web, has_tools("eslint"))
        done = done and step("pages", digest(web_inputs()), build_web, (PAGES / "rexmit.js").exists())
    done = guests.result() and done

    def build() -> bool:
        return build_native(profile, locked)

    return done and step("native module", f"{inputs} {profile}", build, native_is_there())


def set_up_demo() -> bool:
    """Prepare what the demo needs: packages of rexmit alone, the models alone."""
    if not debian_packages(NEEDED):
        return False
    with ThreadPoolExecutor() as beside:
        inputs = digest(native_inputs())
        module = beside.submit(step, "module of the demo", inputs, build_for_demo, native_is_there())
        done = environment("environment of the demo", ROOT / "requirements-demo.lock")
        tools = digest([WEB / "package-lock.json"])
        done = done and step("builder of the pages", tools, install_builder, has_tools("esbuild"))
        done = done and step("pages", digest(web_inputs()), build_web, (PAGES / "rexmit.js").exists())
    return module.result() and done and install_beside()


def stamp(name: str) -> Path:
    """What remembers the inputs of a step."""
    return STAMPS / name.replace(" ", "-")


def step(name: str, inputs: str, work: Callable[[], bool], there: bool) -> bool:
    """Do `work` unless it was done for the same `inputs` and what it made is still `there`."""
    remembered = stamp(name)
    if there and remembered.exists() and remembered.read_text() == inputs:
        return True
    print(f"setup: {name} ...", flush=True)
    started = time.monotonic()
    if not work():
        return False
    STAMPS.mkdir(parents=True, exist_ok=True)
    remembered.write_text(inputs)
    print(f"setup: {name}, {time.monotonic() - started:.0f} s", flush=True)
    return True


def debian_packages(of: Iterable[str] | None = None) -> bool:
    """Install what is missing, `of` these alone, or say how; false if something indispensable stays away."""

    def lacking() -> dict[str, str]:
        found = absent()
        return found if of is None else {name: found[name] for name in of if name in found}

    missing = lacking()
    if not missing:
        return True
    install = ["apt-get", "install", "-y", "--no-install-recommends"]
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # Those of the kernel separately: a release of Debian with another kernel does not know all of them.
        of_kernel = sorted({package for name, package in missing.items() if name in KERNEL})
        tried = sorted({package for name, package in missing.items() if name in TRIED})
        others = sorted(set(missing.values()) - {*of_kernel, *tried})
        groups = [others, of_kernel, *([package] for package in tried)]
        wanted = [[*install, *names, "-qq"] for names in groups if names]
        for command in (["apt-get", "update", "-qq"], *wanted):
            if subprocess.run(command, stdin=subprocess.DEVNULL, env=environment).returncode != 0:
                print(f"setup: `{' '.join(command)}` failed", file=sys.stderr)
        remember_tried()
        missing = lacking()
    else:
        line = " ".join([*install, *missing.values()])
        print(f"setup: not on this machine: {', '.join(missing)}. To have them: sudo {line}")
    for name in NEEDED.intersection(missing):
        fail(f"{name} is needed; on Debian: apt-get install {missing[name]}")
    return not NEEDED.intersection(missing)


@dataclass(frozen=True)
class Library:
    """A library that the adapter of this name links; its build script looks in the same places."""

    name: str
    package: str
    header: str
    variable: str
    depends: Sequence[str] = ()  # what apt-get would install along with the package

    @property
    def installed(self) -> str:
        """The header where Debian's package puts it."""
        return f"/usr/include/{self.header}"

    def found(self) -> Path | None:
        """The header beside which the build script finds the library, or None."""
        given = os.environ.get(self.variable)
        unpacked = ROOT / ".cache" / self.name
        roots = [Path(given)] if given else [Path("/usr/local"), Path("/usr"), unpacked]
        headers = (base / "include" / self.header for root in roots for base in (root, root / "usr"))
        return next((header for header in headers if header.exists()), None)

    def look_again(self) -> bool:
        """Make cargo run the build script again: it cannot watch for a file that is not there."""
        (ROOT / "crates" / "adapters" / self.name / "build.rs").touch()
        return True


def third_party() -> list[Library]:
    """The libraries that adapters want, by the `setup.toml` of each."""
    import tomllib  # not above: an older Python, which has none, is told so by `main`

    files = sorted((ROOT / "crates" / "adapters").glob("*/setup.toml"))
    return [Library(name=path.parent.name, **tomllib.loads(path.read_text())) for path in files]


def fetch(library: Library) -> None:
    """Unpack the library into `.cache`, where it is not installed and this is not root."""
    tools = ("apt-get", "dpkg-deb")
    if library.found() or os.geteuid() == 0 or not all(shutil.which(tool) for tool in tools):
        return
    folder = ROOT / ".cache" / library.name
    folder.mkdir(parents=True, exist_ok=True)
    download = ["apt-get", "download", "-qq", library.package, *library.depends]
    if subprocess.run(download, cwd=folder, stdin=subprocess.DEVNULL).returncode != 0:
        return
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(folder)], stdin=subprocess.DEVNULL)
        package.unlink()


def absent() -> dict[str, str]:
    """What is missing, and the Debian package that brings it."""
    libraries = {each.installed: each.package for each in third_party() if each.found() is None}
    programs = {name: package for name, package in DEBIAN.items() if not present(name)} | libraries
    programs |= {name: package for name, package in KERNEL.items() if not present(name)}
    programs |= {
        name: package
        for name, package in TRIED.items()
        if not present(name) and not (STAMPS / f"no-{package}").exists()
    }
    importlib.invalidate_caches()
    find = importlib.util.find_spec
    return programs | {name: package for name, package in MODULES.items() if find(name) is None}


def remember_tried() -> None:
    """Note what this release of Debian was asked for in vain."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    for name, package in TRIED.items():
        if not present(name):
            (STAMPS / f"no-{package}").touch()


def present(name: str) -> bool:
    """True for a program on the path (or where only root's path leads), and for a file that exists."""
    if name.startswith("/"):
        return Path(name).exists()
    path = os.environ.get("PATH", os.defpath)
    return shutil.which(name, path=f"{path}{os.pathsep}/usr/sbin{os.pathsep}/sbin") is not None


def environment(name: str, lock: Path) -> bool:
    """The step that makes `.venv` and installs exactly what a lock pins, by version and hash."""

    def make() -> bool:
        # The whole completes the demo's; anything else that is there goes.
        of_demo = stamp("environment of the demo")
        clear = [] if PYTHON.exists() and of_demo.exists() else ["--clear"]
        of_demo.unlink(missing_ok=True)
        if not run([sys.executable, "-m", "venv", *clear, str(VENV)]):
            return False
        # Python compiles what is imported when it is; most of what is installed never is.
        pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
        return run([*pip, "--require-hashes", "--requirement", str(lock)])

    return step(name, digest([lock], extra=sys.version), make, PYTHON.exists())


def install_web() -> bool:
    """Install what `web/package-lock.json` pins; no package runs anything of its own."""
    return run(["npm", "ci", "--prefix", str(WEB), "--ignore-scripts", "--no-audit", "--no-fund"])


def install_builder() -> bool:
    """Install the part of it that builds the pages."""
    npm = ["npm", "ci", "--prefix", str(WEB), "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
    return run(npm)


def has_tools(name: str) -> bool:
    """True if a tool of the pages is installed."""
    return (WEB / "node_modules" / name).exists()


def build_web() -> bool:
    """Build the script and the style of the pages into the Python package."""
    return run(["npm", "run", "--silent", "--prefix", str(WEB), "build"])


def web_inputs() -> list[Path]:
    """Every file that the pages' script is built from."""
    return [
        *(path for path in (WEB / "src").rglob("*") if path.is_file()),
        *(WEB / name for name in ("build.mjs", "package-lock.json", "package.json")),
    ]


def build_native(profile: str, locked: Sequence[str]) -> bool:
    """Build the native module, and put it and the command `rexmit` into `.venv`.

    The Python sources are used where they lie, so a change of theirs needs no new set-up.
    """
    maturin = str(VENV / "bin" / "maturin")
    # What a demo built is another module by the same name.
    stamp("module of the demo").unlink(missing_ok=True)
    return run([maturin, "develop", f"--profile={profile}", "--quiet", *locked])


def build_for_demo() -> bool:
    """Build the native module with the models alone; `.venv` need not be there yet."""
    options = ["--no-default-features", "--features=pyo3/abi3-py311"]
    command = ["cargo", "build", f"--profile={QUICK}", "--quiet", "--locked", "--package=rexmit-python"]
    if not run([*command, *options], {"PYO3_NO_PYTHON": "1", "PYO3_BUILD_EXTENSION_MODULE": "1"}):
        return False
    library = "lib_native.dylib" if sys.platform == "darwin" else "lib_native.so"
    module = ROOT / "python" / "rexmit" / "_native.abi3.so"
    # Written beside it, then renamed: a process may have the old one open.
    written = module.with_suffix(".new")
    shutil.copyfile(target_dir() / QUICK / library, written)
    written.replace(module)
    return True


def install_beside() -> bool:
    """Put the package and the command `rexmit` into the demo's `.venv`, as `maturin develop` would."""
    if (VENV / "bin" / "rexmit").exists():
        return True
    import tomllib  # not above: see `third_party`

    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    (packages,) = (VENV / "lib").glob("python*/site-packages")
    command, about = VENV / "bin" / "rexmit", packages / f"rexmit-{version}.dist-info"
    command.write_text(f"#!{PYTHON}\nimport sys\nfrom rexmit.cli import main\n\nsys.exit(main())\n")
    command.chmod(0o755)
    about.mkdir(exist_ok=True)
    (packages / "rexmit.pth").write_text(f"{ROOT / 'python'}\n")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: rexmit\nVersion: {version}\n")
    # By it pip knows what to remove once the whole is installed.
    listed = ["rexmit.pth", f"{about.name}/METADATA", f"{about.name}/RECORD", "../../../bin/rexmit"]
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in listed))
    return True


def target_dir() -> Path:
    """Where cargo compiles into."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def has_guests() -> bool:
    """Whether this is a machine whose kernels run as guests."""
    return (sys.platform, platform.machine()) == ("linux", "x86_64")


def build_for_guests(profile: str, options: Sequence[str]) -> bool:
    """Build what guests run, where there are any, and put it beside the module.

    A guest's kernel loads a library, or starts a program, which has no libraries to load.
    """
    if not has_guests():
        return True
    static = ["--", "-C", "target-feature=+crt-static"]
    locked = [option for option in options if option == "--locked"]
    commands = [
        ["cargo", "build", f"--profile={profile}", "--quiet", "--package=rexmit-inside", *options],
        ["cargo", "rustc", f"--profile={profile}", "--quiet", "--package=rexmit-guest", *locked, *static],
    ]
    target = target_dir() / profile
    commands += [
        ["strip", "--strip-debug", "-o", str(INSIDE), str(target / "librexmit_inside.so")],
        ["strip", "-o", str(GUEST), str(target / "rexmit-guest")],
    ]
    return all(map(run, commands))


def native_is_there() -> bool:
    """True if the extension is built and `.venv` knows the package."""
    extension = any((ROOT / "python" / "rexmit").glob("_native*.so"))
    return extension and (VENV / "bin" / "rexmit").exists()


def native_inputs() -> list[Path]:
    """Every file that the native module is built from."""
    tops = ["Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements.lock", "scripts/setup.py"]
    files = [ROOT / name for name in tops]
    # `go` and `rust` are the far sides for programs, whose text stands in the module.
    for folder in ("crates", "profiles", "go", "rust"):
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for path in files if not {"tests", "target"} & {*path.relative_to(ROOT).parts[2:]}]


def digest(files: Iterable[Path], extra: str = "") -> str:
    """One hash of the names and the contents of `files`."""
    whole = hashlib.sha256(extra.encode())
    for path in sorted(files):
        whole.update(str(path.relative_to(ROOT)).encode() + b"\0")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def run(command: Sequence[str], more: Mapping[str, str] | None = None) -> bool:
    """Run one command in the project's folder, inside `.venv`; show what it printed only if it failed."""
    environment = {**os.environ, "VIRTUAL_ENV": str(VENV), **(more or {})}
    environment["PATH"] = f"{VENV / 'bin'}{os.pathsep}{environment['PATH']}"
    environment["PIP_QUIET"] = "1"
    environment.pop("PYTHONHOME", None)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode == 0:
        return True
    print(f"{done.stdout}\nsetup: failed: {' '.join(command)}", file=sys.stderr)
    return False


def fail(message: str) -> int:
    """Say in one line why nothing was done."""
    print(f"setup: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
