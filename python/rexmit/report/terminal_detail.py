"""One connection or association for a terminal, with all that was found; and retransmissions a line each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rexmit.analyse.held import HELD, answers, held, held_ns
from rexmit.analyse.overview import SIDES, Delays, Overview, cause_counts, goodput, spread
from rexmit.analyse.quantities import NOTHING, count, duration, rate, share, size
from rexmit.analyse.rows import Row
from rexmit.analyse.words import CAUSES, SCTP_CAUSES, evidence, sctp_evidence, vantage_limits
from rexmit.report.terminal import STRONG, WIDE, cause_style, causes_text, columns, print_table, sentence
from rexmit.units import plural

Fact = tuple[str, Callable[[Row, str], str]]
"""A name, and what there is to say of a side of a row."""


def print_connection(console: Console, row: Row, overview: Overview) -> None:
    """Prints a TCP connection: both sides, options, times, losses, and causes with their delays."""
    own = row["connection"]
    again = [r for r in overview.kept["retransmissions"] if r["connection"] == own]
    events = [r for r in overview.kept["loss_events"] if r["connection"] == own]
    opened = _opening(row)
    _head(console, f"Connection {own}", row, f"{opened}; {_ending(row)}")
    _print_held(console, row, overview.kept["held"])
    print_table(console, columns(_facts(row, _SEGMENTS)))
    for title, facts in (
        ("Times", _TIMES),
        ("Windows", _WINDOWS),
        ("Acknowledgments", _ACKS),
        ("Losses", _LOSSES),
        ("Options offered", _OPTIONS),
    ):
        known = list(_facts(row, facts))
        if known:
            _section(console, title)
            print_table(console, columns(known))
    if again:
        _section(
            console,
            "Causes of retransmissions, and their delays since the first and the previous transmission",
        )
        print_table(console, _delays_table(again, CAUSES))
    if events:
        _section(console, "Loss events")
        print_table(console, _events_table(events, row["start_ns"]))


def _print_held(console: Console, row: Row, waits: list[Row]) -> None:
    """What held each side back: a sentence, and a table with the evidence."""
    for side, text in answers(row).items():
        console.print(Text(sentence(text), style=STRONG))
        print_table(console, _held_table(row, side, [wait for wait in waits if wait["side"] == side]))
        console.print()


def _held_table(row: Row, side: str, waits: list[Row]) -> Table:
    """A line for each thing that held a side back: how long, how sure, and its longest time."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("held back by", "share", "time", "certain", "times", "bytes", "longest", "at", "packets"):
        table.add_column(title, justify="left" if title == "held back by" else "right", no_wrap=True)
    table.add_column("that is", no_wrap=False)
    for part in held(row, side):
        own = [wait for wait in waits if wait["by"] == part.by]
        longest = max(own, key=lambda wait: wait["end_ns"] - wait["start_ns"], default=None)
        table.add_row(
            part.by,
            share(part.ns / held_ns(row, side)),
            duration(part.ns),
            share(part.certain_ns / part.ns),
            count(len(own)),
            size(sum(wait["bytes"] for wait in own)),
            NOTHING if longest is None else duration(longest["end_ns"] - longest["start_ns"]),
            NOTHING if longest is None else f"{(longest['start_ns'] - row['start_ns']) / 1e9:.3f} s",
            NOTHING if longest is None else f"{longest['first_number']}..{longest['last_number']}",
            HELD[part.by],
        )
    return table


def print_association(console: Console, row: Row, overview: Overview) -> None:
    """Prints an SCTP association: both sides, paths, streams, and causes with their delays."""
    own = row["association"]
    again = [r for r in overview.kept["sctp_retransmissions"] if r["association"] == own]
    seen = [name for name in _SCTP_CHUNKS if row[name]]
    opening = ", ".join(name.replace("_", "-").upper() for name in seen) or "no opening"
    _head(console, f"Association {own}", row, f"seen of its opening and end: {opening}")
    print_table(console, columns(_facts(row, _SCTP_SIDE)))
    _print_paths(console, [r for r in overview.kept["paths"] if r["association"] == own])
    if again:
        _section(
            console,
            "Causes of retransmissions, and their delays since the first and the previous transmission",
        )
        print_table(console, _delays_table(again, SCTP_CAUSES))
    tables = overview.sctp_delays(own)
    if tables:
        _section(console, "Classes of sctp_trace by number of the retransmission (pedersen-2006)")
        print_table(console, _classes_table(tables))
    controls = [r for r in overview.kept["sctp_controls"] if r["association"] == own]
    if controls:
        _section(console, "Control chunks sent again")
        for found in controls:
            console.print(
                f"  packet {found['number']}: {found['chunk']} from the {found['side']}, retransmission "
                f"{found['retransmission']}, {duration(found['delay_previous_ns'])} after the one before"
            )


def print_retransmissions(
    console: Console, rows: Iterable[Row], starts: Mapping[str, Mapping[int, int]]
) -> None:
    """Prints a line each, or a few where the terminal is narrow."""
    if console.width >= WIDE:
        for line in retransmission_lines(rows, starts):
            console.print(line, soft_wrap=True)
        return
    for row in rows:
        for part in _retransmission_block(row, starts):
            console.print(part)


def _retransmission_block(row: Row, starts: Mapping[str, Mapping[int, int]]) -> Iterator[RenderableType]:
    flow, seq, number, why = _identity(row)
    first, previous = duration(row["delay_first_ns"]), duration(row["delay_previous_ns"])
    place = "TSN" if "association" in row else "seq"
    yield Text.assemble(
        (f"{flow:>4}  packet {row['number']}", STRONG),
        f" from the {row['side']} at {_since(row, starts):.6f} s: {place} {seq}, {row['len']} bytes",
    )
    facts = f" ({row['confidence']}), transmission {number}, {first} since first, {previous} since last"
    yield Padding(Text.assemble((row["cause"], cause_style(row["cause"])), facts), (0, 0, 0, 6))
    yield Padding(Text(why), (0, 0, 0, 6))


def _since(row: Row, starts: Mapping[str, Mapping[int, int]]) -> float:
    """Seconds since the first packet of the connection or association."""
    kind = "association" if "association" in row else "connection"
    since: int = row["time_ns"] - starts[kind].get(row[kind], row["time_ns"])
    return since / 1e9


def retransmission_lines(rows: Iterable[Row], starts: Mapping[str, Mapping[int, int]]) -> Iterator[Text]:
    """A line each, after one of titles; times are seconds from the first packet of the connection."""
    titles = (
        "#",
        "packet",
        "time",
        "from",
        "seq",
        "bytes",
        "no.",
        "since first",
        "since last",
        "cause",
        "sure",
    )
    yield Text(_line((*titles, "evidence")), style="bold")
    for row in rows:
        flow, seq, number, why = _identity(row)
        values = (flow, row["number"], f"{_since(row, starts):.6f}", row["side"], seq, row["len"], number)
        delays = duration(row["delay_first_ns"]), duration(row["delay_previous_ns"])
        text = Text(_line((*map(str, values), *delays, row["cause"], row["confidence"], why)), no_wrap=True)
        start = text.plain.find(row["cause"])
        text.stylize(cause_style(row["cause"]), start, start + len(row["cause"]))
        yield text


def _line(values: Sequence[str]) -> str:
    return "  ".join(f"{value:{width}}" for value, width in zip(values, _WIDTHS, strict=True)).rstrip()


_WIDTHS = (">4", ">8", ">11", "<6", ">11", ">6", ">3", ">11", ">11", "<24", "<7", "<1")


def _identity(row: Row) -> tuple[int, int, int, str]:
    """Number of the flow, first sequence number or TSN, number of the transmission, evidence."""
    if "association" in row:
        return row["association"], row["tsn"], row["retransmission"] + 1, sctp_evidence(row)
    return row["connection"], row["seq"], row["transmission"], evidence(row)


def _head(console: Console, title: str, row: Row, more: str) -> None:
    console.print(
        Text(f"{title}: {row['client_address']} (client), {row['server_address']} (server)", style=STRONG)
    )
    console.print(
        f"{plural(row['packets'], 'packet')} in {duration(row['end_ns'] - row['start_ns'])}; {more}"
    )
    share_ = row["vantage_client_share"]
    console.print(vantage_limits(share_))
    console.print()


def _section(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style=STRONG))


def _opening(row: Row) -> str:
    if row["syn"] and row["syn_ack"]:
        return "opened here"
    seen = "a SYN without answer" if row["syn"] else "a SYN-ACK without SYN" if row["syn_ack"] else ""
    return seen or "its opening was not seen; the sender of the first packet is taken for the client"


def _ending(row: Row) -> str:
    if row["reset"]:
        return "reset"
    return ("open at the end of the capture", "closed by one side", "closed by both sides")[row["fins"]]


def _facts(row: Row, facts: Iterable[Fact]) -> Iterator[tuple[str, str, str]]:
    """Facts of which at least one side has something to say."""
    for name, say in facts:
        client, server = (say(row, side) for side in SIDES)
        if (client, server) not in ((NOTHING, NOTHING), ("0", "0"), ("no", "no")):
            yield name, client, server


def _get(name: str, show: Callable[[float | None], str]) -> Callable[[Row, str], str]:
    return lambda row, side: show(row[f"{side}_{name}"])


def _flag(name: str) -> Callable[[Row, str], str]:
    def say(row: Row, side: str) -> str:
        if row[f"{side}_{name}"]:
            return "yes"
        # Packets may show what was agreed on, and cannot show what was not.
        return "no" if row[f"{side}_syn_seen"] else "SYN not seen"

    return say


def _distribution(name: str) -> Callable[[Row, str], str]:
    def say(row: Row, side: str) -> str:
        prefix = f"{side}_{name}"
        number = row[f"{prefix}_count"]
        if not number:
            return NOTHING
        found = {
            part: duration(row[f"{prefix}_{part}_ns"]) for part in ("min", "mean", "p50", "p95", "p99", "max")
        }
        sd = "" if number < 2 else f" ± {duration(row[f'{prefix}_sd_ns'])}"
        return (
            f"{found['min']} .. {found['max']}, mean {found['mean']}{sd}, median {found['p50']}, "
            f"p95 {found['p95']}, p99 {found['p99']} ({plural(number, 'sample')})"
        )

    return say


def _rate_of(number: str, part: str) -> Callable[[Row, str], str]:
    def say(row: Row, side: str) -> str:
        found = row[f"{side}_{number}"]
        return f"{found:,} ({share(row[f'{side}_{part}'])} of packets)" if found else "0"

    return say


def _periods(number: str, length: str) -> Callable[[Row, str], str]:
    def say(row: Row, side: str) -> str:
        found = row[f"{side}_{number}"]
        if found is None:
            return NOTHING
        return f"{found:,}, {duration(row[f'{side}_{length}'])} in all" if found else "0"

    return say


def _again(row: Row, side: str) -> str:
    found = row[f"{side}_retransmitted_packets"]
    return f"{found:,} ({size(row[f'{side}_retransmitted_bytes'])})" if found else "0"


def _handshake(row: Row, side: str) -> str:
    return duration(row[f"handshake_{side}_rtt_ns"])


def _causes(row: Row, side: str) -> str:
    return causes_text(cause_counts(row, side)).plain


_SEGMENTS: tuple[Fact, ...] = (
    ("address", lambda row, side: row[f"{side}_address"]),
    ("packets sent", _get("packets", count)),
    ("packets with data", _get("data_packets", count)),
    ("bytes of data, each once", _get("unique_bytes", size)),
    ("bytes acknowledged", _get("acked_bytes", size)),
    ("goodput", lambda row, side: rate(goodput(row, side))),
    ("throughput", _get("throughput_bit_s", rate)),
    ("sent again", _again),
    ("causes", _causes),
    ("reordered on the path", _get("reordered_packets", count)),
    ("copies", _get("copies", count)),
    ("damaged on the path", _get("damaged", count)),
    ("acknowledged, not in the capture", _get("unseen_bytes", size)),
)

_TIMES: tuple[Fact, ...] = (
    ("handshake, here to it and back", _handshake),
    ("RTT by unambiguous ACKs", _distribution("rtt")),
    ("RTT by timestamps", _distribution("rtt_timestamps")),
    ("RTT by SACK", _distribution("rtt_sack")),
    ("ACKs without sample: sent twice", _get("ambiguous_retransmitted", count)),
    ("ACKs without sample: data missing", _get("ambiguous_missing", count)),
    ("idle periods", _periods("idle_periods", "idle_ns")),
)

_WINDOWS: tuple[Fact, ...] = (
    ("initial window used", _get("initial_window", size)),
    ("most outstanding", _get("max_outstanding", size)),
    ("outstanding, mean over time", _get("mean_outstanding", size)),
    ("F_avg (klaver-2005), segments", _get("f_avg", count)),
    ("smallest window advertised", _get("min_window", size)),
    ("largest window advertised", _get("max_window", size)),
    ("windows closed", _periods("zero_windows", "zero_window_ns")),
    ("held back by the other's window", _get("window_limited_ns", duration)),
)

_ACKS: tuple[Fact, ...] = (
    ("packets without data", _get("pure_acks", count)),
    ("data packets for each ACK", _get("packets_per_ack", count)),
    ("delay of ACKs of single packets", _distribution("ack_delay")),
    ("duplicate ACKs", _get("duplicate_acks", count)),
    ("ACKs with SACK blocks", _get("sack_acks", count)),
    ("DSACKs", _get("dsacks", count)),
    ("SACKed data reneged on", _get("reneged", count)),
)

_LOSSES: tuple[Fact, ...] = (
    ("segments lost", _rate_of("lost_segments", "loss_rate")),
    ("loss events", _rate_of("loss_events", "loss_event_rate")),
    ("retransmissions: original arrived", _get("spurious", count)),
    ("retransmissions: acknowledged before", _get("unnecessary", count)),
)

_OPTIONS: tuple[Fact, ...] = (
    ("maximum segment size", _get("mss", count)),
    ("window scale", _get("window_scale", count)),
    ("SACK", _flag("sack_permitted")),
    ("timestamps", _flag("timestamps")),
    ("ECN", _flag("ecn")),
)

_SCTP_CHUNKS = ("init", "init_ack", "cookie_echo", "cookie_ack", "shutdown", "shutdown_complete", "abort")

_SCTP_SIDE: tuple[Fact, ...] = (
    ("addresses", lambda row, side: row[f"{side}_addresses"] or row[f"{side}_address"]),
    ("packets sent", _get("packets", count)),
    ("packets with DATA", _get("data_packets", count)),
    ("chunks, each TSN once", _get("unique_chunks", count)),
    ("messages", _get("messages", count)),
    ("bytes of user data, each once", _get("unique_bytes", size)),
    ("bytes acknowledged", _get("acked_bytes", size)),
    ("goodput", _get("goodput_bit_s", rate)),
    ("chunks sent again", _get("retransmitted_chunks", count)),
    ("causes", _causes),
    ("not needed", _get("not_needed", count)),
    ("control chunks sent again", _get("control_retransmissions", count)),
    ("chunks reordered on the path", _get("reordered_chunks", count)),
    ("copies", _get("copies", count)),
    ("damaged on the path", _get("damaged", count)),
    ("acknowledged, not in the capture", _get("unseen_chunks", count)),
    ("abandoned (FORWARD-TSN)", _get("abandoned_chunks", count)),
    ("RTT by SACK", _distribution("rtt")),
    ("RTT by HEARTBEAT", _distribution("rtt_heartbeat")),
    ("most outstanding", _get("max_outstanding", size)),
    ("smallest window advertised", _get("min_window", size)),
    ("largest window advertised", _get("max_window", size)),
    ("windows closed", _periods("zero_windows", "zero_window_ns")),
    ("SACKs", _get("sacks", count)),
    ("SACKs with gap blocks", _get("gap_sacks", count)),
    ("duplicate TSNs reported", _get("duplicate_tsns", count)),
    ("packets with DATA for each SACK", _get("packets_per_sack", count)),
    ("delay of SACKs of single packets", _distribution("sack_delay")),
)


def _delays_table(rows: list[Row], names: dict[str, str]) -> Table:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["side"], row["cause"]].append(row)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("from", "cause", "count", "certain", "not needed", "since first: median / p95 / max"):
        table.add_column(title, justify="left" if title in ("from", "cause") else "right", no_wrap=True)
    table.add_column("since previous: median / p95 / max", justify="right", no_wrap=True)
    for (side, cause), found in sorted(groups.items(), key=lambda item: -len(item[1])):
        first, previous = (
            spread([row[f"delay_{which}_ns"] for row in found]) for which in ("first", "previous")
        )
        table.add_row(
            side,
            Text(names[cause], style=cause_style(cause)),
            count(len(found)),
            count(sum(row["confidence"] == "certain" for row in found)),
            count(sum(row["need"] in ("spurious", "unnecessary") for row in found)),
            _short(first),
            _short(previous),
        )
    return table


def _short(found: Delays | None) -> str:
    return NOTHING if found is None else " / ".join(map(duration, (found.p50, found.p95, found.max)))


def _events_table(events: list[Row], start_ns: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in (
        "time",
        "of",
        "first lost",
        "segments lost",
        "packet",
        "RTT taken",
        "segments since the last",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("timeout")
    for row in events[:MOST_EVENTS]:
        table.add_row(
            f"{(row['time_ns'] - start_ns) / 1e9:.6f}",
            row["side"],
            str(row["seq"]),
            str(row["lost"]),
            str(row["number"]),
            duration(row["rtt_ns"]),
            count(row["interval"]),
            "yes" if row["timeout"] else "",
        )
    if len(events) > MOST_EVENTS:
        table.add_row("...", f"{len(events) - MOST_EVENTS:,} more: --tables has all")
    return table


def _print_paths(console: Console, paths: list[Row]) -> None:
    if not paths:
        return
    _section(console, "Paths")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in (
        "from",
        "to",
        "packets",
        "chunks",
        "sent again",
        "moved here",
        "timeouts",
        "HEARTBEATs answered",
    ):
        table.add_column(title, justify="left" if title in ("from", "to") else "right", no_wrap=True)
    for path in paths:
        beats = f"{path['heartbeats_answered']} of {path['heartbeats']}" if path["heartbeats"] else NOTHING
        numbers = [
            path[name] for name in ("packets", "chunks", "retransmitted_chunks", "moved_chunks", "timeouts")
        ]
        table.add_row(path["src"], path["dst"], *map(count, numbers), beats)
    print_table(console, table)


def _classes_table(tables: dict[tuple[int, str], tuple[Delays, Delays]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("no.", "class", "delay", "count", "min", "mean", "sd", "p50", "p90", "p95", "p99", "max"):
        table.add_column(title, justify="left" if title in ("class", "delay") else "right", no_wrap=True)
    for (number, kind), pair in tables.items():
        for at, (name, found) in enumerate(zip(("since first", "since previous"), pair, strict=True)):
            values = (found.min, found.mean, found.sd, found.p50, found.p90, found.p95, found.p99, found.max)
            head = (str(number), kind) if at == 0 else ("", "")
            table.add_row(*head, name, count(found.count) if at == 0 else "", *map(duration, values))
    return table


MOST_EVENTS = 30
"""Loss events shown of a connection."""
