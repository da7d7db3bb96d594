"""What a block has of an SCTP association; `rexmit.plot.trace` says what its tables are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rexmit.analyse import rows as plain
from rexmit.analyse.captures import SMALL, Options, Reading
from rexmit.analyse.quantities import duration, size
from rexmit.analyse.rows import Row
from rexmit.analyse.words import SCTP_CAUSES, SCTP_LETTERS, sctp_evidence, vantage_limits
from rexmit.plot.causes import SCTP_COLOURS
from rexmit.plot.flows import Columns, chosen, to_columns
from rexmit.plot.pack import Scaled
from rexmit.plot.series import other
from rexmit.plot.trace_columns import NEW, Known, Table, jumps, look, notes, places, repairs
from rexmit.units import plural

ROWS = ("chunks", "sctp_sacks", "sctp_retransmissions", "sctp_rtt")
SIDES = ("client", "server")


@dataclass(frozen=True)
class Association:
    """An SCTP association: its row of the table of associations, and its rows of the others."""

    row: Row
    tables: dict[str, Columns]

    @property
    def start_ns(self) -> int:
        """Time of the first packet."""
        return int(self.row["start_ns"])

    def of(self, table: str, side: str) -> Columns:
        """The rows of a table that are of this side."""
        rows = self.tables[table]
        return chosen(rows, rows["side"] == side)

    def packets(self, t: tuple[float, float] | None = None) -> int:
        """How many rows a page would have of it, within a range of seconds from its first packet."""
        every = np.concatenate([self.tables[name]["time_ns"] for name in ("chunks", "sctp_sacks")])
        if t is None:
            return len(every)
        seconds = (every - self.start_ns) / 1e9
        return int(((seconds >= t[0]) & (seconds <= t[1])).sum())


def read_associations(
    capture: Path, numbers: Sequence[int] | None, options: Options | None
) -> list[Association]:
    """The associations of these numbers, or all, in order."""
    asked = replace(options or Options(), tables=(*SMALL, *ROWS))
    parts: dict[str, list[Columns]] = defaultdict(list)
    found: list[Row] = []
    for tables in Reading([capture], asked):
        found += list(plain.rows(tables["associations"]))
        for name in ROWS:
            parts[name].append(to_columns(tables[name]))
    whole = {
        name: {column: np.concatenate([part[column] for part in several]) for column in several[0]}
        for name, several in parts.items()
    }
    wanted = [row for row in found if numbers is None or row["association"] in numbers]
    return [
        Association(
            row,
            {
                name: chosen(table, table["association"] == row["association"])
                for name, table in whole.items()
            },
        )
        for row in sorted(wanted, key=lambda row: int(row["association"]))
    ]


def association_views(
    one: Association, known: Known, states: dict[str, Table], tables: dict[str, Table]
) -> list[dict[str, Any]]:
    """The heads of an association's views, one for each side that sent data; its tables join `tables`."""
    views = []
    for side in SIDES:
        rows = one.of("chunks", side)
        rows = chosen(rows, known.within(rows["time_ns"], one.start_ns))
        reports = one.of("sctp_sacks", other(side))
        reports = chosen(reports, known.within(reports["time_ns"], one.start_ns))
        if not len(rows["tsn"]):
            continue
        key = f"a{one.row['association']}-{side}"
        kinds, group = _groups(rows, one.of("sctp_retransmissions", side))
        found = {
            "packets": _chunks(one, side, rows, known) | {"group": group},
            "reports": {
                "t": Scaled(reports["time_ns"] - one.start_ns, 1e-9),
                "number": reports["number"],
                "ack": reports["cumulative"] + 1,
                "window": reports["window"],
            },
            "sacks": _gaps(reports),
            "again": _again(rows, one.of("sctp_retransmissions", side)),
            "rtt": _rtt(one, side, known),
        }
        if side in states:
            state = states[side]
            found["state"] = state | {"t": Scaled(state["t"] - one.start_ns, 1e-9)}
        for name, table in found.items():
            if len(_length(next(iter(table.values())))):
                tables[f"{key}.{name}"] = table
        views.append(_head(one, side, known, (kinds, rows)))
    return views


def _head(
    one: Association, side: str, known: Known, looks: tuple[list[dict[str, Any]], Columns]
) -> dict[str, Any]:
    kinds, rows = looks
    row = one.row
    again = one.of("sctp_retransmissions", side)["cause"].tolist()
    causes = ", ".join(f"{again.count(name):,} {name}" for name in SCTP_CAUSES if name in again)
    limits = "" if known.short else f" {vantage_limits(row['vantage_client_share'])}"
    span = float(rows["time_ns"][-1] - rows["time_ns"][0]) / 1e9
    rtt = one.of("sctp_rtt", side)["rtt_ns"]
    return {
        "key": f"a{row['association']}-{side}",
        "protocol": "sctp",
        "connection": row["association"],
        "direction": side,
        "title": f"{row[f'{side}_address']} to {row[f'{other(side)}_address']}, SCTP",
        "facts": (
            f"{plural(row['packets'], 'packet')} in {duration(row['end_ns'] - row['start_ns'])}, "
            f"{plural(len(rows['tsn']), 'DATA chunk')} with {size(int(rows['len'].sum()))}. "
            f"Sent again: {causes or 'nothing'}.{limits}"
        ),
        "groups": kinds,
        "start": (one.start_ns - known.begin_ns) / 1e9,
        "bytes": int(rows["len"].sum()),
        "interval": max(span / 100, float(np.median(rtt)) / 1e9 if len(rtt) else 0.0, 1e-6),
        **known.told,
    }


def _chunks(one: Association, side: str, rows: Columns, known: Known) -> Table:
    jump, _ = jumps(rows["tsn"], rows["tsn"] + 1)
    marks = rows["begin"] * 1 + rows["end"] * 2 + rows["unordered"] * 4
    return {
        "t": Scaled(rows["time_ns"] - one.start_ns, 1e-9),
        "number": rows["number"],
        "jump": jump,
        "len": rows["len"],
        "stream": rows["stream"],
        "flags": marks,
        "outstanding": rows["outstanding"],
        "lost": notes(side, rows["number"], rows["time_ns"], known),
    }


def _groups(rows: Columns, again: Columns) -> tuple[list[dict[str, Any]], Any]:
    kinds: list[dict[str, Any]] = [NEW | {"label": "DATA chunk"}]
    which = np.zeros(len(rows["tsn"]), dtype=np.uint8)
    keys = rows["number"] * 2**32 + rows["tsn"]
    doubted = np.isin(again["need"], ("spurious", "unnecessary"))
    own = again["number"] * 2**32 + again["tsn"]

    def add(label: str, letter: str, colour: str, repeated: bool, those: Any) -> None:
        if those.any():
            which[those] = len(kinds)
            kinds.append({"label": label, "letter": letter, "colour": colour, "again": repeated})

    late, copy = rows["kind"] == "reordered", rows["kind"] == "copy"
    add("sent again (R)", "R", "again", True, (rows["transmission"] > 1) & ~copy & ~late)
    for cause, label in SCTP_CAUSES.items():
        for needed in (True, False):
            letter = SCTP_LETTERS[cause] if needed else SCTP_LETTERS[cause].lower()
            told = f"{label}{'' if needed else ', not needed'} ({letter})"
            those = np.isin(keys, own[(again["cause"] == cause) & (doubted != needed)])
            add(told, letter, SCTP_COLOURS[cause], True, those)
    add("reordered on its way here (O)", "O", "late", False, late)
    add("copy of a packet (C)", "C", "late", False, copy)
    return look(kinds, which)


def _gaps(reports: Columns) -> Table:
    places: list[int] = []
    first: list[int] = []
    last: list[int] = []
    said = zip(reports["gaps"].tolist(), reports["cumulative"].tolist(), strict=True)
    for row, (blocks, cumulative) in enumerate(said):
        for block in (blocks or "").split():
            low, _, high = block.partition("-")
            places.append(row)
            first.append(int(low) - cumulative - 1)
            last.append(int(high) - cumulative)
    return {"row": np.array(places, dtype=np.int64), "left": np.array(first), "right": np.array(last)}


def _again(rows: Columns, again: Columns) -> Table:
    keys = rows["number"] * 2**32 + rows["tsn"]
    own = again["number"] * 2**32 + again["tsn"]
    at, keep = places(keys, own)
    return repairs(at, chosen(again, keep), sctp_evidence)


def _rtt(one: Association, side: str, known: Known) -> Table:
    samples = one.of("sctp_rtt", side)
    samples = chosen(samples, known.within(samples["time_ns"], one.start_ns))
    return {
        "t": Scaled(samples["time_ns"] - one.start_ns, 1e-9),
        "rtt": Scaled(samples["rtt_ns"], 1e-6),
        "method": samples["method"].tolist(),
    }


def _length(column: Any) -> Any:
    return column.values if isinstance(column, Scaled) else column
