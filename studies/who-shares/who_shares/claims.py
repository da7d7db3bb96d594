"""What the page of who-shares says in words, held against the runs: what does not hold is an error."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from .evidence import BBR, LINUX, MODEL, SHALLOW, Evidence
from .pairs import AQM, chosen

BESIDE = ("BBR, CUBIC", "CUBIC, BBR", "BBR, Reno", "Reno, BBR")
"""One BBR flow beside another's."""
SMALL, LARGE = ("0.25", "0.5", "1"), ("4", "8")


def check(evidence: Evidence) -> None:
    """Raises AssertionError naming the claim of the README that does not hold."""
    linux = evidence.frame(LINUX)
    _spans("BBR beside another, up to 1 BDP", _of_bbr(linux, "none", SMALL), 0.87, 0.95)
    _spans("BBR beside another, 2 BDP", _of_bbr(linux, "none", ("2",)), 0.59, 0.70)
    _spans("BBR beside another, 4 and 8 BDP", _of_bbr(linux, "none", LARGE), 0.38, 0.50)
    for aqm in ("codel", "pie"):
        _least(f"BBR through {aqm}", _of_bbr(linux, aqm, ("0.25", *SMALL[1:], "2", *LARGE)), 0.83)
    _crowds(evidence.frame(BBR))
    _beside_itself(linux, evidence.frame(SHALLOW))
    _fair_queues(linux)
    _held_short(evidence.frame(MODEL))


def _crowds(found: pl.DataFrame) -> None:
    """From 4 BDP on the number of others matters little; beside 16 with 32 BDP it does."""
    for buffer in ("4", "8", "16", "32"):
        few = [_share(found, f"1 BBR, {k} CUBIC", buffer) for k in (1, 2, 4, 8)]
        assert max(few) - min(few) < 0.035, (buffer, few)
        if buffer != "32":
            assert abs(_share(found, "1 BBR, 16 CUBIC", buffer) - min(few)) < 0.035, buffer
    assert round(_share(found, "1 BBR, 16 CUBIC", "32"), 2) == 0.26
    assert max(_share(found, f"1 BBR, {k} CUBIC", "32") for k in (2, 4, 8)) < 0.365


def _beside_itself(linux: pl.DataFrame, shallow: pl.DataFrame) -> None:
    """Of two BBR flows the longer round-trip time gets more; a queue stands; shallow buffers lose a lot."""
    both, reno = (
        chosen(linux, pair=pair, rtt="8", buffer="8", aqm="none") for pair in ("BBR, BBR", "Reno, Reno")
    )
    assert round(1 / both["ratio"].item(), 1) == 8.5
    assert 0.25 < 1 / reno["ratio"].item() < 0.35
    stands = chosen(linux, pair="BBR, BBR", rtt="1", aqm="none").filter(pl.col("buffer").is_in(LARGE))
    assert all(1.65 < one < 1.8 for one in stands["queue_bdp"])
    alone = shallow.filter(
        (pl.col("transfers.1.congestion") == "bbr") & pl.col("buffer").is_in(("0.1", "0.2", "0.5"))
    )
    pair = chosen(linux, pair="BBR, BBR", rtt="1", buffer="0.5", aqm="none")
    _spans("drops of BBR", [*alone["dropped"], *pair["dropped"]], 0.09, 0.12)
    cubic = chosen(linux, pair="CUBIC, CUBIC", rtt="1", buffer="0.5", aqm="none")
    assert round(cubic["dropped"].item(), 3) == 0.003


def _fair_queues(linux: pl.DataFrame) -> None:
    """With FQ-CoDel, at 160 ms: what the far flow gets of the near one's, by its own control."""
    far = linux.filter(
        (pl.col("rtt") == "8") & (pl.col(AQM) == "fq-codel") & ~pl.col("pair").str.contains("BBR")
    )
    for control, low, high in (("Reno", 0.57, 0.72), ("CUBIC", 0.73, 0.88)):
        own = far.filter(pl.col("pair").str.ends_with(control))
        _spans(f"far {control}", (1 / own.filter(pl.col("buffer") != "0.25")["ratio"]).to_list(), low, high)
    quarter = far.filter(pl.col("pair").str.ends_with("Reno") & (pl.col("buffer") == "0.25"))
    _spans("far Reno, a quarter BDP", (1 / quarter["ratio"]).to_list(), 0.43, 0.51)


def _held_short(model: pl.DataFrame) -> None:
    """CoDel and PIE, a ratio of 8 of round-trip times: how many times as much the near flow takes."""
    apart = model.filter((pl.col("rtt") == "8") & pl.col(AQM).is_in(("codel", "pie")))
    large = apart.filter(pl.col("buffer").is_in(("2", *LARGE)))["ratio"]
    small = apart.filter(pl.col("buffer") == "0.25")["ratio"]
    found = [round(one) for one in (large.min(), large.max(), small.min(), small.max())]  # type: ignore[arg-type]
    assert found == [2, 7, 28, 76], found


def _of_bbr(linux: pl.DataFrame, aqm: str, buffers: Iterable[str]) -> list[float]:
    """The share of a BBR flow beside another's, equal round-trip times."""
    runs = linux.filter(
        (pl.col("rtt") == "1") & (pl.col(AQM) == aqm) & pl.col("pair").is_in(BESIDE),
        pl.col("buffer").is_in(list(buffers)),
    )
    own = pl.when(pl.col("pair").str.starts_with("BBR")).then("near").otherwise("far")
    return runs.select(own / (pl.col("near") + pl.col("far"))).to_series().to_list()


def _share(found: pl.DataFrame, flows: str, buffer: str) -> float:
    return float(found.filter((pl.col("flows") == flows) & (pl.col("buffer") == buffer))["share"].item())


def _spans(claim: str, values: Iterable[float], low: float, high: float) -> None:
    """The least and the greatest of the values are these, as rounded."""
    found = sorted(values)
    assert [round(found[0], 2), round(found[-1], 2)] == [low, high], (claim, found[0], found[-1])


def _least(claim: str, values: Iterable[float], least: float) -> None:
    found = min(values)
    assert round(found, 2) >= least, (claim, found)
