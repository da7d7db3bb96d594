"""`rexmit emulate` of a network: its hosts, the programs at them, and what they know of each other."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rexmit import _native
from rexmit.cli.emulate_settings import DIRECTIONS, Setting, read_file
from rexmit.errors import StudyError, UsageError, nearest, one_line
from rexmit.run.emulation import ProgramAt
from rexmit.study.network import is_network
from rexmit.study.settings import Table, get_setting, parse_assignment, with_setting
from rexmit.study.spec import StudySpec, parse_spec

_HOSTS = Path("/etc/hosts")
_HOLD = ("sleep", "infinity")
_EMULATED = re.compile(r"links\.|hosts\.[^.]+\.(at|access|address|count|mtu|linux)(\.|$)")
"""Settings of a network that count where it is emulated: what is sent, and by which stack, does not."""


@dataclass(frozen=True)
class Host:
    """A host of a network. `written` is what the file calls it: of a group, the name of that."""

    name: str
    written: str
    address: str
    variable: str


@dataclass(frozen=True)
class EmulatedNetwork:
    """A network that can be emulated.

    `plain` are its links of which the file says nothing, if it says something of others: no packet meets
    anything there. `warnings` say what is odd about it, `left_out` what of the file is left out.
    """

    name: str
    scenario: Table
    hosts: tuple[Host, ...]
    plain: frozenset[str]
    warnings: tuple[str, ...]
    left_out: tuple[str, ...]

    def find(self, option: str, name: str) -> list[Host]:
        """The hosts of this name: one, or those of a group. Raises UsageError where there is none."""
        found = [host for host in self.hosts if name in (host.name, host.written)]
        if not found:
            known = {*(host.name for host in self.hosts), *(host.written for host in self.hosts)}
            raise UsageError(f"{option} {one_line(name)}: no such host{nearest(name, known)}")
        return found

    def find_one(self, option: str, name: str) -> Host:
        """The host of this name. Raises UsageError where there is none, or where it is that of a group."""
        found = self.find(option, name)
        if len(found) > 1:
            raise UsageError(f"{option} {name}: stands for {len(found)} hosts; name one, as {found[0].name}")
        return found[0]

    def first(self) -> Host:
        """The host that the file names first."""
        return self.find("hosts", next(iter(self.scenario["hosts"])))[0]

    def host_names(self) -> str:
        """What programs see as /etc/hosts: names of hosts before those that this machine has."""
        own = "".join(
            f"{host.address}\t{host.name}\n" for host in self.hosts if host.name.lower() != "localhost"
        )
        try:
            return own + _HOSTS.read_text(errors="replace")
        except OSError:
            return f"{own}127.0.0.1\tlocalhost\n::1\tlocalhost\n"


@dataclass(frozen=True)
class AtHosts:
    """Which programs run where, as options say it. `host` is that of `command`, or of a shell."""

    at: tuple[tuple[str, str], ...]
    server_at: tuple[tuple[str, str], ...]
    host: str | None
    command: tuple[str, ...]

    def check_unused(self, file: Path | None) -> None:
        """Raises UsageError where one of them is given, and there is no network: not in `file`, if given."""
        none = "there is none: give its file" if file is None else f"{file} has none: give the file of one"
        named = {"--at": self.at, "--server-at": self.server_at, "--host": self.host}
        for name, value in named.items():
            if value:
                raise UsageError(
                    f"{name}: names a host of a network, and {none}, or -- COMMAND and --server COMMAND for "
                    "the two ends of a path"
                )

    def programs(self, network: EmulatedNetwork) -> tuple[ProgramAt, ...]:
        """All programs, COMMAND first: or a shell, where no command is given."""
        alone = not self.command and not self.at
        interactive = not self.command and (alone or self.host is not None)
        main: tuple[ProgramAt, ...] = ()
        if self.command or interactive:
            host = network.find_one("--host", self.host) if self.host else network.first()
            argv = self.command or (os.environ.get("SHELL", "/bin/sh"),)
            main = (ProgramAt(host.name, argv, "shell" if interactive else "command"),)
        servers = _each(network, "--server-at", self.server_at, "server")
        return (*main, *servers, *_each(network, "--at", self.at, "beside"))


def find_network(file: Path) -> StudySpec | None:
    """The study in the file, or that around its scenario, if it has a network of hosts.

    Raises UsageError where the file cannot be read, StudyError where it holds no study.
    """
    table = read_file(file)
    scenario = table.get("scenario", table)
    if not isinstance(scenario, dict) or not is_network(scenario):
        return None
    return parse_spec(table if "scenario" in table else {"scenario": table}, file.stem, file)


def read_network(spec: StudySpec, settings: Sequence[Setting], assignments: Sequence[str]) -> EmulatedNetwork:
    """The network of a study, changed by `--set`, and checked; `settings`, of a path, are refused.

    Raises UsageError with one line that names the key and what is allowed.
    """
    for name, _ in settings:
        raise UsageError(
            f"--{name}: is for a path, and {spec.path} has links: write --set {_instead(spec, name)}=VALUE"
        )
    for text in assignments:
        key, value = parse_assignment(text)
        _check_name(spec, key)
        spec = spec.with_set(key, value)
    scenario = _base(spec)
    try:
        about = json.loads(_native.check_network(json.dumps(scenario)))
    except (ValueError, TypeError) as error:
        raise StudyError(f"{spec.path}: {one_line(error)}") from None
    hosts = tuple(Host(**one) for one in about["hosts"])
    plain = frozenset(link["name"] for link in about["links"] if not link["written"])
    if len(plain) == len(about["links"]):
        plain = frozenset()
    warnings, left_out = tuple(about["warnings"]), tuple(about["left_out"])
    return EmulatedNetwork(spec.name, scenario, hosts, plain, warnings, left_out)


def holders(network: EmulatedNetwork) -> tuple[ProgramAt, ...]:
    """What keeps every host open, so that its namespaces can be entered from another terminal."""
    return tuple(ProgramAt(host.name, _HOLD, "holder") for host in network.hosts)


def network_environment(network: EmulatedNetwork, host: str | None) -> dict[str, str]:
    """What the environment of programs says of a network; with the prompt of the shell at `host`."""
    environment = {"REXMIT_NETWORK": network.name}
    return environment if host is None else {**environment, **prompt(f"{network.name} {host}")}


def prompt(words: str) -> dict[str, str]:
    """A hint in the prompt: a shell that knows PROMPT_COMMAND (bash) shows it."""
    return {"PROMPT_COMMAND": f"PS1={shlex.quote(f'[{words}] ')}$PS1; unset PROMPT_COMMAND"}


def introduce(
    network: EmulatedNetwork, file: Path, shell: ProgramAt | None, congestion: str | None
) -> Iterator[str]:
    """Lines for people before it begins: what is left out, and for a shell, who there is to talk to.

    `congestion` is the congestion control of hosts for which the file names none that the kernel has.
    """
    if congestion is not None:
        yield (
            f"hosts have this kernel's TCP, with {congestion} where hosts.X.linux.congestion names no other; "
            "profiles (stack) are not run"
        )
    if network.left_out:
        what = ", ".join(network.left_out)
        yield f"left out of {file}: {what}; its hosts run this machine's kernel, and commands that you give"
    if shell is not None:
        most = 12
        named = [f"{host.name} {host.address}" for host in network.hosts[:most]]
        more = [f"{len(network.hosts) - most} more"] if len(network.hosts) > most else []
        yield f"you are at {shell.host}; hosts: {', '.join([*named, *more])}"
        other = next((host.name for host in network.hosts if host.name != shell.host), None)
        if other is not None:
            yield f"a shell at another host, in another terminal: rexmit emulate --enter {other}"


def _each(
    network: EmulatedNetwork, option: str, given: Sequence[tuple[str, str]], role: str
) -> tuple[ProgramAt, ...]:
    """The programs of an option: of a group's name, one at each of its hosts."""
    return tuple(
        ProgramAt(host.name, words_of(f"{option} {name}", command), role)
        for name, command in given
        for host in network.find(option, name)
    )


def words_of(option: str, text: str) -> tuple[str, ...]:
    """The words of a command that is one option's value. Raises UsageError where there are none."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}") from None
    if not words:
        raise UsageError(f"{option}: is empty; give a command such as 'iperf3 -s'")
    return words


def _instead(spec: StudySpec, name: str) -> str:
    """What a setting of a path is called in a network, of one of its links."""
    way, _, rest = name.partition(".")
    links = spec.scenario.get("links")
    for link, table in links.items() if isinstance(links, dict) else ():
        ends = table.get("between") if isinstance(table, dict) else None
        if way in DIRECTIONS and isinstance(ends, list) and ends:
            return f"links.{link}.from.{ends[DIRECTIONS.index(way) % len(ends)]}.{rest}"
        return f"links.{link}.{name}"
    hosts = spec.scenario.get("hosts")
    return f"hosts.{next(iter(hosts), 'HOST') if isinstance(hosts, dict) else 'HOST'}.access.{name}"


def _check_name(spec: StudySpec, key: str) -> None:
    """Refuses a setting of a link or host that is not there; a new one begins with where it is."""
    kind, *parts = key.removeprefix("scenario.").split(".")
    known = spec.scenario.get(kind) if kind in ("links", "hosts") else None
    if not isinstance(known, dict) or len(parts) < 2 or parts[0] in known:
        return
    if parts[1] not in ("between", "at"):
        what = "link" if kind == "links" else "host"
        raise UsageError(f"--set {key}: there is no {what} {parts[0]!r}{nearest(parts[0], known)}")


def _base(spec: StudySpec) -> Table:
    """The scenario with the level of each factor that has only one, and no level of the others."""
    table = spec.base()
    for factor in spec.design.factors:
        if len(factor.levels) == 1:
            for setting, value in factor.assigned(0).items():
                table = with_setting(table, setting, value)
            continue
        for name in factor.settings or (factor.name,):
            if _EMULATED.match(name) and get_setting(table, name) is None:
                raise UsageError(
                    f"{spec.path}: varies {name}, and an emulation has one network: choose a level, as --set "
                    f"{factor.name}=VALUE"
                )
    return table
