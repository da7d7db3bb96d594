"""`rexmit emulate`: runs a command behind an emulated path."""

from __future__ import annotations

import ipaddress
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rexmit import _native
from rexmit.cli import completing
from rexmit.cli.common import OUT, json_option, note, warn
from rexmit.cli.emulate_command import check_separated
from rexmit.cli.emulate_enter import enter_host
from rexmit.cli.emulate_network import (
    AtHosts,
    EmulatedNetwork,
    find_network,
    holders,
    introduce,
    network_environment,
    prompt,
    read_network,
    words_of,
)
from rexmit.cli.emulate_settings import Setting, describe, read_path, split_settings
from rexmit.cli.emulate_show import LiveState, show_summary
from rexmit.cli.emulate_virtual import DATE, PATIENCE, check_virtual, duration_of, guest_of
from rexmit.errors import UsageError, one_line
from rexmit.kernel import DEFAULT_VERSION
from rexmit.run.emulation import INVALID, EmulationError, EmulationOptions, Listener, ProgramAt
from rexmit.run.emulation import emulate as run_emulation
from rexmit.run.this_kernel import machine_congestion
from rexmit.study.settings import parse_assignment
from rexmit.terminal import moves

LIVE_SECONDS = 0.5
PLAIN_SECONDS = 10.0
WHEN_LATE = "use an idle machine, --mode busy or --virtual"

_SETTINGS = "rexmit.settings"
_COMMAND = "rexmit.command"


class _WithPath(click.Command):
    """A command whose options are its own and every key of a path; what follows `--` is another's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        values = {
            name: 0 if isinstance(option, click.Option) and option.is_flag else option.nargs
            for option in self.get_params(ctx)
            for name in (*option.opts, *option.secondary_opts)
        }
        if end == len(args):
            check_separated(args, values)
        own = {name: bool(values[name]) for option in self.get_params(ctx) for name in option.opts}
        rest, ctx.meta[_SETTINGS] = split_settings(args[:end], own)
        ctx.meta[_COMMAND] = tuple(args[end + 1 :])
        return super().parse_args(ctx, rest)


@dataclass(frozen=True)
class _Shown:
    """What is shown, and how."""

    live: bool
    quiet: bool
    as_json: bool
    plain: frozenset[str]
    """Links of which nothing is said at the end."""


@click.command(
    cls=_WithPath,
    options_metavar="[OPTIONS]",
    epilog="""\b
Examples:
  rexmit emulate --rate 10Mbit/s --delay 50ms
  rexmit emulate --rate 10Mbit/s --delay 50ms --down.drop 18 -- curl -O http://100.64.0.1:8000/file
  rexmit emulate --delay 20ms --loss '1 %' --server 'iperf3 -s' -- sh -c 'iperf3 -c $REXMIT_SERVER'
  rexmit emulate --delay 20ms --down.trace cell.down --up.trace cell.up -- ./client
  rexmit emulate lab.toml --set path.up.rate='1 Mbit/s' --capture traces -- ./client
  rexmit emulate network.toml --host near
  rexmit emulate network.toml --server-at sink 'iperf3 -s' --host near -- iperf3 -c sink""",
)
@click.argument("file", metavar="[FILE.toml]", required=False, type=click.Path(path_type=Path))
@click.argument("rest", nargs=-1, metavar="[-- COMMAND [ARGS]...]")
@click.option("--rate", help="Rate of the bottleneck, both ways, such as 10Mbit/s. Default: unlimited.")
@click.option(
    "--trace",
    metavar="FILE",
    shell_complete=completing.files,
    help="Make the link follow this trace, both ways: mahimahi's opportunities, or a CSV of time, rate, "
    "delay, loss. --down.trace and --up.trace are for one way.",
)
@click.option("--delay", help="Propagation delay one way, such as 50ms. Default: none.")
@click.option("--queue", help="Size of the queue, such as '100 packets' or '50 ms'. Default: 1000 packets.")
@click.option("--loss", help="Random loss, both ways, such as '1 %'. Default: none.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a key as a scenario names it: --set path.down.drop=18, or in a network --set "
    "links.NAME.rate='1 Mbit/s'.",
)
@click.option(
    "--server",
    metavar="COMMAND",
    help="Run this at the other end, in a namespace of its own, until COMMAND ends. Default: the other end "
    "is this host.",
)
@click.option(
    "--at",
    nargs=2,
    multiple=True,
    metavar="HOST COMMAND",
    help="In a network: run a command at this host, or at each host of a group; may be repeated. The "
    "emulation is over when all of these, and COMMAND, have ended.",
)
@click.option(
    "--server-at",
    nargs=2,
    multiple=True,
    metavar="HOST COMMAND",
    help="As --at, for a server: started before all other commands, and ended with them; may be repeated.",
)
@click.option(
    "--host",
    metavar="HOST",
    help="In a network: where COMMAND, or your shell, runs. Default: the first host of the file.",
)
@click.option(
    "--enter",
    metavar="HOST",
    help="Open a shell, or run COMMAND, at this host of a network that is emulated in another terminal.",
)
@click.option(
    "--between",
    nargs=2,
    metavar="IF1 IF2",
    help="Stand between these Ethernet interfaces instead, IF1 on the server's side; NAMESPACE:IF for one in "
    "a named namespace. Without COMMAND: until Ctrl-C.",
)
@click.option(
    "--server-ready",
    metavar="PORT|TIME",
    help="Start COMMAND once each server listens on this TCP port, or after this time. Default: once each "
    "listens on any port, TCP or UDP.",
)
@click.option("--address", help="COMMAND's address; the server's is one lower. Default: 100.64.0.2.")
@click.option("--mtu", type=click.IntRange(68, 65_535), help="MTU of both interfaces, bytes. Default: 1500.")
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of random effects."
)
@click.option("--duration", metavar="TIME", help="End COMMAND after this time, with exit code 124.")
@click.option(
    "--capture",
    type=OUT,
    metavar="DIR",
    help="Write pcapng captures at both ends, or at all hosts, into this folder.",
)
@click.option(
    "--verdicts", type=OUT, metavar="FILE", help="Write what the path did to each packet (parquet)."
)
@click.option(
    "--mode",
    type=click.Choice(["busy", "hybrid", "sleep"]),
    help="How the emulator waits for a packet's time: busy is the most punctual and uses a whole core. "
    "Default: hybrid.",
)
@click.option(
    "--virtual",
    is_flag=True,
    help="Run all programs in a guest with a virtual clock (`rexmit kernel build` makes it): "
    "repeatable, faster than real time; no root. Needs COMMAND and --server, or --at; no terminal.",
)
@click.option(
    "--patience",
    metavar="TIME",
    help="With --virtual: give up when the virtual clock stands still for this long, as it does while "
    f"a program computes. Default: {PATIENCE}.",
)
@click.option(
    "--kernel",
    metavar="NAME",
    shell_complete=completing.kernels,
    help="With --virtual: the guest's kernel, by its version or the beginning of its hash; `rexmit kernel "
    f"status` lists them. Default: {DEFAULT_VERSION}.",
)
@click.option(
    "--date",
    metavar="DATE",
    help="With --virtual: the date at the start, such as 2026-07-01T12:00 (UTC), or now. "
    f"Default: {DATE}, always the same.",
)
@click.option(
    "--writable",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="With --virtual: a folder that the programs may write to; may be repeated. Default: only temporary "
    "folders, which are discarded at the end.",
)
@click.option(
    "--live/--no-live",
    default=None,
    help="Show rate, queue and drops while it runs: at the bottom of a terminal, below COMMAND's output, or "
    "a plain line every 10 s. Default: on a terminal, unless COMMAND prints there.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print no summary at the end.")
@json_option
@click.pass_context
def emulate(
    context: click.Context,
    /,
    file: Path | None,
    rest: tuple[str, ...],
    assignments: tuple[str, ...],
    server: str | None,
    at: tuple[tuple[str, str], ...],
    server_at: tuple[tuple[str, str], ...],
    host: str | None,
    enter: str | None,
    between: tuple[str, str] | None,
    server_ready: str | None,
    address: str | None,
    mtu: int | None,
    seed: int,
    duration: str | None,
    capture: Path | None,
    verdicts: Path | None,
    mode: str | None,
    virtual: bool,
    patience: str | None,
    kernel: str | None,
    date: str | None,
    writable: tuple[Path, ...],
    live: bool | None,
    quiet: bool,
    as_json: bool,
    **keys: str | None,
) -> None:
    """Run COMMAND in a network namespace of its own, behind an emulated path. Default: your shell.

    The other end of the path is this host (root only) or the command of --server; the Internet is out of
    reach. Addresses are in REXMIT_CLIENT and REXMIT_SERVER. `down` is towards COMMAND. Each program has a PID
    namespace of its own, so everything it started ends with it: nothing is left behind, even after a kill.

    Any key of a path is an option as well: --shaper dummynet, --down.drop 18, --up.rate 1Mbit/s, --jitter
    5ms. An option without a direction applies to both. FILE.toml is a path, a scenario or a study, whose path
    is used.

    If FILE.toml has a network of hosts, each host has a namespace, an address and a name: `ping sink` works,
    and REXMIT_HOST_SINK is the address. Programs run at the hosts of --at, --server-at and --host; transfers
    of the file do not run. --set links.NAME.KEY=VALUE changes a link.

    With --json, the summary is on standard output and COMMAND's output on standard error. Exit code: that of
    COMMAND, or of the first --at that failed; 1 if the emulator failed or could not keep up.
    """
    if rest:
        raise UsageError(f"{shlex.join(rest)}: put a command and its arguments after --")
    given = context.meta[_COMMAND]
    if enter is not None:
        enter_host(enter, file, given)
    settings: list[Setting] = list(context.meta[_SETTINGS])
    for key, value in keys.items():
        if value is not None:
            settings += split_settings([f"--{key}", value], {})[1]
    if virtual:
        check_virtual({"--between": between, "--mode": mode})
    elif patience is not None or date is not None:
        raise UsageError("--patience and --date: go with --virtual; otherwise the clock is this machine's")
    elif kernel is not None:
        raise UsageError("--kernel: goes with --virtual; otherwise the kernel is this machine's")
    elif writable:
        raise UsageError("--writable: goes with --virtual; otherwise programs may write wherever you may")
    at_hosts = AtHosts(at, server_at, host, given)
    spec = None if file is None else find_network(file)
    if spec is not None and file is not None:
        _check_of_a_path({"--server": server, "--between": between, "--address": address, "--mtu": mtu})
        network = read_network(spec, settings, assignments)
        what = _of_network(network, file, at_hosts, virtual)
        plain = network.plain
    else:
        at_hosts.check_unused(file)
        if between is not None and (address is not None or mtu is not None):
            raise UsageError(
                "--between: address and MTU are those of its interfaces; leave --address and --mtu out"
            )
        path = _read_path(file, settings, assignments)
        what = _of_path(path, given, server, between, virtual)
        what |= {"addresses": _addresses(address), "mtu": mtu or 0, "between": between}
        plain = frozenset()
    programs: tuple[ProgramAt, ...] = what["programs"]
    interactive = any(program.role == "shell" for program in programs)
    alone = all(program.role in ("server", "holder") for program in programs)
    shown = _Shown(_is_live(live, interactive, alone), quiet, as_json, plain)
    options = EmulationOptions(
        **what,
        ready=_ready(server_ready),
        seed=seed,
        duration_ns=None if duration is None else duration_of("--duration", duration),
        mode=mode or "hybrid",
        beat_ns=_beat(shown.live),
        capture=capture,
        verdicts=verdicts,
        to_stderr=as_json,
        virtual=guest_of(date, patience, writable, kernel) if virtual else None,
    )
    context.exit(_run(options, shown))


def _read_path(file: Path | None, settings: list[Setting], assignments: tuple[str, ...]) -> dict[str, Any]:
    """The path that is wanted, checked, with a warning where it is odd."""
    for text in assignments:
        key, parsed = parse_assignment(text)
        settings.append((_below_path(key), parsed))
    path = read_path(file, settings)
    for text in _native.check_path(_json(path))[1]:
        warn(text)
    return path


def _of_path(
    path: dict[str, Any],
    given: tuple[str, ...],
    server: str | None,
    between: tuple[str, str] | None,
    virtual: bool,
) -> dict[str, Any]:
    """The options of an emulation of a path: what runs at its two ends."""
    if virtual and (not given or server is None):
        what = "COMMAND" if server is not None else "--server COMMAND"
        raise UsageError(f"--virtual: a guest runs nothing but its own programs; give {what}, too")
    command = given if virtual else _command(given, server, between)
    interactive = not given and bool(command)
    programs: list[ProgramAt] = []
    if command:
        programs.append(ProgramAt("client", command, "shell" if interactive else "command"))
    if server is not None:
        programs.append(ProgramAt("server", words_of("--server", server), "server"))
    return {"path": path, "programs": tuple(programs), "environment": _environment(path, interactive)}


def _of_network(network: EmulatedNetwork, file: Path, at_hosts: AtHosts, virtual: bool) -> dict[str, Any]:
    """The options of an emulation of a network: what runs at its hosts."""
    programs = at_hosts.programs(network)
    shell = next((program for program in programs if program.role == "shell"), None)
    if virtual and shell is not None:
        raise UsageError(
            "--virtual: a guest runs nothing but its own programs; give COMMAND, or --at HOST COMMAND"
        )
    for text in network.warnings:
        warn(text)
    for text in introduce(network, file, shell, None if virtual else machine_congestion()):
        note(text)
    return {
        "network": network.scenario,
        # A guest cannot be entered.
        "programs": programs if virtual else (*programs, *holders(network)),
        "hosts": tuple(host.name for host in network.hosts),
        "host_names": network.host_names(),
        "environment": network_environment(network, None if shell is None else shell.host),
    }


def _check_of_a_path(given: dict[str, object]) -> None:
    instead = {
        "--server": "--server-at HOST COMMAND",
        "--between": "hosts of its own",
        "--address": "--set hosts.HOST.address=...",
        "--mtu": "--set hosts.HOST.mtu=...",
    }
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name}: is for a path with two ends; a network has {instead[name]}")


def _command(given: tuple[str, ...], server: str | None, between: tuple[str, str] | None) -> tuple[str, ...]:
    """The command, or the shell in its place. Raises where the ends that are asked for cannot be."""
    if between is not None:
        if server is not None:
            raise UsageError("--between and --server: the other end is either an interface or a command")
        if between[0] == between[1]:
            raise UsageError(f"--between {between[0]} {between[1]}: two different interfaces are needed")
    if os.geteuid() != 0 and server is None:
        other = "interfaces of this host cannot be used" if between else "the other end cannot be this host"
        raise EmulationError(f"without root {other}: give --server COMMAND, or run it as root")
    return given or (() if between else (os.environ.get("SHELL", "/bin/sh"),))


def _run(options: EmulationOptions, shown: _Shown) -> int:
    with LiveState(shown.plain) as state:

        def heard(text: str) -> None:
            state.clear()
            note(text)

        last = run_emulation(options, Listener(heard, state.show))
    for text in last["unreached"]:
        warn(text)
    if shown.as_json:
        print(
            _json({key: last[key] for key in ("code", "invalid", "unreached", "device", "summary")}),
            flush=True,
        )
    elif not shown.quiet:
        show_summary(last["summary"], last["device"], shown.plain)
    if last["invalid"] is not None:
        why = one_line(last["invalid"])
        instead = f"; {WHEN_LATE}" if why.endswith("late") else ""
        print(f"rexmit: error: the emulation is not valid: {why}{instead}", file=sys.stderr, flush=True)
        return INVALID
    return last["code"] or 0


def _json(value: Any) -> str:
    import json

    try:
        return json.dumps(value)
    except TypeError as error:
        raise UsageError(f"path: {error}") from None


def _is_live(wish: bool | None, interactive: bool, alone: bool) -> bool:
    """COMMAND may use the terminal itself: then we would only disturb, unless there is none."""
    if wish is not None:
        return wish
    return sys.stderr.isatty() and (alone or not sys.stdout.isatty()) and not interactive


def _beat(live: bool) -> int | None:
    if not live:
        return None
    return int((LIVE_SECONDS if moves(sys.stderr) else PLAIN_SECONDS) * 1e9)


def _below_path(key: str) -> str:
    below = key.removeprefix("scenario.")
    if not below.startswith("path."):
        raise UsageError(f"--set {key}: an emulation has only a path: write path.KEY=VALUE")
    return below.removeprefix("path.")


def _ready(text: str | None) -> Any:
    if text is None:
        return "listening"
    if not text.isdecimal():
        return {"after": duration_of("--server-ready", text)}
    if not 0 < int(text) < 65_536:
        raise UsageError(f"--server-ready {text}: a port is between 1 and 65535")
    return {"port": int(text)}


def _addresses(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    try:
        client = ipaddress.ip_address(text)
        server = client - 1
    except ValueError as error:
        raise UsageError(f"--address {text}: {error}; write one such as 100.64.0.2") from None
    for one in (client, server):
        if one.is_multicast or one.is_unspecified or one.is_loopback or one.is_link_local or one.is_reserved:
            why = f"{one} is not an address of a host in a network, or of this link alone"
            raise UsageError(f"--address {text}: {why}; write one such as 100.64.0.2")
    return str(client), str(server)


def _environment(path: dict[str, Any], interactive: bool) -> dict[str, str]:
    """A hint in the prompt: a shell that knows PROMPT_COMMAND (bash) shows it."""
    if not interactive:
        return {}
    words = describe(path)
    return {"REXMIT_PATH": words, **prompt(words)}
