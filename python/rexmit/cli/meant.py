"""What people type for a command or an option that is called otherwise here."""

from __future__ import annotations

import click

from rexmit import _native

COMMANDS = {
    **dict.fromkeys(("draw", "graph", "figures", "figure", "chart"), "plot"),
    **dict.fromkeys(("list", "ls", "show", "examples"), "studies"),
    **dict.fromkeys(("simulate", "sim", "start", "exec", "sweep"), "run"),
    **dict.fromkeys(("query", "select"), "sql"),
    **dict.fromkeys(("html", "publish", "page"), "report"),
    **dict.fromkeys(("pcap", "tcptrace", "capture", "why"), "analyze"),
    **dict.fromkeys(("join", "combine"), "merge"),
    **dict.fromkeys(("netem", "shape"), "emulate"),
    **dict.fromkeys(("check-system", "info", "env"), "doctor"),
    **dict.fromkeys(("formula", "formulas"), "model"),
}
"""Words for a command, at the top of the program."""

PATH_KEYS = ["delay", "rate", "queue", "loss", "drop", "jitter", "reorder", "duplicate", "corrupt", "aqm"]
DESIGN_KEYS = ["replications", "seed"]


def option_of(error: click.NoSuchOption) -> str | None:
    """The error of an option that is a setting of the scenario, for a command that sets some; else None."""
    context = error.ctx
    if context is None or not any(one.name == "settings" for one in context.command.params):
        return None
    word = error.option_name.lstrip("-")
    setting = _setting(word)
    if setting is None:
        return None
    return f"no such option: {error.option_name}; it is a setting: --set {setting}=VALUE"


def _setting(word: str) -> str | None:
    front, _, last = word.rpartition(".")
    key = last.replace("-", "_")
    for keys, table in ((PATH_KEYS, "path"), (DESIGN_KEYS, "design")):
        meant = key if key in keys else _native.meant(key, keys)
        if meant is not None:
            return ".".join([table, *([front] if front in ("down", "up") else []), meant])
    return None
