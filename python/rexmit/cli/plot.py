"""`rexmit plot`: figures of results, or graphs of a capture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from rexmit.cli.common import OUT, json_option, print_json
from rexmit.errors import UsageError, printable

if TYPE_CHECKING:
    from rexmit.plot.graphs import View

GRAPHS = ("tsg", "outstanding", "owin", "rtt", "throughput", "cwnd", "all")
FORMATS = ("svg", "png", "pdf", "html", "xplot")


@click.command(
    epilog="""\b
Examples:
  rexmit plot results/hurtig-2006-short
  rexmit plot server.pcapng --out tsg.svg --direction server --t 0:3
  rexmit plot server.pcapng --html
  rexmit plot server.pcapng --graph all --format pdf --format xplot
  rexmit plot server.pcapng --graph cwnd --state tables/run-00000000-state.parquet"""
)
@click.argument("what", metavar="DIR|CAPTURE", type=click.Path(path_type=Path))
@click.option("--out", type=OUT, help="Write here: for DIR a folder, for CAPTURE a file or prefix of files.")
@click.option(
    "--connection",
    "connections",
    multiple=True,
    type=click.IntRange(min=1),
    help="For CAPTURE: the connection's number. Default: 1; for a page all, and it may be repeated.",
)
@click.option(
    "--direction",
    type=click.Choice(["client", "server"]),
    help="For CAPTURE: whose data to show: 'client' is the side that opened the connection, 'server' the "
    "other. Default: the one that sent more.",
)
@click.option(
    "--run",
    "runs",
    type=click.IntRange(min=0),
    multiple=True,
    help="For DIR, if flows were measured over time: the run whose flows are drawn above the queue. May "
    "be given several times. Default: 0.",
)
@click.option("--t", "span", metavar="FROM:TO", help="For CAPTURE: seconds to show.")
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True)
@click.option(
    "--graph",
    "graphs",
    type=click.Choice(GRAPHS),
    multiple=True,
    help="For CAPTURE: time sequence (the default), outstanding data with windows (tcptrace: owin), "
    "RTT samples, throughput, congestion window if it is known, or all. May be given several times.",
)
@click.option(
    "--format",
    "forms",
    type=click.Choice(FORMATS),
    multiple=True,
    help="svg, png or pdf; for CAPTURE also html, a page with all graphs to pan and zoom, "
    "and xplot, for xplot.org or jPlot. May be given several times. Default: the ending of --out, or svg "
    "and png.",
)
@click.option("--html", is_flag=True, help="Short for --format html.")
@click.option("--state", type=click.Path(path_type=Path), help="Table of states of the run, for cwnd.")
@click.option(
    "--verdicts", type=click.Path(path_type=Path), help="Table of the emulator's verdicts, for a page."
)
@json_option
@click.pass_context
def plot(
    context: click.Context,
    what: Path,
    out: Path | None,
    connections: tuple[int, ...],
    direction: str | None,
    runs: tuple[int, ...],
    span: str | None,
    theme: str,
    graphs: tuple[str, ...],
    forms: tuple[str, ...],
    html: bool,
    state: Path | None,
    verdicts: Path | None,
    as_json: bool,
) -> None:
    """Draw the figures of a results folder, or graphs of a connection in a capture (pcapng, pcap).

    Figures of DIR go to DIR/figures, a graph of CAPTURE beside the capture, as SVG and PNG, unless --out or
    --format says otherwise. The symbols are those of tcptrace; retransmissions are marked by their cause.
    """
    if html:
        forms = tuple(dict.fromkeys((*forms, "html")))
    if what.is_dir():
        _check_of_study(context, what)
        from rexmit.report import draw_figures
        from rexmit.run import open_results

        folder = out or what / "figures"
        files = draw_figures(open_results(what), folder, _of_figures(forms), runs, answer=True)
    elif what.exists():
        if runs:
            raise UsageError(f"--run is of results folders, and {what} is a capture; leave it out")
        from rexmit.plot.graphs import View

        view = View(direction, None if span is None else _span(span), theme, state)
        asked = _Asked(out, connections, graphs or ("tsg",), forms, verdicts)
        files = _graphs(what, asked, view)
    else:
        raise UsageError(f"{what}: there is no such results folder or capture")
    if as_json:
        print_json([str(file) for file in files])
    else:
        for file in files:
            click.echo(printable(file))


def _check_of_study(context: click.Context, what: Path) -> None:
    """Raises UsageError where options are given that a results folder has nothing for."""
    given = [
        option.opts[0]
        for option in context.command.params
        if isinstance(option, click.Option)
        and option.name not in _OF_STUDY
        and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    ]
    if given:
        verb = "is" if len(given) == 1 else "are"
        raise UsageError(
            f"{', '.join(given)} {verb} of captures, and {what} is a results folder; its figures take --out, "
            f"--run, --format and --json"
        )


_OF_STUDY = {"out", "runs", "forms", "html", "as_json"}


def _of_figures(forms: tuple[str, ...]) -> tuple[str, ...]:
    drawn = ("svg", "png", "pdf")
    for form in forms:
        if form not in drawn:
            raise UsageError(f"--format {form}: is of captures; figures of a study are {', '.join(drawn)}")
    return forms


@dataclass(frozen=True)
class _Asked:
    """What of a capture is to be drawn, and where it goes."""

    out: Path | None
    connections: tuple[int, ...]
    graphs: tuple[str, ...]
    forms: tuple[str, ...]
    verdicts: Path | None


def _graphs(capture: Path, asked: _Asked, view: View) -> list[Path]:
    from rexmit.plot import graphs as drawing

    stem, form = drawing.target(asked.out or capture.with_suffix(""), named=asked.out is not None)
    forms = asked.forms or ((form,) if form else ("svg", "png"))
    files = [_page(capture, stem, asked, view)] if "html" in forms else []
    still = [form for form in forms if form != "html"]
    if asked.verdicts and not files:
        raise UsageError("--verdicts is for a page; add --html")
    if not still:
        return files
    if len(asked.connections) > 1:
        raise UsageError(f"--format {still[0]} draws one connection; give one --connection, or --html")
    [flow] = drawing.flows_of(capture, asked.connections or [1], None)
    names = asked.graphs
    every = drawing.GRAPHS if "all" in names else tuple(dict.fromkeys(map(drawing.known, names)))
    if view.state and not files and "cwnd" not in every:
        raise UsageError(
            "--state is for the graph of the congestion window or a page; add --graph cwnd or --html"
        )
    return files + drawing.draw_flow(flow, stem, still, every, view)


def _page(capture: Path, stem: Path, asked: _Asked, view: View) -> Path:
    from rexmit.plot.page import about_of, write_page
    from rexmit.plot.trace import Part

    part = Part(asked.connections, t=view.t, direction=view.direction)
    about = about_of(capture.name, view.state, asked.verdicts)
    return write_page(capture, stem.with_name(f"{stem.name}.html"), part, about, dark=view.theme == "dark")


def _span(text: str) -> tuple[float, float]:
    first, _, last = text.partition(":")
    try:
        return float(first), float(last)
    except ValueError:
        raise UsageError(f"--t {text!r}: write two numbers of seconds, such as 0:3") from None
