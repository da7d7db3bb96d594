"""`rexmit model buffer-size`: merritt-2010's rule for an uplink's buffer, and the classic ones beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rexmit import _native
from rexmit.analyse.quantities import NOTHING, duration, rate, size
from rexmit.cli.common import console, json_option, print_json
from rexmit.cli.model_buffer_sweep import refuse_without, simulate_options
from rexmit.cli.model_buffer_sweep import simulate as simulate_link
from rexmit.cli.quantity import BYTES, RATE, TIME
from rexmit.errors import StoreError, UsageError
from rexmit.models import (
    FULL_PACKET,
    RULE_LIMITS,
    ModelError,
    UplinkMeasures,
    bdp_buffer,
    drain_time,
    many_flows_buffer,
)
from rexmit.study.settings import path_setting

if TYPE_CHECKING:
    from rexmit.analyse.uplink import CapturedFlows, UplinkMeasured
    from rexmit.run import Results

GIVEN = "given"

MEANINGS = {
    "up_rate": "C_U: what the buffer's link sends",
    "down_rate": "the other direction, for the classic rules there",
    "rtt": "of the download alone, with no queue at the uplink",
    "max_window_down": "W_D: the download's largest window while both run",
    "max_window_up": "W_U: the upload's largest window while both run",
    "packet": "a full packet with its IP header",
}
ORDER = ("up_rate", "down_rate", "rtt", "max_window_down", "max_window_up", "packet")
REQUIRED = ("up_rate", "rtt", "max_window_down", "max_window_up")


@dataclass(frozen=True)
class Input:
    """One number that went in: in bit/s, seconds or bytes, where it came from, what makes it doubtful."""

    value: float
    source: str
    doubts: tuple[str, ...] = ()


Inputs = dict[str, Input]


@click.command(
    "buffer-size",
    epilog="""\b
Examples:
  rexmit model buffer-size --up-rate "196 kbit/s" --down-rate "2.4 Mbit/s" --rtt "200 ms" \\
      --max-window-down "73 kB" --max-window-up "10 kB"
  rexmit model buffer-size --simulate --down-rate "16 Mbit/s" --up-rate "1 Mbit/s" --delay "15 ms"
  rexmit model buffer-size --results results/both --run 3
  rexmit model buffer-size --up-rate "1 Mbit/s" --download-alone alone.pcapng \\
      --both both-server.pcapng --both both-client.pcapng""",
)
@click.option("--up-rate", type=RATE, help="Rate of the uplink whose buffer is sought.")
@click.option("--down-rate", type=RATE, help="The downlink's rate, for the classic rules there.")
@click.option("--rtt", type=TIME, help="Mean RTT of the download alone.")
@click.option("--max-window-down", type=BYTES, help="The download's largest window while both run.")
@click.option("--max-window-up", type=BYTES, help="The upload's largest window while both run.")
@click.option(
    "--packet", type=BYTES, default=f"{FULL_PACKET} bytes", show_default=True, help="Size of a full packet."
)
@click.option("--flows", type=click.IntRange(min=1), default=2, show_default=True, help="N of BDP/sqrt(N).")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Measure it: a results folder with tables of state (`rexmit run --state all`), of runs with a "
    "download from the server and an upload that begins later.",
)
@click.option("--run", type=click.IntRange(min=0), help="Only this run of those. Default: a line for each.")
@click.option(
    "--download-alone",
    type=click.Path(path_type=Path),
    metavar="CAPTURE",
    help="Measure it: a capture of the download alone, made at its sender.",
)
@click.option(
    "--both",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="CAPTURE",
    help="A capture of download and upload together; may be given twice, once for each end.",
)
@simulate_options
@json_option
def buffer_size(
    up_rate: float | None,
    down_rate: float | None,
    rtt: float | None,
    max_window_down: float | None,
    max_window_up: float | None,
    packet: float,
    flows: int,
    results: Path | None,
    run: int | None,
    download_alone: Path | None,
    both: tuple[Path, ...],
    simulate: bool,
    as_json: bool,
    **simulation: Any,
) -> None:
    """Print how large the buffer of a slow uplink may be, so that an upload does not stop a download.

    The rule is merritt-2010's equation (6.6). Its inputs come from options, from states of runs, from
    captures, or from a simulation of the link; an option overrides what is measured. Where each came from,
    what the result means and what the rule assumes is printed with it, and the classic rules beside it. With
    --simulate, so is the buffer that is really best there.
    """
    if simulate:
        others = (rtt, max_window_down, max_window_up, results, run, download_alone)
        if any(value is not None for value in others) or both:
            raise UsageError("--simulate measures RTT and windows itself; give the link alone")
        simulate_link(down_rate, up_rate, flows, simulation, as_json)
        return
    refuse_without(simulation)
    named = {"up_rate": up_rate, "down_rate": down_rate, "rtt": rtt}
    named |= {"max_window_down": max_window_down, "max_window_up": max_window_up}
    given = {name: Input(value, GIVEN) for name, value in named.items() if value is not None}
    given["packet"] = Input(packet, GIVEN)
    if (results is not None) and (download_alone is not None or both):
        raise UsageError("--results and captures are two sources; give one of them")
    if run is not None and results is None:
        raise UsageError("--run says which run of --results; give that, too")
    if (download_alone is None) != (not both):
        raise UsageError("--download-alone and --both go together; give both")
    if results is not None:
        _from_results(results, run, given, flows, as_json)
        return
    measured = _from_captures(download_alone, both) if download_alone is not None else {}
    _tell({**measured, **given}, flows, as_json)


def _tell(inputs: Inputs, flows: int, as_json: bool) -> None:
    inputs = {name: inputs[name] for name in ORDER if name in inputs}
    measures = _measures(inputs)
    packets = measures.packets()
    if as_json:
        print_json(_facts(inputs, measures, packets, flows))
        return
    click.echo("Inputs")
    table = _table("", "", "", "")
    table.show_header = False
    for name, entry in inputs.items():
        table.add_row(f"  {name.replace('_', ' ')}", _shown(name, entry.value), entry.source, MEANINGS[name])
    console().print(table)
    for name, entry in inputs.items():
        for doubt in entry.doubts:
            click.echo(f"  note on {name.replace('_', ' ')}: {doubt}")
    _tell_result(inputs, measures, packets, flows)


def _shown(name: str, value: float) -> str:
    if name.endswith("rate"):
        return rate(value)
    return duration(value * 1e9) if name == "rtt" else f"{value:,.0f} bytes"


def _tell_result(inputs: Inputs, measures: UplinkMeasures, packets: int, flows: int) -> None:
    up, full = measures.up_rate, measures.packet
    click.echo("\nThe rule, merritt-2010 (6.6): B < ((W_D - W_U)/2 - RTT C_U) / packet")
    click.echo(
        f"  bound {measures.bound():.2f} packets: an uplink buffer of at most {packets} packets", nl=False
    )
    click.echo(f" ({packets * full:,.0f} bytes)")
    wait = float(drain_time(packets, up, full))
    click.echo(f"  full, it drains in {duration(wait * 1e9)}: a download ACK may wait that long in it")
    click.echo("\nClassic rules beside it")
    for name, link in (
        ("uplink", up),
        ("downlink", inputs["down_rate"].value if "down_rate" in inputs else None),
    ):
        if link is not None:
            bdp = float(bdp_buffer(link, measures.rtt, full))
            root = float(many_flows_buffer(link, measures.rtt, flows, full))
            click.echo(f"  {name}: BDP {bdp:.1f} packets; BDP/sqrt({flows}) {root:.1f} packets")
    click.echo("\nWhat the numbers mean")
    click.echo(
        "  Up to the rule's buffer the two connections stay out of phase, says the study: the upload fills"
    )
    click.echo(
        "  less than what the download's window spans, and the download keeps its rate. Above it the ACKs"
    )
    click.echo(
        "  of the download wait behind the upload, its RTT swings, and it falls. The classic rules ask how"
    )
    click.echo("  much keeps a link busy in one direction; they know nothing of ACKs that wait.")
    click.echo("\nWhat the rule assumes")
    for text in RULE_LIMITS:
        click.echo(f"  - {text}")


def _facts(inputs: Inputs, measures: UplinkMeasures, packets: int, flows: int) -> dict[str, Any]:
    up, full = measures.up_rate, measures.packet
    classic = {}
    for name in ("up_rate", "down_rate"):
        if name in inputs:
            bdp = float(bdp_buffer(inputs[name].value, measures.rtt, full))
            root = float(many_flows_buffer(inputs[name].value, measures.rtt, flows, full))
            classic[name.replace("_rate", "link")] = {"bdp_packets": bdp, "bdp_sqrt_packets": root}
    return {
        "inputs": {name: {**asdict(entry), "meaning": MEANINGS[name]} for name, entry in inputs.items()},
        "units": {"rates": "bit/s", "rtt": "s", "windows": "bytes", "packet": "bytes"},
        "bound_packets": measures.bound(),
        "packets": packets,
        "bytes": packets * full,
        "drain_s": float(drain_time(packets, up, full)),
        "classic": classic,
        "flows": flows,
        "limits": list(RULE_LIMITS),
    }


def _measures(inputs: Inputs) -> UplinkMeasures:
    missing = [f"--{name.replace('_', '-')}" for name in REQUIRED if name not in inputs]
    if missing:
        measure = "or measure with --results DIR, with --download-alone and --both, or with --simulate"
        only = f"buffer-size needs {', '.join(missing)}"
        raise UsageError(f"{only}; give {'it' if len(missing) == 1 else 'them'}, {measure}")
    values = {name: inputs[name].value for name in (*REQUIRED, "packet")}
    return UplinkMeasures(**values)


def _from_captures(alone: Path, both: tuple[Path, ...]) -> Inputs:
    from rexmit.analyse.uplink import uplink_from_captures

    return _measured(uplink_from_captures(_read(alone), [_read(path) for path in both]))


def _read(path: Path) -> CapturedFlows:
    from rexmit.analyse.captures import SMALL, Options
    from rexmit.analyse.uplink import CapturedFlows
    from rexmit.cli.reading import ReadingProgress
    from rexmit.report.analysis import read

    with ReadingProgress(path.name) as progress:
        found = read([path], Options(tables=(*SMALL, "segments", "rtt")), progress)
    return CapturedFlows(path.name, found.connections, found.segments, found.rtt)


def _measured(found: UplinkMeasured) -> Inputs:
    return {name: Input(**asdict(getattr(found, name))) for name in REQUIRED[1:]}


# Results


def _from_results(folder: Path, run: int | None, given: Inputs, flows: int, as_json: bool) -> None:
    from rexmit.run import open_results

    results = open_results(folder)
    runs = _runs_with_state(results, folder) if run is None else [run]
    if len(runs) == 1:
        _tell({**_of_run(results, runs[0]), **given}, flows, as_json)
        return
    rows = [_row(results, number, given) for number in runs]
    if as_json:
        print_json(rows)
        return
    varied = [factor.name for factor in results.spec().design.factors if len(factor.labels) > 1]
    table = _table("run", *varied, "RTT", "W_D", "W_U", "bound", "packets")
    for row in rows:
        levels = [str(row["levels"][name]) for name in varied]
        windows = [size(row["inputs"][name]["value"]) for name in ("max_window_down", "max_window_up")]
        bound, packets = f"{row['bound_packets']:.2f}", row["packets"]
        wait = duration(row["inputs"]["rtt"]["value"] * 1e9)
        table.add_row(
            str(row["run"]), *levels, wait, *windows, bound, NOTHING if packets is None else str(packets)
        )
    console().print(table)
    click.echo(
        "bound and packets are of merritt-2010 (6.6); - where no buffer is small enough. --run tells more"
    )


def _row(results: Results, run: int, given: Inputs) -> dict[str, Any]:
    inputs = {**_of_run(results, run), **given}
    measures = _measures(inputs)
    try:
        packets = measures.packets()
    except ModelError:
        packets = None
    levels = results.table().row(run, named=True)
    return {
        "run": run,
        "levels": {name: levels[name] for name in results.factors},
        "inputs": {name: asdict(entry) for name, entry in inputs.items()},
        "bound_packets": measures.bound(),
        "packets": packets,
    }


def _of_run(results: Results, run: int) -> Inputs:

    from rexmit.analyse.uplink import uplink_from_state
    from rexmit.run.tables import run_table, table_path

    assert results.folder is not None
    scenario = results.spec().scenario_of(run)
    path = table_path(results.folder, run, "state")
    try:
        table = run_table(path)
    except FileNotFoundError:
        raise StoreError(
            f"{results.folder}: keeps no state of run {run}; run its study again with --state all"
        ) from None
    inputs = _rates(scenario, f"run {run}")
    return {**inputs, **_measured(uplink_from_state(table, scenario, f"run {run}"))}


def _runs_with_state(results: Results, folder: Path) -> list[int]:
    from rexmit.run.tables import table_path

    found = [run for run in range(len(results)) if table_path(folder, run, "state").exists()]
    if not found:
        raise StoreError(f"{folder}: keeps no state of any run; run its study again with --state all")
    return found


def _rates(scenario: dict[str, Any], where: str) -> Inputs:
    """The rates of the path; none where it has no limit."""
    found = {}
    for name, direction in (("up_rate", "up"), ("down_rate", "down")):
        text = path_setting(scenario, direction, "rate")
        if isinstance(text, str):
            found[name] = Input(float(_native.parse_rate(text)), f"{where}: the path's {direction} rate")
    return found


def _table(*titles: str) -> Any:
    from rich.table import Table

    return Table(*titles, box=None, pad_edge=False)
