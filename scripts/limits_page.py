"""The reference page of limits: from the constants that the reader and the analysis hold themselves to."""

from __future__ import annotations

from collections.abc import Iterator

from rexmit.analyse.captures import limits


def limits_page() -> Iterator[str]:
    """The whole page."""
    yield _HEAD
    yield from ["| `--json` | what is allowed | when there is more |", "|---|---|---|"]
    for row in limits():
        yield f"| `{row['limit']}` | {row['rule']} | {row['effect']} |"
    yield _TAIL


_HEAD = """# Limits

<!-- written by scripts/limits_page.py -->

A capture may come from anyone. `rexmit analyze` of a file of n bytes takes time in proportion to n, and at
most 64 MB + 100 x n bytes of memory, or it stops with one line. n is the size of the file as it is given: a
compressed capture counts compressed.

Memory is what the analysis allocates while it reads and judges: the rows that it hands over and their columns
included, the Python interpreter and its modules not. What is asked for as a whole takes memory of its own:
`--json` (about 25 kB for each connection that it lists: 1,000, unless `--limit` says otherwise),
`--retransmissions`, `--packets`, graphs, and tables that Python code keeps.

Each limit below is far beyond what captures of real traffic need, and nothing is passed over without a word:
where a limit acts, the output has a line such as `warning: limit: 12 interfaces were passed over; a capture
may have 4,096`, and `--json` has how often it acted under `limits`.
"""

_TAIL = """
Some limits end the reading of a file instead, with one line; what comes before that point is judged:

- A compressed capture unpacks to at most 512 MiB and 4,096 times its size. gzip cannot exceed 1,032 times.
- A zstd frame may use a window of more than 8 MiB (`zstd --long`) if the file is large: 24 bytes of it for
  each byte of the file read so far.
- A packet or block is at most 16 MiB long; a longer one is taken for damage.

A connection that is ended early and goes on is counted as another one from there, as if the capture had begun
there. A step is one segment, TSN or retransmission that is looked at; real traffic takes a few for each
packet.

It does not matter how many connections a capture has in all: what is final leaves memory at once. One
that is *open* takes 2 to 5 kB, more while it has much outstanding.
"""
