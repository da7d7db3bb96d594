"""sctp_trace, the tool of study 002, on captures of the study: the same retransmissions, delays and classes.

`make sctp-trace TEXT=...` names the text that holds the listing; without it there is nothing to compare with.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from rexmit import Study, analyze

from .peers import sctp_trace

pytestmark = [pytest.mark.long, pytest.mark.skipif(not sctp_trace.THERE, reason=sctp_trace.WHY)]


def _compared(part: str, threshold: int, folder: Path, **settings: object) -> tuple[int, list[str]]:
    """How many retransmissions of a part's runs both have, and those that differ."""
    program = sctp_trace.build(folder, modified=threshold == 1)
    study = Study.load(f"pedersen-2006/{part}").set("design.replications", 2)
    for name, levels in settings.items():
        study = study.set(name, levels)
    results = study.run(progress=False)
    compared, different = 0, []
    for run in range(len(results)):
        capture, plain = folder / "client.pcapng", folder / "client.pcap"
        results.capture(run, client=capture)
        sctp_trace.write_pcap(capture, plain)
        theirs = {(one.tsn, one.number): one for one in sctp_trace.run(program, plain)}
        frame = analyze(
            capture, tables=["sctp_retransmissions"], sctp_threshold=threshold
        ).sctp_retransmissions
        rows = frame.filter(pl.col("side") == "client").select(
            "tsn", "retransmission", pl.col("class").cast(pl.String), pl.col("delay_first_ns") / 1e6
        )
        ours = {(tsn, number): (kind, ms) for tsn, number, kind, ms in rows.iter_rows()}
        for key in sorted(theirs.keys() | ours.keys()):
            compared += 1
            one, other = theirs.get(key), ours.get(key)
            if one is None or other is None or one.kind != other[0] or abs(one.ms - other[1]) > 0.002:
                different.append(f"run {run}, chunk {key}: {one}, ours {other}")
    return compared, different


def test_the_original_protocol_on_thin_streams(tmp_path: Path) -> None:
    compared, different = _compared("thin", 4, tmp_path)
    assert compared > 4000
    assert different == []


def test_the_modified_protocol(tmp_path: Path) -> None:
    levels = ["+reduce RTO+FR", "all but restart", "+mod timer restart", "+no SACK delay"]
    compared, different = _compared("enhancements", 1, tmp_path, enhancements=levels)
    assert compared > 5000
    assert different == []
