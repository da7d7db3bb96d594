"""`rexmit analyze`: any capture in, the cause of every retransmission out."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rexmit.analyse.captures import Reading
from rexmit.analyse.held import answers
from rexmit.analyse.listing import Listing
from rexmit.analyse.overview import SORTS, Overview, nested
from rexmit.analyse.pairs import PairOptions
from rexmit.analyse.words import evidence, sctp_evidence
from rexmit.cli import completing
from rexmit.cli.analyze_options import JSON_FLOWS, Asked, Given
from rexmit.cli.analyze_pair import PairOutput, analyze_pair
from rexmit.cli.common import OUT, json_option, print_json, warn
from rexmit.cli.reading import ReadingProgress
from rexmit.errors import UsageError, printable
from rexmit.units import plural

if TYPE_CHECKING:
    from rexmit.analyse.arrow import TableFiles

    _Type = click.ParamType[tuple[int, int]]
else:
    _Type = click.ParamType

STANDARD_INPUT = Path("/dev/stdin")
"""What - stands for."""

GRAPH_FORMATS = ("svg", "png", "pdf", "html", "xplot")


class Span(_Type):
    """A first and a last number, as `1007..1011`, or one alone."""

    name = "span"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[int, int]:
        """The two numbers."""
        first, dots, last = str(value).partition("..")
        try:
            span = int(first), int(last if dots else first)
        except ValueError:
            span = 1, 0
        if not 0 <= span[0] <= span[1]:
            self.fail(f"{value!r} is not a span; write it as 1007..1011 or 1007", parameter, context)
        return span


SPAN = Span()


@click.command(
    epilog="""\b
Examples:
  rexmit analyze server.pcapng
  rexmit analyze server.pcapng --connection 3 --retransmissions
  rexmit analyze sctp.pcap.gz --packets --tsn 1007..1011
  rexmit analyze big.pcap.gz --filter 'tcp.port == 5001' --sort bytes --limit 5
  rexmit analyze server.pcapng --tables out --only connections,retransmissions --format csv
  rexmit analyze server.pcapng --graphs out --graph-format html"""
)
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...", type=click.Path(path_type=Path))
@click.option("--connection", type=click.IntRange(min=1), help="Show this TCP connection in detail.")
@click.option("--association", type=click.IntRange(min=1), help="Show this SCTP association in detail.")
@click.option("--retransmissions", "lines", is_flag=True, help="Print a line for each retransmission.")
@click.option("--packets", is_flag=True, help="Print a line for each packet of a connection or association.")
@click.option("--tsn", type=SPAN, metavar="FROM..TO", help="With --packets: those that concern these TSNs.")
@click.option("--seq", type=SPAN, metavar="FROM..TO", help="With --packets: those that concern these bytes.")
@click.option(
    "--around",
    type=click.IntRange(min=1),
    metavar="PACKET",
    help="With --packets: those around this retransmission.",
)
@click.option("--sort", type=click.Choice(SORTS), default="retransmissions", show_default=True)
@click.option(
    "--limit", type=click.IntRange(min=0), help="Connections to show; 0 for all. Default: 20, in JSON 1000."
)
@click.option("--filter", "condition", metavar="TEXT", help="Judge only these packets: 'tcp.port == 5001'.")
@click.option(
    "--loss-event-rtts",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="Losses within this many RTTs are one loss event: 2 as in klaver-2005, 1 as in RFC 5348.",
)
@click.option(
    "--sctp-threshold",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Missing reports that sctp_trace requires for a fast retransmit: 3 (RFC 9260) or 4 (pedersen-2006).",
)
@click.option("--tables", type=OUT, help="Write the tables into this folder.")
@click.option(
    "--only",
    shell_complete=completing.analysis_tables,
    metavar="NAME,...",
    help="Tables to write, or 'all'. Default: those that do not have a row for every packet.",
)
@click.option(
    "--format", "form", type=click.Choice(["parquet", "csv"]), help="Format of the tables. Default: parquet."
)
@click.option("--graphs", type=OUT, help="Draw graphs of what is shown into this folder.")
@click.option(
    "--graph-format",
    "graph_formats",
    type=click.Choice(GRAPH_FORMATS),
    multiple=True,
    help="May be given several times. Default: svg and html.",
)
@click.option(
    "--separate", is_flag=True, help="Judge two captures one by one, not as two views of the same packets."
)
@click.option("--same-clock", is_flag=True, help="The same clock stamped both captures.")
@click.option(
    "--whole", is_flag=True, help="Both captures are complete: a packet in only one of them was lost."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Threads. Default: every core. The results do not change."
)
@json_option
@click.pass_context
def analyze(context: click.Context, /, captures: tuple[Path, ...], **options: Any) -> None:
    """Say why each transfer in CAPTURE is not faster, and what caused each retransmission.

    TCP and SCTP are judged, packet by packet, from the capture alone; --connection and --retransmissions show
    the evidence.

    Reads pcapng and pcap, also compressed with gzip or zstd; - is standard input. Two captures are taken as
    views of the same packets from both ends, unless --separate is given; more than two are judged one after
    another. Exit code 1 if a capture is damaged or has neither TCP nor SCTP; everything that could be read is
    still shown.
    """
    captures = tuple(STANDARD_INPUT if str(path) == "-" else path for path in captures)
    given = Given(**options)
    pair = len(captures) == 2 and not given.separate
    given.check(pair)
    if pair:
        output = PairOutput(given.lines, given.as_json, given.tables, given.only, given.form or "parquet")
        about = PairOptions(given.same_clock, given.whole)
        context.exit(analyze_pair(captures, given.judged(), about, output))
    asked = given.asked()
    groups = [(capture,) for capture in captures]
    found = [_analyze(group, _apart(asked, groups, at)) for at, group in enumerate(groups)]
    if given.as_json:
        _print_json([one.json() for one in found])
    summaries = [one.reading.summary for one in found]
    context.exit(1 if any(one.damaged or one.nothing for one in summaries) else 0)


@dataclass(frozen=True)
class _Found:
    """What came of one analysis."""

    asked: Asked
    reading: Reading
    overview: Overview
    listing: Listing | None

    def json(self) -> dict[str, Any]:
        """What `--json` prints of it; the keys of rows are the columns of the tables."""
        summary, overview = self.reading.summary, self.overview
        found: dict[str, Any] = {
            "captures": [str(path) for path in self.reading.paths],
            "packets": summary.packets,
            "tcp_packets": summary.tcp,
            "sctp_packets": summary.sctp,
            "skipped": summary.skipped,
            "limits": summary.limited,
            "interfaces": summary.interfaces,
            "broken_off": summary.broken_off,
            "warnings": [*summary.warnings, *self._unlisted(), *summary.nothing],
            "causes": {"tcp": dict(overview.tcp.causes), "sctp": dict(overview.sctp.causes)},
            "why": [
                {"connection": row["connection"], "side": side, "why": text}
                for row in self._rows("connection", overview.connections)
                for side, text in answers(row).items()
            ],
            "connections": [nested(row) for row in self._rows("connection", overview.connections)],
            "associations": [nested(row) for row in self._rows("association", overview.associations)],
        }
        if self.asked.lines:
            rows = list(overview.retransmissions())
            found["retransmissions"] = [{**row, "why": evidence(row)} for row in rows if "connection" in row]
            found["sctp_retransmissions"] = [
                {**row, "why": sctp_evidence(row)} for row in rows if "association" in row
            ]
        if self.asked.listed and self.listing:
            found["listing"] = [asdict(one) for one in self.listing.packets(self.asked.listed.window)]
        if self.asked.wanted.connection is not None:
            found |= {name: overview.kept[name] for name in ("loss_events", "held")}
        if self.asked.wanted.association is not None:
            found |= {name: overview.kept[name] for name in ("paths", "streams", "sctp_controls")}
        return found

    def _unlisted(self) -> list[str]:
        """What the limit of JSON leaves out, a line each."""
        overview = self.overview
        flows = {
            "connection": (overview.tcp.flows, len(overview.connections)),
            "association": (overview.sctp.flows, len(overview.associations)),
        }
        return [
            f"limit: {plural(count - kept, kind)} beyond {JSON_FLOWS:,} not listed; --limit 0 lists all"
            for kind, (count, kept) in flows.items()
            if self.asked.by_number and count > kept
        ]

    def _rows(self, kind: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        wanted = self.asked.wanted
        if (wanted.connection, wanted.association) != (None, None):
            return self.overview.kept[f"{kind}s"]
        return sorted(rows, key=lambda row: row[kind]) if self.asked.by_number else rows


def _analyze(paths: Sequence[Path], asked: Asked) -> _Found:
    """Reads captures once, and writes and prints what was asked for."""
    overview = Overview(asked.wanted)
    listing = asked.listed.make() if asked.listed else None
    name = " and ".join(path.name for path in paths)
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(ReadingProgress(name))
        reading = Reading(paths, asked.options, progress)
        files = _table_files(asked, stack)
        for tables in reading:
            overview.add(tables)
            if listing is not None:
                listing.add(tables)
            if files is not None:
                files.write(tables)
    found = _Found(asked, reading, overview, listing)
    _check_chosen(found)
    if not asked.as_json:
        _print(found)
    written = [] if files is None else files.files
    if asked.graphs is not None:
        written += _draw(paths, asked, overview)
    if not asked.as_json:
        for path in written:
            click.echo(printable(path))
    return found


def _table_files(asked: Asked, stack: contextlib.ExitStack) -> TableFiles | None:
    if asked.tables is None:
        return None
    # Loaded only where tables are written: it takes long to load.
    from rexmit.analyse.arrow import TableFiles

    return stack.enter_context(TableFiles(asked.tables, asked.only, asked.form))


def _check_chosen(found: _Found) -> None:
    """Raises UsageError where the flow asked for is not there."""
    wanted, overview = found.asked.wanted, found.overview
    for kind, number, totals in (
        ("connection", wanted.connection, overview.tcp),
        ("association", wanted.association, overview.sctp),
    ):
        if number is not None and not overview.kept[f"{kind}s"]:
            there = plural(totals.flows, kind)
            raise UsageError(f"no {kind} {number}; the capture has {there}, counted from 1")


def _print(found: _Found) -> None:
    from rexmit.cli.common import console
    from rexmit.report import terminal, terminal_detail, terminal_listing

    asked, overview, summary = found.asked, found.overview, found.reading.summary
    out = console()
    wanted = asked.wanted
    if asked.several:
        out.print(terminal.title(printable(" and ".join(map(str, found.reading.paths)))))
    chosen = wanted.connection is not None or wanted.association is not None
    if asked.listed and found.listing:
        packets = found.listing.packets(asked.listed.window)
        terminal_listing.print_listing(out, *found.listing.flow, packets)
    elif asked.lines:
        terminal_detail.print_retransmissions(out, overview.retransmissions(), overview.starts)
    elif not chosen:
        terminal.print_overview(out, overview, summary)
        for text in summary.nothing:
            warn(f"{found.reading.paths[0]}: {text}")
        return
    else:
        for row in overview.kept["connections"]:
            terminal_detail.print_connection(out, row, overview)
        for row in overview.kept["associations"]:
            terminal_detail.print_association(out, row, overview)
    terminal.print_warnings(out, summary)


def _draw(paths: Sequence[Path], asked: Asked, overview: Overview) -> list[Path]:
    from rexmit.report.graphs import Chosen, draw_graphs

    assert asked.graphs is not None
    wanted = asked.wanted
    rows = overview.kept["connections"] or ([] if wanted.association else overview.connections)
    numbers = [row["connection"] for row in rows]
    of_sctp = overview.kept["associations"] or ([] if wanted.connection else overview.associations)
    associations = [row["association"] for row in of_sctp]
    if not numbers and not associations:
        text = f"{paths[0]}: no graphs: the capture has neither a connection nor an association"
        if not asked.several:
            raise UsageError(text)
        warn(text)
        return []
    if not paths[0].is_file():
        raise UsageError(f"--graphs reads the capture twice, and {paths[0]} is a pipe; write it to a file")
    chosen = Chosen(numbers, associations)
    return draw_graphs(paths[0], asked.graphs, chosen, asked.graph_formats, asked.options)


def _apart(asked: Asked, groups: Sequence[Sequence[Path]], at: int) -> Asked:
    """With several analyses, each writes to a folder of its own, named after its capture."""
    if len(groups) == 1:
        return asked
    names = [group[0].name.split(".")[0] for group in groups]
    name = names[at] if names.count(names[at]) == 1 else f"{names[at]}-{at + 1}"
    tables = None if asked.tables is None else asked.tables / name
    graphs = None if asked.graphs is None else asked.graphs / name
    return replace(asked, tables=tables, graphs=graphs, several=True)


def _print_json(found: list[dict[str, Any]]) -> None:
    print_json(found[0] if len(found) == 1 else found)
