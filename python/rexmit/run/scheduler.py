"""The way to the scheduler of a Dask cluster: who answers at an address, in a few seconds and one line."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rexmit.errors import RexmitError, UsageError, one_line

CONNECT_SECONDS = 5.0


def connect(address: str) -> Any:
    """A client of the scheduler at this address, `tcp://HOST:PORT`, or of a scheduler's file.

    Raises UsageError where Dask is not installed or the address is none, RexmitError where nobody answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError('--cluster needs Dask; install it with: pip install "rexmit[dask]"') from None
    place = _address_of(address)
    open_client: Callable[..., Any] = Client
    try:
        # A client that finds nobody goes on trying when it should close, so somebody else asks first.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _greet(place)).result()
        return open_client(place, timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        # TimeoutError is one of these.
        late = isinstance(error, TimeoutError) or "Timed out" in str(error)
        why = f"within {CONNECT_SECONDS:.0f} s" if late else f"({one_line(error)})"
        raise RexmitError(
            f"--cluster {address}: no Dask scheduler answers there {why}; look at its address"
        ) from None
    except Exception as error:
        raise UsageError(f"--cluster {address}: cannot be used: {one_line(error)}") from None


async def _greet(place: str) -> None:
    """Raises what keeps a scheduler from answering."""
    from distributed import Security
    from distributed.core import rpc

    make: Callable[..., Any] = Security
    call: Callable[..., Any] = rpc
    arguments = make().get_connection_args("client")
    async with call(place, timeout=CONNECT_SECONDS, connection_args=arguments) as scheduler:
        await asyncio.wait_for(scheduler.identity(), CONNECT_SECONDS)


def _address_of(given: str) -> str:
    scheme, found, _ = given.partition("://")
    if found:
        if scheme not in _SCHEMES:
            raise UsageError(
                f"--cluster {given}: begins with none of {', '.join(_SCHEMES)}; write tcp://HOST:PORT"
            )
        return given
    path = Path(given)
    if path.exists():
        try:
            return str(json.loads(path.read_text())["address"])
        except (OSError, ValueError, KeyError, TypeError):
            raise UsageError(f"--cluster {given}: is no scheduler's file (JSON with its address)") from None
    host, _, port = given.rpartition(":")
    if host and port.isdigit():
        return f"tcp://{given}"
    raise UsageError(f"--cluster {given}: is no address; write tcp://HOST:PORT, or name a scheduler's file")


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keeps Dask's own log off the terminal: what matters is told in one line."""
    log = logging.getLogger("distributed")
    names = [log, *(logging.getLogger(f"distributed.{part}") for part in _LOGS)]
    before = [one.level for one in names]
    for one in names:
        one.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for one, level in zip(names, before, strict=True):
            one.setLevel(level)


_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
"""Ways to a scheduler that Dask knows; it would try another one for ever."""

_LOGS = ("client", "core", "batched", "comm", "comm.tcp", "utils", "worker", "utils_comm")
