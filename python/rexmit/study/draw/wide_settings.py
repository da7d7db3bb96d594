"""Settings of a kernel that the model of Linux 6.1 has a key for, both sides of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rexmit.study.draw.numbers import Numbers
from rexmit.study.settings import with_setting

Stack = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """A setting of `hosts.X.linux`: how likely it is set, which values it has, the model's keys for each."""

    chance: float
    values: tuple[Any, ...]
    keys: Callable[[Any], Mapping[str, Any]]


def _same(key: str) -> Callable[[Any], Mapping[str, Any]]:
    return lambda value: {key: value}


SETTINGS: Mapping[str, Setting] = {
    "sack": Setting(0.2, (False,), _same("options.sack")),
    "dsack": Setting(0.2, (False,), _same("options.dsack")),
    "timestamps": Setting(0.2, (False,), _same("options.timestamps")),
    "window_scaling": Setting(0.15, (False,), _same("options.window_scaling")),
    "early_retrans": Setting(0.25, (0,), lambda _: {"recovery.tail_probe": False}),
    "recovery": Setting(0.25, (0,), lambda _: {"recovery.rack": False}),
    "frto": Setting(0.2, (0,), lambda _: {"recovery.frto": False}),
    "reordering": Setting(0.2, (1, 2, 5, 10), _same("recovery.dupack_threshold")),
    "thin_linear_timeouts": Setting(0.15, (True,), _same("thin.linear_timeouts")),
    "initial_window": Setting(0.2, (1, 2, 4, 20, 40), _same("initial_window")),
    "rto_min": Setting(0.2, ("20 ms", "50 ms", "500 ms", "1 s"), _same("rtt.variance_floor")),
    "syn_retries": Setting(0.05, (2, 4), _same("handshake.syn_retries")),
    "synack_retries": Setting(0.05, (2, 3), _same("handshake.syn_ack_retries")),
}
"""Keys of `hosts.X.linux`."""

SYSCTLS: Mapping[str, Setting] = {
    "net.ipv4.tcp_max_reordering": Setting(0.05, (20, 50), _same("recovery.max_reordering")),
    "net.ipv4.tcp_comp_sack_nr": Setting(0.1, (10, 20), _same("delayed_ack.compression.most")),
    "net.ipv4.tcp_rmem": Setting(
        0.1,
        ("4096 65536 2097152", "4096 131072 1048576"),
        lambda value: {
            "window.tuning.first": f"{value.split()[1]} bytes",
            "window.tuning.most": f"{value.split()[2]} bytes",
            "buffers.max": f"{value.split()[2]} bytes",
        },
    ),
}
"""Sysctls that no key stands for."""

WITHOUT_KEY = (
    *("ecn", "initial_receive_window", "no_metrics_save", "offloads", "quick_ack", "receive_buffer"),
    *("send_buffer", "slow_start_after_idle"),
    *(f"net.ipv4.tcp_{name}" for name in ("adv_win_scale", "autocorking", "limit_output_bytes")),
    *(
        f"net.ipv4.tcp_{name}"
        for name in ("min_tso_segs", "moderate_rcvbuf", "notsent_lowat", "pacing_ss_ratio")
    ),
    *(f"net.ipv4.tcp_{name}" for name in ("retries2", "wmem", "workaround_signed_windows")),
)
"""Settings that change what a kernel sends and that the model has nothing for; they are not drawn."""


def draw_settings(numbers: Numbers, host: str, stack: Stack) -> tuple[dict[str, Any], Stack]:
    """What a host's `linux` says, and its stack with the keys that mean the same.

    In half of the scenarios both hosts are set alike.
    """
    of = "both" if numbers.chance("settings.alike", 0.5) else host
    linux: dict[str, Any] = {}
    sysctl: dict[str, Any] = {}
    for known, into in ((SETTINGS, linux), (SYSCTLS, sysctl)):
        for name, setting in known.items():
            if numbers.chance(f"settings.{of}.{name}", setting.chance):
                value = numbers.one_of(f"settings.{of}.{name}.value", setting.values)
                into[name] = value
                for key, said in setting.keys(value).items():
                    stack = with_setting(stack, key, said)
    if sysctl:
        linux["sysctl"] = sysctl
    return linux, stack
