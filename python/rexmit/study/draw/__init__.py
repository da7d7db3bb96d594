"""Scenarios drawn at random from a seed: the same number and seed give the same scenario, on every machine.

```python
import rexmit

scenario = rexmit.draw_scenario(17, seed=3)  # as its file would hold it
rexmit.run_one(rexmit.draw_scenario(17, seed=3, family="losses"))
```

A family says what is drawn: one transfer with single losses or with marks of ECN, TCP in groups of paths and
work, TCP with every setting of a kernel, SCTP, or the last two. Each scenario is drawn by itself, so that the
first thousand of ten thousand are those of a thousand; and within it each number has a stream of its own, so
that a key added later changes no other.

What is drawn is what a host, a path and an application can be told; whether a backend heeds a setting is its
own affair. Left out are `netem` and its disciplines, which need programs besides the kernel, a second path,
and code of third parties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rexmit.errors import UsageError
from rexmit.study.draw.hosts import draw_hosts
from rexmit.study.draw.losses import draw_losses
from rexmit.study.draw.marks import draw_marks
from rexmit.study.draw.numbers import Numbers
from rexmit.study.draw.paths import draw_limit, draw_path
from rexmit.study.draw.transfers import draw_transfers
from rexmit.study.draw.wide import WIDE_GROUPS, draw_wide

Scenario = dict[str, Any]

SCENARIO_FAMILIES: Mapping[str, str] = {
    "all": "TCP in three of four scenarios, SCTP in the others",
    "tcp": "TCP: settings of the kernel, every workload, every impairment",
    "sctp": "SCTP, likewise",
    "losses": "one TCP transfer over a bottleneck, one or two packets lost: the basic set of `make fidelity`",
    "marks": "one TCP transfer with ECN over a bottleneck that marks: those of `make fidelity-ecn`",
    "paced": "those of `losses` with a pacing rate of a tenth to ten times the bottleneck's",
    "wide": "the wide set of `make fidelity`: the groups of `wide/...` in turn",
    **{f"wide/{group}": words for group, words in WIDE_GROUPS.items()},
}
"""What can be drawn, by its name."""


def draw_scenario(number: int, *, seed: int = 0, family: str = "all") -> Scenario:
    """The scenario of this number, from 0, as the table that its file would hold.

    `family` is one of `rexmit.SCENARIO_FAMILIES`. What runs it has the kernel's own settings beside those of
    the scenario; its random losses and the like come from the seed of the run, not from this one.

    Raises UsageError for a family that does not exist and for a number below 0.
    """
    if family not in _DRAWN:
        raise UsageError(f"no family of scenarios {family!r}; there are {', '.join(SCENARIO_FAMILIES)}")
    if number < 0:
        raise UsageError(f"scenario {number}: they are numbered from 0")
    return _DRAWN[family](number, seed)


def _all(number: int, seed: int) -> Scenario:
    family = "sctp" if Numbers("all", seed, number).chance("sctp", 0.25) else "tcp"
    return _DRAWN[family](number, seed)


def _tcp(number: int, seed: int) -> Scenario:
    return _whole(Numbers("tcp", seed, number), sctp=False)


def _sctp(number: int, seed: int) -> Scenario:
    return _whole(Numbers("sctp", seed, number), sctp=True)


def _losses(number: int, seed: int) -> Scenario:
    return draw_losses(number, seed).table("linux-6.1")


def _marks(number: int, seed: int) -> Scenario:
    return draw_marks(number, seed).table("linux-6.1")


def _paced(number: int, seed: int) -> Scenario:
    drawn = draw_losses(number, seed)
    scenario = drawn.table("linux-6.1")
    tenths = Numbers("paced", seed, number).spread("rate", 1, 100)
    scenario["transfers"][0]["socket"] = {"pacing_rate": f"{drawn.rate_bit_s * tenths // 80 * 8} bit/s"}
    return scenario


def _whole(numbers: Numbers, sctp: bool) -> Scenario:
    path = draw_path(numbers)
    scenario: Scenario = {
        "hosts": draw_hosts(numbers, sctp),
        "path": path,
        "transfers": draw_transfers(numbers, sctp, limited="rate" in path),
        "limit": draw_limit(numbers),
    }
    if numbers.chance("messages", 0.1):
        scenario["messages"] = True
    if numbers.chance("intervals", 0.1):
        scenario["intervals"] = numbers.one_of("intervals.spans", ("500 ms", "0 s-300 ms, 100 ms-2 s"))
    return scenario


_DRAWN: Mapping[str, Callable[[int, int], Scenario]] = {
    "all": _all,
    "tcp": _tcp,
    "sctp": _sctp,
    "losses": _losses,
    "marks": _marks,
    "paced": _paced,
    "wide": draw_wide,
    **{f"wide/{group}": partial(draw_wide, group=group) for group in WIDE_GROUPS},
}
