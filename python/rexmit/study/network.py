"""Networks of hosts in a scenario: which tables are paths, and which hosts there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rexmit.study.settings import Table


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


def _tables(of: Any) -> Iterator[tuple[str, Table]]:
    for name, table in of.items() if isinstance(of, Mapping) else ():
        if isinstance(table, dict):
            yield name, table
