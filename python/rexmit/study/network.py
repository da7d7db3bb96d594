"""Networks of hosts in a scenario: which tables are paths, and which hosts there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rexmit.study.settings import Table


class Direction(NamedTuple):
    """A direction of a link: its name, where it begins and ends, and what the scenario says of it."""

    name: str
    start: str
    end: str
    settings: Table


def is_network(scenario: Mapping[str, Any]) -> bool:
    """True where hosts hang on points, rather than being a server and a client with a path between them."""
    hosts = scenario.get("hosts")
    tables = hosts.values() if isinstance(hosts, Mapping) else ()
    hang = ("at", "access", "count")
    return bool(scenario.get("links")) or any(
        isinstance(table, Mapping) and any(table.get(key) is not None for key in hang) for table in tables
    )


def paths_of(scenario: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    """Every table of a path, with its setting: `path`, `alternate`, those of links and of access links."""
    for name in ("path", "alternate"):
        if isinstance(table := scenario.get(name), dict):
            yield name, table
    for name, table in _tables(scenario.get("links")):
        yield f"links.{name}", table
    for name, host in _tables(scenario.get("hosts")):
        if isinstance(access := host.get("access"), dict):
            yield f"hosts.{name}.access", access


def directions(scenario: Mapping[str, Any]) -> Iterator[Direction]:
    """The directions of a scenario's links, as results name them. Each link's own way comes first."""
    if not is_network(scenario):
        for name in ("path", *(["alternate"] if scenario.get("alternate") else [])):
            path = _table(scenario.get(name))
            yield Direction(name, "server", "client", path | _table(path.get("down")))
            yield Direction(name, "client", "server", path | _table(path.get("up")))
        return
    for name, link in _tables(scenario.get("links")):
        between, own = link.get("between"), _table(link.get("from"))
        if isinstance(between, list) and len(between) == 2:
            for start, end in (between, between[::-1]):
                yield Direction(name, start, end, link | _table(own.get(start)))
    for name, host in _hosts_one_by_one(scenario):
        access = _table(host.get("access"))
        if isinstance(at := host.get("at"), str):
            yield Direction("access", name, at, access | _table(access.get("up")))
            yield Direction("access", at, name, access | _table(access.get("down")))


def _hosts_one_by_one(scenario: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    """The hosts of a network with their tables; those of a group one by one."""
    for name, host in _tables(scenario.get("hosts")):
        count = host.get("count")
        if isinstance(count, int):
            yield from ((f"{name}-{number}", host) for number in range(1, count + 1))
        else:
            yield name, host


def _table(value: Any) -> Table:
    return dict(value) if isinstance(value, Mapping) else {}


def _tables(of: Any) -> Iterator[tuple[str, Table]]:
    for name, table in of.items() if isinstance(of, Mapping) else ():
        if isinstance(table, dict):
            yield name, table
