"""Networks of many hosts that run Linux: a guest each in the model's engine, and all in one guest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rexmit import Study
from rexmit.errors import StudyError
from rexmit.kernel import find_kernel
from rexmit.run import repeats

SAME = ["transfer", "sender", "receiver", "completed", "opened_ns", "time_ns", "bytes", "data_segments"]
"""What both ways tell of a connection, to the nanosecond."""

COUNTED = ["link", "from_point", "to_point", "packets", "bytes", "passed_bytes", "drops"]


def host(at: str, delay: str = "1 ms") -> dict[str, Any]:
    access = {"rate": "1 Gbit/s", "delay": delay}
    # A phase that is the same for all: one guest has one clock.
    return {"stack": "linux:6.1", "at": at, "access": access, "tick_phase": "0 s"}


def link(one: str, other: str, **more: Any) -> dict[str, Any]:
    return {"between": [one, other], "rate": "10 Mbit/s", "delay": "8 ms", "queue": "30 packets"} | more


def transfer(name: str, one: str, other: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "from": one, "to": other, **({"bulk": "400 kB"} | more)}


NETWORKS: dict[str, dict[str, Any]] = {
    "dumbbell": {
        "hosts": {"near": host("left"), "far": host("left", "15 ms"), "sink": host("right")},
        "links": {"middle": link("left", "right")},
        "transfers": [transfer("near", "near", "sink"), transfer("far", "far", "sink")],
    },
    "parking lot": {
        "hosts": {name: host(at) for name, at in zip("abcd", ("p1", "p2", "p3", "p4"), strict=True)},
        "links": {f"l{n}": link(f"p{n}", f"p{n + 1}", loss="0.5 %") for n in (1, 2, 3)},
        "transfers": [
            transfer("through", "a", "d"),
            transfer("back", "d", "b", opened_by="d"),
            transfer("across", "b", "c", connections=2),
        ],
    },
    "one point": {
        "hosts": {
            name: host("hub") | {"access": {"rate": "5 Mbit/s", "delay": "10 ms"}} for name in ("x", "y", "z")
        },
        "transfers": [transfer("xy", "x", "y"), transfer("yz", "y", "z"), transfer("zx", "z", "x")],
    },
    "group": {
        "hosts": {"reader": host("left") | {"count": 3}, "sink": host("right")},
        "links": {"middle": link("left", "right", **{"from": {"right": {"drop": "18, 40"}}})},
        "transfers": [
            transfer("down", "sink", "reader", bulk="150 kB"),
            transfer("up", "reader", "sink", bulk="150 kB"),
        ],
    },
}


def study(name: str, **more: Any) -> Study:
    return Study.from_dict({"scenario": {"limit": "1 min"} | NETWORKS[name] | more, "design": {"seed": 5}})


def seen(capture: bytes) -> list[tuple[int, int]]:
    """When each packet of a capture passed, and how long it was: numbers in it are drawn."""
    return [(time, length) for time, length, _ in repeats._packets(capture)]


@pytest.fixture
def inside() -> None:
    """Skips where no kernel has been built whose time goes in steps."""
    if not find_kernel().has_driver:
        pytest.skip("the kernel was built without the driver")


@pytest.mark.usefixtures("guest", "inside")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_guest_a_host_and_all_hosts_in_one_guest_do_the_same(name: str, tmp_path: Path) -> None:
    told = {
        backend: study(name).run(tmp_path / backend, backend=backend, progress=False)
        for backend in ("model", "uml")
    }
    tables = {
        kind: [pl.read_parquet(tmp_path / backend / f"{kind}.parquet") for backend in told]
        for kind in ("transfers", "links")
    }
    one, other = (table.select(SAME) for table in tables["transfers"])
    assert one.equals(other), f"{one}\n{other}"
    assert one["completed"].all()
    one, other = (table.select(COUNTED) for table in tables["links"])
    assert one.equals(other), f"{one}\n{other}"
    row = told["uml"].table().to_dicts()[0]
    assert (row["error"], row["packets_down"]) == (None, None)
    assert tables["transfers"][1]["timeouts"].is_null().all(), "a kernel counts them by host"


@pytest.mark.usefixtures("guest", "inside")
def test_captures_are_of_the_hosts_by_their_names_and_hold_the_same_packets(tmp_path: Path) -> None:
    for backend in ("model", "uml"):
        study("dumbbell").run(tmp_path / backend, backend=backend, progress=False, capture="all")
    for name in ("near", "far", "sink"):
        path = f"captures/run-00000000-{name}.pcapng"
        one, other = (seen((tmp_path / backend / path).read_bytes()) for backend in ("model", "uml"))
        assert len(one) > 100
        assert one == other
    assert len([*(tmp_path / "uml/captures").iterdir()]) == 3


@pytest.mark.usefixtures("guest", "inside")
def test_two_hosts_are_measured_on_a_real_kernel_too(tmp_path: Path) -> None:
    table = {
        "hosts": {name: {"stack": "linux:6.1", "tick_phase": "0 s"} for name in ("server", "client")},
        "path": {"rate": "8 Mbit/s", "delay": "10 ms", "queue": "20 packets"},
        "transfers": [{"from": "server", "to": "client", "bulk": "300 kB"}],
        "measure": {"every": "100 ms"},
    }
    for backend in ("model", "uml"):
        both = Study.from_dict({"scenario": table, "design": {"seed": 5}})
        both.run(tmp_path / backend, backend=backend, progress=False)
    one, other = (
        pl.read_parquet(tmp_path / backend / "transfers_over_time.parquet") for backend in ("model", "uml")
    )
    assert one.equals(other)
    one, other = (
        pl.read_parquet(tmp_path / backend / "transfers.parquet").select(SAME, "rtt_min_ms", "rtt_mean_ms")
        for backend in ("model", "uml")
    )
    assert one.equals(other)


@pytest.mark.usefixtures("guest")
def test_netem_between_the_hosts_of_a_network_is_refused() -> None:
    links = {"middle": link("left", "right", emulator="netem")}
    with pytest.raises(StudyError, match=r"links\.middle\.emulator"):
        study("dumbbell", links=links).run(backend="uml", progress=False)
