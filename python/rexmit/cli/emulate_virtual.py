"""The guest of `rexmit emulate --virtual`, as its options describe it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from rexmit import _native
from rexmit.errors import UsageError
from rexmit.run.virtual import Guest

DATE = "2026-01-01"
PATIENCE = "60 s"


def check_virtual(without: dict[str, object]) -> None:
    """Raises UsageError where an option is given that means nothing in a guest."""
    for name, value in without.items():
        if value is not None:
            raise UsageError(
                f"--virtual and {name}: a guest has neither this host's interfaces nor its clock"
            )


def guest_of(date: str | None, patience: str | None, writable: tuple[Path, ...], kernel: str | None) -> Guest:
    """The guest that options describe. Raises UsageError where it cannot be."""
    if date == "now":
        start = datetime.now(UTC)
    else:
        try:
            start = datetime.fromisoformat(date or DATE)
        except ValueError:
            raise UsageError(f"--date {date!r}: write it as 2026-07-01 or 2026-07-01T12:00, or now") from None
        start = start.replace(tzinfo=start.tzinfo or UTC)
    since = start - datetime(1970, 1, 1, tzinfo=UTC)
    if not 0 <= since.days < 365 * 200:
        raise UsageError(f"--date {date!r}: the clock of a guest goes from 1970 to 2169")
    standing = duration_of("--patience", patience or PATIENCE)
    if not standing:
        raise UsageError("--patience 0 s: a virtual clock stops while a program runs; give some seconds")
    start_ns = since // timedelta(microseconds=1) * 1000
    for folder in writable:
        if not folder.is_dir():
            raise UsageError(f"--writable {folder}: there is no such folder; make it first")
    return Guest(start_ns, standing / 1e9, tuple(folder.resolve() for folder in writable), kernel)


def duration_of(option: str, text: str) -> int:
    """The nanoseconds that an option names. Raises UsageError where it names none."""
    try:
        return _native.parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
