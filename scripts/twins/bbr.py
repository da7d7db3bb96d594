"""BBR on the model beside BBR on Linux, whose cycles of gains begin with a phase that the kernel draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from twins import runs
from twins.compare import row_of
from twins.runs import Ran, Told
from twins.scenarios import FIRST_PHASES, NAMES, WHOLE, Drawn, bbr_table, system_of


def nearest(drawn: Sequence[Drawn], real: Sequence[Ran], folder: Path, told: Told) -> list[Ran]:
    """Runs of the model, each with the first phase of a cycle that gives the kernel's packets.

    Where none does, that of phase 0. `told` hears of each run.
    """
    found: list[Ran | None] = [None] * len(drawn)
    first: list[Ran] = []
    for phase in FIRST_PHASES:
        left = [n for n, ran in enumerate(found) if ran is None]
        tables = [bbr_table(drawn[n], phase) for n in left]
        ran = runs.on(system_of(WHOLE), tables, folder, told) if left else []
        first = first or list(ran)
        for n, one in zip(left, ran, strict=True):
            if row_of(real[n], one, NAMES)["identical"]:
                found[n] = one
    return [ran or other for ran, other in zip(found, first, strict=True)]
