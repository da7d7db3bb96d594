"""What each published row asks of our runs: the function of each tag."""

from __future__ import annotations

from collections.abc import Callable

from rexmit.analyse import Check, Published

from . import checks_buffers, checks_loss, checks_testbed
from .throughput import Evidence

Function = Callable[[Published, Evidence], Check]

CHECKS: dict[str, Function] = {**checks_buffers.CHECKS, **checks_loss.CHECKS, **checks_testbed.CHECKS}
