"""The wide set: scenarios in groups, on the kernel with its defaults and on the model; what is the same."""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import rexmit
from rexmit.diff.pairs import PACKETS
from rexmit.diff.pairs import compare as pair_of
from rexmit.diff.systems import Ran, System
from rexmit.study import WIDE_GROUPS, draw_scenario

from twins.compare import first_difference
from twins.packets import Seen, blocks, read_capture
from twins.scenarios import FIRST_PHASES, NAMES

SEED, APART = 2026, 20_261_127
"""Seeds of the scenarios, and of those that nobody looks at while the model is worked on."""

SNAP_LEN = 128
"""Bytes of a packet that captures keep: all headers."""

BEHIND = 150
"""Packets after a first difference that are looked at."""

AT_ONCE = 128
"""Scenarios whose captures are there at one time."""

FAMILIES = {**{group: f"wide/{group}" for group in WIDE_GROUPS}, "paced": "paced"}
"""The family from which each group is drawn: those of the wide set, and those beside it."""

LINUX, MODEL = System.parse("linux"), System.parse("linux-6.1")
Scenario = Mapping[str, Any]
Told = Callable[[int], None]


@dataclass(frozen=True)
class Drawn:
    """A scenario: the group, its number in there, and itself."""

    group: str
    number: int
    scenario: Scenario


def draw(groups: Sequence[str], count: int, seed: int) -> dict[str, dict[int, Drawn]]:
    """`count` scenarios in all, spread evenly over the groups, by group and number."""
    found: dict[str, dict[int, Drawn]] = {group: {} for group in groups}
    for at in range(count):
        number, group = at // len(groups), groups[at % len(groups)]
        one = draw_scenario(number, seed=seed, family=FAMILIES[group])
        found[group][number] = Drawn(group, number, one)
    return found


def chosen_groups(only: str | None) -> list[str]:
    """One group, or all of the wide set. Raises UsageError for one that does not exist."""
    if only is not None and only not in FAMILIES:
        raise rexmit.errors.UsageError(f"no group {only!r}; there are {', '.join(FAMILIES)}")
    return [only] if only else list(WIDE_GROUPS)


def compare(drawn: Mapping[str, Mapping[int, Drawn]], folder: Path, told: Told) -> pl.DataFrame:
    """Runs scenarios on both and compares them: one row each.

    A run's random numbers are those of its number in the group, as in `rexmit diff --family wide/GROUP`.
    """
    rows = []
    for of_group in drawn.values():
        source = iter(of_group.items())
        while some := dict(islice(source, AT_ONCE)):
            real = LINUX.run(_tables(some), _made(folder / "uml"), snap_len=SNAP_LEN)
            rows += beside(some, real, folder)
            for ran in real.values():
                remove(ran)
                told(len(rows))
    return pl.DataFrame(rows, infer_schema_length=None)


def beside(drawn: Mapping[int, Drawn], real: Mapping[int, Ran], folder: Path) -> list[dict[str, Any]]:
    """The rows of scenarios that the kernel has run. BBR begins its cycles with the phase that fits best."""
    rows: dict[int, dict[str, Any]] = {}
    for phase in (None, *FIRST_PHASES):
        left = {
            n: one
            for n, one in drawn.items()
            if (one.group == "bbr") == (phase is not None) and not (n in rows and rows[n]["identical"])
        }
        tables = _tables(left) if phase is None else {n: _phased(one, phase) for n, one in left.items()}
        model = MODEL.run(tables, _made(folder / "model"), snap_len=SNAP_LEN)
        for n, one in left.items():
            row = row_of(one, real[n], model[n])
            if n not in rows or row["identical"]:
                rows[n] = row
            remove(model[n])
    return [rows[n] for n in drawn]


def row_of(one: Drawn, real: Ran, model: Ran) -> dict[str, Any]:
    """What the table says of a scenario: whether packets are the same at the server, their times."""
    row: dict[str, Any] = {"group": one.group, "scenario": one.number}
    for ran in (real, model):
        if ran.captures is None:
            raise rexmit.RexmitError(f"{FAMILIES[one.group]} {one.number}: {ran.failed}")
    times = [ran.row["time_ns"] if ran.row.get("completed") else None for ran in (real, model)]
    row |= {"uml_time_ns": times[0], "model_time_ns": times[1]}
    before, after = times
    row["percent"] = None if before is None or after is None else 100 * abs(after / before - 1)
    assert real.captures is not None
    assert model.captures is not None
    same = {"identical": True, "times_off_ns": 0, "packets": None, "first_packet": None}
    row |= same | dict.fromkeys(("kind", "uml_first_packet", "model_first_packet"))
    if filecmp.cmp(real.captures[0], model.captures[0], shallow=False):
        return row
    seen = [read_capture(ran.captures[0]) for ran in (real, model) if ran.captures]
    row["packets"] = len(seen[0].packets)
    first = first_difference(seen[0], seen[1], NAMES)
    if first is None:
        return row | {"times_off_ns": int(np.abs(seen[0].times - seen[1].times).max())}
    pair = pair_of(
        one.number, *(_until(ran, s, first.index) for ran, s in zip((real, model), seen, strict=True))
    )
    kind, texts = (first.kind, first.what)
    if pair.level == PACKETS and pair.first is not None:
        kind, texts = pair.kind, pair.first.texts
    return row | {
        "identical": False,
        "times_off_ns": None,
        "first_packet": first.index,
        "kind": kind,
        **{f"{name}_first_packet": text for name, text in zip(NAMES, texts, strict=True)},
    }


def _until(ran: Ran, seen: Seen, index: int) -> Ran:
    """A run whose captures end some packets after the first difference: what follows says nothing of it."""
    last = int(seen.times[min(index + BEHIND, len(seen.times) - 1)])
    if ran.captures is None or last == seen.times[-1]:
        return ran
    server, client = (cut_capture(path, ran.captures[0], last) for path in ran.captures)
    return replace(ran, captures=(server, client))


def cut_capture(path: Path, clock: Path, last_ns: int) -> Path:
    """A copy of a capture with its packets up to so many ns after the first packet of the capture `clock`."""
    first = next(time for _, time in blocks(clock.read_bytes()) if time is not None)
    kept = path.with_suffix(".head")
    raw = path.read_bytes()
    kept.write_bytes(
        b"".join(raw[part] for part, time in blocks(raw) if time is None or time <= first + last_ns)
    )
    return kept


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per group, and one of all: how many are identical, within 1 us, complete within a percent."""

    def rows(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.group_by("group", maintain_order=True).agg(
            pl.len().alias("scenarios"),
            pl.col("identical").sum(),
            (pl.col("identical") & (pl.col("times_off_ns") <= 1_000)).sum().alias("within_1us"),
            (pl.col("percent") <= 1).sum().alias("within_1_percent"),
            pl.col("percent").max().alias("max_percent"),
        )

    return pl.concat([rows(table), rows(table.with_columns(pl.lit("all").alias("group")))])


def clusters(table: pl.DataFrame) -> pl.DataFrame:
    """The kinds of first differences, the most frequent first, each with the example that parts soonest."""
    differing = table.filter(~pl.col("identical")).sort("first_packet", "group", "scenario")
    return (
        differing.group_by("kind")
        .agg(
            pl.len().alias("scenarios"),
            (pl.col("percent") > 1).sum().alias("beyond_1_percent"),
            pl.col("group").value_counts(sort=True).alias("groups"),
            pl.first("group"),
            pl.first("scenario").alias("example"),
            pl.first("first_packet"),
            pl.first("uml_first_packet"),
            pl.first("model_first_packet"),
        )
        .sort("scenarios", "kind", descending=[True, False])
    )


def remove(ran: Ran) -> None:
    """Removes a run's captures."""
    for path in ran.captures or ():
        path.unlink()
        path.with_suffix(".head").unlink(missing_ok=True)


def _tables(drawn: Mapping[int, Drawn]) -> dict[int, Scenario]:
    return {number: one.scenario for number, one in drawn.items()}


def _phased(one: Drawn, phase: int) -> Scenario:
    hosts = {
        name: {
            **host,
            "stack": {**host["stack"], "congestion": {"algorithm": "bbr", "bbr": {"first_phase": phase}}},
        }
        for name, host in one.scenario["hosts"].items()
    }
    return {**one.scenario, "hosts": hosts}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
