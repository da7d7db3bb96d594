"""Settings in words: what figures and explorers call them."""

from __future__ import annotations

import pytest
from rexmit.study.words import in_words, level_in_words, setting_in_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("path.rate", "bandwidth"),
        ("path.delay", "one-way delay"),
        ("path.queue", "queue"),
        ("path.down.drop", "dropped packet, server to client"),
        ("path.up.delay", "delay, client to server"),
        ("path.down", "path, server to client"),
        ("alternate.delay", "one-way delay of the second path"),
        ("links.bottleneck.queue", "queue of link bottleneck"),
        ("links.line.from.left.queue", "queue of link line from left"),
        ("links.core.aqm", "AQM of link core"),
        ("links.core", "link core"),
        ("hosts.near.access.delay", "access delay of near"),
        ("hosts.near.access.up.rate", "access bandwidth from near"),
        ("hosts.near.access.down", "access link to near"),
        ("hosts.far.stack", "stack of far"),
        ("hosts.far.stack.congestion.algorithm", "congestion control of far"),
        ("hosts.client.stack.options.sack", "SACK of client"),
        ("hosts.client.stack.recovery.prr", "recovery PRR of client"),
        ("hosts.client.stack.congestion.hystart", "congestion HyStart of client"),
        ("hosts.client.stack.thin.min_rto", "thin min RTO of client"),
        ("hosts.client.linux.sysctl.net.ipv4.tcp_ecn", "net.ipv4.tcp_ecn of client"),
        ("hosts.reader.count", "number of hosts reader"),
        ("transfers.0.flows.load", "load of transfer search"),
        ("transfers.1.start", "start of transfer 1"),
        ("transfers.7.start", "start of transfer 7"),
        ("discipline", "discipline"),
        ("RTT, 1.5 times", "RTT, 1.5 times"),
        ("links..queue", "links..queue"),
        ("measure.every", "measure.every"),
    ],
)
def test_a_setting_has_words(name: str, words: str) -> None:
    scenario = {"transfers": [{"name": "search"}, {}]}
    assert setting_in_words(name, scenario) == words


def test_settings_that_would_be_called_the_same_keep_their_names() -> None:
    names = ["hosts.a.stack.options.sack", "hosts.a.stack.sack", "path.rate"]
    assert in_words(names) == {names[0]: names[0], names[1]: names[1], "path.rate": "bandwidth"}


def test_a_level_stands_behind_its_setting() -> None:
    assert level_in_words("queue of link core", "40 packets") == "queue of link core 40 packets"
    assert level_in_words("AQM of link core", "none") == "AQM of link core: none"
    assert level_in_words("name", "") == "name: "
