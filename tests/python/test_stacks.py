"""The registry of stacks from Python: each host's code, two of them in one run, and what is told of each."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
import rexmit
from rexmit import _native
from rexmit.errors import StudyError, UsageError
from rexmit.run import on_worker
from rexmit.run.backends import BACKENDS, is_virtual, open_backend
from rexmit.run.schema import STUDY_KEYS
from rexmit.run.stacks import LINUX, Stack, lacking, third_parties
from rexmit.study import study_schema


def here(stack: Stack) -> Stack:
    """The stack, or the test is skipped where it is not there and need not be."""
    if (lacks := lacking(stack)) is not None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", lacks
        pytest.skip(lacks)
    return stack


def is_version(stack: Stack, told: str) -> bool:
    """Whether a record says so of a stack: its build, or which kernel it was."""
    return bool(re.fullmatch(r"\d+\.\d+\.\d+\S*", told)) if stack.name == LINUX else told == stack.version


PROFILES = {"sctp": "rfc9260", "tcp": "linux-6.1", "quic": "rfc9000"}
"""A profile of each protocol."""
SILENT_OF_WAITING = ("usrsctp", "sctp-proto")
"""Those that do not tell how many bytes wait for a read."""


def speaks(name: str, protocol: str) -> bool:
    """Whether a stack of the registry speaks it."""
    entries = json.loads(_native.stacks())
    return any(entry["name"] == name and protocol in entry["protocols"] for entry in entries)


def study(server: str | None, client: str | None, **settings: Any) -> rexmit.Study:
    """Messages over a path that loses both ways, between hosts with this code."""
    codes = {"server": server, "client": client}
    foreign = [code for code in codes.values() if code in third_parties()]
    profile = next(
        profile for protocol, profile in PROFILES.items() if all(speaks(c, protocol) for c in foreign)
    )
    hosts = {name: {"stack": profile, **({"code": code} if code else {})} for name, code in codes.items()}
    scenario = {
        "hosts": hosts,
        "path": {"delay": "50 ms", "down": {"loss": "5 %"}, "up": {"loss": "5 %"}},
        "messages": True,
        "retransmissions": True,
        "transfers": [
            {"from": "server", "to": "client", "writes": "200 x 2000 bytes", "pause": "50 ms"},
        ],
    }
    return rexmit.Study.from_dict(
        {"title": "two stacks", "scenario": scenario, "design": {"replications": 2}, **settings}
    )


def alike(name: str, server: str | None = None, client: str | None = None, **settings: Any) -> rexmit.Study:
    """The same between hosts of the protocol of a stack, which do not name it."""
    spec = study(name, None, **settings).spec.to_table()
    for host, code in (("server", server), ("client", client)):
        spec["scenario"]["hosts"][host].pop("code", None)
        spec["scenario"]["hosts"][host] |= {"code": code} if code else {}
    return rexmit.Study.from_dict(spec)


names = pytest.mark.parametrize("name", list(third_parties()))
modelled = pytest.mark.parametrize("name", [name for name in third_parties() if not speaks(name, "quic")])
"""Those of protocols of which there is a model."""
sealed = pytest.mark.parametrize("name", [name for name in third_parties() if speaks(name, "quic")])
"""Those of QUIC."""
libraries = pytest.mark.parametrize("name", [name for name in third_parties() if name != LINUX])


def test_every_entry_is_a_backend_a_key_of_the_record_and_a_table_of_the_schema() -> None:
    entries = json.loads(_native.stacks())
    # Programs are the users' own, and none of them is a backend.
    assert {entry["name"] for entry in entries} == {"model", "program", *third_parties()}
    assert {tuple(entry["protocols"]) for entry in entries if entry["name"] == "model"} == {
        ("tcp",),
        ("sctp",),
    }
    assert list(BACKENDS) == ["model", *(f"stack:{name}" for name in third_parties()), "uml", "kernel"]
    assert [name for name in BACKENDS if is_virtual(name)] == list(BACKENDS)[:-2]
    host = json.loads(_native.schema())["$defs"]["HostSpec"]["properties"]
    assert host["code"]["enum"] == ["model", *third_parties(), "program"]
    for entry in entries:
        # The table of Linux is that of real kernels, and not its entry's.
        # That of a program is its command on a real kernel; where it is the stack, its settings stand there.
        own = entry["settings"] is not None or entry["is_linux"] or entry["name"] == "program"
        assert (entry["name"] in host) == own
        assert entry["determinism"] in ("bytes", "sizes-and-times", "none")
    # A version stands beside the other keys of study.json, so no stack may have the name of one.
    assert all(STUDY_KEYS[name][0] == "string" for name in third_parties())


@libraries
def test_nobody_but_the_list_and_its_adapter_names_it(name: str) -> None:
    root = Path(__file__).parents[2]
    package = root / "python/rexmit"
    # A file of tests may name the captures that the stack has recorded.
    rust = [
        path for path in root.glob("crates/*/src/**/*.rs") if "tests" not in (path.stem, path.parent.name)
    ]
    sources = [*package.rglob("*.py"), *package.rglob("*.pyi"), *rust]
    beside = (root / "python/rexmit/_studies", root / "crates/stacks")
    ours = [path for path in sources if not any(folder in path.parents for folder in beside)]
    assert len(ours) > 300
    named = [path for path in ours if re.search(rf"\b{name}\b", path.read_text(), re.IGNORECASE)]
    assert named == []


@modelled
def test_the_model_and_another_s_code_in_one_run(name: str) -> None:
    stack = here(third_parties()[name])
    for server, client in ((None, name), (name, "model")):
        results = study(server, client).run(progress=False)
        table = results.table().sort("run")
        assert table["completed"].all()
        assert results.messages()["delivered"].to_list() == [200, 200]
        assert is_version(stack, results.study[name])
        counted = results.retransmissions().group_by("run").agg(pl.col("count").sum()).sort("run")
        assert counted["count"].to_list() == table["retransmits"].to_list()
        trace = results.trace(0)
        assert trace["verdicts"].filter(pl.col("verdict") != "delivered").height > 0
        sent = trace["transmissions"]
        assert set(sent["host"]) == {"client" if server else "server"}


@modelled
def test_the_code_of_a_host_is_a_factor_and_the_backend_its_default(name: str) -> None:
    here(third_parties()[name])
    varied = alike(name, vary={"hosts.client.code": ["model", name]})
    results = varied.run(progress=False)
    rows = results.table().sort("run")
    assert rows["hosts.client.code"].to_list() == ["model", "model", name, name]
    assert rows["completed"].all()
    assert results.study[name]
    both = alike(name).run(backend=f"stack:{name}", progress=False)
    spelt = study(name, name).run(progress=False)
    assert both.table().equals(spelt.table())
    # A host that says what it has keeps it.
    one = alike(name, server="model").run(backend=f"stack:{name}", progress=False)
    assert one.table().equals(study("model", name).run(progress=False).table())
    alone = open_backend(f"stack:{name}", alike(name, server="model", client="model").spec)
    assert alone.facts() == {}


@names
def test_a_run_in_which_nobody_says_why_it_sends_has_no_transmissions(name: str, tmp_path: Path) -> None:
    here(third_parties()[name])
    silent = [(study(name, name), "model"), (alike(name), f"stack:{name}")]
    for both, backend in silent:
        with pytest.raises(UsageError, match="no stack that the hosts have says why it sends a packet"):
            both.run(tmp_path / "out", backend=backend, transmissions="all", progress=False)
        assert set(both.run(backend=backend, progress=False).trace(0)) == {"state", "verdicts", "messages"}


@modelled
def test_the_model_alone_says_why_it_sends_beside_another_s_code(name: str) -> None:
    here(third_parties()[name])
    for server, client in (("model", None), (None, "model")):
        told = open_backend(f"stack:{name}", alike(name, server, client).spec).tables(0, ["transmissions"])
        assert set(told["transmissions"]["host"].to_pylist()) == {"server" if server else "client"}


@names
def test_verdicts_and_states_say_of_its_packets_what_is_known(name: str) -> None:
    here(third_parties()[name])
    trace = study(name, name).run(progress=False).trace(0)
    verdicts, state = trace["verdicts"], trace["state"]
    assert verdicts["connection"].null_count() == 0
    down = verdicts.filter(pl.col("direction") == "down")["payload_bytes"].sum()
    up = verdicts.filter(pl.col("direction") == "up")["payload_bytes"].sum()
    assert down >= 200 * 2000
    # Acknowledgments of QUIC are sealed like data.
    assert (up == 0) != speaks(name, "quic")
    assert (state["recv_queue"].null_count() == state.height) == (name in SILENT_OF_WAITING)
    closed = state.filter(pl.col("state") == "CLOSED")
    assert closed.height > 0
    assert closed["rto_ns"].null_count() == closed.height


@modelled
def test_a_real_kernel_has_no_code_to_choose_but_linux(name: str) -> None:
    plan = _native.Plan(json.dumps(study(None, name).spec.base()), [], "[]", "kernel")
    assert plan.check(0, 1)[1] == ([] if name == LINUX else ["hosts.client.code"])


@sealed
def test_a_protocol_without_a_model_needs_code_and_no_kernel(name: str) -> None:
    here(third_parties()[name])
    both = alike(name).run(backend=f"stack:{name}", progress=False)
    assert both.table().equals(study(name, name).run(progress=False).table())
    assert both.study[name]
    text = rf"hosts\.client\.stack: there is no model of QUIC: .* code .*\b{name}\b"
    with pytest.raises(StudyError, match=text):
        alike(name, server=name).run(progress=False)
    plan = _native.Plan(json.dumps(study(name, name).spec.base()), [], "[]", "kernel")
    with pytest.raises(ValueError, match=r"hosts\.server\.stack: no kernel speaks QUIC"):
        plan.check(0, 1)


@names
def test_a_worker_says_what_it_lacks_for_a_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = (study(name, name) if speaks(name, "quic") else study(None, name)).spec
    work = {
        "study": on_worker.pack(spec),
        "name": spec.name,
        "backend": "model",
        "allow_unsupported": False,
        "kernel": None,
        "kernels": [],
        "jobs": 1,
    }
    stack = here(third_parties()[name])
    told = on_worker.what_it_can(work)
    assert is_version(stack, told["facts"][name])
    assert told["lacks"] is None
    monkeypatch.setattr(
        on_worker, "lacking", lambda stack: "it was not there" if stack.name == name else None
    )
    assert on_worker.what_it_can(work)["lacks"] == "it was not there"


def test_a_code_that_nobody_knows_is_refused() -> None:
    with pytest.raises(
        StudyError, match=r"hosts\.client\.code: unknown code `modle`: did you mean `model`\?"
    ):
        study(None, "modle").run(progress=False)


def test_an_editor_knows_the_choices() -> None:
    checker = jsonschema.Draft202012Validator(study_schema())
    assert not list(checker.iter_errors(study("model", None).spec.to_table()))
    assert list(checker.iter_errors({"scenario": {"hosts": {"client": {"code": "modle"}}}}))
    assert not list(
        checker.iter_errors({"scenario": {"limit": "1 s"}, "vary": {"hosts.client.code": ["model"]}})
    )
