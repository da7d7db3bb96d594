"""What a worker of a cluster does: says what it can run, and runs chunks of a study.

A study comes as packed JSON and rows leave as Arrow's bytes: of this package, only the names of these
functions pass between machines.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import time
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from rexmit import _native
from rexmit.errors import RexmitError, StudyError
from rexmit.run.backends import Backend, BackendOptions, open_backend, to_json
from rexmit.run.stacks import lacking, third_parties
from rexmit.study import StudySpec
from rexmit.study.spec import parse_spec

Work = dict[str, Any]
"""What every chunk of a sweep shares: `study` (packed), `name`, `backend`, `allow_unsupported`, `jobs`,
`kernel` and `kernels` (as `BackendOptions` has them)."""

_TUN = Path("/dev/net/tun")


def pack(spec: StudySpec) -> bytes:
    """A study as bytes; the levels of a long factor are written as its ranges."""
    return zlib.compress(to_json(spec.to_table()).encode())


@lru_cache(maxsize=2)
def unpack(study: bytes, name: str) -> StudySpec:
    """The study of :func:`pack`."""
    return parse_spec(json.loads(zlib.decompress(study)), name, None)


def what_it_can(work: Work) -> dict[str, Any]:
    """The facts of this worker's backend, or what it `lacks`, and what machine it is."""
    answer: dict[str, Any] = {
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "native_version": _native.version(),
    }
    try:
        lacks = _lacks(work["backend"])
        facts = {} if lacks else _backend(work).facts()
        lacks = lacks or _lacks_of(facts)
    except RexmitError as error:
        lacks, facts = str(error), {}
    return {**answer, "facts": facts, "lacks": lacks}


def run_chunk(work: Work, start: int, stop: int) -> dict[str, Any]:
    """Runs these runs.

    Returns the `worker`, `rows` (an Arrow stream), `unreached`, `seconds` and `setup` (their part before the
    first run), or what went `wrong`.
    """
    began = time.monotonic()
    try:
        backend = _backend(work)
        ready = time.monotonic()
        found = sorted(
            backend.sweep(range(start, stop), work["jobs"], lambda: False), key=lambda one: one[0].start
        )
    except RexmitError as error:
        return {"wrong": str(error), "study": isinstance(error, StudyError)}
    done = time.monotonic()
    from distributed import get_worker  # an extra: only its workers come here

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found[0][1].schema) as writer:
        for _, table in found:
            writer.write_table(table)
    return {
        "worker": get_worker().address,
        "rows": sink.getvalue().to_pybytes(),
        "unreached": backend.unreached(),
        "seconds": done - began,
        "setup": ready - began,
    }


def rows_of(answer: dict[str, Any]) -> pa.Table:
    """The rows of an answer of :func:`run_chunk`."""
    return pa.ipc.open_stream(answer["rows"]).read_all()


def _backend(work: Work) -> Backend:
    """A backend of its own for each chunk: it counts what was not reached."""
    spec = unpack(work["study"], work["name"])
    return open_backend(
        work["backend"],
        spec,
        BackendOptions(work["allow_unsupported"], kernel=work["kernel"], kernels=tuple(work["kernels"])),
    )


def _lacks(backend: str) -> str | None:
    """What this machine lacks for a backend, as far as that shows before a run."""
    return next(_lacks_for_kernel(), None) if backend == "kernel" else None


def _lacks_of(facts: dict[str, Any]) -> str | None:
    """What this machine lacks for the protocol stacks that a study's hosts have."""
    missing = (lacking(stack) for name, stack in third_parties().items() if name in facts)
    return next((text for text in missing if text), None)


def _lacks_for_kernel() -> Iterator[str]:
    if not os.access(_TUN, os.R_OK | os.W_OK):
        yield f"{_TUN} is missing or closed to it"
    program = shutil.which("unshare")
    if program is None:
        return
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    tried = subprocess.run([program, *user, "--net", "true"], capture_output=True, check=False)
    if tried.returncode:
        yield "it may not make network namespaces"
