"""The process that answers a question in SQL: `python -P -m rexmit.run.sql_main FOLDER` (`sql_engine.py`)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rexmit.start import without_pandas


def main() -> None:
    """Answers, and ends at once: nothing is freed, and no thread of DuckDB or Arrow is waited for."""
    without_pandas()
    # Only now: it loads everything that would load pandas.
    from rexmit.run.sql_engine import answer

    os._exit(answer(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
