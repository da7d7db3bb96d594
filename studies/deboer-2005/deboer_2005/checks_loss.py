"""Loss, SACK and NewReno: sections 5.4 to 5.7, figures 5.3 to 5.6."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean, median

from rexmit.analyse import Check, Published

from .throughput import Evidence, Test

LOSSES = ("0 %", "0.01 %", "0.1 %", "0.5 %", "1 %", "2 %", "5 %", "10 %")
LATENCIES = ("0 ms", "5 ms", "10 ms", "50 ms", "100 ms")
ODD = {(loss, latency) for loss in ("5 %", "10 %") for latency in ("50 ms", "100 ms")}
"""The points of figure 5.5 that section 5.6 calls deviations."""
OVERHEAD = 40 / 1448
"""The most that SACK options can take of a segment: the text's own yardstick in section 5.7."""
MAGNITUDE = 10
"""Taken for 'drastic': an order of magnitude, as the text needs a logarithmic scale."""
BEYOND_CHANCE = 23
"""Of 35 points: so many by chance have less than 5 % (a one-sided sign test)."""
VISIBLE = 0.05
"""Less than this part of the largest point is taken to vanish on a linear scale."""


def _drastic(published: Published, evidence: Evidence) -> Check:
    values = _plain(evidence.of("sack"))
    ratio = values["0 %"] / values["10 %"]
    return Check.of_statement(published, ratio > MAGNITUDE, _row(values), measure=ratio)


def _plain_falls(published: Published, evidence: Evidence) -> Check:
    values = _plain(evidence.of("sack"))
    rises = [b for a, b in pairwise(LOSSES) if values[b] > values[a]]
    ours = f"{_row(values)}; more than one step before at {', '.join(rises) or 'none'}"
    return Check.of_statement(published, not rises, ours, measure=len(rises))


def _vanish(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("sack")
    values = [test.written(sack=0, loss=loss, latency=ms) for loss in LOSSES for ms in LATENCIES]
    small = sum(value < VISIBLE * max(values) for value in values)
    ours = f"{small} of {len(values)} points below {VISIBLE:.0%} of the largest"
    return Check.of_statement(published, 2 * small > len(values), ours, measure=small)


def _clearest(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("sack")
    ratios = {}
    for latency in LATENCIES:
        none, most = (test.written(sack=0, loss=loss, latency=latency) for loss in ("0 %", "10 %"))
        ratios[latency] = none / most
    told = ", ".join(f"{latency}: {ratio:.0f}" for latency, ratio in ratios.items())
    held = max(ratios, key=lambda latency: ratios[latency]) == "0 ms"
    lead = ratios["0 ms"] / max(ratio for latency, ratio in ratios.items() if latency != "0 ms")
    return Check.of_statement(published, held, f"0 % over 10 %: {told}", measure=lead)


def _sack_dip(published: Published, evidence: Evidence) -> Check:
    values = _sack(evidence)
    share = max(values["0.1 %"], values["0.5 %"]) / values["1 %"]
    return Check.of_statement(published, share < 1, _row(values), measure=share)


def _sack_equal(published: Published, evidence: Evidence) -> Check:
    values = _sack(evidence)
    low, high = sorted((values["0.1 %"], values["0.5 %"]))
    return Check.of_number(published, high / low, f"{high:.0f} over {low:.0f} Mbit/s")


def _dip_goes(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("again")
    runs = {
        loss: test.runs({"recovery": "SACK", "loss": loss}).sort("replication")["written"].to_list()
        for loss in ("0.1 %", "0.5 %", "1 %")
    }
    dips = [max(a, b) < c for a, b, c in zip(*runs.values(), strict=True)]
    share = mean(dips)
    return Check.of_statement(
        published, share < 0.5, f"in {sum(dips)} of {len(dips)} runs of each point", measure=share
    )


def _differences_go(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("again")
    ratios = {
        loss: test.written(recovery="NewReno", loss=loss) / test.written(recovery="SACK", loss=loss)
        for loss in ("0.1 %", "0.5 %")
    }
    told = ", ".join(f"{loss}: {ratio:.2f}" for loss, ratio in ratios.items())
    ours = f"NewReno over SACK, means of {test.frame['replication'].n_unique()} runs: {told}"
    worst = max(ratios.values())
    return Check.of_statement(published, worst < 1 + OVERHEAD, ours, measure=worst)


def _newreno_falls(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("newreno")
    values = {loss: test.written(newreno=1, loss=loss, latency="0 ms") for loss in LOSSES}
    least = min(values[a] / values[b] for a, b in pairwise(LOSSES))
    return Check.of_statement(published, least > 1, _row(values), measure=least)


def _odd_points(published: Published, evidence: Evidence) -> Check:
    errors = errors_of_units(evidence)
    worst = sorted(errors, key=lambda point: -errors[point])[: len(ODD)]
    told = ", ".join(f"{loss} at {latency}: {errors[loss, latency]:.2f}" for loss, latency in worst)
    rest = max(error for point, error in errors.items() if point not in ODD)
    note = f"averages.pl over the true mean; the largest of the other 36 points {rest:.2f}"
    return Check.of_number(published, len(ODD & set(worst)), f"{told}; {note}")


def errors_of_units(evidence: Evidence) -> dict[tuple[str, str], float]:
    """What averages.pl makes of each point of figure 5.5 over its true mean."""
    test = evidence.of("newreno")
    script = evidence.by_script("newreno", heading=False)
    found = {}
    for loss in LOSSES:
        for latency in LATENCIES:
            runs = test.runs({"newreno": 1, "loss": loss, "latency": latency})
            found[loss, latency] = mean(script[run] for run in runs["run"]) / mean(runs["written"])
    return found


def _fluctuates(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("newreno")
    far, heavy, light = ("50 ms", "100 ms"), ("5 %", "10 %"), ("0.01 %", "0.1 %", "0.5 %", "1 %")
    at = {
        (losses, latency): mean(test.spread(newreno=1, loss=loss, latency=latency) for loss in losses)
        for losses in (heavy, light)
        for latency in far
    }
    told = [
        f"{latency}: {100 * at[heavy, latency]:.0f} % of the mean at 5 and 10 % loss, "
        f"{100 * at[light, latency]:.0f} % from 0.01 to 1 %"
        for latency in far
    ]
    least = min(at[heavy, latency] / at[light, latency] for latency in far)
    note = "standard deviation over the intervals of a run"
    return Check.of_statement(published, least > 1, "; ".join(told), note, measure=least)


def _better_without(published: Published, evidence: Evidence) -> Check:
    ratios = _newreno_over_sack(evidence)
    found = [f"{loss}: {ratio:.2f}" for loss, ratio in ratios.items() if ratio > 1 + OVERHEAD]
    note = f"NewReno over SACK, beyond {100 * OVERHEAD:.1f} %: {', '.join(found) or 'nowhere'}"
    return Check.of_number(published, len(found), note)


def _too_large(published: Published, evidence: Evidence) -> Check:
    ratios = _newreno_over_sack(evidence)
    worst = max(ratios, key=lambda loss: ratios[loss])
    ours = f"{100 * (ratios[worst] - 1):.0f} % at {worst}, of {100 * OVERHEAD:.1f} % that options may take"
    return Check.of_statement(published, ratios[worst] > 1 + OVERHEAD, ours, measure=ratios[worst])


def _sack_helps(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("sack")
    return _more(published, [(test, {"sack": 0}), (test, {"sack": 1})])


def _newreno_helps(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("newreno")
    return _more(published, [(test, {"newreno": 0}), (test, {"newreno": 1})])


def _more(published: Published, sides: list[tuple[Test, dict[str, int]]]) -> Check:
    """Whether the second side has more at most of the points with loss, beyond chance."""
    (_, plain), (test, option) = sides
    gains = []
    for loss in LOSSES[1:]:
        for latency in LATENCIES:
            at = {"loss": loss, "latency": latency}
            gains.append(test.written(**option, **at) / test.written(**plain, **at))
    more = sum(gain > 1 for gain in gains)
    ours = f"more at {more} of {len(gains)} points, by {100 * (median(gains) - 1):.0f} % (median)"
    return Check.of_statement(published, more >= BEYOND_CHANCE, ours, measure=more)


def _newreno_over_sack(evidence: Evidence) -> dict[str, float]:
    sack, newreno = evidence.of("sack"), evidence.of("newreno")
    return {
        loss: newreno.written(newreno=1, loss=loss, latency="0 ms")
        / sack.written(sack=1, loss=loss, latency="0 ms")
        for loss in LOSSES[1:]
    }


def _plain(test: Test) -> dict[str, float]:
    return {loss: test.written(sack=0, loss=loss, latency="0 ms") for loss in LOSSES}


def _sack(evidence: Evidence) -> dict[str, float]:
    test = evidence.of("sack")
    return {loss: test.written(sack=1, loss=loss, latency="0 ms") for loss in LOSSES}


def _row(values: dict[str, float]) -> str:
    return ", ".join(f"{loss}: {value:.3g}" for loss, value in values.items()) + " Mbit/s"


CHECKS = {
    "P-004-6": _drastic,
    "P-004-6b": _plain_falls,
    "P-004-6c": _vanish,
    "P-004-6d": _clearest,
    "P-004-7": _sack_dip,
    "P-004-7b": _sack_equal,
    "P-004-7c": _dip_goes,
    "P-004-8": _newreno_falls,
    "P-004-8b": _odd_points,
    "P-004-8c": _fluctuates,
    "P-004-9": _better_without,
    "P-004-9b": _too_large,
    "P-004-9c": _differences_go,
    "P-004-19": _sack_helps,
    "P-004-20": _newreno_helps,
}
