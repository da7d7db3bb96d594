"""Processes that the package starts: whoever ends one leaves nothing of it."""

import subprocess
import sys
from pathlib import Path

import pytest
from rexmit.run.processes import end_group

LARGE = "import time; held = bytearray(b'x') * 400_000_000; print('held', flush=True); time.sleep(600)"
"""Holds so much memory that the system takes long to end it."""


def living(group: int) -> list[str]:
    """The commands of the processes of a group, but of those that have ended and wait to be asked for."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            command, _, rest = entry.read_text().rpartition(") ")
        except OSError:
            continue
        state, _, of = rest.split(" ")[:3]
        if int(of) == group and state != "Z":
            found.append(command)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("leader", ["wait", "exit 0", "kill -STOP $!; wait"])
def test_none_of_a_group_is_left(leader: str) -> None:
    process = subprocess.Popen(
        ["sh", "-c", f'"$0" -c "$1" & read held; {leader}', sys.executable, LARGE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        process.stdin.write(b"\n")
        process.stdin.close()
        assert living(process.pid)
        end_group(process)
        assert not living(process.pid)
