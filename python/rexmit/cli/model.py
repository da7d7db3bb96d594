"""`rexmit model`: formulas, and what captures say of them."""

from __future__ import annotations

import click

from rexmit.cli.tcp_friendly import tcp_friendly


@click.group()
def model() -> None:
    """Put the formulas of TCP's throughput to numbers and to captures."""


model.add_command(tcp_friendly)
