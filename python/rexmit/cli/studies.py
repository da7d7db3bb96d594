"""`rexmit studies`: what comes with the package."""

from __future__ import annotations

import math

import click
from rich.table import Table

from rexmit.cli import completing
from rexmit.cli.common import console, json_option, print_json
from rexmit.study import Design, StudySpec, list_studies, load_spec
from rexmit.units import plural


@click.command(
    epilog="""\b
Examples:
  rexmit studies
  rexmit studies hurtig-2006/short"""
)
@click.argument("name", required=False, shell_complete=completing.study_names)
@json_option
def studies(name: str | None, as_json: bool) -> None:
    """List the built-in studies, or show what varies in study NAME (or a file) and its number of runs."""
    if name is not None:
        _show(load_spec(name), as_json)
        return
    entries = list_studies()
    if as_json:
        print_json(
            [{"name": e.name, "title": e.title, "source": e.source, "path": str(e.path)} for e in entries]
        )
        return
    table = Table("study", "runs", "title", "source", box=None, pad_edge=False)
    for entry in entries:
        table.add_row(entry.name, f"{load_spec(entry.path).design.runs:,}", entry.title, entry.source)
    console().print(table)


def _show(spec: StudySpec, as_json: bool) -> None:
    design = spec.design
    if as_json:
        facts = {"name": spec.name, "path": str(spec.path), **spec.to_table(), "runs": design.runs}
        print_json(facts)
        return
    click.echo(f"{spec.name}: {spec.title}")
    for key in ("source", "question", "description"):
        if key in spec.texts:
            click.echo(f"{key}: {spec.texts[key]}")
    for factor in design.factors:
        labels = [str(label) for label in factor.labels]
        shown = f"{labels[0]} ... {labels[-1]}" if len(labels) > 12 else ", ".join(labels)
        click.echo(f"varies {factor.name}: {plural(len(labels), 'level')}: {shown}")
    click.echo(f"{_size(design)}, seed {design.seed}")
    if design.sequence is not None:
        click.echo(f"runs: {design.sequence}")
    click.echo(f"file: {spec.path}")


def _size(design: Design) -> str:
    """Such as `20 combinations x 3 = 60 runs`; what multiplies by one is left out."""
    points = math.prod(len(factor.levels) for factor in design.factors)
    runs = plural(design.runs, "run")
    if design.replications == 1:
        return runs
    return f"{plural(points, 'combination')} x {design.replications} = {runs}"
