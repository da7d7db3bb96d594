"""Systems that can be set against each other: a kernel, a profile of the model, somebody else's stack.

A system is written NAME or NAME,KEY=VALUE,...:

    linux:6.12                            a kernel that has been built, by version or hash
    linux                                 the kernel that is taken where none is named
    linux-6.1                             a profile, on the model
    STACK                                 another stack in virtual time, by its name in `hosts.X.code`
    linux:6.1,linux.sysctl.net.ipv4.tcp_reordering=5
                                          a setting of both hosts
    linux-6.1,hosts.server.stack.initial_window=3
                                          a setting of the scenario
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.analyse.rows import values
from rexmit.errors import RexmitError, StudyError, UsageError, nearest, one_line
from rexmit.files import make_folder
from rexmit.kernel import Kernel, find_kernel
from rexmit.places import temporary_folder
from rexmit.run.agents import Crew, RunJob
from rexmit.run.backends import to_json
from rexmit.run.capture import HOSTS
from rexmit.run.guests import Reach, engine, guest_command, inside_command, of_this_system
from rexmit.run.provenance import usable_cores
from rexmit.run.stacks import LINUX, lacking, third_parties
from rexmit.run.stopping import asked, workers
from rexmit.study.settings import get_setting, parse_value, with_setting

SEED = 1
"""Seed of the random streams of every run: both systems draw the same."""

Scenario = Mapping[str, Any]
Options = Mapping[str, Any]
"""What a run is asked beside its captures, in the words of both engines."""


@dataclass(frozen=True)
class Ran:
    """What became of a run: its row, the captures at server and client, and the table of states if asked for.

    `failed` says why there are none of these.
    """

    row: Mapping[str, Any]
    captures: tuple[Path, Path] | None
    states: Mapping[str, Sequence[Any]] | None = None
    failed: str | None = None


@dataclass(frozen=True)
class System:
    """One of the two: `text` as it was written, `name` without its settings."""

    text: str
    name: str
    settings: Mapping[str, Any]

    @classmethod
    def parse(cls, text: str) -> System:
        """Reads one. Raises UsageError for a name that means nothing and for a setting without a value."""
        name, *pairs = (part.strip() for part in text.split(","))
        known = [*dict(_native.profiles()), *third_parties(), f"{LINUX}:VERSION"]
        if name.partition(":")[0] != LINUX and name not in known:
            raise UsageError(
                f"{text!r}: {name!r} is not a folder of results, kernel, profile or stack"
                f"{nearest(name, known)}"
            )
        settings: dict[str, Any] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals or not key.strip():
                raise UsageError(f"{text!r}: {pair!r} is not a setting; write KEY=VALUE")
            settings[key.strip()] = parse_value(value.strip())
        return cls(text, name, settings)

    @property
    def is_kernel(self) -> bool:
        """Whether real kernels run it."""
        return self.name.partition(":")[0] == LINUX

    @cached_property
    def kernel(self) -> Kernel:
        """Its kernel. Raises KernelError, which says how to build it, where there is none."""
        return find_kernel(name=self.name.partition(":")[2] or None)

    def describe(self) -> str:
        """It in a few words, such as `Linux 6.1.192 (HZ 1000)`."""
        if self.is_kernel:
            return f"Linux {self.kernel.version} (HZ {self.kernel.hz}, {self.kernel.hash})"
        if self.name in third_parties():
            return third_parties()[self.name].summary
        return f"the model with the profile {self.name}"

    def check(self) -> None:
        """Raises an error of one line where this machine cannot run it."""
        if self.is_kernel:
            self.kernel  # noqa: B018 - looks for it
            engine()
        elif self.name in third_parties() and (why := lacking(third_parties()[self.name])):
            raise UsageError(f"{self.text!r}: {why}")

    def scenario(self, drawn: Scenario) -> dict[str, Any]:
        """A scenario as this system runs it."""
        found = dict(drawn)
        for host in () if self.is_kernel else HOSTS:
            stack = get_setting(found, f"hosts.{host}.stack")
            if self.name in third_parties():
                found = with_setting(found, f"hosts.{host}.code", self.name)
            elif isinstance(stack, Mapping) and "inherits" in stack:
                found = with_setting(found, f"hosts.{host}.stack.inherits", self.name)
            else:
                found = with_setting(found, f"hosts.{host}.stack", self.name)
        for key, value in self.settings.items():
            whole = key.split(".")[0] in _OF_SCENARIOS
            for name in [key] if whole else [f"hosts.{host}.{key}" for host in HOSTS]:
                found = with_setting(found, name, value)
        return found

    def run(
        self,
        scenarios: Mapping[int, Scenario],
        folder: Path,
        *,
        states: bool = False,
        key: int | None = None,
        snap_len: int | None = None,
    ) -> dict[int, Ran]:
        """Runs scenarios, each by its number, whose captures go into `folder`.

        A run depends on its scenario and its number, and not on what else is run; with `key` its random
        numbers are those of the scenario of that number. With `states` the table of states is noted at every
        change. `snap_len` is the most bytes of a packet that its captures keep. Raises StudyError for a
        scenario that cannot be run at all.
        """
        run = self._on_kernels if self.is_kernel else self._in_process
        tables = {number: self.scenario(one) for number, one in scenarios.items()}
        options: dict[str, Any] = {"state": "changes"} if states else {}
        if snap_len is not None:
            options["capture_snap_len"] = snap_len
        return dict(run(tables, folder, options, lambda number: str(number if key is None else key)))

    def _captures(self, folder: Path, number: int) -> tuple[Path, Path]:
        server, client = (folder / f"run-{number}-{host}.pcapng" for host in HOSTS)
        return server, client

    def _in_process(
        self, scenarios: Mapping[int, Scenario], folder: Path, options: Options, key: Callable[[int], str]
    ) -> Iterator[tuple[int, Ran]]:
        def one(number: int) -> tuple[int, Ran]:
            captures = self._captures(folder, number)
            wanted = {"capture_server": str(captures[0]), "capture_client": str(captures[1]), **options}
            try:
                answer = _native.run_one(
                    to_json(scenarios[number]), SEED, key(number), to_json(wanted), asked
                )
            except ValueError as error:
                raise StudyError(f"{self.text}: scenario {number}: {one_line(error)}") from None
            return number, Ran(dict(answer["row"]), captures, _lists(answer.get("state")))  # type: ignore[call-overload]

        with workers(usable_cores()) as pool:
            yield from pool.map(one, scenarios)

    def _on_kernels(
        self, scenarios: Mapping[int, Scenario], folder: Path, options: Options, key: Callable[[int], str]
    ) -> Iterator[tuple[int, Ran]]:
        kernel, reach = self.kernel, Reach((folder.resolve(),), of_this_system([engine()]))

        def launch(job: Path, beside: Path) -> list[str]:
            if kernel.has_driver:
                return inside_command(kernel, job, beside, reach)
            return guest_command(kernel, "runs", job, beside, Reach(reach.writable))

        def job(number: int) -> RunJob:
            captures = [str(path.resolve()) for path in self._captures(folder, number)]
            wanted = {"virtual_hz": kernel.hz, "captures": captures, **options}
            return RunJob(number, scenarios[number], SEED, key(number), wanted)

        cores = usable_cores()
        crew = Crew(launch, job, cores, pinned=True, block=max(len(scenarios) // (2 * cores), 1))
        try:
            for done in crew.work(list(scenarios), lambda: False):
                if done.failed is not None:
                    yield done.run, Ran({}, None, failed=done.failed)
                else:
                    states_of = done.answer.get("tables", {}).get("state")
                    yield done.run, Ran(done.answer["row"], self._captures(folder, done.run), states_of)
        except RexmitError as error:
            raise type(error)(f"{self.text}: {error}") from None


@contextmanager
def ran_on_both(
    systems: tuple[System, System],
    scenarios: Mapping[int, Scenario],
    *,
    states: bool = False,
    key: int | None = None,
) -> Iterator[tuple[dict[int, Ran], dict[int, Ran]]]:
    """Runs scenarios on both systems; the captures are there as long as the block lasts."""
    with temporary_folder() as folder:
        both = []
        for name, system in zip("ab", systems, strict=True):
            place = folder / name
            make_folder(place)
            both.append(system.run(scenarios, place, states=states, key=key))
        yield both[0], both[1]


def _lists(table: Any) -> dict[str, list[Any]] | None:
    """A native table as lists."""
    return None if table is None else {name: values(table, name) for name in table}


_OF_SCENARIOS = (
    "hosts",
    "links",
    "path",
    "alternate",
    "transfers",
    "limit",
    "intervals",
    "measure",
    "messages",
)
"""Keys of a scenario itself; any other is a setting of both hosts."""
