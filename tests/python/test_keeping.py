"""What a run on a real kernel leaves behind: only one with an answer has written its files whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from rexmit import Study
from rexmit.run.capture import HOSTS, HostNames, capture_path
from rexmit.run.judged import JudgedCaptures
from rexmit.run.keeping import Keep

SCENARIO = {
    "hosts": {name: {"stack": "linux-6.1"} for name in HOSTS},
    "path": {"rate": "1 Mbit/s", "delay": "10 ms"},
    "retransmissions": True,
    "transfers": [{"from": "server", "to": "client", "writes": "1 x 100 bytes"}],
}


@pytest.mark.parametrize("capture", ["all", "failed"])
def test_captures_of_a_run_without_an_answer_are_not_kept(tmp_path: Path, capture: str) -> None:
    hosts = HostNames(Study.from_dict({"scenario": SCENARIO, "design": {"replications": 3}}).spec)
    with Keep(tmp_path, hosts, capture) as keep:
        for run in (1, 2):
            for file in keep.options(run)["captures"]:
                Path(file).write_bytes(b"packets")
        keep.settle(1, True, None)
        keep.settle(2, True, {})
    found = sorted(path.name for path in (tmp_path / "captures").iterdir())
    assert found == sorted(capture_path(tmp_path, 2, host).name for host in HOSTS)


def test_captures_of_a_run_without_an_answer_are_not_judged() -> None:
    judged = JudgedCaptures()
    with judged:
        files = [file for file in judged.options(3, SCENARIO, {})["captures"] if file]
        assert len(files) == 1
        Path(files[0]).write_bytes(b"cut short")
        assert judged.take(3, answered=False) == []
        assert not Path(files[0]).exists()
