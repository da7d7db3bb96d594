"""What rows of an analysis mean, as sentences: the one place where evidence becomes words."""

from __future__ import annotations

from rexmit.analyse.quantities import count, duration, size
from rexmit.analyse.rows import Row
from rexmit.units import plural

CAUSES = {
    "syn": "SYN",
    "syn-ack": "SYN-ACK",
    "fin": "FIN",
    "fast": "fast retransmit",
    "reordering-timer": "RACK, reordering timer",
    "partial-ack": "after a partial ACK",
    "sack-recovery": "SACK recovery",
    "tail-probe": "tail loss probe",
    "timeout": "timeout",
    "go-back-n": "go-back-N after a timeout",
    "window-probe": "probe of a closed window",
    "keep-alive": "keep-alive",
    "unknown": "unknown",
}
"""Causes of TCP and their names for people."""

SCTP_CAUSES = {
    "fast": "fast retransmit",
    "fast-again": "fast retransmit of the same TSN again",
    "timeout": "timeout",
    "after-timeout": "later, marked by a timeout",
    "bundled-reported-missing": "bundled, reported missing",
    "bundled-in-flight": "bundled, in flight",
    "with-new-data": "with new data",
    "with-cookie": "with a COOKIE-ECHO",
    "window-probe": "probe of a closed window",
    "unknown": "unknown",
}
"""Causes of SCTP and their names for people."""

LETTERS = {
    "syn": "Y",
    "syn-ack": "Y",
    "fin": "N",
    "fast": "F",
    "reordering-timer": "D",
    "partial-ack": "P",
    "sack-recovery": "S",
    "tail-probe": "L",
    "timeout": "T",
    "go-back-n": "G",
    "window-probe": "W",
    "keep-alive": "K",
    "unknown": "?",
}
"""A letter for each cause, where there is no room for more; in lower case it was not needed."""

SCTP_LETTERS = {
    "fast": "F",
    "fast-again": "A",
    "timeout": "T",
    "after-timeout": "G",
    "bundled-reported-missing": "B",
    "bundled-in-flight": "I",
    "with-new-data": "N",
    "with-cookie": "C",
    "window-probe": "W",
    "unknown": "?",
}
"""The same for SCTP."""

AT_END = 0.05
"""A capture closer to a host than this share of the round-trip time counts as made at the host."""


def evidence(row: Row) -> str:
    """What the judgement of a retransmission of TCP rests on, as one sentence."""
    text = _TCP[row["cause"]](row)
    doubt = _not_needed(row["need"], row["proof"])
    return "; ".join(part for part in (text, doubt, _proof(row)) if part)


def sctp_evidence(row: Row) -> str:
    """What the judgement of a retransmission of SCTP rests on, as one sentence."""
    text = _SCTP[row["cause"]](row)
    if row["moved"]:
        text += f"; sent on another path than before, to {row['dst']}"
    doubt = _not_needed(row["need"], row["proof"])
    return "; ".join(part for part in (text, doubt, _proof(row)) if part)


def _proof(row: Row) -> str:
    """What makes it certain; nothing in tables that an earlier version wrote."""
    excluded = row.get("excluded")
    return f"certain, since {excluded}" if excluded else ""


def vantage(share: float | None) -> str:
    """Where a capture seems to have been made, in a word or two."""
    if share is None:
        return "unknown"
    if share <= AT_END:
        return "client"
    if share >= 1 - AT_END:
        return "server"
    return f"path, {100 * share:.0f} % from client"


def vantage_limits(share: float | None) -> str:
    """What the place of a capture limits, in a sentence."""
    if share is None:
        return "The packets do not show where it was made; causes that depend on that are likely at best."
    if share <= AT_END or share >= 1 - AT_END:
        here, other = ("client", "server") if share <= AT_END else ("server", "client")
        return (
            f"Made at the {here}: what the {here} sent is judged as it left. What the {other} sent is seen "
            "after the path: packets lost on the way are missing, and times are those of arrival."
        )
    return (
        f"Made on the path, {100 * share:.0f} % of the round trip from the client: packets lost before it "
        "are missing, and neither side's view is seen directly."
    )


def _timer(row: Row) -> str:
    known = [
        f"{duration(row['delay_previous_ns'])} after it was last sent" if row["delay_previous_ns"] else ""
    ]
    known.append(
        f"{duration(row['since_ack_ns'])} after the last ACK" if row["since_ack_ns"] is not None else ""
    )
    known.append(f"estimated RTO {duration(row['rto_ns'])}" if row["rto_ns"] is not None else "")
    known.append(f"expiry {row['backoff']} in a row" if row["backoff"] > 1 else "")
    return ", ".join(part for part in known if part) or "nothing else was seen that could have caused it"


def _reported(row: Row) -> str:
    known = [plural(row["duplicates"], "duplicate ACK") if row["duplicates"] else ""]
    known.append(f"{plural(row['sacked'], 'segment')} above it reported by SACK" if row["sacked"] else "")
    return " and ".join(part for part in known if part)


def _fast(row: Row) -> str:
    return f"after {_reported(row) or 'no report that the capture shows'}"


def _reordering(row: Row) -> str:
    waited = "" if row["since_ack_ns"] is None else f", {duration(row['since_ack_ns'])} after the last ACK"
    return f"{_reported(row) or 'a later packet had arrived'}{waited}: the reordering window had passed"


def _partial(row: Row) -> str:
    until = "" if row["recover"] is None else f" up to {count(row['recover'])}"
    return f"in recovery{until}, {duration(row['since_ack_ns'])} after an ACK that stopped before it"


def _hole(row: Row) -> str:
    until = "" if row["recover"] is None else f" up to {count(row['recover'])}"
    return f"in recovery{until}" + (f", {reported}" if (reported := _reported(row)) else "")


def _probe(row: Row) -> str:
    rto = row["rto_ns"]
    # A timer runs from the last data or, restarted, from the last ACK.
    waits = [(row["since_sent_ns"], "something was sent"), (row["since_ack_ns"], "the last ACK")]
    known = [(ns, what) for ns, what in waits if ns is not None]
    early = [(ns, what) for ns, what in known if rto is None or ns < rto]
    ns, what = early[0] if early else min(known, default=(None, "something was sent"))
    since = f"the last data again, {duration(ns)} after {what}"
    if early or rto is None or ns is None:
        return since + ("" if rto is None else f", before the estimated RTO of {duration(rto)}")
    if row["outstanding"] > row["end"] - row["seq"]:
        return f"{since}; a timer would send the first that is missing"
    return f"{since}, past the estimated RTO of {duration(rto)}: a timer's expiry could look the same"


def _go_back(row: Row) -> str:
    until = "" if row["recover"] is None else f", up to {count(row['recover'])}"
    return f"after a timeout, of what was outstanding then{until}"


def _window_probe(row: Row) -> str:
    if (row["len"] or 0) > 1:
        return "the window had reopened: the byte of a probe is sent again, with what follows it"
    return f"the window was closed, {duration(row['since_sent_ns'])} after data was sent"


def _unknown(row: Row) -> str:
    known = [_reported(row), f"{size(row['outstanding'])} outstanding" if row["outstanding"] else ""]
    known.append(
        f"{duration(row['delay_previous_ns'])} after it was last sent" if row["delay_previous_ns"] else ""
    )
    facts = ", ".join(part for part in known if part)
    return f"the packets do not show why ({facts})" if facts else "the packets do not show it"


_TCP = {
    "syn": _timer,
    "syn-ack": _timer,
    "fin": _timer,
    "fast": _fast,
    "reordering-timer": _reordering,
    "partial-ack": _partial,
    "sack-recovery": _hole,
    "tail-probe": _probe,
    "timeout": _timer,
    "go-back-n": _go_back,
    "window-probe": _window_probe,
    "keep-alive": lambda row: (
        f"nothing was outstanding, {duration(row['since_sent_ns'])} after data was sent"
    ),
    "unknown": _unknown,
}


def _sctp_reports(row: Row) -> str:
    return f"{plural(row['reports'], 'SACK')} had reported it missing" if row["reports"] else ""


def _sctp_fast(row: Row) -> str:
    return f"after {plural(row['strikes'], 'missing report')} of {plural(row['reports'], 'SACK')}"


def _sctp_timer(row: Row) -> str:
    known = [
        f"{duration(row['delay_previous_ns'])} after it was last sent" if row["delay_previous_ns"] else ""
    ]
    known.append(
        f"{duration(row['since_timer_ns'])} after T3 was started" if row["since_timer_ns"] is not None else ""
    )
    known.append(f"estimated RTO {duration(row['rto_ns'])}" if row["rto_ns"] is not None else "")
    known.append(f"expiry {row['backoff']} in a row" if row["backoff"] > 1 else "")
    known.append(_sctp_reports(row))
    return ", ".join(part for part in known if part) or "nothing else was seen that could have caused it"


def _sctp_missing(row: Row) -> str:
    return f"in the packet that a timer sent; {_sctp_reports(row) or 'reported missing'}"


def _sctp_unknown(row: Row) -> str:
    reports = _sctp_reports(row)
    return f"the packets do not show why ({reports})" if reports else "the packets do not show it"


_SCTP = {
    "fast": _sctp_fast,
    "fast-again": lambda row: f"{_sctp_fast(row)}, fast retransmitted before",
    "timeout": _sctp_timer,
    "after-timeout": lambda row: "marked by an earlier timeout, sent when the window allowed",
    "bundled-reported-missing": _sctp_missing,
    "bundled-in-flight": lambda row: (
        "in the packet of another retransmission; no SACK had reported it missing"
    ),
    "with-new-data": lambda row: "in front of new data that was due anyway",
    "with-cookie": lambda row: "in the packet of a COOKIE-ECHO that was sent again",
    "window-probe": lambda row: "the window was closed",
    "unknown": _sctp_unknown,
}


def _not_needed(need: str, proof: str) -> str:
    if need == "unnecessary":
        return "not needed: it had been acknowledged before"
    if need == "spurious":
        return f"not needed: {_PROOFS[proof]}"
    return ""


_PROOFS = {
    "none": "the original arrived",
    "dsack": "the receiver reported it as a duplicate (DSACK)",
    "timestamps": "the ACK echoes a timestamp from before it",
    "early-ack": "the ACK came too soon to be for it",
    "ack-before": "it had been acknowledged before",
    "arrived": "a capture nearer to the receiver shows that it had arrived",
    "duplicate-tsn": "the receiver reported its TSN as duplicate",
}
