"""Options of sockets by transfer: the same as the host's setting where it has one, else seen in packets."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit.errors import RexmitError, StudyError

SCENARIO: dict[str, Any] = {
    "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
    "path": {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "20 packets"},
    "transfers": [{"from": "server", "to": "client", "bulk": "1 MB"}],
}


def study(hosts: dict[str, Any] | None = None, protocol: str = "linux-6.1", **transfer: Any) -> rexmit.Study:
    both = {name: {"stack": protocol, **(hosts or {})} for name in ("server", "client")}
    transfers = [SCENARIO["transfers"][0] | transfer]
    scenario = SCENARIO | {"hosts": both, "transfers": transfers}
    return rexmit.Study.from_dict({"scenario": scenario, "design": {"replications": 1}}, "sockets")


def row(what: rexmit.Study, backend: str = "model", **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = what.run(backend=backend, progress=False, **options).table().row(0, named=True)
    return found


def ip_packets(capture: Path) -> Iterator[bytes]:
    """The packets of a capture of ours, from their IP header on."""
    data, at = capture.read_bytes(), 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            packet = data[at + 28 : at + 28 + struct.unpack_from("<I", data, at + 20)[0]]
            yield packet if packet[0] >> 4 == 4 else packet[14:]
        at += size


class TestModel:
    @pytest.mark.parametrize(
        ("transfer", "stack"),
        [
            ({"congestion": "reno"}, {"congestion": {"algorithm": "reno"}}),
            ({"socket": {"pacing_rate": "2 Mbit/s"}}, {"output": {"pacing_rate": "2 Mbit/s"}}),
            ({"socket": {"nagle": False}}, {"output": {"nagle": "off"}}),
            ({"socket": {"send_buffer": "20 kB"}}, {"buffers": {"send": "20 kB"}}),
            ({"socket": {"receive_buffer": "20 kB"}}, {"buffers": {"receive": "20 kB"}}),
        ],
    )
    def test_a_socket_is_as_its_profile_would_be(
        self, transfer: dict[str, Any], stack: dict[str, Any]
    ) -> None:
        writes = {"bulk": None, "writes": "200 x 700 bytes"} if "socket" in transfer else {}
        given = {key: value for key, value in ({"bulk": "1 MB"} | writes | transfer).items() if value}
        of_linux = "congestion" in transfer or "pacing_rate" in transfer["socket"]
        name = "linux-6.1" if of_linux else "freebsd-6.0"
        profile = {"inherits": name, **stack}
        base: dict[str, Any] = {"hosts": {host: {"stack": name} for host in ("server", "client")}}

        def run(changes: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
            asked = {"from": "server", "to": "client"} | {key: given[key] for key in given if key in options}
            scenario = SCENARIO | base | changes | {"transfers": [asked]}
            return row(rexmit.Study.from_dict({"scenario": scenario, "design": {"replications": 1}}, "s"))

        plain = {key: given[key] for key in ("bulk", "writes") if key in given}
        by_socket = run({}, given)
        by_profile = run({"hosts": {name: {"stack": profile} for name in ("server", "client")}}, plain)
        assert by_socket == by_profile
        assert by_socket != run({}, plain), "it makes a difference"

    def test_only_a_model_that_paces_takes_a_rate(self) -> None:
        with pytest.raises(StudyError, match=r"transfers\.0\.socket\.pacing_rate has no effect here"):
            row(study(None, "rfc", socket={"pacing_rate": "2 Mbit/s"}))
        paced = {"inherits": "rfc", "output": {"pacing_rate": "2 Mbit/s"}}
        with pytest.raises(StudyError, match=r"output\.pacing_rate: goes with recovery `prr`"):
            row(study({"stack": paced}))

    def test_each_transfer_has_its_own(self) -> None:
        both = [SCENARIO["transfers"][0] | {"congestion": name} for name in ("reno", "cubic")]
        scenario = SCENARIO | {"transfers": both}
        mixed = rexmit.Study.from_dict({"scenario": scenario, "design": {"replications": 1}}, "mixed")
        same = [row(study(congestion=name, connections=2)) for name in ("reno", "cubic")]
        assert row(mixed) not in same

    @pytest.mark.parametrize(
        ("transfer", "told"),
        [
            ({"socket": {"tos": 16}}, "transfers.0.socket.tos has no effect here"),
            ({"socket": {"send_buffer": "20 kB"}}, "transfers.0.socket.send_buffer has no effect here"),
            ({"congestion": "vegas"}, "transfers.0.congestion: unknown choice `vegas`"),
            ({"socket": {"max_segment": 10}}, "`socket.max_segment`: allowed: 88 to 32767"),
            ({"socket": {"user_timeout": "1500 us"}}, "`socket.user_timeout`: the kernel counts whole milli"),
            ({"socket": {"syn_retries": 0}}, "`socket.syn_retries`: allowed: 1 to 127"),
            ({"socket": {"nagel": False}}, "did you mean `nagle`?"),
        ],
    )
    def test_what_it_cannot_have_is_one_line(self, transfer: dict[str, Any], told: str) -> None:
        with pytest.raises(StudyError) as wrong:
            row(study(**transfer))
        assert told in str(wrong.value)
        assert "\n" not in str(wrong.value)


@pytest.mark.usefixtures("guest")
class TestLinux:
    @pytest.mark.parametrize("backend", ["uml", "model"])
    @pytest.mark.parametrize(
        ("transfer", "linux"),
        [
            ({"congestion": "reno"}, {"congestion": "reno"}),
            ({"socket": {"send_buffer": "20 kB"}}, {"send_buffer": "20 kB"}),
            ({"socket": {"receive_buffer": "20 kB"}}, {"receive_buffer": "20 kB"}),
        ],
    )
    def test_a_socket_is_as_its_host_would_have_it(
        self, backend: str, transfer: dict[str, Any], linux: dict[str, Any]
    ) -> None:
        stack = "linux:" if backend == "model" else "linux-6.1"
        by_host = row(study({"linux": linux}, stack), backend)
        assert row(study(None, stack, **transfer), backend) == by_host
        assert row(study(None, stack), backend) != by_host

    def test_packets_show_what_no_host_says(self, tmp_path: Path) -> None:
        options = {"tos": 184, "max_segment": 500}
        study(socket=options).run(tmp_path / "out", backend="uml", progress=False, capture="all")
        packets = list(ip_packets(next((tmp_path / "out" / "captures").glob("*server*"))))
        of_server = [packet for packet in packets if packet[12:16] == bytes([10, 0, 2, 1])]
        # The SYN-ACK is not a packet of the connection's socket yet.
        assert {packet[1] for packet in of_server[1:]} == {184}
        assert max(len(packet) for packet in packets) <= 20 + 20 + 500

    def test_a_rate_and_a_limit(self) -> None:
        paced = row(study(socket={"pacing_rate": "2 Mbit/s"}), "uml")
        assert 3.9e9 < paced["time_ns"] < 4.6e9
        assert row(study(socket={"pacing_rate": "2 Mbit/s"}))["time_ns"] == paced["time_ns"]
        clamped = row(study(socket={"window_clamp": "5000 bytes"}), "uml")
        assert clamped["time_ns"] > 5e9, "5000 bytes a round trip of 40 ms"

    def test_a_congestion_control_that_the_kernel_lacks(self) -> None:
        with pytest.raises(RexmitError, match="no congestion control `nosuch` in this kernel"):
            row(study(congestion="nosuch"), "uml")

    def test_sctp_has_few_of_them(self) -> None:
        with pytest.raises(StudyError, match=r"transfers\.0\.congestion has no effect here"):
            row(study(None, "lksctp-2.6.15", congestion="reno"), "uml")
        nagle = {"writes": "50 x 100 bytes", "bulk": None, "socket": {"nagle": True}}
        what = {key: value for key, value in nagle.items() if value is not None}
        scenario = SCENARIO | {
            "hosts": {name: {"stack": "lksctp-2.6.15"} for name in ("server", "client")},
            "transfers": [{"from": "server", "to": "client", **what}],
        }
        with_nagle = row(rexmit.Study.from_dict({"scenario": scenario}, "n"), "uml")
        scenario["transfers"][0].pop("socket")
        without = row(rexmit.Study.from_dict({"scenario": scenario}, "n"), "uml")
        assert with_nagle["packets_down"] < without["packets_down"]
