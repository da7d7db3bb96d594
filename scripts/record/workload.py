"""One side of a workload: `workload.py server|client JSON`. Standard library only.

The JSON names the other side's address, the port, options of the socket and a list of steps:
["send", bytes], ["recv", bytes] (0: until the other side closes), ["sleep", seconds], ["shutdown"],
["abort"].
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from typing import Any

OPTIONS = {
    "congestion": (socket.IPPROTO_TCP, socket.TCP_CONGESTION),
    "nodelay": (socket.IPPROTO_TCP, socket.TCP_NODELAY),
    "maxseg": (socket.IPPROTO_TCP, socket.TCP_MAXSEG),
    "keepalive": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    "keepidle": (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
    "keepintvl": (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
    "rcvbuf": (socket.SOL_SOCKET, socket.SO_RCVBUF),
    "sndbuf": (socket.SOL_SOCKET, socket.SO_SNDBUF),
    "thin_linear": (socket.IPPROTO_TCP, 16),
}


def main() -> int:
    """Play one side."""
    role, spec = sys.argv[1], json.loads(sys.argv[2])
    family = socket.AF_INET6 if ":" in spec["address"] else socket.AF_INET
    whole = socket.socket(family, socket.SOCK_STREAM)
    whole.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for option, value in spec["options"].items():
        whole.setsockopt(*OPTIONS[option], value.encode() if isinstance(value, str) else value)
    if role == "server":
        whole.bind((spec["address"], spec["port"]))
        whole.listen()
        print("listening", flush=True)
        connection, _ = whole.accept()
    else:
        whole.bind((spec["own"], spec["port"] + 30_000))
        whole.connect((spec["address"], spec["port"]))
        connection = whole
    try:
        for step in spec["steps"]:
            play(connection, step)
    except (ConnectionError, TimeoutError) as error:
        print(f"{role}: {error}", file=sys.stderr)
    connection.close()
    return 0


def play(connection: socket.socket, step: list[Any]) -> None:
    """Do one step."""
    match step:
        case ["send", count]:
            connection.sendall(bytes(range(256)) * (count // 256) + bytes(count % 256))
        case ["recv", 0]:
            while connection.recv(1 << 16):
                pass
        case ["recv", count]:
            while count > 0:
                got = len(connection.recv(count))
                if got == 0:
                    return
                count -= got
        case ["sleep", seconds]:
            time.sleep(seconds)
        case ["shutdown"]:
            connection.shutdown(socket.SHUT_WR)
        case ["abort"]:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


if __name__ == "__main__":
    sys.exit(main())
