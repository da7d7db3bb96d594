"""What is recorded: each scenario with its path, the kernel's settings, the rules of loss and the traffic.

Positions are those of the server's data segments; with the usual 1500 bytes and timestamps a segment has
1448 bytes. The default path has 10 Mbit/s and 25 ms one way, the default traffic is 60 kB to the client.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .rules import Rule

Steps = tuple[list[Any], ...]
BULK: Steps = (["send", 60_000],)
READ: Steps = (["recv", 0],)


@dataclass(frozen=True)
class Scenario:
    """One recording. `rate` in bit/s, `delay` in seconds one way, `queue` in packets."""

    name: str
    title: str
    rules: tuple[Rule, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    rate: float = 10e6
    delay: float = 0.025
    queue: int = 1000
    server: Steps = BULK
    client: Steps = READ
    server_options: dict[str, Any] = field(default_factory=dict)
    client_options: dict[str, Any] = field(default_factory=dict)
    link: str = "tap"
    offload: bool = False
    ipv6: bool = False
    congestion: str = "cubic"
    seed: int = 1
    snap: int = 96
    interface: str = "rex0"
    precision: str = "micro"
    quiet: float = 1.2


def drop(*positions: int, times: tuple[int, ...] = (1,), **more: Any) -> Rule:
    """Lose the server's data at these positions."""
    return Rule("drop", positions=positions, transmissions=times, **more)


def tcp(**settings: object) -> dict[str, str]:
    """Settings of the kernel, without the `net.ipv4.tcp_` of their names."""
    return {f"net.ipv4.tcp_{key}": str(value) for key, value in settings.items()}


NO_SACK = tcp(sack=0, dsack=0)
NO_STAMPS = tcp(timestamps=0)
NO_PROBE = tcp(early_retrans=0)
NO_RACK = tcp(recovery=0)
LAST = 42  # segments of 60 kB
THIN: Steps = tuple(step for _ in range(20) for step in (["send", 100], ["sleep", 0.15]))
NODELAY = {"nodelay": 1}


def scenarios() -> list[Scenario]:
    """All of them; names are unique."""
    found = [
        *_single(),
        *_bursts(),
        *_tails(),
        *_timeouts(),
        *_handshakes(),
        *_disorder(),
        *_acks(),
        *_windows(),
        *_thin(),
        *_bulk(),
        *_forms(),
    ]
    assert len({s.name for s in found}) == len(found)
    return found


def _single() -> Iterator[Scenario]:
    base = Scenario("single", "one segment of a long transfer is lost", (drop(20),))
    yield Scenario("clean", "nothing is lost")
    yield base
    yield replace(base, name="single-2ms", title="one loss at an RTT of 2 ms", delay=0.001)
    yield replace(base, name="single-300ms", title="one loss at an RTT of 300 ms", delay=0.15)
    yield replace(base, name="single-nosack", title="one loss without SACK", settings=NO_SACK)
    yield replace(base, name="single-norack", title="one loss without RACK", settings=NO_RACK)
    yield replace(base, name="single-nostamps", title="one loss without timestamps", settings=NO_STAMPS)
    both = NO_SACK | NO_STAMPS
    yield replace(base, name="single-bare", title="one loss without SACK and timestamps", settings=both)
    for control in ("reno", "bbr"):
        yield replace(base, name=f"single-{control}", title=f"one loss under {control}", congestion=control)


def _bursts() -> Iterator[Scenario]:
    base = Scenario("burst", "six segments in a row are lost", (drop(*range(20, 26)),))
    yield base
    yield replace(base, name="burst-nosack", title="six in a row without SACK", settings=NO_SACK)
    yield replace(base, name="burst-norack", title="six in a row without RACK", settings=NO_RACK)
    yield replace(base, name="burst-reno", title="six in a row, reno", congestion="reno")
    yield replace(base, name="two-holes", title="two segments of a window are lost", rules=(drop(20, 24),))
    pair = replace(base, name="two-holes-nosack", title="two of a window without SACK", rules=(drop(20, 24),))
    yield replace(pair, settings=NO_SACK)
    yield replace(
        base, name="alternate", title="every second of a window is lost", rules=(drop(*range(20, 32, 2)),)
    )
    again = replace(base, name="lost-retransmission", title="a fast retransmit is lost")
    again = replace(again, rules=(drop(20, times=(1, 2)),), server=(["send", 150_000],))
    yield again
    yield replace(again, name="lost-retransmission-norack", title="the same without RACK", settings=NO_RACK)
    yield replace(again, name="lost-retransmission-nosack", title="the same without SACK", settings=NO_SACK)
    yield replace(
        again,
        name="lost-retransmission-twice",
        title="a fast retransmit is lost twice",
        rules=(drop(20, times=(1, 2, 3)),),
    )


def _tails() -> Iterator[Scenario]:
    base = Scenario("tail-1", "the last segment is lost; the connection stays open", (drop(LAST),))
    base = replace(base, server=(["send", 60_000], ["sleep", 2.0]))
    yield base
    yield replace(base, name="tail-1-2ms", title="the last is lost at an RTT of 2 ms", delay=0.001)
    yield replace(base, name="tail-1-300ms", title="the last is lost at an RTT of 300 ms", delay=0.15)
    yield replace(base, name="tail-1-noprobe", title="the last is lost, no probes", settings=NO_PROBE)
    yield replace(base, name="tail-1-nosack", title="the last is lost, no SACK", settings=NO_SACK)
    yield replace(base, name="tail-1-nostamps", title="the last is lost, no timestamps", settings=NO_STAMPS)
    yield replace(base, name="tail-1-bbr", title="the last, bbr", congestion="bbr")
    three = replace(base, name="tail-3", title="the last three are lost", rules=(drop(40, 41, 42),))
    yield three
    yield replace(three, name="tail-3-noprobe", title="the last three, no probes", settings=NO_PROBE)
    yield replace(three, name="tail-3-nosack", title="the last three, no SACK", settings=NO_SACK)
    yield replace(three, name="tail-3-close", title="the last three, closed at once", server=BULK)
    yield replace(
        base,
        name="tail-probe-lost",
        title="the last and its probe are lost",
        rules=(drop(LAST, times=(1, 2)),),
    )
    yield replace(
        base,
        name="tail-backoff",
        title="the last is lost four times",
        rules=(drop(LAST, times=(1, 2, 3, 4)),),
        server=(["send", 60_000], ["sleep", 5.0]),
    )
    yield replace(
        base, name="flight-lost", title="a whole flight is lost, more to send", rules=(drop(*range(21, 41)),)
    )
    pause: Steps = (["send", 14_480], ["sleep", 0.3], ["send", 14_480], ["sleep", 2.0])
    lost = replace(
        base, name="probe-spare", title="an application pauses; its second burst is lost", server=pause
    )
    yield replace(lost, rules=(drop(*range(11, 21)),))
    held = Rule("hold", "up", kind="ack", positions=(34,), seconds=0.18)
    yield replace(base, name="probe-spurious", title="acknowledgments of the tail come late", rules=(held,))


def _timeouts() -> Iterator[Scenario]:
    base = Scenario("timeout-flight", "a whole flight is lost, no probes", (drop(*range(21, 41)),))
    base = replace(base, settings=NO_PROBE)
    yield base
    yield replace(
        base, name="timeout-flight-nosack", title="the same without SACK", settings=NO_PROBE | NO_SACK
    )
    long = replace(base, rules=(drop(*range(20, 60)),), server=(["send", 150_000],))
    yield replace(long, name="timeout-long", title="forty in a row, no probes")
    yield replace(
        long,
        name="timeout-long-nosack",
        title="forty in a row, no probes or SACK",
        settings=NO_PROBE | NO_SACK,
    )
    both = NO_PROBE | NO_SACK | NO_STAMPS
    yield replace(long, name="timeout-long-bare", title="forty in a row, no options", settings=both)
    spike = Rule("hold", positions=(25,), seconds=0.7)
    spurious = replace(
        base, name="spike", title="the path holds everything for 0.7 s", rules=(spike,), settings={}
    )
    spurious = replace(spurious, server=(["send", 150_000],))
    yield spurious
    yield replace(spurious, name="spike-nofrto", title="the same without F-RTO", settings=tcp(frto=0))
    yield replace(spurious, name="spike-nostamps", title="the same without timestamps", settings=NO_STAMPS)
    yield replace(spurious, name="spike-nosack", title="the same without SACK", settings=NO_SACK)
    bare = NO_SACK | NO_STAMPS | NO_PROBE
    yield replace(spurious, name="spike-bare", title="the same without options and probes", settings=bare)
    yield replace(spurious, name="spike-noprobe", title="the same without probes", settings=NO_PROBE)


def _handshakes() -> Iterator[Scenario]:
    base = Scenario("syn-lost", "the first SYN is lost", (Rule("drop", "up", "syn", (1,)),))
    base = replace(base, server=(["send", 5_000],), quiet=1.5)
    yield base
    twice = Rule("drop", "up", "syn", (1, 2))
    yield replace(base, name="syn-lost-twice", title="two SYNs are lost", rules=(twice,))
    yield replace(
        base, name="syn-ack-lost", title="the SYN-ACK is lost", rules=(Rule("drop", "down", "syn-ack", (1,)),)
    )
    first = Rule("drop", "up", "ack", (1,))
    yield replace(base, name="handshake-ack-lost", title="the handshake's last ACK is lost", rules=(first,))
    slow: Steps = (["send", 5_000], ["sleep", 1.0])
    fin = Rule("drop", "down", "fin", (1,))
    yield replace(
        base, name="fin-lost", title="the server's FIN is lost after a pause", rules=(fin,), server=slow
    )
    twice = Rule("drop", "down", "fin", (1, 2))
    yield replace(
        base, name="fin-lost-twice", title="the FIN is lost twice", rules=(twice,), server=slow, quiet=2.0
    )
    other = Rule("drop", "up", "fin", (1,))
    yield replace(base, name="fin-lost-client", title="the client's FIN is lost", rules=(other,))
    yield replace(
        base,
        name="abort",
        title="the server resets the connection while data are under way",
        rules=(drop(3),),
        server=(["send", 20_000], ["sleep", 0.12], ["abort"]),
    )


def _disorder() -> Iterator[Scenario]:
    late = Rule("delay", positions=(20,), seconds=0.012)
    base = Scenario("reordered", "a segment comes 12 ms late", (late,))
    yield base
    yield replace(base, name="reordered-norack", title="the same without RACK", settings=NO_RACK)
    yield replace(base, name="reordered-nosack", title="the same without SACK", settings=NO_SACK)
    yield replace(base, name="reordered-nodsack", title="the same without DSACK", settings=tcp(dsack=0))
    yield replace(base, name="reordered-nostamps", title="the same without timestamps", settings=NO_STAMPS)
    little = Rule("delay", positions=(20, 30), seconds=0.0015)
    yield replace(base, name="reordered-little", title="segments are overtaken by one", rules=(little,))
    far = Rule("delay", positions=(20,), seconds=0.07)
    yield replace(
        base,
        name="reordered-far",
        title="a segment comes 70 ms late",
        rules=(far,),
        server=(["send", 150_000],),
    )
    many = Rule("delay", every=7, seconds=0.01)
    mixed = replace(base, name="reordered-often", title="every seventh comes 10 ms late", rules=(many,))
    yield replace(mixed, server=(["send", 150_000],))
    lost = replace(
        base, name="reordered-and-lost", title="one comes late, another is lost", rules=(late, drop(26))
    )
    yield lost
    twice = Rule("duplicate", positions=(15, 30), seconds=0.004)
    yield replace(base, name="duplicated", title="the network copies two segments", rules=(twice,))
    acks = Rule("duplicate", "up", "ack", positions=(5, 9, 10), seconds=0.001)
    yield replace(base, name="duplicated-acks", title="the network copies three ACKs", rules=(acks,))


def _acks() -> Iterator[Scenario]:
    some = Rule("drop", "up", "ack", probability=0.3)
    base = Scenario("acks-lost", "three in ten ACKs are lost", (some,))
    base = replace(base, server=(["send", 150_000],))
    yield base
    yield replace(
        base, name="acks-and-data-lost", title="ACKs and data are lost", rules=(some, drop(20, 50, 70))
    )
    gone = Rule("drop", "up", "ack", positions=range(8, 28))
    yield replace(base, name="acks-lost-long", title="twenty ACKs in a row are lost", rules=(gone,))
    yield replace(
        base,
        name="acks-lost-long-bare",
        title="the same without options and probes",
        rules=(gone,),
        settings=NO_SACK | NO_STAMPS | NO_PROBE,
    )
    held = Rule("hold", "up", "ack", positions=(10,), seconds=0.5)
    yield replace(base, name="acks-held", title="ACKs are held for 0.5 s", rules=(held,))
    few: Steps = (["send", 5_000], ["sleep", 2.0])
    last = Rule("drop", "up", "ack", positions=range(2, 6))
    yield replace(
        base, name="acks-lost-tail", title="the ACKs of a short reply are lost", rules=(last,), server=few
    )


def _windows() -> Iterator[Scenario]:
    slow: Steps = (["sleep", 2.5], ["recv", 4000], ["sleep", 0.5], ["recv", 0])
    base = Scenario("zero-window", "the client does not read for 2.5 s", client=slow)
    base = replace(base, client_options={"rcvbuf": 8192})
    yield base
    update = Rule("drop", "up", "ack", positions=range(9, 40), probability=0.5)
    yield replace(base, name="zero-window-acks-lost", title="the same, half the ACKs lost", rules=(update,))
    yield replace(base, name="zero-window-loss", title="the same with a lost segment", rules=(drop(4),))
    few: Steps = (["send", 3_000], ["sleep", 4.5], ["send", 3_000])
    keep = {"keepalive": 1, "keepidle": 1, "keepintvl": 1}
    alive = Scenario(
        "keep-alive", "an idle connection is probed each second", server=few, server_options=keep
    )
    yield alive
    lost = Rule("drop", "down", "ack", positions=(3,))
    yield replace(alive, name="keep-alive-lost", title="a probe is lost", rules=(lost,))
    idle: Steps = (["send", 20_000], ["sleep", 1.5], ["send", 20_000], ["sleep", 1.5], ["send", 20_000])
    yield Scenario("idle", "bursts with pauses of 1.5 s", (drop(20, 33),), server=idle)


def _thin() -> Iterator[Scenario]:
    base = Scenario("thin", "100 bytes each 150 ms, three are lost", (drop(5, 9, 20),), server=THIN)
    base = replace(base, server_options=NODELAY)
    yield base
    yield replace(base, name="thin-2ms", title="the same at an RTT of 2 ms", delay=0.001)
    yield replace(base, name="thin-300ms", title="the same at an RTT of 300 ms", delay=0.15)
    yield replace(base, name="thin-noprobe", title="the same without probes", settings=NO_PROBE)
    yield replace(base, name="thin-nosack", title="the same without SACK", settings=NO_SACK)
    thrice = (drop(9, times=(1, 2, 3)),)
    yield replace(base, name="thin-backoff", title="one is lost three times", rules=thrice, settings=NO_PROBE)
    linear = replace(
        base, name="thin-linear", title="the same with linear timeouts", rules=thrice, settings=NO_PROBE
    )
    yield replace(linear, server_options=NODELAY | {"thin_linear": 1})
    fast: Steps = tuple(step for _ in range(40) for step in (["send", 100], ["sleep", 0.01]))
    yield replace(
        base,
        name="thin-collapse",
        title="100 bytes each 10 ms, three in a row are lost",
        server=fast,
        rules=(drop(15, 16, 17),),
    )
    yield replace(
        base,
        name="thin-collapse-nosack",
        title="the same without SACK",
        server=fast,
        rules=(drop(15, 16, 17),),
        settings=NO_SACK | NO_PROBE,
    )
    ask: Steps = tuple(step for _ in range(8) for step in (["recv", 200], ["send", 3_000]))
    reply: Steps = tuple(step for _ in range(8) for step in (["send", 200], ["recv", 3_000]))
    lost = (drop(6), Rule("drop", "up", "data", (5,)))
    yield Scenario(
        "request-response", "requests and replies, one of each lost", lost, server=ask, client=reply
    )
    both = (["send", 60_000], ["recv", 0]), (["send", 60_000], ["shutdown"], ["recv", 0])
    lost = (drop(20), Rule("drop", "up", "data", (15, 16)))
    yield Scenario("both-ways", "both sides send, both lose", lost, server=both[0], client=both[1])


def _bulk() -> Iterator[Scenario]:
    base = Scenario("random", "3 % of 300 kB are lost", (Rule("drop", probability=0.03, transmissions=None),))
    base = replace(base, server=(["send", 300_000],))
    for control in ("reno", "cubic", "bbr"):
        yield replace(
            base, name=f"random-{control}", title=f"3 % of 300 kB are lost, {control}", congestion=control
        )
    yield replace(base, name="random-nosack", title="3 %, no SACK", settings=NO_SACK, seed=2)
    yield replace(base, name="random-nostamps", title="3 %, no timestamps", settings=NO_STAMPS, seed=3)
    yield replace(base, name="random-bare", title="3 %, no options", settings=NO_SACK | NO_STAMPS, seed=4)
    yield replace(base, name="random-norack", title="3 %, no RACK", settings=NO_RACK, seed=5)
    yield replace(base, name="random-noprobe", title="3 %, no probes", settings=NO_PROBE, seed=6)
    yield replace(base, name="random-2ms", title="3 % at an RTT of 2 ms", delay=0.001, seed=7)
    yield replace(base, name="random-300ms", title="3 % at an RTT of 300 ms", delay=0.15, seed=8)
    heavy = (Rule("drop", probability=0.15, transmissions=None), Rule("drop", "up", "any", probability=0.1))
    yield replace(
        base,
        name="random-heavy",
        title="15 % of data and 10 % of ACKs are lost",
        rules=heavy,
        seed=9,
        server=(["send", 100_000],),
    )
    queue = replace(
        base, name="queue", title="2 Mbit/s with a queue of 20 packets", rules=(), rate=2e6, queue=20
    )
    yield queue
    yield replace(
        queue, name="queue-reno-nosack", title="the same, reno, no SACK", settings=NO_SACK, congestion="reno"
    )
    yield replace(queue, name="queue-bbr", title="the same, bbr", congestion="bbr")


def _forms() -> Iterator[Scenario]:
    """The same traffic in other link layers and forms of capture."""
    base = Scenario("ipv6", "one loss over IPv6", (drop(20),), ipv6=True)
    yield base
    plain = replace(base, ipv6=False)
    yield replace(plain, name="raw-ip", title="raw IP with nanoseconds", link="tun", precision="nano")
    yield replace(plain, name="cooked", title="captured on all interfaces, Linux cooked v2", interface="any")
    loss = Rule("drop", probability=0.03)
    large = replace(
        plain, name="offload", title="super-packets of an offload", rules=(loss,), link="tun", offload=True
    )
    yield replace(large, server=(["send", 300_000],), seed=11)
    bbr = replace(large, name="offload-bbr", title="super-packets, bbr", congestion="bbr")
    yield replace(bbr, server=(["send", 300_000],), seed=12)
    yield replace(
        plain,
        name="small-segments",
        title="segments of 200 bytes, 3 % lost",
        rules=(loss,),
        client_options={"maxseg": 212},
        server=(["send", 40_000],),
    )
