"""`rexmit plot`: figures of results, or the time-sequence graph of a capture."""

from __future__ import annotations

from pathlib import Path

import click

from rexmit.cli.common import OUT, json_option, print_json
from rexmit.errors import UsageError
from rexmit.run import open_results


@click.command(
    epilog="""\b
Examples:
  rexmit plot results/hurtig-2006-short
  rexmit plot server.pcapng --out tsg.svg --direction server --t 0:3"""
)
@click.argument("what", metavar="DIR|CAPTURE", type=click.Path(path_type=Path))
@click.option("--out", type=OUT, help="Folder (of DIR) or file (of CAPTURE: .svg, .png, .pdf) to write.")
@click.option("--connection", default=1, show_default=True, type=click.IntRange(min=1), help="Of a CAPTURE.")
@click.option(
    "--direction",
    type=click.Choice(["client", "server"]),
    help="Whose data to show, of a CAPTURE: 'client' is the side that opened the connection, 'server' the "
    "other. Default: the one that sent more.",
)
@click.option("--t", "span", metavar="FROM:TO", help="Seconds to show, of a CAPTURE.")
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True)
@json_option
def plot(
    what: Path,
    out: Path | None,
    connection: int,
    direction: str | None,
    span: str | None,
    theme: str,
    as_json: bool,
) -> None:
    """Draw the figures of a results folder, or the time-sequence graph of a capture (pcapng, pcap).

    Figures of DIR go to DIR/figures, the graph of CAPTURE beside it, as SVG and PNG, unless --out says
    otherwise. The symbols are those of tcptrace.
    """
    if what.is_dir():
        from rexmit.report import draw_figures

        files = draw_figures(open_results(what), out or what / "figures")
    elif what.is_file():
        from rexmit.plot import tsg
        from rexmit.plot.style import KNOWN_FORMATS

        seconds = None if span is None else _span(span)
        if out is not None and out.suffix and out.suffix.lower().removeprefix(".") not in KNOWN_FORMATS:
            raise UsageError(f"--out {out}: cannot draw {out.suffix!r}; end it in .svg, .png or .pdf")
        target = out or what.with_suffix("")
        files = tsg.draw(what, target, connection=connection, direction=direction, t=seconds, theme=theme)
    else:
        raise UsageError(f"{what}: there is no such results folder or capture")
    if as_json:
        print_json([str(file) for file in files])
    else:
        for file in files:
            click.echo(str(file))


def _span(text: str) -> tuple[float, float]:
    first, _, last = text.partition(":")
    try:
        return float(first), float(last)
    except ValueError:
        raise UsageError(f"--t {text!r}: write two numbers of seconds, such as 0:3") from None
