"""The management console of a guest's kernel, which tells what runs while the guest's clock stands still."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from pathlib import Path

_OWN = ("", "swapper", "rexmit-guest", "_guest")
"""Names that tell nothing: of the kernel, and of the agent."""


def spinning(console: Path) -> str:
    """Words to append that say that a program runs and does not sleep; nothing where that is not so."""
    program = running(console)
    return "" if program in _OWN else f": {program} runs and does not sleep, so the clock stands still"


def running(console: Path) -> str:
    """The name of the program that runs in a guest, as its kernel's management console says; or nothing."""
    # The first lets the kernel say all of the second.
    for line in _ask(console, "sysrq 9", "sysrq p").splitlines():
        # As show_regs prints it: "Pid: 41, comm: python3 Not tainted 6.1.192".
        _, found, rest = line.partition("comm: ")
        if found:
            return rest.split(" ")[0]
    return ""


def _ask(console: Path, *commands: str) -> str:
    """What a guest's kernel answers to commands, if it does [Linux arch/um/drivers/mconsole.h]."""
    answer = b""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(console) + ".answer")
        channel.settimeout(2)
        for words in (command.encode() for command in commands):
            channel.sendto(struct.pack("=Iii512s", 0xCAFEBABE, 2, len(words), words), str(console))
            more = True
            while more:
                data = channel.recv(4096)
                _, more, size = struct.unpack_from("=iii", data)
                answer += data[12 : 12 + size].rstrip(b"\0")
    return answer.decode(errors="replace")
