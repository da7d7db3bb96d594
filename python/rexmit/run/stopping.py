"""Ending early: what a signal asks for, and how it reaches work in other threads.

Python handles signals in its main thread only. Work in a pool's threads looks at :func:`asked`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType


def asked() -> bool:
    """Whether this thread's work is to end now, as whoever waits for it has been interrupted."""
    return _asked.get()()


@contextmanager
def stop_flag() -> Iterator[list[int]]:
    """A list that gets the number of the first SIGINT or SIGTERM; the second one acts at once.

    In a thread other than the main one no signal comes, and the list stays empty.
    """
    stop: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        stop.append(number)
        for one, handler in before.items():
            signal.signal(one, handler)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def workers(jobs: int, stopped: Callable[[], bool] = lambda: False) -> Iterator[Executor]:
    """A pool of `jobs` threads. Where the block is left by an error, their work ends early.

    So it does once `stopped()`: the work then raises KeyboardInterrupt wherever it looks at :func:`asked`.
    """
    left = threading.Event()
    outside = _asked.get()

    def told() -> bool:
        return left.is_set() or stopped() or outside()

    with ThreadPoolExecutor(jobs, initializer=_asked.set, initargs=(told,)) as pool:
        try:
            yield pool
        except BaseException:
            left.set()
            # Otherwise leaving the pool would first do all remaining work.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_asked: ContextVar[Callable[[], bool]] = ContextVar("asked", default=lambda: False)
"""Per thread: in a pool's, whether its work is to end."""
