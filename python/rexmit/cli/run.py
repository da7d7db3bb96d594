"""`rexmit run`: runs a study."""

from __future__ import annotations

import time
from pathlib import Path

import click

from rexmit.cli.common import json_option, print_json, warn
from rexmit.run import Results, RunOptions, run_study
from rexmit.run.capture import CAPTURE_CHOICES
from rexmit.run.progress import shown_progress
from rexmit.study import StudySpec, load_spec
from rexmit.study.settings import parse_assignment


@click.command(
    epilog="""\b
Examples:
  rexmit run hurtig-2006/short
  rexmit run my-study.toml --set path.rate='[\"1 Mbit/s\", \"2 Mbit/s\"]' --jobs 2 --out results/mine
  rexmit run my-study.toml --out results/mine --resume"""
)
@click.argument("study")
@click.option(
    "--backend", default="model", show_default=True, help="What runs it; only 'model' in this release."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting, or the levels of a factor; vary.KEY=[..] makes a new one. A profile's file is "
    "named as seen from the working directory. May be given several times.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Threads. Default: every core. The results do not change."
)
@click.option("--out", type=click.Path(path_type=Path), help="Results folder. Default: results/STUDY.")
@click.option("--resume", is_flag=True, help="Go on with a folder whose run was stopped.")
@click.option(
    "--capture",
    type=click.Choice(CAPTURE_CHOICES),
    default="none",
    show_default=True,
    help="Write pcapng captures of no runs, of those that failed, or of all.",
)
@click.option(
    "--state",
    type=click.Choice(CAPTURE_CHOICES),
    default="none",
    show_default=True,
    help="Write tables of both hosts' state over time (cwnd, ssthresh, srtt, rto, ...).",
)
@click.option(
    "--verdicts",
    type=click.Choice(CAPTURE_CHOICES),
    default="none",
    show_default=True,
    help="Write tables of what the path did to every packet.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the random streams, instead of the study's."
)
@json_option
def run(
    study: str,
    backend: str,
    settings: tuple[str, ...],
    jobs: int | None,
    out: Path | None,
    resume: bool,
    capture: str,
    state: str,
    verdicts: str,
    seed: int | None,
    as_json: bool,
) -> None:
    """Run STUDY, one of the package by its name or yours by its file, and store its results.

    A stopped or killed run loses no finished run: repeat the command with --resume.
    """
    spec = _spec(study, settings, seed)
    folder = out or Path("results") / spec.name.replace("/", "-")
    began = time.monotonic()
    with shown_progress() as progress:
        options = RunOptions(backend, jobs, resume, capture, state, verdicts, progress, warn)
        results = run_study(spec, folder, options)
    _tell(results, folder, time.monotonic() - began, as_json)


def _spec(study: str, settings: tuple[str, ...], seed: int | None) -> StudySpec:
    spec = load_spec(study)
    for text in settings:
        spec = spec.with_set(*parse_assignment(text))
    return spec if seed is None else spec.with_set("design.seed", seed)


def _tell(results: Results, folder: Path, seconds: float, as_json: bool) -> None:
    table = results.table()
    failed = table.filter(~table["completed"] | table["error"].is_not_null())
    facts = {
        "study": results.name,
        "folder": str(folder),
        "runs": len(results),
        "failed": failed.height,
        "seconds": round(seconds, 3),
    }
    if as_json:
        print_json(facts)
        return
    click.echo(f"{results.name}: {len(results)} runs in {seconds:.2f} s, results in {folder}")
    if failed.height:
        first = failed.row(0, named=True)
        why = first["error"] or "it did not complete"
        warn(f"{failed.height} runs failed; the first is run {first['run']}: {why}")
