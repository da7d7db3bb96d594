"""`rexmit run`: runs a study."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from rexmit.cli import completing
from rexmit.cli.common import OUT, json_option, note, print_json, warn
from rexmit.errors import StudyError, UsageError
from rexmit.kernel import DEFAULT_VERSION
from rexmit.run import Results, RunOptions, run_study
from rexmit.run.capture import CAPTURE_CHOICES
from rexmit.run.progress import shown_study
from rexmit.run.repeats import LEVELS
from rexmit.run.results import failures_of
from rexmit.run.scheduler import what_is_trusted
from rexmit.run.shard import Shard, parse_shard, told
from rexmit.run.stack_programs import KEY as STACK_PROGRAMS
from rexmit.study import StudySpec, load_spec
from rexmit.study.settings import parse_assignment
from rexmit.units import plural


@click.command(
    epilog="""\b
Examples:
  rexmit run hurtig-2006/short
  rexmit run hurtig-2006/short --set path.rate='["1 Mbit/s", "2 Mbit/s"]' --jobs 2 --out results/fast
  rexmit run hurtig-2006/short --backend uml --out results/linux
  rexmit run hurtig-2006/short --backend uml --kernel 6.12 --out results/linux-6.12
  rexmit run hurtig-2006/short --set vary.path.queue='["9 packets", "99 packets"]' --out results/queues
  rexmit run my-study.toml --out results/mine --resume
  rexmit run my-study.toml --shard 3/16
  rexmit run my-study.toml --cluster tcp://head:8786"""
)
@click.argument("study", shell_complete=completing.study_names)
@click.option(
    "--backend",
    default="model",
    show_default=True,
    shell_complete=completing.backends,
    help="What runs it: model (virtual time), uml (a real Linux in virtual time; `rexmit kernel build` makes "
    "it) or kernel (this machine's, in real time).",
)
@click.option(
    "--kernel",
    shell_complete=completing.kernels,
    help="With --backend uml, and for hosts that are Linux: the kernel, unless hosts.server.linux.version "
    "names one, by its version or the beginning of its hash; `rexmit kernel status` lists them. "
    f"Default: {DEFAULT_VERSION}.",
)
@click.option(
    "--allow-unsupported",
    is_flag=True,
    help="Run the study even if the backend lacks some settings; a warning lists and records them.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completing.settings,
    help="Change a setting, or with a list the levels of a factor; vary.KEY=[..] adds a factor. File names "
    "are relative to the working directory. May be given several times.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Threads or guests. Default: every core (kernel: 1; on a cluster 1 for each thread of its workers). "
    "In virtual time the results do not change.",
)
@click.option("--out", type=OUT, help="Results folder. Default: results/STUDY.")
@click.option("--resume", is_flag=True, help="Finish a study that was stopped: run what its folder lacks.")
@click.option(
    "--capture",
    type=click.Choice(CAPTURE_CHOICES),
    default="none",
    show_default=True,
    help="Write pcapng captures of no run, of failed runs, or of all.",
)
@click.option(
    "--state",
    type=click.Choice(CAPTURE_CHOICES),
    default="none",
    show_default=True,
    help="Write tables of both hosts' state over time (cwnd, ssthresh, srtt, rto, ...).",
)
@click.option(
    "--state-at",
    default="changes",
    show_default=True,
    metavar="changes|writes|TIME",
    help="When to record the state: at every change, after each of the application's writes, or every TIME, "
    'such as "10 ms".',
)
@click.option(
    "--verdicts",
    type=click.Choice(CAPTURE_CHOICES),
    default="none",
    show_default=True,
    help="Write tables of what the path did to every packet.",
)
@click.option(
    "--transmissions",
    type=click.Choice(CAPTURE_CHOICES),
    default="none",
    show_default=True,
    help="Write tables of why each packet was sent, and whether the data that it repeats had arrived.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the random streams, instead of the study's."
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Run only the I-th of N equal parts of the runs, for a job array; `rexmit merge` joins all N. "
    "Default of --out: results/STUDY-shard-I-of-N.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run the study on the workers of a Dask cluster: tcp:// or tls://HOST:PORT, or its scheduler's "
    "file. Needs rexmit[dask]; the workers need rexmit. The results are the same as on one machine.",
)
@json_option
@click.pass_context
def run(
    context: click.Context,
    study: str,
    backend: str,
    kernel: str | None,
    allow_unsupported: bool,
    settings: tuple[str, ...],
    jobs: int | None,
    out: Path | None,
    resume: bool,
    capture: str,
    state: str,
    state_at: str,
    verdicts: str,
    transmissions: str,
    seed: int | None,
    shard: str | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Run STUDY, a built-in one by its name or yours by its file, and store its results.

    Stopping or killing the command loses no finished run: repeat it with --resume. Exit code 1 if a run
    failed or did not complete, or if a program that is a host's stack does not repeat; all runs are
    stored in any case.
    """
    spec = _spec(study, settings, seed)
    part = None if shard is None else parse_shard(shard)
    folder = out or _place(spec.name, part)
    if cluster is not None and (trust := what_is_trusted(cluster)) is not None:
        warn(trust)
    began = time.monotonic()
    with shown_study(spec.design) as shown:
        tables = (state, state_at, verdicts, transmissions)
        watched = (shown.report, warn, note, shown.rows)
        options = RunOptions(
            backend, jobs, resume, capture, *tables, allow_unsupported, *watched, part, cluster, kernel
        )
        try:
            results = run_study(spec, folder, options)
        except StudyError as error:
            raise _with_hint(error, spec, settings) from None
    failed = _tell(results, folder, time.monotonic() - began, as_json)
    context.exit(1 if failed or _differs_again(results) else 0)


def _place(name: str, part: Shard | None) -> Path:
    """The folder of a study without --out."""
    if not name.strip("."):
        raise UsageError(f"{name}.toml: this study's name cannot name a folder; rename it, or give --out")
    return Path("results") / (name.replace("/", "-") + (f"-shard-{part[0]}-of-{part[1]}" if part else ""))


def _spec(study: str, settings: tuple[str, ...], seed: int | None) -> StudySpec:
    spec = load_spec(study)
    for text in settings:
        spec = spec.with_set(*parse_assignment(text))
    return spec if seed is None else spec.with_set("design.seed", seed)


def _with_hint(error: StudyError, spec: StudySpec, settings: tuple[str, ...]) -> StudyError:
    """The error, and how to vary a setting that was given a list although it is not a factor."""
    factors = {factor.name for factor in spec.design.factors}
    for key, value in map(parse_assignment, settings):
        name = key.removeprefix("scenario.")
        if isinstance(value, list) and name not in factors and f"{name}:" in str(error):
            return StudyError(f"{error}; to vary it, use --set vary.{name}=...")
    return error


def _differs_again(results: Results) -> bool:
    """Whether a run of this session with a program as a host's stack was another one when it was repeated."""
    if not results.new_runs or STACK_PROGRAMS not in results.study:
        return False
    session: dict[str, Any] = results.provenance()["sessions"][-1]
    return session.get("repeats") == LEVELS[0]


def _tell(results: Results, folder: Path, seconds: float, as_json: bool) -> int:
    """Prints what was run and returns how many runs failed."""
    failed = failures_of(results)
    facts = {
        "study": results.name,
        "folder": str(folder),
        "runs": len(results),
        **({"shard": list(results.shard), "runs_of_study": results.study["runs"]} if results.shard else {}),
        "failed": failed.count,
        "seconds": round(seconds, 3),
    }
    if as_json:
        print_json(facts)
        return failed.count
    new = results.new_runs
    done = f"{plural(new, 'run')} in {seconds:.2f} s"
    what = done if new else f"nothing left to run of {plural(len(results), 'run')}"
    if 0 < new < len(results):
        what += f", {len(results)} in all"
    name = f"{results.name}, {told(results.shard)}" if results.shard else results.name
    click.echo(f"{name}: {what}, results in {folder}")
    if failed.late:
        text = f"{failed.late} of {plural(len(results), 'run')} flagged in the column late"
        warn(f"{text}: the emulator's error was above 1 % of their round trip; see rexmit doctor --emulator")
    if failed.count:
        alike = "; the others for the same reason" if failed.alike else ""
        warn(f"{plural(failed.count, 'run')} failed; the first is run {failed.first}: {failed.why}{alike}")
    return failed.count
