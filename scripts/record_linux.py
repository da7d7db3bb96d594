"""Record TCP of this machine's kernel between two namespaces: `record_linux.py [--out DIR] [NAME ...]`.

Needs root, Linux, tcpdump and iproute2. Each scenario of `record/scenarios.py` leaves three files: what
tcpdump saw at the server and at the client, and a JSON with the truth: the kernel's counters, each
retransmission with the kernel's own reason for it (from the tracepoint's call stack), and what the relay
between the namespaces did to which packet.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from record import workload
from record.network import IPV4, IPV6, SIDES, Network, prefix
from record.packets import read_pcap
from record.relay import Passage, Relay
from record.rules import Judge
from record.scenarios import Scenario, scenarios
from record.tracing import Event, Tracer, counters
from record.truth import MismatchError, retransmissions, sent_packets

ROOT = Path(__file__).resolve().parent.parent
PORT = 5001
LONGEST = 60.0
# The kernel sometimes writes an event without its call stack; then the scenario is recorded again.
TRIES = 8


def main() -> int:
    """Record what was asked for; 1 if a scenario could not be recorded."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("names", nargs="*", metavar="NAME", help="scenarios; all without")
    options.add_argument("--out", type=Path, default=ROOT / "tests" / "captures" / "linux")
    options.add_argument("--list", action="store_true", help="name the scenarios and stop")
    chosen = options.parse_args()
    known = {scenario.name: scenario for scenario in scenarios()}
    if chosen.list:
        print("\n".join(f"{name:28} {scenario.title}" for name, scenario in known.items()))
        return 0
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        options.error(f"no scenario {unknown[0]}; --list names them")
    chosen.out.mkdir(parents=True, exist_ok=True)
    wanted = [known[name] for name in chosen.names or known]
    failed = [scenario.name for scenario in wanted if not attempt(scenario, chosen.out)]
    if failed:
        print(f"record_linux: not recorded: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def attempt(scenario: Scenario, out: Path) -> bool:
    """Record one scenario, again if what was seen does not fit together."""
    for _ in range(TRIES):
        try:
            record(scenario, out)
        except MismatchError as error:
            print(f"record_linux: {scenario.name}: {error}", file=sys.stderr)
        else:
            return True
    return False


def record(scenario: Scenario, out: Path) -> None:
    """Record one scenario and write its three files."""
    with tempfile.TemporaryDirectory(prefix="rexmit-record-") as scratch:
        files = {side: Path(scratch) / f"{side}.pcap" for side in SIDES}
        relay, events, counted = play(scenario, files)
        captures = {side: read_pcap(path) for side, path in files.items()}
        sent = {side: sent_packets(side, captures, relay.log, relay.delivered) for side in SIDES}
        sack = scenario.settings.get("net.ipv4.tcp_sack") != "0"
        again = [row for side in SIDES for row in retransmissions(side, sent[side], events, sack)]
        start = captures["client"][0][0]
        truth = {
            "name": scenario.name,
            "title": scenario.title,
            "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
            "scenario": described(scenario),
            "counters": counted,
            "retransmissions": again,
            "relay": [
                {**happened(passage, start), "packet": packet.number}
                for side in SIDES
                for packet in sent[side]
                for passage in packet.parts
                if passage.verdict != "forwarded"
            ],
        }
        for side in SIDES:
            packed = gzip.compress(files[side].read_bytes(), mtime=0)
            (out / f"{scenario.name}.{side}.pcap.gz").write_bytes(packed)
        (out / f"{scenario.name}.json").write_text(written(truth))
    causes = [str(row["cause"]) for row in again]
    summary = ", ".join(f"{causes.count(cause)} {cause}" for cause in sorted(set(causes)))
    print(
        f"{scenario.name}: {len(captures['server'])} packets; {summary or 'nothing sent again'}", flush=True
    )


def play(scenario: Scenario, files: dict[str, Path]) -> tuple[Relay, list[Event], dict[str, dict[str, int]]]:
    """Run the traffic and the captures; what the relay, the tracer and the counters say."""
    with Network(scenario.link, scenario.offload, scenario.settings) as network, Tracer(PORT) as tracer:
        dumps = [dump(scenario, side, files[side]) for side in SIDES]
        path = (scenario.rate, scenario.delay, scenario.queue)
        judge = Judge(scenario.rules, scenario.seed)
        relay = Relay(network.descriptors, judge, path, (scenario.link, scenario.offload))
        peers = [peer(scenario, "server")]
        peers[0].stdout.readline()  # type: ignore[union-attr]
        peers.append(peer(scenario, "client"))
        started = time.monotonic()

        def over() -> bool:
            now = time.monotonic()
            if now - started > LONGEST:
                raise MismatchError(f"not over after {LONGEST:.0f} s")
            return all(p.poll() is not None for p in peers) and now - relay.last > scenario.quiet

        try:
            relay.run(over)
        finally:
            for process in [*peers, *dumps]:
                process.send_signal(signal.SIGINT)
                process.communicate()
        return relay, tracer.events(), {side: counters(side) for side in SIDES}


def dump(scenario: Scenario, side: str, path: Path) -> subprocess.Popen[str]:
    """Start tcpdump on a side and wait until it listens."""
    command = ["tcpdump", "-i", scenario.interface, "-s", str(scenario.snap), "-Z", "root", "-B", "16384"]
    command += [f"--time-stamp-precision={scenario.precision}", "--immediate-mode", "-w", str(path), "tcp"]
    process = subprocess.Popen([*prefix(side), *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "listening on" in line:
            return process
    raise SystemExit("record_linux: tcpdump does not start; is it installed?")


def peer(scenario: Scenario, side: str) -> subprocess.Popen[str]:
    """Start one side of the workload."""
    addresses = IPV6 if scenario.ipv6 else IPV4
    options = scenario.server_options if side == "server" else scenario.client_options
    spec = {
        "address": addresses["server"],
        "own": addresses[side],
        "port": PORT,
        # Set on the socket: a namespace may not set a different default.
        "options": {"congestion": scenario.congestion, **options},
        "steps": scenario.server if side == "server" else scenario.client,
    }
    command = [*prefix(side), sys.executable, workload.__file__, side, json.dumps(spec)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def described(scenario: Scenario) -> dict[str, Any]:
    """A scenario as JSON, without what has its default value."""
    usual = asdict(Scenario("", ""))
    return {
        key: value
        for key, value in asdict(scenario).items()
        if value != usual[key] and key not in ("name", "title")
    }


def happened(passage: Passage, start: float) -> dict[str, Any]:
    """What the relay did to a packet."""
    return {
        "at": round(passage.at - start, 6),
        "direction": passage.direction,
        "kind": passage.segment.kind,
        "position": passage.position,
        "transmission": passage.transmission,
        "verdict": passage.verdict,
    }


def written(truth: dict[str, Any]) -> str:
    """JSON with a line for each row, so that a change of one shows as such."""
    lines = []
    for key, value in truth.items():
        if isinstance(value, list) and value:
            rows = ",\n".join("  " + json.dumps(row) for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, default=list)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
