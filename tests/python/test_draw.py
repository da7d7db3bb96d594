"""Scenarios drawn from a seed: the same for ever, each by itself, and between them all that can be said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import rexmit
from rexmit import _native
from rexmit.errors import UsageError
from rexmit.run.stacks import third_parties

LEFT_OUT = {
    "LinuxSpec": {"version"},
    "PathSpec": {"emulator", "qdisc"},
    "HostSpec": {"access", "alternate_address", "at", "code", "count", "program", *third_parties()},
    "TransferSpec": {"congestion", "datagrams", "flows", "name", "socket"},
}
"""Keys that no scenario has: the kernel to take, programs, a second path, other code, single sockets,
QUIC, networks, flows that arrive at random."""


def drawn(family: str, count: int, seed: int = 5) -> list[dict[str, Any]]:
    return [rexmit.draw_scenario(number, seed=seed, family=family) for number in range(count)]


@pytest.mark.parametrize("family", rexmit.SCENARIO_FAMILIES)
def test_each_is_a_scenario_that_a_real_kernel_can_run(family: str) -> None:
    for scenario in drawn(family, 200):
        plan = _native.Plan(json.dumps(scenario), [], "[]", "uml", None)
        _, unsupported, protocols = plan.check(0, 1)
        # The wide set says in the model's keys what it tells the kernel in its own.
        assert not [key for key in unsupported if ".stack." not in key or not family.startswith("wide")]
        assert len(protocols) == 1


def test_a_number_and_a_seed_are_a_scenario() -> None:
    assert drawn("all", 50) == [rexmit.draw_scenario(n, seed=5) for n in range(50)]
    assert drawn("all", 50) != drawn("all", 50, seed=6)
    assert len({json.dumps(scenario) for scenario in drawn("all", 500)}) == 500


def test_what_is_drawn_stays_as_it_was() -> None:
    """A page or a reported difference names a scenario by its number."""
    scenario = rexmit.draw_scenario(0, seed=0, family="losses")
    assert scenario["path"]["rate"] == "1016980 bit/s"
    tcp = rexmit.draw_scenario(3, seed=0, family="tcp")
    assert tcp["path"] == {
        "delay": "13944 us",
        "rate": "1250032 bit/s",
        "queue": "149 packets",
        "down": {"drop": {"position": 25, "period": 47}, "jitter": {"spread": "197 us"}},
    }
    assert tcp["transfers"][0]["messages"]["size"] == "exponential 300 bytes"


def test_the_wide_set_takes_its_groups_in_turn() -> None:
    groups = list(rexmit.WIDE_GROUPS)
    for number in range(3 * len(groups)):
        own = rexmit.draw_scenario(
            number // len(groups), seed=5, family=f"wide/{groups[number % len(groups)]}"
        )
        assert rexmit.draw_scenario(number, seed=5, family="wide") == own


@pytest.mark.parametrize("group", rexmit.WIDE_GROUPS)
def test_the_model_runs_the_wide_set(group: str) -> None:
    """Both systems are told the same: the model knows every key, and has nothing to say against one."""
    for number in range(4):
        scenario = rexmit.draw_scenario(number, seed=5, family=f"wide/{group}")
        if group == "fast":
            scenario["transfers"][0]["bulk"] = "300000 bytes"
        assert rexmit.run_one(scenario)["row"]["completed"]


def test_what_the_wide_set_draws_stays_as_it_was() -> None:
    jitter = rexmit.draw_scenario(2, seed=2026, family="wide/jitter")
    small = rexmit.draw_scenario(2, seed=2026, family="wide/small-buffers")
    assert jitter["path"]["rate"] == "2349418 bit/s"
    assert small["hosts"]["client"]["linux"] == {"sysctl": {"net.ipv4.tcp_rmem": "4096 13833 105573"}}
    assert small["hosts"]["client"]["stack"]["window"]["tuning"]["most"] == "105573 bytes"


def test_every_setting_of_a_kernel_is_drawn() -> None:
    schema = rexmit.schema()["$defs"]
    both = drawn("tcp", 3000) + drawn("sctp", 500)
    for name, found in {
        "LinuxSpec": [host["linux"] for each in both for host in each["hosts"].values() if "linux" in host],
        "HostSpec": [host for each in both for host in each["hosts"].values()],
        "PathSpec": [each["path"] for each in both],
        "TransferSpec": [transfer for each in both for transfer in each["transfers"]],
    }.items():
        said = {key for one in found for key in one} | set(keys_of_directions(both, name))
        assert set(schema[name]["properties"]) - said <= LEFT_OUT.get(name, set()), name


def keys_of_directions(scenarios: list[dict[str, Any]], name: str) -> Iterator[str]:
    """Keys that a path has in one direction only."""
    if name == "PathSpec":
        for scenario in scenarios:
            for direction in ("down", "up"):
                yield from scenario["path"].get(direction, {})


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no family of scenarios 'quic'; there are all, tcp, sctp, losses"):
        rexmit.draw_scenario(0, family="quic")
    with pytest.raises(UsageError, match="scenario -1: they are numbered from 0"):
        rexmit.draw_scenario(-1)
