"""The way to the scheduler of a Dask cluster: who answers at an address, in a few seconds and one line."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rexmit.errors import RexmitError, UsageError, one_line
from rexmit.inputs import SCHEDULER, read_json

CONNECT_SECONDS = 5.0


def connect(address: str) -> Any:
    """A client of the scheduler at this address, `tcp://` or `tls://HOST:PORT`, or of a scheduler's file.

    Raises UsageError where Dask is not installed, the address is invalid or `tls://` lacks certificates, and
    RexmitError where nobody answers or whoever answers has no certificate of the same authority.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError('--cluster needs Dask; install it with: pip install "rexmit[dask]"') from None
    place = _address_of(address)
    security = _security(address, place)
    open_client: Callable[..., Any] = Client
    try:
        # A client that finds nobody goes on trying when it should close, so somebody else asks first.
        pool = ThreadPoolExecutor(1)
        try:
            pool.submit(asyncio.run, _greet(place, security)).result()
        finally:
            pool.shutdown(wait=False)  # a signal does not wait for an answer
        return open_client(place, timeout=CONNECT_SECONDS, security=security, set_as_default=False)
    except OSError as error:
        raise _refused(address, place, error) from None
    except Exception as error:
        if _is_encrypted(place) and isinstance(error, ValueError):
            # It spoke first, and plainly.
            raise _no_tls(address) from None
        raise UsageError(f"--cluster {address}: cannot be used: {one_line(error)}") from None


def what_is_trusted(address: str) -> str | None:
    """One line on whom a connection without encryption trusts; None where certificates say who answers."""
    place = _address_of(address)
    if _is_encrypted(place):
        return None
    return (
        f"--cluster {address}: {place} is not encrypted, and the peer is not authenticated: whoever answers "
        "can run programs as you on this machine; on a network with others, use tls://"
    )


def _is_encrypted(place: str) -> bool:
    return place.partition("://")[0] in ("tls", "wss")


def _security(address: str, place: str) -> Any:
    """Dask's settings for certificates; with `tls://`, nothing is sent or accepted without encryption."""
    from distributed import Security

    make: Callable[..., Any] = Security
    if not _is_encrypted(place):
        return make()
    try:
        security = make(require_encryption=True)
        context = security.get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:
        files = ", ".join(str(file) for file in _files(make()).values())
        raise UsageError(
            f"--cluster {address}: the certificates cannot be used ({one_line(error)}); look at {files}"
        ) from None
    if context is None:
        lacking = [name for name, file in _files(security).items() if not file]
        raise UsageError(
            f"--cluster {address}: needs certificates; name their files in the environment: "
            f"{', '.join(f'{_TLS}{name}' for name in lacking)}, or in Dask's configuration"
        )
    return security


def _files(security: Any) -> dict[str, str | None]:
    """The files of certificates and of the key by the names that Dask's environment has for them."""
    given = security.get_tls_config_for_role("client")
    return {"CA_FILE": given["ca_file"], "CLIENT__CERT": given["cert"], "CLIENT__KEY": given["key"]}


def _refused(address: str, place: str, error: OSError) -> RexmitError:
    """Why there is no connection, in one line."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    texts = " ".join(map(str, causes))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes) or "CERTIFICATE" in texts:
        return RexmitError(
            f"--cluster {address}: the peer there has no certificate from the authority in "
            f"{_TLS}CA_FILE; do not use it unless you know why ({one_line(causes[-1])})"
        )
    if _is_encrypted(place) and any(isinstance(cause, ssl.SSLError) for cause in causes):
        return _no_tls(address)
    # TimeoutError is one of these.
    late = isinstance(error, TimeoutError) or "Timed out" in str(error)
    why = f"within {CONNECT_SECONDS:.0f} s" if late else f"({one_line(error)})"
    return RexmitError(f"--cluster {address}: no Dask scheduler answers there {why}; look at its address")


def _no_tls(address: str) -> RexmitError:
    return RexmitError(f"--cluster {address}: the peer there does not speak TLS; nothing was sent to it")


async def _greet(place: str, security: Any) -> None:
    """Raises what keeps a scheduler from answering."""
    from distributed.core import rpc

    call: Callable[..., Any] = rpc
    arguments = security.get_connection_args("client")
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
            return str(read_json(path, SCHEDULER)["address"])
        except (OSError, UsageError, KeyError, TypeError):
            raise UsageError(
                f"--cluster {given}: is not a scheduler's file (JSON with its address)"
            ) from None
    host, _, port = given.rpartition(":")
    if host and port.isdigit():
        return f"tcp://{given}"
    raise UsageError(
        f"--cluster {given}: is not an address; write tcp://HOST:PORT, or name a scheduler's file"
    )


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


_TLS = "DASK_DISTRIBUTED__COMM__TLS__"
"""What Dask's environment variables for certificates begin with."""

_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
"""Schemes that Dask knows; it would try any other for ever."""

_LOGS = ("client", "core", "batched", "comm", "comm.tcp", "utils", "worker", "utils_comm")
