"""A study's hosts, path, transfers and origin in words, from its resolved scenario."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rexmit import _native
from rexmit.run import Results
from rexmit.run.stacks import third_parties
from rexmit.study.network import is_network
from rexmit.study.words import PATH_WORDS
from rexmit.units import plural


@dataclass(frozen=True)
class Facts:
    """A table of names and texts. `detail` is longer, for those who want to know exactly."""

    title: str
    rows: Sequence[tuple[str, str]]
    detail: str = ""


def testbed_facts(results: Results) -> list[Facts]:
    """The hosts, the path, what is sent, and what was measured; what varies is said to."""
    scenario = results.study.get("scenario")
    if not isinstance(scenario, dict):
        return []
    varied = {
        name: f"varies: {plural(len(factor.labels), 'level')} of {factor.name}"
        if factor.settings
        else f"varies: {_some(factor.labels)}"
        for factor in results.spec().design.factors
        for name in (factor.settings or (factor.name,))
    }
    tables = [_hosts(results, scenario, varied)]
    if is_network(scenario):
        tables += [_points(scenario, varied), *_links(scenario, varied)]
    else:
        tables.append(_path("Path", "path", scenario.get("path"), varied))
    if scenario.get("alternate"):
        tables.append(_path("Second path", "alternate", scenario["alternate"], varied))
    tables.append(_transfers(scenario, varied))
    tables.append(_measured(scenario, varied))
    return [table for table in tables if table.rows]


def provenance_facts(results: Results, provenance: Mapping[str, Any]) -> list[Facts]:
    """What ran it, on what, when, by which commands."""
    study = results.study
    seeds = study.get("seeds", [study.get("seed")])
    rows = [
        ("rexmit", _version(study, provenance)),
        ("backend", _backend(study)),
        ("seed", ", ".join(map(str, seeds))),
    ]
    if provenance:
        rows += [
            ("machine", _join(provenance, "machine", "cores", cores="{} cores")),
            ("kernel", _join(provenance, "system", "kernel")),
            ("Python", _packages(provenance)),
        ]
    tables = [Facts("Made by", [row for row in rows if row[1]])]
    sessions = provenance.get("sessions")
    for number, session in enumerate(sessions if isinstance(sessions, list) else [], start=1):
        if isinstance(session, dict):
            title = "Session" if len(sessions or ()) == 1 else f"Session {number}"
            tables.append(Facts(title, list(_session(session))))
    return tables


def _version(study: Mapping[str, Any], provenance: Mapping[str, Any]) -> str:
    git = provenance.get("git")
    return f"{study.get('version') or provenance.get('version')}{f' ({git})' if git else ''}"


def _backend(study: Mapping[str, Any]) -> str:
    facts = [f"{key} {study[key]}" for key in ("kernel", *third_parties(), "libc") if study.get(key)]
    return ", ".join([str(study.get("backend", "")), *facts])


def _join(table: Mapping[str, Any], *keys: str, **forms: str) -> str:
    return ", ".join(forms.get(key, "{}").format(table[key]) for key in keys if table.get(key) is not None)


def _packages(provenance: Mapping[str, Any]) -> str:
    packages = provenance.get("packages")
    told = [f"{name} {version}" for name, version in packages.items()] if isinstance(packages, dict) else []
    return ", ".join([str(provenance.get("python", "")), *told])


def _session(session: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "command", str(session.get("command", ""))
    yield "time", f"{session.get('started')} to {session.get('ended')}"
    yield "outcome", _join(session, "outcome", "runs", "jobs", runs="{:,} runs", jobs="{} jobs")
    warned = session.get("warnings")
    for text in warned if isinstance(warned, list) else []:
        yield "warning", str(text)


def _hosts(results: Results, scenario: Mapping[str, Any], varied: Mapping[str, str]) -> Facts:
    hosts = scenario.get("hosts")
    rows, details = [], []
    for name, host in hosts.items() if isinstance(hosts, dict) else ():
        if not isinstance(host, dict):
            continue
        stack = host.get("stack")
        parts = [varied.get(f"hosts.{name}.stack") or _stack(stack)]
        parts += [
            f"{key} {_together(value)}"
            for key, value in host.items()
            if key not in ("stack", "profile") and value is not None
        ]
        parts += [
            f"{setting.removeprefix(f'hosts.{name}.')} {text}"
            for setting, text in varied.items()
            if setting.startswith(f"hosts.{name}.") and setting != f"hosts.{name}.stack"
        ]
        rows.append((str(name), "; ".join(map(_word, parts))))
        if isinstance(stack, dict):
            lines = "\n".join(f"{key} = {value}" for key, value in _flat(stack))
            details.append(f"# {name}\n{lines}")
    if results.study.get("backend") in ("uml", "kernel") and rows:
        kernel = results.study.get("kernel", "of the machine")
        rows.append(("stack", f"Linux {kernel}: a real kernel takes the place of the stacks above"))
    return Facts("Hosts", rows, "\n\n".join(details))


def _points(scenario: Mapping[str, Any], varied: Mapping[str, str]) -> Facts:
    """The points of a network: which hosts hang on each, and where its links lead."""
    rows: dict[str, list[str]] = {}
    for name, host in _tables(scenario.get("hosts")):
        count = varied.get(f"hosts.{name}.count", host.get("count"))
        many = "" if count is None else f" ({count} hosts)" if isinstance(count, int) else f" ({count})"
        at = varied.get(f"hosts.{name}.at") or str(host.get("at", "?"))
        rows.setdefault(at, []).append(f"host {name}{many}")
    for name, link in _tables(scenario.get("links")):
        between = link.get("between")
        if isinstance(between, list) and len(between) == 2:
            for here, there in (between, between[::-1]):
                rows.setdefault(str(here), []).append(f"link {name} to {there}")
    return Facts("Points", [(point, "; ".join(parts)) for point, parts in rows.items()])


def _links(scenario: Mapping[str, Any], varied: Mapping[str, str]) -> Iterator[Facts]:
    """The links of a network, each as a path is told, with the points where its directions begin."""
    for name, link in _tables(scenario.get("links")):
        between = link.get("between")
        ends = " to ".join(map(str, between)) if isinstance(between, list) else "?"
        settings = {key: value for key, value in link.items() if key not in ("between", "from")}
        for end, own in _tables(link.get("from")):
            settings |= {f"{key}, from {end}": value for key, value in _flat(own)}
        told = {
            f"links.{name}.{_from_words(setting.removeprefix(f'links.{name}.'))}": text
            for setting, text in varied.items()
            if setting.startswith(f"links.{name}.")
        }
        yield _path(f"Link {name}, {ends}", f"links.{name}", settings, told)


def _from_words(setting: str) -> str:
    """A setting of one direction, `from.left.drop`, as its name and where the direction begins."""
    head, _, rest = setting.partition(".")
    end, dot, key = rest.partition(".")
    return f"{key}, from {end}" if head == "from" and dot else setting


def _tables(of: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, table in of.items() if isinstance(of, Mapping) else ():
        if isinstance(table, Mapping):
            yield str(name), table


def _together(value: Any) -> str:
    """A value in words, a table as its settings one after the other."""
    if not isinstance(value, Mapping):
        return str(_word(value))
    return ", ".join(f"{name.replace('_', ' ')} {_word(one)}" for name, one in _flat(value))


def _stack(stack: Any) -> str:
    """A stack by its name, if it is one of the package, and what it says of itself."""
    if not isinstance(stack, dict):
        return str(stack)
    summary = str(stack.get("summary", ""))
    name = _profile_name(stack)
    return f"{name} ({summary})" if name and summary else name or summary or "its own profile"


def _profile_name(stack: Mapping[str, Any]) -> str:
    for name, summary in dict(_native.profiles()).items():
        if stack.get("summary") == summary and json.loads(_native.profile(name)) == stack:
            return name
    return ""


def _path(title: str, key: str, path: Any, varied: Mapping[str, str]) -> Facts:
    if not isinstance(path, dict):
        return Facts(title, [])
    settings = {f"{key}.{name}": str(_word(value)) for name, value in _flat(path)}
    own = {name: text for name, text in varied.items() if name.startswith(f"{key}.")}
    for name in own:
        # What varies as a whole has no parts of the base.
        settings = {n: text for n, text in settings.items() if not n.startswith(f"{name}.")}
    settings |= own
    settings = {name: text for name, text in settings.items() if text != ""}
    rows = [(_path_words(name.removeprefix(f"{key}.")), text) for name, text in settings.items()]
    return Facts(title, sorted(rows, key=lambda row: _path_order(row[0])))


def _path_words(name: str) -> str:
    name, comma, where = name.partition(", from ")
    if comma:
        return f"{_PATH.get(name, name.replace('_', ' '))}, from {where}"
    for way, words in (("down", "server to client"), ("up", "client to server")):
        head, dot, rest = name.partition(".")
        if head == way:
            return f"{_PATH.get(rest, rest.replace('_', ' '))}, {words}" if dot else words
    return _PATH.get(name, name.replace("_", " "))


def _path_order(words: str) -> tuple[bool, int, str]:
    head = words.partition(",")[0]
    known = list(_PATH.values())
    return ("," in words, known.index(head) if head in known else len(known), words)


def _transfers(scenario: Mapping[str, Any], varied: Mapping[str, str]) -> Facts:
    rows = []
    transfers = scenario.get("transfers")
    for number, transfer in enumerate(transfers if isinstance(transfers, list) else []):
        if not isinstance(transfer, dict):
            continue
        told = dict(transfer)
        way = f"{told.pop('from', '?')} to {told.pop('to', '?')}"
        own = {
            name.removeprefix(f"transfers.{number}."): text
            for name, text in varied.items()
            if name.startswith(f"transfers.{number}.")
        }
        settings = {name: _word(value) for name, value in _flat(told) if not _usual(name, value)} | own
        rows.append((way, "; ".join(f"{name.replace('_', ' ')} {text}" for name, text in settings.items())))
    return Facts("Traffic", rows)


def _usual(name: str, value: Any) -> bool:
    """What goes without saying."""
    return value in ("0 s", {}, None, "") or (name, value) in (("close", True), ("connections", 1))


def _measured(scenario: Mapping[str, Any], varied: Mapping[str, str]) -> Facts:
    rest = {key: value for key, value in scenario.items() if key not in _TOLD}
    settings = {name: str(_word(value)) for name, value in _flat(rest) if value not in (None, False, "")}
    heads = tuple(f"{head}." for head in _TOLD)
    settings |= {name: text for name, text in varied.items() if not name.startswith(heads)}
    return Facts("Runs", [(_RUN.get(name, name.replace("_", " ")), text) for name, text in settings.items()])


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, entry in value.items():
        if isinstance(entry, dict) and entry:
            yield from _flat(entry, f"{prefix}{key}.")
        elif entry is not None and entry != {}:
            yield f"{prefix}{key}", entry


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _some(labels: Sequence[object]) -> str:
    """Levels; of many, the ends."""
    texts = [str(label) for label in labels]
    if len(texts) <= MOST_LEVELS and sum(map(len, texts)) < 120:
        return ", ".join(texts)
    return f"{texts[0][:60]} … {texts[-1][:60]}, {len(texts)} levels"


MOST_LEVELS = 12
_TOLD = ("hosts", "path", "alternate", "links", "transfers")

_PATH = PATH_WORDS | {
    "rate": "rate of the bottleneck",
    "delay": "delay, one way",
    "aqm": "queue management",
    "delay_rule": "how delay is kept",
    "drop": "packets dropped",
}
"""In a table of one path, whose head says which."""

_RUN = {
    "limit": "ends at the latest after",
    "measure.every": "connections and links measured every",
    "measure.sample": "queues sampled every",
    "intervals": "measured by intervals of",
    "messages": "latency of messages",
    "retransmissions": "retransmissions counted by cause",
    "sctp_threshold": "missing reports before a fast retransmit",
}
