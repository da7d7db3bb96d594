"""`rexmit sql`: asks results folders in SQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

import click

from rexmit.cli import completing
from rexmit.cli.common import OUT, json_option, print_json, warn
from rexmit.errors import UsageError, one_line
from rexmit.inputs import QUERY, read_text
from rexmit.run.sql_process import EngineProcess
from rexmit.terminal import raw


@click.command(
    epilog="""\b
Examples:
  rexmit sql results/short
  rexmit sql results/short 'select "path.rate", avg(time_ns) / 1e9 as seconds from runs group by all'
  rexmit sql results/short 'select * from runs where timeouts > 2' --out timeouts.parquet
  rexmit sql results/model results/linux --csv --file question.sql
  echo 'select distinct verdict from verdicts where run = 9' | rexmit sql results/short -"""
)
@click.argument("words", nargs=-1, required=True, metavar="DIR... [QUERY]", shell_complete=completing.files)
@click.option(
    "--file", type=click.Path(path_type=Path), help="Read the query from a file; - is standard input."
)
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("--out", type=OUT, help="Write the answer into a file: .parquet, .csv or .json.")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Rows of a printed table, at most; 0 shows all.",
)
def sql(
    words: tuple[str, ...],
    file: Path | None,
    as_json: bool,
    as_csv: bool,
    out: Path | None,
    rows: int,
) -> None:
    """Query the results in DIR in SQL.

    The SQL is that of DuckDB; - reads the query from standard input. Tables: runs; intervals, retransmissions
    and messages if the study has them; state, verdicts and transmissions of the runs for which they were
    kept, with the number of the run in the column run; captures, factors and columns. Without QUERY, all
    tables and columns are listed with their meaning. Rows of several folders are concatenated, with a column
    folder. DIR may also be a folder written by `rexmit analyze --tables`.

    A name with a dot needs double quotes: "path.rate"; text is in single quotes. A query only reads, and
    sees nothing but these tables.
    """
    folders, query = _parted(words, file)
    if sum((as_json, as_csv, out is not None)) > 1:
        raise UsageError("--json, --csv and --out: choose one")
    if query is None and (as_csv or out is not None):
        raise UsageError("there is no query; give one, such as 'select * from runs'")
    with EngineProcess() as process:
        # Loaded when something is asked: it takes long to load.
        from rexmit.cli import sql_show as show
        from rexmit.run.sql import Database
        from rexmit.run.sql_tables import folder_source

        if out is not None and out.suffix not in show.FORMS:
            raise UsageError(f"{out}: end its name with {', '.join(show.FORMS[:-1])} or {show.FORMS[-1]}")
        sources = [folder_source(folder) for folder in folders]
        for source in sources:
            for note in source.notes:
                warn(note)
            if (warning := source.warning(query or "")) is not None:
                warn(warning)
        with Database(sources, process) as database:
            if query is None:
                tables = database.tables()
                print_json(show.tables_json(tables)) if as_json else show.show_tables(tables)
            elif out is not None:
                show.write_answer(database.query(query), out)
            elif as_csv:
                show.write_csv(database.query(query), _data_stream())
            elif as_json:
                show.write_json(database.query(query), sys.stdout)
            else:
                show.show_answer(database.query(query), rows)


def _data_stream() -> IO[str]:
    """Where values go as they are: to a program or file. A terminal gets control characters as escapes."""
    return sys.stdout if sys.stdout.isatty() else raw(sys.stdout)


def _parted(words: tuple[str, ...], file: Path | None) -> tuple[list[Path], str | None]:
    """The folders, and the query: a last word of several words, or what a file or standard input holds."""
    last = words[-1]
    if not last.strip():
        raise UsageError("the query is empty")
    given = last == "-" or (len(last.split()) != 1 and not Path(last).is_dir())
    if given and file is not None:
        raise UsageError("--file and a query: give one of the two")
    folders = [Path(word) for word in (words[:-1] if given else words)]
    if not folders:
        raise UsageError("there is no folder; name the results before the query")
    if given and last != "-":
        return folders, last
    if given or file == Path("-"):
        return folders, _read(sys.stdin)
    if file is None:
        return folders, None
    try:
        return folders, read_text(file, QUERY)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {one_line(error.strerror or error)}") from None


def _read(file: IO[str]) -> str:
    try:
        text = file.read(MOST_LETTERS + 1)
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input: is not text: {one_line(error)}") from None
    if len(text) > MOST_LETTERS:
        raise UsageError(f"standard input: a query has at most {MOST_LETTERS:,} letters")
    return text


MOST_LETTERS = 1 << 20
"""Of a query on standard input; one in a file may have as many bytes."""
