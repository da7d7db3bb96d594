"""`rexmit schema`: the JSON Schema of a study's file, for editors."""

from __future__ import annotations

import json

import click

from rexmit import _native
from rexmit.study import study_schema


@click.command(
    epilog="""\b
Examples:
  rexmit schema > study.schema.json
  rexmit schema --scenario"""
)
@click.option("--scenario", is_flag=True, help="Print the schema of a scenario alone.")
def schema(scenario: bool) -> None:
    """Print the JSON Schema of study files, with which an editor completes and checks them.

    Write the line `#:schema ./study.schema.json` at the top of the study's file.
    """
    found = json.loads(_native.schema()) if scenario else study_schema()
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))
