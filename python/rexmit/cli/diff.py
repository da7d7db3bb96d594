"""`rexmit diff`: what differs between two systems or two folders of results, and whether it got worse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from rexmit.cli.common import OUT, json_option
from rexmit.diff import Threshold
from rexmit.errors import UsageError
from rexmit.study import SCENARIO_FAMILIES


@click.command(
    epilog="""\b
Examples:
  rexmit diff results/last-week results/today
  rexmit diff results/main results/pull-request --fail 'p99(time) > 1.05x' --fail 'errors > 0'
  rexmit diff results/baseline results/now --fail 'mean(time) > +5 % by path.delay' --markdown
  rexmit diff linux:6.1 linux:6.12 --scenarios 1000 --seed 7 --out results/two-kernels
  rexmit diff linux-6.1 linux-6.1,hosts.server.stack.recovery.dupack_threshold=2 --study hurtig-2006/short
  rexmit diff linux:6.1 linux-6.1 --family losses --fail 'changed > 20 overall'"""
)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--fail",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 1 if this holds for B in any cell: 'p99(time) > 1.05x' (times A's), "
    "'mean(retransmits) > +2', 'time > 200 ms', 'errors', 'changed'; append 'by FACTOR, ...' for coarser "
    "cells, or 'overall' for all runs. May be given several times.",
)
@click.option("--scenarios", type=click.IntRange(min=1), help="Systems: how many to draw. Default: 200.")
@click.option("--seed", type=click.IntRange(min=0), help="Systems: seed of the scenarios. Default: 0.")
@click.option(
    "--family",
    type=click.Choice(list(SCENARIO_FAMILIES)),
    metavar="FAMILY",
    help="Systems: kind of scenarios: all, tcp, sctp, losses, marks, paced, wide, or "
    "wide/GROUP. Default: tcp between kernels, losses with a model.",
)
@click.option("--study", metavar="STUDY", help="Systems: use the runs of this study instead of scenarios.")
@click.option(
    "--cases",
    type=click.IntRange(0, 1000),
    help="Systems: for how many kinds of differences to find the smallest case. Default: 3.",
)
@click.option(
    "--out",
    type=OUT,
    help="Systems: write a page, each smallest case as a study, and JSON into this folder.",
)
@click.option("--only-common", is_flag=True, help="Folders of different designs: compare what both have.")
@click.option(
    "--cells",
    "shown",
    type=click.IntRange(0, 100_000),
    help="Folders: how many cells to show for each response, most changed first. Default: 10.",
)
@click.option(
    "--response",
    "responses",
    multiple=True,
    metavar="COLUMN",
    help="Folders: show the cells of these columns. May be given several times. Default: time_ns, or the "
    "first column that changed.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown, as for a comment on a pull request.")
@json_option
@click.pass_context
def diff(
    context: click.Context,
    before: str,
    after: str,
    conditions: tuple[str, ...],
    scenarios: int | None,
    seed: int | None,
    family: str | None,
    study: str | None,
    cases: int | None,
    out: Path | None,
    only_common: bool,
    shown: int | None,
    responses: tuple[str, ...],
    markdown: bool,
    as_json: bool,
) -> None:
    """Print what differs between A and B: two systems, or two results folders of one design.

    A system is a kernel (linux:6.12, once built), a profile of the model (linux-6.1) or another stack by its
    name in hosts.X.code, with settings after commas: for both hosts, as in
    linux:6.1,linux.sysctl.net.ipv4.tcp_reordering=5, or by full key, such as hosts.server.linux.nagle=true.
    The same scenarios run on both; the output says which differ, in what ways, and the smallest case of each.

    For folders: which cells (combinations of levels) changed, and by how much. With the same seed in virtual
    time, each run is compared with the same run of the other folder; otherwise a cell counts as changed if
    the 95 % interval of the difference excludes zero.

    Exit code 1 if a condition of --fail holds.
    """
    thresholds = [Threshold.parse(text) for text in conditions]
    folders = (Path(before), Path(after))
    if all(folder.is_dir() for folder in folders):
        _refuse(
            "two folders",
            {
                "--scenarios": scenarios,
                "--seed": seed,
                "--family": family,
                "--study": study,
                "--cases": cases,
                "--out": out,
            },
        )
        from rexmit.cli.diff_folders import diff_folders

        code = diff_folders(
            folders,
            thresholds,
            responses,
            10 if shown is None else shown,
            only_common=only_common,
            as_markdown=markdown,
            json=as_json,
        )
    elif any(folder.is_dir() for folder in folders):
        folder, other = (before, after) if folders[0].is_dir() else (after, before)
        raise UsageError(
            f"{other}: is not a folder of results, and {folder} is a folder; give two results folders, or "
            "two systems"
        )
    else:
        given = {"--only-common": only_common or None, "--cells": shown, "--response": responses or None}
        _refuse("two systems", given)
        from rexmit.cli.diff_systems import Asked, diff_systems

        wanted = Asked(scenarios, seed, family, study, 3 if cases is None else cases, out, thresholds)
        code = diff_systems((before, after), wanted, as_markdown=markdown, json=as_json)
    context.exit(code)


def _refuse(of: str, options: Mapping[str, object]) -> None:
    """Raises UsageError for an option that means nothing here."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} does not apply to {of}; leave it out")
