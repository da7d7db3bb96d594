"""Two hosts: what their kernels are set to, their addresses, their packets' size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rexmit.study.draw.numbers import Numbers, bytes_of, ms

CONTROLS = {
    "cubic": 4.0,
    "reno": 4.0,
    "bbr": 3.0,
    **dict.fromkeys(("bic", "westwood", "htcp", "highspeed", "hybla", "vegas", "nv", "scalable"), 0.5),
    **dict.fromkeys(("lp", "veno", "yeah", "illinois", "dctcp", "cdg"), 0.5),
}
"""Congestion controls of Linux and how likely each is."""

SIXTH = ("fd00:2::1", "fd00:1::1")
OTHERS = ("192.168.7.2", "172.16.0.9")
"""Addresses of the server and the client, where they are not those that a host has by itself."""

PHASES_US = 512_000
"""The part of the timer wheel's round in which a run may start."""


def draw_hosts(numbers: Numbers, sctp: bool) -> dict[str, Any]:
    """The hosts `server` and `client`. In half of the scenarios both kernels are set alike."""
    sixth = numbers.chance("hosts.sixth", 0.25)
    addresses = SIXTH if sixth else OTHERS if numbers.chance("hosts.others", 0.1) else (None, None)
    alike = numbers.chance("hosts.alike", 0.5)
    mtu = _mtu(numbers, sixth)
    hosts: dict[str, Any] = {}
    for name, address in zip(("server", "client"), addresses, strict=True):
        host: dict[str, Any] = {"stack": "rfc9260" if sctp else "linux-6.1", **mtu}
        if address:
            host["address"] = address
        of = "hosts.server" if alike else f"hosts.{name}"
        if linux := _linux(numbers, of, sctp):
            host["linux"] = linux
        hosts[name] = host
    if numbers.chance("hosts.phase", 0.5):
        for host in hosts.values():
            host["tick_phase"] = f"{numbers.whole('hosts.phase.us', 0, PHASES_US - 1)} us"
    return hosts


def _mtu(numbers: Numbers, sixth: bool) -> dict[str, int]:
    if not numbers.chance("hosts.mtu", 0.15):
        return {}
    return {
        "mtu": numbers.one_of(
            "hosts.mtu.bytes", (1280, 1400, 4000, 9000) if sixth else (576, 1280, 1492, 9000)
        )
    }


def _linux(numbers: Numbers, of: str, sctp: bool) -> dict[str, Any]:
    """What `hosts.X.linux` says. Each key is absent where nothing is drawn for it."""
    linux: dict[str, Any] = {}
    for key, (chance, value) in {**BOTH, **(SCTP if sctp else TCP)}.items():
        if numbers.chance(f"{of}.{key}", chance):
            linux[key] = value(numbers, f"{of}.{key}.value")
    sysctl = {
        key: value(numbers, f"{of}.{key}.value")
        for key, (chance, value) in (SCTP_SYSCTLS if sctp else TCP_SYSCTLS).items()
        if numbers.chance(f"{of}.{key}", chance)
    }
    if sctp and {"net.sctp.rto_min", "net.sctp.rto_max"} & sysctl.keys():
        # The kernel refuses limits that cross.
        sysctl["net.sctp.rto_min"] = min(int(sysctl.get("net.sctp.rto_min", 1000)), 1000)
    if sysctl:
        linux["sysctl"] = sysctl
    return linux


Value = Callable[[Numbers, str], Any]


def _of(*those: Any) -> Value:
    return lambda numbers, name: numbers.one_of(name, those)


def _whole(least: int, most: int) -> Value:
    return lambda numbers, name: numbers.whole(name, least, most)


def _buffer(least: int, most: int) -> Value:
    return lambda numbers, name: bytes_of(numbers.spread(name, least, most))


def _ms(least: int, most: int) -> Value:
    return lambda numbers, name: ms(numbers.spread(name, least, most))


def _control(numbers: Numbers, name: str) -> str:
    return numbers.weighed(name, CONTROLS)


BOTH: dict[str, tuple[float, Value]] = {
    "send_buffer": (0.12, _buffer(20_000, 2_000_000)),
    "receive_buffer": (0.12, _buffer(8_000, 2_000_000)),
    "nagle": (0.15, _of(True, False)),
    "offloads": (0.05, _of(True)),
}
"""Keys of TCP and SCTP, how likely each is set, and its value then."""

TCP: dict[str, tuple[float, Value]] = {
    "congestion": (0.75, _control),
    "sack": (0.25, _of(True, False)),
    "dsack": (0.15, _of(True, False)),
    "timestamps": (0.2, _of(True, False)),
    "window_scaling": (0.15, _of(True, False)),
    "ecn": (0.25, _of(0, 1, 1, 2)),
    "early_retrans": (0.3, _of(0, 3)),
    "recovery": (0.35, _of(0, 0, 1, 2, 3, 4, 5)),
    "frto": (0.15, _of(0, 2)),
    "reordering": (0.12, _of(1, 2, 3, 5, 10)),
    "slow_start_after_idle": (0.2, _of(True, False)),
    "thin_linear_timeouts": (0.12, _of(True, False)),
    "no_metrics_save": (0.06, _of(True, False)),
    "initial_window": (0.2, _whole(1, 30)),
    "initial_receive_window": (0.12, _whole(2, 40)),
    "rto_min": (0.15, _ms(5, 2000)),
    "quick_ack": (0.1, _of(True, False)),
    "syn_retries": (0.1, _whole(1, 6)),
    "synack_retries": (0.1, _whole(1, 5)),
}
"""Keys of TCP alone."""

SCTP: dict[str, tuple[float, Value]] = {
    "sctp_sack_delay": (0.25, _of("0 ns", "1 ms", "40 ms", "200 ms", "500 ms")),
    "sctp_sack_packets": (0.2, _of(1, 2, 3, 4)),
    "sctp_streams": (0.2, _of(4, 10, 64)),
    "sctp_heartbeat": (0.25, _of(True, False)),
}
"""Keys of SCTP alone."""

TCP_SYSCTLS: dict[str, tuple[float, Value]] = {
    "net.ipv4.tcp_rmem": (0.08, _of("4096 16384 60000", "4096 131072 400000", "4096 87380 33554432")),
    "net.ipv4.tcp_wmem": (0.08, _of("4096 8192 40000", "4096 16384 300000", "4096 65536 33554432")),
    "net.ipv4.tcp_retries2": (0.1, _of(2, 3, 5, 8)),
    "net.ipv4.tcp_orphan_retries": (0.05, _of(1, 3)),
    "net.ipv4.tcp_fin_timeout": (0.05, _of(2, 10, 60)),
    "net.ipv4.tcp_moderate_rcvbuf": (0.05, _of(0, 1)),
    "net.ipv4.tcp_adv_win_scale": (0.05, _of(1, 2, -2)),
    "net.ipv4.tcp_limit_output_bytes": (0.04, _of(4000, 20_000, 262_144)),
    "net.ipv4.tcp_min_tso_segs": (0.03, _of(1, 4)),
    "net.ipv4.tcp_notsent_lowat": (0.04, _of(4000, 50_000)),
    "net.ipv4.tcp_autocorking": (0.04, _of(0, 1)),
    "net.ipv4.tcp_workaround_signed_windows": (0.02, _of(1)),
    "net.ipv4.tcp_max_reordering": (0.03, _of(20, 50)),
    "net.ipv4.tcp_comp_sack_nr": (0.04, _of(0, 10)),
    "net.ipv4.tcp_ecn_fallback": (0.03, _of(0, 1)),
    "net.ipv4.tcp_pacing_ss_ratio": (0.03, _of(100, 300)),
    "net.ipv4.tcp_abort_on_overflow": (0.02, _of(1)),
    "net.ipv4.tcp_fastopen": (0.02, _of(0, 3)),
    "net.ipv4.ip_no_pmtu_disc": (0.03, _of(1)),
    "net.ipv4.ip_default_ttl": (0.02, _of(32, 255)),
    "net.core.txrehash": (0.03, _of(0, 1)),
}
"""Sysctls of TCP's hosts that no key stands for."""

SCTP_SYSCTLS: dict[str, tuple[float, Value]] = {
    "net.sctp.rto_initial": (0.15, _of(300, 1000, 3000)),
    "net.sctp.rto_min": (0.15, _of(50, 200, 1000)),
    "net.sctp.rto_max": (0.1, _of(2000, 10_000, 60_000)),
    "net.sctp.max_burst": (0.1, _of(2, 4, 12)),
    "net.sctp.hb_interval": (0.1, _of(500, 5000, 30_000)),
    "net.sctp.path_max_retrans": (0.1, _of(1, 2, 5)),
    "net.sctp.association_max_retrans": (0.1, _of(2, 4, 10)),
    "net.sctp.max_init_retransmits": (0.05, _of(1, 3, 8)),
    "net.sctp.rto_alpha_exp_divisor": (0.03, _of(2, 4)),
    "net.sctp.valid_cookie_life": (0.05, _of(500, 60_000)),
    "net.sctp.cookie_preserve_enable": (0.03, _of(0, 1)),
    "net.sctp.prsctp_enable": (0.1, _of(0, 1)),
    "net.sctp.reconf_enable": (0.03, _of(0, 1)),
    "net.sctp.intl_enable": (0.04, _of(1)),
    "net.sctp.ecn_enable": (0.05, _of(0, 1)),
    "net.sctp.pf_enable": (0.03, _of(0, 1)),
    "net.ipv4.ip_default_ttl": (0.02, _of(32, 255)),
}
"""Sysctls of SCTP's hosts."""
