"""The command `rexmit` as processes that are forked from one which has imported what commands use.

A command's imports take a second, its own work often a tenth of that, and tests run hundreds of commands. A
fork is a process of its own in everything that a test can see: words, environment, folder, pipes, signals and
exit code. Two processes fork in turn, so that the hashes of two commands in a row have different seeds.
A test that changes more of the environment than rexmit's own variables gets a process that starts from nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

OWN = ("REXMIT_", "PYTEST_")
"""Variables that nothing reads while it is imported begin with one of these."""
LENGTH = 8
"""Bytes of a number between the two processes."""


class Forks:
    """Runs commands; `close` ends the processes that they were forked from."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._fixed = _fixed(environment)
        self._servers = [_Server(environment) for _ in range(2)]
        self._turns = cycle(self._servers)

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """What `subprocess.run` gives for the command of these words. Raises TimeoutExpired."""
        if _fixed(environment) == self._fixed:
            return next(self._turns).run(words, folder, environment, timeout)
        return subprocess.run(
            [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", *words],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            timeout=timeout,
            check=False,
        )

    def close(self) -> None:
        """End the processes."""
        for server in self._servers:
            server.close()


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(OWN)}


class _Server:
    """One process to fork from."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, other = socket.socketpair()
        with other:
            code = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import forking; "
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"{code}forking.serve({other.fileno()})"],
                env=environment,
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
            )

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        ends = [os.pipe(), os.pipe()]
        asked = json.dumps({"words": words, "folder": str(folder), "environment": dict(environment)}).encode()
        socket.send_fds(self._socket, [_number(len(asked))], [write for _, write in ends])
        self._socket.sendall(asked)
        for _, write in ends:
            os.close(write)
        child = _read_number(self._socket)
        with ThreadPoolExecutor(2) as readers:
            reading = [readers.submit(_whole, read) for read, _ in ends]
            try:
                said = [one.result(timeout) for one in reading]
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(words), timeout) from None
            finally:
                code = _read_number(self._socket)
        return subprocess.CompletedProcess(list(words), code, *said)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def _whole(descriptor: int) -> str:
    with open(descriptor) as file:
        return file.read()


def _number(value: int) -> bytes:
    return value.to_bytes(LENGTH, "big", signed=True)


def _read_number(connection: socket.socket) -> int:
    return int.from_bytes(_exactly(connection, LENGTH), "big", signed=True)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError("the process to fork from has ended")
        data += more
    return data


# In the process to fork from


def serve(descriptor: int) -> None:
    """Fork for each question. A fork runs its command, and ends as a process that was started for it does."""
    _import_all()
    connection = socket.socket(fileno=descriptor)
    while True:
        head, pipes, _, _ = socket.recv_fds(connection, LENGTH, 2)
        if not head:
            return
        asked = json.loads(_exactly(connection, int.from_bytes(head, "big", signed=True)))
        child = os.fork()
        if child == 0:
            connection.close()
            _become(asked, pipes)
            break
        for pipe in pipes:
            os.close(pipe)
        connection.sendall(_number(child))
        connection.sendall(_number(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    import rexmit.cli

    rexmit.cli.main()


def _import_all() -> None:
    """Import every command, and what commands import when they run."""
    from importlib import import_module

    from rexmit.cli.start import WithoutPandas

    sys.meta_path.insert(0, WithoutPandas())
    from rexmit.cli import COMMANDS

    late = ["rexmit.cli.sql_show", "rexmit.report", "matplotlib.pyplot", "rich.console", "rich.table"]
    for name in [*(f"rexmit.cli.{command}" for command in COMMANDS), *late]:
        import_module(name)


def _become(asked: Mapping[str, Any], pipes: Sequence[int]) -> None:
    """Take the command's words, environment, folder and pipes."""
    for standard, pipe in enumerate(pipes, start=1):
        os.dup2(pipe, standard)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(str(asked["folder"]))
    sys.path.pop()
    sys.argv = ["-c", *asked["words"]]
