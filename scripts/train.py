"""Run what wheels are optimised for: `maturin build --pgo` calls this with an instrumented rexmit.

Studies of short and long flows on old and current models, scenarios drawn at random, bulk transfers
of one and of many connections, SCTP, and a capture that is analysed. What runs here decides how code is laid
out, and nothing else: results are the same bytes. No seed is that of a benchmark or a page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rexmit

STUDIES = ("hurtig-2006/short", "hurtig-2006/long", "hurtig-2006/model-short", "pedersen-2006/thin")
SEED = 61_987


def main() -> int:
    """Run all of it; half a minute, and some minutes where each branch is counted."""
    for study in STUDIES:
        print(f"train: {study}", flush=True)
        rexmit.Study.load(study).run()
    print("train: scenarios", flush=True)
    for scenario in (*drawn(), *bulk()):
        rexmit.run_one(scenario, seed=SEED)
    print("train: analysis", flush=True)
    with tempfile.TemporaryDirectory(prefix="rexmit-train-") as folder:
        capture = Path(folder) / "server.pcapng"
        rexmit.run_one(next(bulk()), options={"capture_server": str(capture), "state": True})
        rexmit.analyze(capture)
    return 0


def drawn() -> Iterator[dict[str, Any]]:
    """Scenarios of every family, most of them with one or two losses."""
    families = ["losses"] * 300 + [f"wide/{group}" for group in rexmit.WIDE_GROUPS for _ in range(12)]
    for number, family in enumerate(families):
        yield rexmit.draw_scenario(number, seed=SEED, family=family)


def bulk() -> Iterator[dict[str, Any]]:
    """Senders with no end of data on a long fat path."""
    for stack in ("rfc-2014", "linux-6.1"):
        for connections, queue in ((1, 3000), (300, 2000)):
            host = {"stack": {"inherits": stack}}
            ends = {"from": "server", "to": "client", "opened_by": "server"}
            yield {
                "hosts": {"server": host, "client": host},
                "path": {"rate": "900 Mbit/s", "delay": "22 ms", "queue": f"{queue} packets"},
                "transfers": [{**ends, "bulk": "3 s", "connections": connections, "stagger": "90 us"}],
                "limit": "2 s",
            }


if __name__ == "__main__":
    sys.exit(main())
