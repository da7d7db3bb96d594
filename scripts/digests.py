"""Digests of what rexmit answers, kept for each release: `digests.py check`, or `record` before a release.

`tests/golden/digests-VERSION.json` holds, for the version of `Cargo.toml`:

- `runs`: for each run of `tests/golden/scenarios.toml`, and for the base on every profile, a digest of its
  row, of its packets as both hosts' captures have them, and of its tables
- `stacks`: the same for the base on other people's stacks and on a real kernel in virtual time, with their
  versions
- `study`: the tables of a results folder
- `judged`: what the analysis says of captures of this project and of others
- `formats`: each table's columns and their types, the versions of layouts and protocols

`check` names what differs from the newest file. What differs for a reason stands in
`tests/golden/changes.toml`, with the reason; what stands there and does not differ is an error too. What
has another name now stands there under both, and must not differ. A stack that is not here, or of another
version, is left out and named. `--against FILE` compares with another release's file.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import rexmit
from rexmit import _native
from rexmit.analyse.captures import TABLES as ANALYSED
from rexmit.errors import RexmitError
from rexmit.run.schema import SCHEMA
from rexmit.stack import VERSION as PROTOCOL

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
CHANGES = GOLDEN / "changes.toml"
CAPTURES = ROOT / "tests" / "captures"
SEED = 2026
TABLES = ("state", "verdicts", "transmissions", "messages")
Corpus = dict[str, Any]


def main() -> int:
    """Record this version's corpus, or compare with a recorded one; 1 if something differs undeclared."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("command", choices=["check", "record"])
    options.add_argument("--against", type=Path, help="of `check`: a file of digests (default: the newest)")
    chosen = options.parse_args()
    here = corpus()
    if chosen.command == "record":
        return record(here)
    against = chosen.against or newest()
    before = json.loads(against.read_text())
    changes = declared(against) if chosen.against is None else []
    renamed = declared(against, "renamed") if chosen.against is None else []
    wrong, left_out = compare(before, here, changes, renamed)
    count = sum(1 for _ in entries(before))
    for line in left_out:
        print(f"not compared: {line}")
    print("\n".join([*wrong, f"digests: {count} of {against.name} compared, {len(wrong)} problems"]))
    return 1 if wrong else 0


def record(here: Corpus) -> int:
    """Write the file of this version; 1 where a stack is missing, since a release has them all."""
    missing = [f"{name}: {entry['missing']}" for name, entry in here["stacks"].items() if "missing" in entry]
    for line in missing:
        print(f"not here: {line}")
    if missing:
        return 1
    path = GOLDEN / f"digests-{here['rexmit']}.json"
    path.write_text(json.dumps(here, indent=1, sort_keys=True) + "\n")
    print(f"digests: {sum(1 for _ in entries(here))} in {path.relative_to(ROOT)}")
    return 0


def newest() -> Path:
    """The newest release's file."""
    files = sorted(GOLDEN.glob("digests-*.json"), key=lambda path: [int(n) for n in path.stem[8:].split(".")])
    if not files:
        raise SystemExit("digests: no tests/golden/digests-*.json: run scripts/digests.py record")
    return files[-1]


def declared(against: Path, table: str = "changed") -> list[dict[str, str]]:
    """What is known to differ from this file (`entry`, `why`), or to have a new name (`entry`, `now`)."""
    changed = tomllib.loads(CHANGES.read_text()).get(table, [])
    since = against.stem.removeprefix("digests-")
    return [entry for entry in changed if entry["since"] == since]


# Comparison


def entries(corpus: Corpus) -> Iterator[tuple[str, Any]]:
    """Each digest or format: its name, "PART: NAME: WHAT", and its value."""
    for part in ("runs", "stacks", "study", "judged", "formats"):
        for name, held in corpus[part].items():
            for what, value in held.items():
                if what != "version":
                    yield f"{part}: {name}: {what}", value


def compare(
    before: Corpus, here: Corpus, changes: list[dict[str, str]], renamed: Sequence[Mapping[str, str]] = ()
) -> tuple[list[str], list[str]]:
    """What is wrong, a line each, and which stacks were left out.

    A name that begins with an `entry` of `renamed` begins with its `now` today.
    """
    left_out, wrong, used = [], [], set()
    for name, entry in before["stacks"].items():
        now = here["stacks"].get(name, {"missing": "no such stack any more"})
        if "missing" in now:
            left_out.append(f"{name}: {now['missing']}")
        elif now["version"] != entry["version"]:
            left_out.append(f"{name}: {now['version']} here, {entry['version']} in the record")
    skipped = tuple(f"stacks: {line.split(': ')[0]}: " for line in left_out)
    now_all = dict(entries(here))
    for name, value in entries(before):
        if name.startswith(skipped):
            continue
        now = now_all.get(name_now(name, renamed))
        why = next(
            (n for n, change in enumerate(changes) if fnmatch.fnmatchcase(name, change["entry"])), None
        )
        if same(name, value, now):
            continue
        if why is not None:
            used.add(why)
        else:
            wrong.append(f"{'gone' if now is None else 'differs'}: {name}: {told(value, now)}")
    for number, change in enumerate(changes):
        if number not in used:
            wrong.append(f"tests/golden/changes.toml: nothing differs at {change['entry']!r}: take it out")
    return wrong, left_out


def name_now(name: str, renamed: Sequence[Mapping[str, str]]) -> str:
    """What an entry of the record is called today."""
    for change in renamed:
        if name.startswith(change["entry"]):
            return change["now"] + name.removeprefix(change["entry"])
    return name


def same(name: str, before: Any, now: Any) -> bool:
    """A digest is the same; the columns of a table are those from before, and perhaps more."""
    if name.startswith("formats: ") and isinstance(before, dict) and isinstance(now, dict):
        return all(now.get(column) == kind for column, kind in before.items())
    return bool(before == now)


def told(before: Any, now: Any) -> str:
    """How two values differ, in a few words."""
    if isinstance(before, dict) and isinstance(now, dict):
        return ", ".join(f"{c} was {t}, is {now.get(c)}" for c, t in before.items() if now.get(c) != t)
    return f"{before} in the record, {now} here"


# What is digested


def corpus() -> Corpus:
    """Everything, from the code as it is."""
    told = tomllib.loads((GOLDEN / "scenarios.toml").read_text())
    version: str = rexmit.__version__
    with tempfile.TemporaryDirectory(prefix="rexmit-digests-") as folder:
        scratch = Path(folder)
        return {
            "rexmit": version,
            "runs": dict(runs(told, scratch)),
            "stacks": dict(stacks(told, scratch)),
            "study": dict(study(told["study"], scratch)),
            "judged": dict(judged(told["judged"])),
            "formats": dict(formats()),
        }


def runs(told: Mapping[str, Any], scratch: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The runs on the models."""
    for profile in rexmit.profiles():
        if profile != told["profiles"]["quic"]:  # QUIC has no model
            yield f"profile: {profile}", run(told["base"], profile, {}, scratch)
    for name, settings in told["runs"].items():
        yield name, run(told["base"], told["profiles"]["tcp"], settings, scratch)


def stacks(told: Mapping[str, Any], scratch: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The base on every stack that is not ours, at both hosts, and on a kernel."""
    for about in json.loads(_native.stacks()):
        if about["name"] in ("model", "program", "linux"):
            continue
        for protocol in about["protocols"]:
            name = f"{about['name']} ({protocol})"
            code = {f"hosts.{host}.code": about["name"] for host in ("server", "client")}
            try:
                answer = run(told["base"], told["profiles"][protocol], code, scratch)
            except RexmitError as error:
                yield name, {"missing": str(error)}
                continue
            if about["determinism"] != "bytes":
                answer.pop("packets", None)
            yield name, {"version": about["version"], **answer}
    yield "linux (tcp)", on_kernel(told, scratch)


def on_kernel(told: Mapping[str, Any], scratch: Path) -> dict[str, str]:
    """The base on Linux 6.1 in virtual time."""
    scenario = {**told["base"], "hosts": {host: {"stack": "linux-6.1"} for host in ("server", "client")}}
    asked = rexmit.Study.from_dict({"scenario": scenario, "design": {"seed": SEED}}, "digests")
    out = scratch / "kernel"
    try:
        asked.run(out, backend="uml", capture="all", state="all", progress=False)
    except RexmitError as error:
        return {"missing": str(error)}
    kernels = json.loads((out / "study.json").read_text())
    return {"version": release_of(kernels), **folder_of(out)}


def release_of(record: Mapping[str, Any]) -> str:
    """The release of the kernel that a results folder names."""
    text = json.dumps(record)
    found = sorted({part for part in text.split('"') if part.startswith("6.1.") and part[4:].isdigit()})
    return f"Linux {found[0]}" if found else "Linux 6.1"


def run(base: Mapping[str, Any], stack: str, settings: Mapping[str, Any], scratch: Path) -> dict[str, str]:
    """Digests of one run: its row, the packets of both hosts, and its tables."""
    files = {host: scratch / f"{host}.pcapng" for host in ("server", "client")}
    hosts = {host: {"stack": stack} for host in files}
    plain = rexmit.Study.from_dict({"scenario": {**base, "hosts": hosts}}, "digests")
    for key, value in settings.items():
        plain = plain.set(key, value)
    wanted = {f"capture_{host}": file for host, file in files.items()}
    answer = rexmit.run_one(plain, seed=SEED, options={**wanted, "state": True, "verdicts": True})
    found = {"row": sha(json.dumps(answer["row"], sort_keys=True)), "packets": packets(*files.values())}
    tables = {name: answer[name] for name in TABLES if answer.get(name) is not None}
    return found | {name: values(table) for name, table in tables.items()}


def study(told: Mapping[str, Any], scratch: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The results folder of a study."""
    asked = rexmit.Study.load(ROOT / told["file"])
    for key, value in told["settings"].items():
        asked = asked.set(key, value)
    out = scratch / "study"
    asked.run(out, capture="all", state="all", verdicts="all", transmissions="all", progress=False)
    yield told["file"], folder_of(out)


def folder_of(out: Path) -> dict[str, str]:
    """Digests of the tables and captures of a results folder, by their files."""
    tables = {
        str(path.relative_to(out)): values(pl.read_parquet(path)) for path in sorted(out.rglob("*.parquet"))
    }
    return {**tables, "packets": packets(*sorted(out.rglob("*.pcapng")))}


def judged(told: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """What the analysis says of captures."""
    for capture in sorted(path for pattern in told["captures"] for path in CAPTURES.glob(pattern)):
        analysis = rexmit.analyze(capture)
        tables = {name: pl.DataFrame(analysis.arrow(name)) for name in ANALYSED}
        yield str(capture.relative_to(CAPTURES)), {n: values(t) for n, t in tables.items() if t.height}


def formats() -> Iterator[tuple[str, dict[str, Any]]]:
    """What programs of others may build on."""
    yield "versions", {"layout of results folders": SCHEMA, "protocol of stacks that are programs": PROTOCOL}
    for kind in ("study", "single", "capture"):
        tables = _native_tables(kind)
        yield (
            f"tables: {kind}",
            {
                name: {column["name"]: column["type"] for column in columns}
                for name, columns in tables.items()
            },
        )


def _native_tables(kind: str) -> dict[str, list[dict[str, Any]]]:
    """The described columns of each table of a kind."""
    tables: dict[str, list[dict[str, Any]]] = json.loads(_native.table_descriptions())[kind]
    return tables


def values(table: pl.DataFrame) -> str:
    """A digest of the values of a table and of the names of its columns."""
    return sha(table.write_json())


def packets(*files: Path) -> str:
    """A digest of captures, in which the version of rexmit is masked: they name what wrote them."""
    mark = f"rexmit {rexmit.__version__}".encode()
    return sha(b"".join(file.read_bytes().replace(mark, b"rexmit VERSION") for file in files))


def sha(data: str | bytes) -> str:
    """16 hexadecimal digits."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
