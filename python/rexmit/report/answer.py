"""The answer of a study: which factor moves which response, by how much, how sure that is, and its figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from rexmit.analyse.influence import LEAST_SHARE, Effect, effects
from rexmit.analyse.quantities import quantity, share
from rexmit.analyse.reached import is_unreached
from rexmit.analyse.stats import mean_interval
from rexmit.plot.effect import MOST_LINES, Quantity
from rexmit.plot.figures import readable
from rexmit.plot.network import FAIRNESS
from rexmit.report.responses import (
    GOODPUT,
    Response,
    is_own,
    responses_of,
    with_derived,
    without_failed,
)
from rexmit.run import Results
from rexmit.study.transfers import timed_names
from rexmit.study.words import in_words
from rexmit.units import plural

TRIED = ("time_ns", GOODPUT, FAIRNESS, "retransmits", "timeouts", "drops_down", "drops_up", "bytes")
"""Responses of every study whose effects interest people, the most interesting first; own ones go before."""

NAMES = {
    "time_ns": "the transmission time",
    GOODPUT: "the goodput",
    FAIRNESS: "Jain's index of fairness",
    "retransmits": "the number of retransmissions",
    "timeouts": "the number of timeouts",
    "drops_down": "the number of packets dropped towards the client",
    "drops_up": "the number of packets dropped towards the server",
    "bytes": "the amount of data delivered",
}

HEADS = ("factor", "from", "to", "change", "95 % interval of the difference", "share of the variance")


@dataclass(frozen=True)
class Answer:
    """What a study says, before it is drawn.

    `headline` is one sentence, `more` are others. `effects` are those of the response `quantity`, the largest
    first; none where nothing varies. `frame` are the runs that count, with what is derived from them.
    """

    headline: str
    more: Sequence[str]
    effects: Sequence[Effect]
    quantity: Quantity | None
    frame: pl.DataFrame
    words: dict[str, str]

    @property
    def second(self) -> str | None:
        """The factor with the next effect that has few enough levels for a line each."""
        few = (one.factor for one in self.effects[1:] if self.frame[one.factor].n_unique() <= MOST_LINES)
        return next(few, None)

    @property
    def rows(self) -> list[list[str]]:
        """One row per factor, as `HEADS` names them."""
        unit = self.quantity.unit if self.quantity else ""
        return [
            [
                self.words[one.factor],
                f"{quantity(one.least, unit)} at {readable(one.low)}",
                f"{quantity(one.greatest, unit)} at {readable(one.high)}",
                _change(one, unit),
                _interval(one, unit),
                f"{100 * one.share:.0f} %",
            ]
            for one in self.effects
        ]


def answer_of(results: Results) -> Answer | None:
    """The answer of these results; None where no run counts or no response has a value."""
    words = in_words(results.factors, results.study["scenario"])
    frame, left = counted(results)
    if frame.is_empty():
        return None
    known = candidates(results, frame)
    found = _strongest(frame, results.factors, known)
    if found is None:
        return _without_factors(results, frame, known, words)
    chosen, response = found
    more = [*_others(chosen, response, words), *left]
    return Answer(_headline(chosen[0], response, words), more, chosen, response, frame, words)


def counted(results: Results) -> tuple[pl.DataFrame, list[str]]:
    """The runs that count: those that completed and whose patterns met packets; and what was left out."""
    frame = with_derived(without_failed(results.table()))
    whole = frame.height
    if "completed" in frame.columns and frame["completed"].any():
        frame = frame.filter(pl.col("completed"))
    unended = whole - frame.height
    frame = frame.filter(~is_unreached(frame))
    unmet = whole - unended - frame.height
    told = []
    if unended:
        told.append(
            f"{plural(unended, 'run')} did not complete and {'is' if unended == 1 else 'are'} left out."
        )
    if unmet:
        told.append(
            f"{plural(unmet, 'run')} whose pattern met no packet {'is' if unmet == 1 else 'are'} left out."
        )
    return frame, told


def candidates(results: Results, frame: pl.DataFrame) -> list[Quantity]:
    """The responses that an answer may be about, the likeliest first: a study's own, then `TRIED`.

    The transmission time is not among them where all transfers write for a set time: it is that time.
    """
    numbers = [one for one in responses_of(frame, results.arrow().schema) if one.kind == "number"]
    own = [one for one in numbers if is_own(one.name)]
    usual = {one.name: one for one in numbers}
    if _is_timed(results):
        usual.pop("time_ns", None)
    return [quantity_of(one) for one in (*own, *(usual[name] for name in TRIED if name in usual))]


def _is_timed(results: Results) -> bool:
    """Whether all transfers write for a set time, in every run."""
    scenario = results.study["scenario"]
    transfers = scenario.get("transfers") or []
    settings = [
        name for factor in results.spec().design.factors for name in factor.settings or (factor.name,)
    ]
    if any(name.startswith("transfers.") for name in settings):
        return False
    return bool(transfers) and len(timed_names(scenario)) == len(transfers)


def quantity_of(response: Response) -> Quantity:
    """A response as an axis and in a sentence."""
    plain = response.title or response.name.replace("_", " ")
    return Quantity(response.name, NAMES.get(response.name, plain), response.unit)


def _strongest(
    frame: pl.DataFrame, factors: Sequence[str], known: Sequence[Quantity]
) -> tuple[list[Effect], Quantity] | None:
    """The effects on the first response that a factor moves by more than chance does; else on the first."""
    first = None
    for response in known:
        found = effects(frame, factors, response.column)
        if not found:
            continue
        if any(one.is_sure and one.relative >= LEAST_SHARE for one in found):
            return found, response
        first = first or (found, response)
    return first


def _headline(one: Effect, response: Quantity, words: dict[str, str]) -> str:
    factor, name, unit = words[one.factor], response.words, response.unit
    if not one.is_sure or one.relative < LEAST_SHARE:
        most = _change(one, unit)
        return _sentence(
            f"nothing that varies moves {name} by more than replications do: {factor} most, by {most}"
            if not one.is_sure
            else f"nothing that varies moves {name} by {share(LEAST_SHARE)}: {factor} most, by {most}"
        )
    return _sentence(
        f"{factor} moves {name} most: from {quantity(one.least, unit)} at {readable(one.low)} to "
        f"{quantity(one.greatest, unit)} at {readable(one.high)}, {_change(one, unit)}{_sureness(one, unit)}"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _change(one: Effect, unit: str) -> str:
    """Such as `+3.6 s (4.2 times)`."""
    told = f"+{quantity(one.difference, unit)}"
    if one.least <= 0 or one.difference == 0:
        return told
    ratio = one.greatest / one.least
    return f"{told} ({ratio:,.3g} times)" if ratio >= 2 else f"{told} (+{share(ratio - 1)})"


def _interval(one: Effect, unit: str) -> str:
    if one.interval is None:
        return "one replication"
    low, high = one.interval
    if low == high:
        return f"the same in {one.replications} replications"
    return f"{quantity(low, unit)} to {quantity(high, unit)}"


def _sureness(one: Effect, unit: str) -> str:
    over = f", averaged over {plural(one.cells, 'combination')} of the rest" if one.cells > 1 else ""
    if one.interval is None:
        return f"{over} (one replication: no confidence interval)"
    low, high = one.interval
    if low == high:
        return f"{over} (the same in all {one.replications} replications)"
    return (
        f"{over} (95 % interval of the difference {quantity(low, unit)} to {quantity(high, unit)}, "
        f"{one.replications} replications)"
    )


def _others(found: Sequence[Effect], response: Quantity, words: dict[str, str]) -> Iterator[str]:
    if len(found) > 1:
        told = "; ".join(
            f"{words[one.factor]}, {_change(one, response.unit) if one.difference else 'which moves nothing'}"
            for one in found[1:4]
        )
        rest = f" and {plural(len(found) - 4, 'more factor')}" if len(found) > 4 else ""
        yield f"Then come {told}{rest}." if len(found) > 2 else f"Then comes {told}."
    explained = found[0].share
    if len(found) > 1:
        yield (
            f"By itself {words[found[0].factor]} explains {100 * explained:.0f} % of the variance between "
            "combinations of levels."
        )


def _without_factors(
    results: Results, frame: pl.DataFrame, known: Sequence[Quantity], words: dict[str, str]
) -> Answer | None:
    """What one combination of levels gave."""
    told = []
    for response in known[:4]:
        values = [float(value) for value in frame[response.column].drop_nulls().to_list()]
        if not values:
            continue
        mean = sum(values) / len(values)
        bounds = mean_interval(values)
        text = f"{response.words} {quantity(mean, response.unit)}"
        if bounds is not None and bounds[0] != bounds[1]:
            text += (
                f" on average (95 % interval {quantity(bounds[0], response.unit)} to "
                f"{quantity(bounds[1], response.unit)})"
            )
        told.append(text)
    if not told:
        return None
    count = f"In {plural(frame.height, 'run')} of one scenario: " if frame.height > 1 else "In one run: "
    quantity_ = known[0] if frame.height > 1 else None
    return Answer(f"{count}{'; '.join(told)}.", [], [], quantity_, frame, words)
