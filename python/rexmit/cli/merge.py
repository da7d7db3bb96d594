"""`rexmit merge`: joins results of one study, and averages over replications."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from rexmit.analyse.means import averages, check_responses
from rexmit.cli import completing
from rexmit.cli.common import OUT, json_option, print_json, warn
from rexmit.errors import StoreError, UsageError
from rexmit.files import write_text
from rexmit.run import Results, merge_results, open_results
from rexmit.run.results import read_study
from rexmit.run.shard import shard_of
from rexmit.units import plural


@click.command(
    epilog="""\b
Examples:
  rexmit merge results/seed-1 results/seed-2 --out results/both
  rexmit merge results/part-1 results/part-2 results/part-3 --out results/whole --json
  rexmit merge results/my-study-shard-*-of-16 --out results/my-study
  rexmit merge results/both --averages averages.csv --response time_ns"""
)
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--out", type=OUT, help="New results folder.")
@click.option(
    "--averages",
    "file",
    type=OUT,
    metavar="FILE.csv",
    help="Write the mean of each response over the replications of each combination of levels, with n, "
    "standard deviation and Student's 95 % confidence interval. This needs only one DIR, and no --out.",
)
@click.option(
    "--response",
    "responses",
    shell_complete=completing.responses,
    multiple=True,
    metavar="COLUMN",
    help="Average these columns only. May be given several times. Default: every numeric column.",
)
@click.option(
    "--skip-duplicates",
    is_flag=True,
    help="Keep one copy of a run that is in several folders with equal rows.",
)
@json_option
def merge(
    folders: tuple[Path, ...],
    out: Path | None,
    file: Path | None,
    responses: tuple[str, ...],
    skip_duplicates: bool,
    as_json: bool,
) -> None:
    """Join results of one study: runs with other seeds, other levels, parts of a design, or all shards.

    The scenario, the factors, the backend and the version must be the same, and all combinations of levels
    must end up with the same number of runs. The result is a results folder like any other; its
    provenance.json contains that of each DIR.
    """
    if out is None and file is None:
        raise UsageError("merge has nothing to write; give --out DIR, --averages FILE.csv, or both")
    if out is not None and len(folders) < 2 and not _is_shard(folders[0]):
        raise UsageError(f"{folders[0]}: is one folder; name two or more to merge into --out")
    if file is not None and file.suffix.lower() != ".csv":
        ending = file.suffix or "a file without ending"
        raise UsageError(f"--averages {file}: cannot write {ending!r}; end it in .csv")
    if responses and file is None:
        raise UsageError("--response chooses columns for --averages; give that, too")
    if responses:
        # Before anything is stored: a wrong name leaves nothing behind.
        first = open_results(folders[0])
        check_responses(first.table(), first.factors, responses)
    results = merge_results(folders, out, skip_duplicates)
    if file is not None:
        found = averages(results.table(), results.factors, responses)
        write_text(file, found.write_csv(), resumable=False)
    _tell(results, folders, file, as_json)


def _is_shard(folder: Path) -> bool:
    """True for a part of a study, of which there may be one only."""
    with suppress(StoreError):
        return shard_of(read_study(folder)) is not None
    return False


def _tell(results: Results, folders: tuple[Path, ...], file: Path | None, as_json: bool) -> None:
    study = results.study
    seeds = study.get("seeds", [study["seed"]])
    facts = {
        "study": results.name,
        "sources": [str(folder) for folder in folders],
        "folder": None if results.folder is None else str(results.folder),
        "averages": None if file is None else str(file),
        "runs": len(results),
        "replications": study["replications"],
        "seeds": seeds,
    }
    failed = sum(len(batch) - batch.column("error").null_count for batch in results.batches(("error",)))
    if as_json:
        print_json(facts)
    else:
        where = [f"results in {results.folder}"] if results.folder else []
        where += [f"averages in {file}"] if file else []
        click.echo(
            f"{results.name}: {len(folders)} folders, {plural(len(results), 'run')}, "
            f"{plural(study['replications'], 'replication')}, "
            f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(map(str, seeds))}; {', '.join(where)}"
        )
    if failed:
        left = ", and left out of the averages" if file else ""
        warn(f"{failed} of {plural(len(results), 'run')} failed: they are kept as such{left}")
