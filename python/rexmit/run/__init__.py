"""Running studies: backends, the results folder, resume, provenance, captures."""

from rexmit.run.backends import Backend, open_backend
from rexmit.run.results import Results, open_results
from rexmit.run.runner import RunOptions, run_study

__all__ = ["Backend", "Results", "RunOptions", "open_backend", "open_results", "run_study"]
