"""`rexmit model`: what formulas say, from numbers and from measurements."""

from __future__ import annotations

import click

from rexmit.cli.groups import Commands
from rexmit.cli.model_buffer import buffer_size
from rexmit.cli.tcp_friendly import tcp_friendly


@click.group(
    cls=Commands,
    epilog="""\b
Examples:
  rexmit model tcp-friendly sender.pcapng
  rexmit model tcp-friendly --loss 0.01 --mss "1448 bytes" --rtt "100 ms"
  rexmit model buffer-size --up-rate "196 kbit/s" --rtt "200 ms" \\
      --max-window-down "73 kB" --max-window-up "10 kB\"""",
)
def model() -> None:
    """Evaluate published formulas: TCP's throughput, the size of a buffer."""


model.add_command(tcp_friendly)
model.add_command(buffer_size)
