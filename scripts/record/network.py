"""Two network namespaces, each with a TUN or TAP device whose other end this process holds."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import subprocess
from types import TracebackType

CLONE_NEWNET = 0x40000000
TUNSETIFF, TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
IFF_TUN, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x0002, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4 = 0x01, 0x02
SIDES = ("client", "server")
IPV4 = {"client": "10.9.0.1", "server": "10.9.0.2"}
IPV6 = {"client": "2001:db8:9::1", "server": "2001:db8:9::2"}
MAC = {"client": "02:00:00:00:00:01", "server": "02:00:00:00:00:02"}
DEVICE = "rex0"
# The kernel's defaults, stated because a machine may have others.
USUAL = {"sack": 1, "dsack": 1, "timestamps": 1, "early_retrans": 3, "recovery": 1, "frto": 2, "ecn": 2}


class Network:
    """The namespaces, while the context lasts. `offload` lets the kernel hand over super-packets."""

    def __init__(self, link: str, offload: bool, settings: dict[str, str]) -> None:
        self.link = link
        self.offload = offload
        self.settings = settings
        self.descriptors: dict[str, int] = {}

    def __enter__(self) -> Network:
        """Make both sides."""
        try:
            for side in SIDES:
                run("ip", "netns", "add", name(side))
                self.descriptors[side] = self._device(side)
                self._configure(side)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take both away again, whatever happened."""
        self._remove()

    def _remove(self) -> None:
        for descriptor in self.descriptors.values():
            os.close(descriptor)
        for side in SIDES:
            subprocess.run(["ip", "netns", "del", name(side)], check=False, stderr=subprocess.DEVNULL)

    def _device(self, side: str) -> int:
        """Open the device inside the namespace; the descriptor stays usable outside."""
        flags = (IFF_TAP if self.link == "tap" else IFF_TUN) | IFF_NO_PI
        flags |= IFF_VNET_HDR if self.offload else 0
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/var/run/netns/{name(side)}", os.O_RDONLY)
        try:
            _enter(there)
            descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), flags))
            if self.offload:
                fcntl.ioctl(descriptor, TUNSETVNETHDRSZ, struct.pack("i", 10))
                fcntl.ioctl(descriptor, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)
        finally:
            _enter(home)
            os.close(home)
            os.close(there)
        return descriptor

    def _configure(self, side: str) -> None:
        other = SIDES[1 - SIDES.index(side)]
        inside(
            side, "sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0", f"net.ipv6.conf.{DEVICE}.accept_dad=0"
        )
        if self.link == "tap":
            inside(side, "ip", "link", "set", DEVICE, "address", MAC[side])
        inside(side, "ip", "link", "set", "lo", "up")
        inside(side, "ip", "link", "set", DEVICE, "up", "txqueuelen", "5000")
        inside(side, "ip", "addr", "add", f"{IPV4[side]}/24", "dev", DEVICE)
        inside(side, "ip", "-6", "addr", "add", f"{IPV6[side]}/64", "dev", DEVICE, "nodad")
        if self.link == "tap":
            for address in (IPV4[other], IPV6[other]):
                entry = [address, "lladdr", MAC[other], "dev", DEVICE, "nud", "permanent"]
                inside(side, "ip", "neigh", "add", *entry)
        settings = {f"net.ipv4.tcp_{key}": str(value) for key, value in USUAL.items()} | self.settings
        inside(side, "sysctl", "-qw", *(f"{key}={value}" for key, value in settings.items()))


def name(side: str) -> str:
    """The namespace of a side."""
    return f"rexmit-{side}-{os.getpid()}"


def prefix(side: str) -> list[str]:
    """What a command begins with to run in a side's namespace."""
    return ["ip", "netns", "exec", name(side)]


def inside(side: str, *command: str) -> str:
    """Run a command in a side's namespace; what it printed."""
    return run(*prefix(side), *command)


def run(*command: str) -> str:
    """Run a command that must succeed; what it printed."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns failed: recording needs root")
