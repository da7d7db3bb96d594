"""Record what `tc` tells the kernel of a discipline, for crates/path/src/spec/qdisc/tests/tc.txt.

It reads disciplines from standard input, one a line, and prints each after the hexadecimal bytes that
follow the discipline's name in the request (TCA_OPTIONS, without its header; `-` for none). It needs `tc`,
`strace` and `unshare`, and a little-endian machine, whose byte order the file then has. What the kernel of
this machine makes of a request does not matter: it is recorded as it is sent.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

NEW_QDISC = 36
KIND, OPTIONS = 1, 2
HEADERS = 16 + 20
"""Bytes of netlink's header and of `struct tcmsg`."""


def main() -> int:
    """Records every line."""
    for line in filter(None, map(str.strip, sys.stdin)):
        options = record(line.split())
        print(options.hex() or "-", line)
    return 0


def record(words: list[str]) -> bytes:
    """The options that `tc` sends for a discipline."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = ["tc", "qdisc", "add", "dev", "lo", "root", *words]
        traced = ["strace", "-o", str(log), "-e", "trace=sendmsg,sendto", "-e", "write=all", *command]
        said = subprocess.run(["unshare", "-rn", *traced], capture_output=True, text=True)
        for request in requests(log.read_text()):
            if struct.unpack_from("=H", request, 4)[0] == NEW_QDISC:
                return attributes(request[HEADERS:]).get(OPTIONS, b"")
    raise SystemExit(f"{' '.join(words)}: {said.stderr}")


def requests(log: str) -> Iterator[bytes]:
    """What was sent, from the dumps of a trace."""
    sent = b""
    for line in log.splitlines():
        if re.match(r" \| [0-9a-f]{5} ", line):
            sent += bytes.fromhex(line[9:58].strip())
            continue
        if sent:
            yield sent
        sent = b""
    if sent:
        yield sent


def attributes(left: bytes) -> dict[int, bytes]:
    """The attributes of a message by their numbers."""
    found = {}
    while len(left) >= 4:
        length, number = struct.unpack_from("=HH", left)
        found[number & 0x3FFF] = left[4:length]
        left = left[(length + 3) & ~3 :]
    return found


if __name__ == "__main__":
    sys.exit(main())
