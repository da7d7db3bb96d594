"""What can go wrong with kernels."""

from __future__ import annotations

from rexmit.errors import RexmitError


class KernelError(RexmitError):
    """A kernel cannot be built, found or started. The message is one line that says what to change."""
