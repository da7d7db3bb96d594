"""One TCP transfer with ECN over a bottleneck that marks: the scenarios of `make fidelity-ecn`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rexmit.study.draw.losses import Losses, draw_losses

DISCIPLINES = ("codel", "fq_codel", "pie", "red")


@dataclass(frozen=True)
class Marks(Losses):
    """One scenario. Positions count the packets of a direction from 1.

    `queue_target_us` is the delay that CoDel and PIE aim at, microseconds. `red_min` and `red_permille` are
    RED's lower threshold, packets, and its probability in thousandths. `discipline` is None where positions
    alone are marked.
    """

    discipline: str | None
    queue_target_us: int
    red_min: int
    red_permille: int
    marked_down: tuple[int, ...]
    server_ecn: str
    client_ecn: str

    def table(self, profile: str, linux: Mapping[str, int] | None = None) -> dict[str, Any]:
        """The scenario as its file would hold it: a profile for the model, settings for a kernel."""
        table = super().table(profile, linux)
        hosts = table["hosts"]
        for name, mode in (("server", self.server_ecn), ("client", self.client_ecn)):
            stack = {**hosts[name]["stack"], "ecn": {"mode": mode}}
            hosts[name] = {**hosts[name], "stack": stack}
        path = table["path"]
        if self.discipline:
            path["aqm"] = {self.discipline: self._aqm()}
        if self.marked_down:
            marks = {"mark": ",".join(map(str, self.marked_down))}
            path["down"] = {**path.get("down", {}), **marks}
        return table

    def row(self) -> dict[str, Any]:
        """Its columns in a table."""
        mine = asdict(self)
        named = ("discipline", "queue_target_us", "red_min", "red_permille", "server_ecn", "client_ecn")
        return {
            **super().row(),
            **{name: mine[name] for name in named},
            "marked_down": ",".join(map(str, self.marked_down)),
        }

    def _aqm(self) -> dict[str, Any]:
        if self.discipline == "red":
            limits = {"min": f"{self.red_min} packets", "max": f"{3 * self.red_min} packets"}
            return {**limits, "probability": self.red_permille / 1000, "weight": 0.05}
        return {"target": f"{self.queue_target_us} us"}


def draw_marks(number: int, seed: int) -> Marks:
    """The scenario of this number, from 0: that of `draw_losses` with ECN and marks."""
    base = draw_losses(number, seed)
    stream = random.Random(f"{seed}/marks/{number}")
    algorithm = stream.choice(("reno", "cubic", "dctcp"))
    discipline = stream.choice((*DISCIPLINES, None))
    target = round(1000 * 2 ** stream.uniform(0, 5))
    red_min, permille = stream.randint(2, 8), stream.choice((20, 100, 300))
    packets = 2 + base.size // 1448
    count = stream.randint(1, 4) if discipline is None or stream.random() < 0.2 else 0
    marked = tuple(sorted({stream.randint(1, packets) for _ in range(count)}))
    lossy = stream.random() < 0.5
    both = stream.random() < 0.85
    server, client = (
        ("on", "on") if both else (stream.choice(("off", "grant", "on")), stream.choice(("grant", "on")))
    )
    of = asdict(base)
    of.update(algorithm=algorithm, queue=max(base.queue, 20))
    if not lossy:
        of.update(lost_down=(), lost_up=())
    return Marks(
        **of,
        discipline=discipline,
        queue_target_us=target,
        red_min=red_min,
        red_permille=permille,
        marked_down=marked,
        server_ecn=server,
        client_ecn=client,
    )
