"""`rexmit model buffer-size --simulate`: the rules beside the buffer that is best in simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rexmit import _native
from rexmit.analyse.quantities import NOTHING, duration, rate, share, size
from rexmit.cli.common import OUT, console, print_json
from rexmit.cli.quantity import TIME
from rexmit.errors import UsageError
from rexmit.models import bdp_buffer, drain_time, many_flows_buffer

if TYPE_CHECKING:
    from rexmit.analyse.sweep import Sweep

Command = TypeVar("Command", bound=Callable[..., Any])

DOWN_BUFFER = 50
STACK = "freebsd-7.2"
BETWEEN = "~"
"""Before what was not run."""
LINK = 100e6
"""The least rate of the links to the hosts, bit/s."""
_ONLY = {
    "delay": "--delay",
    "down_buffer": "--down-buffer",
    "buffers": "--buffers",
    "stack": "--stack",
    "out": "--out",
    "plot": "--plot",
}


def simulate_options(command: Command) -> Command:
    """The options of `--simulate`."""
    for option in reversed(
        (
            click.option(
                "--simulate",
                is_flag=True,
                help="Measure it: run download and upload over this link on the model, with many buffers "
                "(the study merritt-2010/own-link), and set the rules beside the best of them.",
            ),
            click.option("--delay", type=TIME, help="With --simulate: propagation, one way. Default: none."),
            click.option(
                "--down-buffer",
                type=click.IntRange(min=1),
                help=f"With --simulate: the downlink's buffer, packets. Default: {DOWN_BUFFER}.",
            ),
            click.option(
                "--buffers",
                metavar="LIST",
                help="With --simulate: the uplink's buffers to try, packets, such as '1..10, 20..100/10'.",
            ),
            click.option(
                "--stack",
                metavar="PROFILE",
                help=f"With --simulate: the system of both hosts. Default: {STACK}, as in the study.",
            ),
            click.option("--out", type=OUT, help="With --simulate: keep the runs in this results folder."),
            click.option("--plot", type=OUT, help="With --simulate: draw the figures into this folder."),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Link:
    """What is simulated: rates in bit/s, `delay` in seconds, one way."""

    up_rate: float
    down_rate: float
    delay: float
    down_buffer: int
    stack: str

    def settings(self) -> dict[str, str]:
        """The settings of the study."""
        return {
            "path.up.rate": f"{self.up_rate:.0f} bit/s",
            "path.down.rate": f"{self.down_rate:.0f} bit/s",
            # Links to the hosts that are not a bottleneck themselves.
            "path.link": f"{max(LINK, 10 * self.down_rate, 10 * self.up_rate):.0f} bit/s",
            "path.delay": f"{self.delay * 1e9:.0f} ns",
            "path.down.queue": f"{self.down_buffer} packets",
            "hosts.server.stack": self.stack,
            "hosts.client.stack": self.stack,
        }


def refuse_without(options: dict[str, Any]) -> None:
    """Raises UsageError for an option that goes with --simulate alone."""
    for name, option in _ONLY.items():
        if options[name] is not None:
            raise UsageError(f"{option} goes with --simulate; give that, too")


def simulate(
    down_rate: float | None, up_rate: float | None, flows: int, options: dict[str, Any], as_json: bool
) -> None:
    """Runs the sweep, tells it, draws it."""
    from rexmit.analyse.sweep import Sweep, own_link, parse_buffers
    from rexmit.run import RunOptions, run_study
    from rexmit.run.progress import shown_progress

    if down_rate is None or up_rate is None:
        raise UsageError("--simulate needs both rates; give --down-rate and --up-rate")
    _refuse(options["stack"], options["out"])
    link = Link(
        up_rate,
        down_rate,
        options["delay"] or 0.0,
        options["down_buffer"] or DOWN_BUFFER,
        options["stack"] or STACK,
    )
    try:
        buffers = parse_buffers(options["buffers"]) if options["buffers"] is not None else []
    except ValueError as error:
        raise UsageError(f"--buffers: {error}") from None
    with shown_progress() as progress:
        results = run_study(own_link(link.settings(), buffers), options["out"], RunOptions(progress=progress))
    sweep = Sweep.of(results)
    rules = _rules(sweep, link, flows)
    files = _draw(results, options["plot"]) if options["plot"] is not None else []
    if as_json:
        print_json(_facts(sweep, link, rules, flows))
        return
    _tell(sweep, link, rules)
    for file in files:
        click.echo(str(file))


def _refuse(stack: str | None, out: Path | None) -> None:
    """Raises UsageError for what could not be run, in the words of this command."""
    # A profile of one's own is a file, which is read with the study.
    known = [name for name, _ in _native.profiles()]
    if stack is not None and stack not in known and not stack.endswith(".toml"):
        raise UsageError(f"--stack: there is no profile {stack!r}; known: {', '.join(known)}")
    if out is not None and out.is_dir() and any(out.iterdir()):
        raise UsageError(f"--out {out}: is not empty; choose another folder")


def _rules(sweep: Sweep, link: Link, flows: int) -> dict[str, float | None]:
    """The buffer that each rule gives, packets."""
    return {
        "largest Performance in simulation": sweep.best,
        "download keeps 90 % in simulation": sweep.keeping,
        "merritt-2010 (6.6)": sweep.rule,
        "BDP of the uplink": float(bdp_buffer(link.up_rate, sweep.rtt)),
        f"BDP/sqrt({flows}) of the uplink": float(many_flows_buffer(link.up_rate, sweep.rtt, flows)),
        "BDP of the downlink": float(bdp_buffer(link.down_rate, sweep.rtt)),
    }


def _tell(sweep: Sweep, link: Link, rules: dict[str, float | None]) -> None:
    rates = f"{rate(link.down_rate)} down, {rate(link.up_rate)} up"
    click.echo(
        f"Simulated: {rates}, {duration(link.delay * 1e9)} one way, "
        f"{link.down_buffer} packets at the downlink, {link.stack}; {sweep.rows['runs'].sum()} runs"
    )
    click.echo(
        f"The download alone has {share(sweep.alone_share)} of its rate, RTT {duration(sweep.rtt * 1e9)}\n"
    )
    table = _table(
        "buffer", "download", "of runs", "upload", "Performance", "RTT down", "RTT up", "W_D", "W_U", "(6.6)"
    )
    for row in sweep.rows.iter_rows(named=True):
        table.add_row(
            str(row["buffer"]),
            share(row["down_share"]),
            f"{100 * row['down_low']:.0f}-{100 * row['down_high']:.0f}",
            share(row["up_share"]),
            f"{row['performance']:.2f}",
            duration(row["down_rtt_ms"] * 1e6),
            duration(row["up_rtt_ms"] * 1e6),
            size(row["down_window"]),
            size(row["up_window"]),
            f"{row['bound']:.1f}",
        )
    console().print(table)
    click.echo("\nRules, and what simulation gives there")
    table = _table("", "buffer", "download", "upload", "Performance", "drains in")
    for name, buffer in rules.items():
        table.add_row(f"  {name}", *_given(sweep, link, buffer))
    console().print(table)
    click.echo()
    click.echo(_NOTE)


def _given(sweep: Sweep, link: Link, buffer: float | None) -> list[str]:
    if buffer is None:
        return [NOTHING] * 5
    shares = [sweep.at(name, buffer) for name in ("down_share", "up_share", "performance")]
    down, up, least = shares
    drains = float(drain_time(buffer, link.up_rate))
    shown = f"{least:.2f}" if least is not None else NOTHING
    between = BETWEEN if least is not None and not sweep.ran(buffer) else ""
    told = [between + text for text in (share(down), share(up), shown)]
    return [f"{buffer:.3g}", *told, duration(drains * 1e9)]


def _facts(sweep: Sweep, link: Link, rules: dict[str, float | None], flows: int) -> dict[str, Any]:
    names = ("best", "keeping_90_percent", "rule_6_6", "bdp_uplink", "bdp_sqrt_uplink", "bdp_downlink")
    chosen = {}
    for name, buffer in zip(names, rules.values(), strict=True):
        found: dict[str, float | bool | None] = {"packets": buffer}
        for measure in ("down_share", "up_share", "performance"):
            found[measure] = None if buffer is None else sweep.at(measure, buffer)
        found["ran"] = buffer is not None and sweep.ran(buffer)
        chosen[name] = found
    return {
        "link": {
            "up_rate": link.up_rate,
            "down_rate": link.down_rate,
            "delay_s": link.delay,
            "down_buffer": link.down_buffer,
            "stack": link.stack,
        },
        "alone": {"share": sweep.alone_share, "rtt_s": sweep.rtt},
        "buffers": sweep.rows.to_dicts(),
        "rules": chosen,
        "flows": flows,
    }


def _draw(results: Any, out: Path) -> list[Path]:
    from rexmit.report import draw_figures

    return draw_figures(results, out)


def _table(*titles: str) -> Any:
    from rich.table import Table

    return Table(*titles, box=None, pad_edge=False)


_NOTE = f"""\
Performance is the smaller of the two shares of the rates (merritt-2010, equation 1.2), from 10 s after the
upload's start on. The rule (6.6) is taken where its estimate meets the buffer (figure 6.2); it asks what the
download keeps, not what both get. {NOTHING} stands where there is no such buffer, or none of that size.
{BETWEEN} marks what was not run, but interpolated between the two buffers beside it."""
