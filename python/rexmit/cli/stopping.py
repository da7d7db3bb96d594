"""Signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP. Each gives one line and exit code 128 + n.

SIGINT is heeded even if it was ignored when the command started, as a shell does for background jobs. SIGHUP
stays ignored if it was: that is what `nohup` is for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from rexmit.errors import Interrupted

_HANGUP = getattr(signal, "SIGHUP", None)
"""Windows has none."""

_ENDING = (signal.SIGINT, signal.SIGTERM, *([] if _HANGUP is None else [_HANGUP]))
_KICKS = (0.05, 0.2, 0.5)
"""Seconds from a signal to each reminder of it."""


class Ended(KeyboardInterrupt):
    """A signal asks the command to end. Whatever heeds Ctrl-C heeds it as well."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def ended(error: BaseException, told: str = "") -> Interrupted:
    """An interrupt as an error that is `told` in one line."""
    number = error.number if isinstance(error, Ended) else signal.SIGINT
    return Interrupted(told or ("terminated" if number == signal.SIGTERM else "interrupted"), number)


@contextmanager
def heeding_signals() -> Iterator[None]:
    """Within the block these signals raise Ended in the main thread; then the former handlers are back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in former.items():
        if number != _HANGUP or handler is not signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def remind() -> None:
    """Makes sure, for the rest of the process, that a signal interrupts a blocking call of the main thread.

    A signal that arrives just before the system call does not interrupt it, and Python runs the handler only
    when the call returns, perhaps a minute later. So a second signal follows, which does nothing else.
    """
    if sys.platform == "win32":
        return  # Nothing interrupts a call there, and no signal can be sent to a thread.
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGURG, lambda *_: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    main = threading.get_ident()

    def follow() -> None:
        while number := os.read(heard, 1):
            if number[0] in _ENDING:
                began = time.monotonic()
                for moment in _KICKS:
                    time.sleep(max(0.0, began + moment - time.monotonic()))
                    signal.pthread_kill(main, signal.SIGURG)

    threading.Thread(target=follow, name="reminder of signals", daemon=True).start()


def leave(code: int) -> NoReturn:
    """Ends the process at once: nothing is freed, and threads that still work are not waited for."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(code)


def _end(number: int, _: FrameType | None) -> None:
    raise Ended(number)
