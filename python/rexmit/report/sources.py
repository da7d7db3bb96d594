"""What a report is made of: a results folder, finished or not, and what there is to say of it beforehand."""

from __future__ import annotations

from pathlib import Path

from rexmit._native import version
from rexmit.run import Results, open_results
from rexmit.run.shard import told
from rexmit.run.unfinished import is_finished, open_unfinished


def open_folder(folder: Path) -> Results:
    """The results of a folder, of an unfinished one those that are there.

    Raises StoreError where it is not a results folder, has no run yet, or has the layout of a newer version.
    """
    return open_unfinished(folder) if folder.is_dir() and not is_finished(folder) else open_results(folder)


def notices_of(results: Results) -> list[str]:
    """Why these are not the results of the whole study, a sentence each."""
    notices = []
    folder, total = results.folder, int(results.study.get("runs", len(results)))
    if folder is not None and not is_finished(folder):
        notices.append(
            f"The study is not finished: {len(results):,} of {total:,} runs are here. "
            f"`rexmit run` with --out {folder} --resume goes on with it."
        )
    written = results.study.get("version")
    if written != version():
        notices.append(
            f"The study was run by rexmit {written}, and this report is of {version()}: a run is run again "
            "only if its result matches the stored one."
        )
    if results.shard is not None:
        notices.append(
            f"This is {told(results.shard)} of {results.name}, {len(results):,} of {total:,} runs; "
            "`rexmit merge` joins all parts."
        )
    return notices
