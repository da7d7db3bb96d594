"""`--cluster tls://`: a scheduler and a worker with certificates, and others that are refused."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import rexmit

from .conftest import SMALL

PREFIX = "DASK_DISTRIBUTED__COMM__TLS__"
PATIENCE = 90.0


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each of two authorities, `ours` and `theirs`: its certificate, and one for a node with its key."""
    folder = tmp_path_factory.mktemp("certificates")
    elliptic = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    for name in ("ours", "theirs"):
        authority = ("-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem", "-subj", f"/CN={name}")
        openssl("req", "-x509", *elliptic, *authority, "-days", "2")
        node = ("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN=node of {name}")
        openssl("req", *elliptic, *node)
        signed = ("-CA", f"{name}-ca.pem", "-CAkey", f"{name}-ca.key", "-CAcreateserial", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem")
    return folder


def dask(
    program: str, folder: Path, certificates: Path | None, name: str, *words: str
) -> subprocess.Popen[bytes]:
    """A scheduler or a worker, with the certificates of this name if there is a folder of them."""
    files: list[str] = []
    if certificates is not None:
        files = ["--tls-ca-file", str(certificates / f"{name}-ca.pem")]
        files += [
            "--tls-cert",
            str(certificates / f"{name}.pem"),
            "--tls-key",
            str(certificates / f"{name}.key"),
        ]
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *files, "--no-dashboard", *words]
    with (folder / f"{program}.log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)


@contextmanager
def scheduler(folder: Path, certificates: Path | None, name: str = "ours") -> Iterator[str]:
    """A scheduler of this machine, by its address."""
    folder.mkdir()
    protocol = "tls" if certificates else "tcp"
    file = folder / "scheduler.json"
    where = ("--host", f"{protocol}://127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    running = dask("scheduler", folder, certificates, name, *where)
    try:
        last = time.monotonic() + PATIENCE
        while not (file.exists() and f'"{protocol}://' in file.read_text()):
            assert running.poll() is None, (folder / "scheduler.log").read_text()
            assert time.monotonic() < last
            time.sleep(0.05)
        yield next(word for word in file.read_text().split('"') if word.startswith(f"{protocol}://"))
    finally:
        running.terminate()
        running.wait()


def run(address: str, folder: Path, certificates: Path | None) -> subprocess.CompletedProcess[str]:
    """`rexmit run --cluster` with the certificates of `ours` in the environment."""
    study = folder / "small.toml"
    study.write_text(SMALL)
    env = {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
    if certificates is not None:
        env[f"{PREFIX}CA_FILE"] = str(certificates / "ours-ca.pem")
        env[f"{PREFIX}CLIENT__CERT"] = str(certificates / "ours.pem")
        env[f"{PREFIX}CLIENT__KEY"] = str(certificates / "ours.key")
    words = ("run", str(study), "--out", str(folder / "out"), "--cluster", address)
    main = "import rexmit.cli; rexmit.cli.main()"
    return subprocess.run([sys.executable, "-c", main, *words], env=env, capture_output=True, text=True)


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What it says beside its progress."""
    return [line for line in done.stderr.splitlines() if not line.startswith("rexmit: runs")]


def test_a_cluster_with_certificates_runs_a_study(certificates: Path, tmp_path: Path) -> None:
    with scheduler(tmp_path / "dask", certificates) as address:
        worker = dask("worker", tmp_path / "dask", certificates, "ours", address, "--nthreads", "1")
        try:
            last, done = time.monotonic() + PATIENCE, None
            while done is None or (done.returncode and time.monotonic() < last):
                done = run(address, tmp_path, certificates)  # until the worker is there
        finally:
            worker.terminate()
            worker.wait()
    assert (done.returncode, errors(done)) == (0, [])
    study = rexmit.Study.load(tmp_path / "small.toml")
    study.run(tmp_path / "here", progress=False)
    assert (tmp_path / "here/runs.parquet").read_bytes() == (tmp_path / "out/runs.parquet").read_bytes()


def test_a_scheduler_of_another_authority_is_refused(certificates: Path, tmp_path: Path) -> None:
    with scheduler(tmp_path / "dask", certificates, "theirs") as address:
        done = run(address, tmp_path, certificates)
    (line,) = errors(done)
    assert done.returncode == 1
    assert (
        "the peer there has no certificate from the authority in DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in line
    )
    assert not (tmp_path / "out").exists()


def test_a_scheduler_without_encryption_is_refused(certificates: Path, tmp_path: Path) -> None:
    with scheduler(tmp_path / "dask", None) as address:
        done = run(address.replace("tcp://", "tls://"), tmp_path, certificates)
    (line,) = errors(done)
    assert done.returncode == 1
    assert "the peer there does not speak TLS; nothing was sent to it" in line
    assert not (tmp_path / "out").exists()


def test_without_certificates_it_says_which_to_name(tmp_path: Path) -> None:
    done = run("tls://127.0.0.1:1", tmp_path, None)
    assert done.returncode == 2
    assert errors(done) == [
        "rexmit: error: --cluster tls://127.0.0.1:1: needs certificates; name their files in the "
        f"environment: {PREFIX}CA_FILE, {PREFIX}CLIENT__CERT, {PREFIX}CLIENT__KEY, or in Dask's configuration"
    ]


def test_files_that_are_no_certificates_are_named(certificates: Path, tmp_path: Path) -> None:
    for name in ("ours-ca.pem", "ours.pem", "ours.key"):
        (tmp_path / name).write_bytes((certificates / name).read_bytes())
    (tmp_path / "ours.pem").write_text("no certificate")
    done = run("tls://127.0.0.1:1", tmp_path, tmp_path)
    (line,) = errors(done)
    assert done.returncode == 2
    assert "the certificates cannot be used" in line
    assert str(tmp_path / "ours.pem") in line


def test_a_connection_without_encryption_says_whom_it_trusts(tmp_path: Path) -> None:
    with scheduler(tmp_path / "dask", None) as address:
        done = run(address, tmp_path, None)
    warning, error = errors(done)
    assert warning.startswith(f"rexmit: warning: --cluster {address}: ")
    assert "whoever answers can run programs as you on this machine" in warning
    assert "has no worker" in error
