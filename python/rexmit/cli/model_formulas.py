"""`rexmit model tcp-friendly` from numbers: every formula of TCP's throughput, one beside the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from rexmit.analyse.quantities import NOTHING, duration, rate, share
from rexmit.cli.common import console, print_json
from rexmit.cli.quantity import BYTES, SHARE, TIME
from rexmit.errors import UsageError
from rexmit.models import FORMULAS, Flow, loss_of_delivered


@dataclass(frozen=True)
class Given:
    """What the options of `formula_options` say."""

    losses: tuple[float, ...] = ()
    mss: float = 1448.0
    rtt: float | None = None
    rto: float | None = None
    delayed_acks: bool = False
    max_window: float | None = None
    counts_dropped: bool = False


Command = TypeVar("Command", bound=Callable[..., Any])


def formula_options(command: Command) -> Command:
    """Adds the options of a command that puts numbers into formulas, named as the fields of `Given`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--loss",
        "losses",
        type=SHARE,
        multiple=True,
        metavar="P",
        help="Loss events over segments, such as 0.01 or '1 %'. May be given several times.",
    ),
    click.option("--rtt", type=TIME, help="Mean round-trip time, such as '100 ms'."),
    click.option("--mss", type=BYTES, default="1448 bytes", show_default=True, help="Payload of a segment."),
    click.option("--rto", type=TIME, help="First retransmission timeout. Default: 4 times the RTT."),
    click.option("--delayed-acks", is_flag=True, help="The receiver acknowledges every second segment."),
    click.option("--max-window", type=BYTES, help="The receiver's window, where it may limit."),
    click.option(
        "--counts-dropped",
        is_flag=True,
        help="P was counted before the queue, so that the segments include the dropped ones: Klaver's "
        "formulas take P/(1-P), loss events over delivered segments.",
    ),
)


def print_formulas(given: Given, as_json: bool) -> None:
    """Prints what every formula of TCP's throughput gives at each loss rate.

    Segments in flight on average, the rate of payload, and whether the formula's assumptions can hold there;
    what they are, and where each formula comes from, is below the table.
    """
    if not given.losses or given.rtt is None:
        raise UsageError("name a CAPTURE, or give --loss P and --rtt TIME")
    most = None if given.max_window is None else given.max_window / given.mss
    flow = Flow(given.mss, given.rtt, given.rto, given.delayed_acks, most)
    rows = [row for p in given.losses for row in _rows(p, flow, given.counts_dropped)]
    if as_json:
        told = {"mss_bytes": flow.mss, "rtt_s": flow.rtt, "rto_s": flow.rto}
        told |= {"delayed_acks": flow.delayed_acks, "max_window_segments": flow.max_window}
        told |= {"counts_dropped": given.counts_dropped}
        sources = {
            f.name: {"title": f.title, "source": f.source, "holds": f.holds} for f in FORMULAS.values()
        }
        print_json({"flow": told, "results": rows, "formulas": sources})
        return
    _print(rows, flow)


def _rows(p: float, flow: Flow, counts_dropped: bool) -> list[dict[str, Any]]:
    rows = []
    # Refuses what no formula takes, before any is asked.
    FORMULAS["mathis"].window(p, flow)
    for formula in FORMULAS.values():
        own = float(loss_of_delivered(p)) if counts_dropped and formula.name.startswith("klaver") else p
        takes = bool(formula.takes(own))
        rows.append(
            {
                "loss": p,
                "formula": formula.name,
                "segments": float(formula.window(own, flow)) if takes else None,
                "rate_bit_s": float(formula.bandwidth(own, flow)) if takes else None,
                "holds": bool(formula.holds_at(own)),
            }
        )
    return rows


def _print(rows: list[dict[str, Any]], flow: Flow) -> None:
    from rich.table import Table

    facts = [f"MSS {flow.mss:,.0f} bytes", f"RTT {duration(flow.rtt * 1e9)}"]
    facts.append(f"RTO {duration((flow.rto or 4 * flow.rtt) * 1e9)}")
    facts.append("delayed ACKs" if flow.delayed_acks else "an ACK for every segment")
    if flow.max_window is not None:
        facts.append(f"receiver's window {flow.max_window:.4g} segments")
    click.echo(", ".join(facts))
    table = Table(box=None, pad_edge=False)
    for title in ("loss", "formula", "segments", "rate", "holds"):
        table.add_column(title, justify="right" if title in ("loss", "segments", "rate") else "left")
    for row in rows:
        known = row["segments"] is not None
        table.add_row(
            share(row["loss"]),
            FORMULAS[row["formula"]].title,
            f"{row['segments']:.4g}" if known else NOTHING,
            rate(row["rate_bit_s"]),
            "yes" if row["holds"] else "beyond its assumptions" if known else "outside its domain",
        )
    console().print(table)
    click.echo()
    for formula in FORMULAS.values():
        click.echo(f"{formula.title}: {formula.source}. Up to p = {formula.holds_to:.3g}: {formula.holds}.")
