"""Which kernel each run of a study has on backend `uml`: the one that its hosts name, else that of --kernel.

All hosts of a run are in one guest and have one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from rexmit.errors import StudyError
from rexmit.kernel import Kernel, find_kernel
from rexmit.study import Factor, StudySpec

SETTING = "linux.version"
"""The setting of a host that names a kernel."""

_KERNEL = "linux:"
"""What the name of a kernel begins with where a profile's would stand."""


class ChosenKernels:
    """The kernels of a study's runs.

    `name` is the kernel of runs whose hosts name none, and the default where it is None. Of several that a
    name means, one whose hash is in `prefer` is taken. Raises StudyError where hosts of a run name
    different kernels, and KernelError, which says how to build it, for one that is not there.
    """

    def __init__(self, spec: StudySpec, name: str | None = None, prefer: Sequence[str] = ()) -> None:
        self._spec = spec
        self._name = name
        self._prefer = prefer
        self._named: dict[str | None, Kernel] = {}
        factors = spec.design.factors
        self._deciding = _deciding(factors)
        self._found = {
            levels: self._of_scenario(spec.scenario_of(run))
            for levels, run in _runs_of_levels(spec, self._deciding)
        }

    def of(self, run: int) -> Kernel:
        """The kernel of the run of this number."""
        levels = self._spec.design.point(run).levels
        return self._found[tuple(levels[number] for number in self._deciding)]

    def all(self) -> list[Kernel]:
        """Every kernel that a run has; that of runs whose hosts name none is the first."""
        own = [self._named[None]] if None in self._named else []
        return list(dict.fromkeys([*own, *self._found.values()]))

    def facts(self) -> dict[str, Any]:
        """What a record says of them: of several, all together and each by itself."""
        return facts_of(self.all())

    def _of_scenario(self, scenario: Mapping[str, Any]) -> Kernel:
        names = {
            host: name for host in written_hosts(scenario) if (name := named_by(scenario, host)) is not None
        }
        found = {host: self._find(name) for host, name in names.items()}
        if len(set(found.values())) > 1:
            where = self._spec.path or self._spec.name
            told = ", ".join(f"hosts.{host}.{SETTING} {name!r}" for host, name in names.items())
            raise StudyError(
                f"{where}: {told}: all hosts of a run are in one guest and have one kernel; name the same "
                "for all, or for one of them"
            )
        return next(iter(found.values())) if found else self._find(None)

    def _find(self, name: str | None) -> Kernel:
        if name not in self._named:
            self._named[name] = find_kernel(name=name or self._name, prefer=self._prefer)
        return self._named[name]


def facts_of(kernels: Sequence[Kernel]) -> dict[str, Any]:
    """What a record says of kernels: of several, all together and each by itself."""
    each: list[dict[str, Any]] = [
        {"kernel": one.version, "hz": one.hz, "patches": list(one.patches), "hash": one.hash}
        for one in kernels
    ]
    if len(each) == 1:
        return each[0]
    return {
        "kernel": ", ".join(one["kernel"] for one in each),
        "hz": each[0]["hz"],
        "patches": list(dict.fromkeys(patch for one in each for patch in one["patches"])),
        "hash": ", ".join(one["hash"] for one in each),
        "kernels": each,
    }


def scenarios_of(spec: StudySpec) -> list[Mapping[str, Any]]:
    """A scenario for each combination of the levels by which kernels are named."""
    return [spec.scenario_of(run) for _, run in _runs_of_levels(spec, _deciding(spec.design.factors))]


def _deciding(factors: Sequence[Factor]) -> list[int]:
    """The numbers of the factors that may name a kernel."""
    return [number for number, factor in enumerate(factors) if _may_name(factor)]


def _runs_of_levels(spec: StudySpec, deciding: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each combination of the levels of these factors, and a run that has it."""
    factors = spec.design.factors
    for levels in product(*(range(len(factors[number].levels)) for number in deciding)):
        whole = dict(zip(deciding, levels, strict=True))
        yield levels, spec.design.number([whole.get(number, 0) for number in range(len(factors))])


def named_kernels(spec: StudySpec) -> list[str]:
    """The settings of a study by which hosts name kernels, in its scenario or in a factor."""
    own = {f"hosts.{host}.{SETTING}": named_by(spec.scenario, host) for host in written_hosts(spec.scenario)}
    factors = [name for one in spec.design.factors for name in (one.settings or (one.name,))]
    return [key for key, named in own.items() if named is not None or key in factors]


def _may_name(factor: Factor) -> bool:
    """Whether a level of this factor may name a kernel: it is that setting, or a table around it."""
    names = [name.split(".") for name in factor.settings or (factor.name,)]
    keys = [key.split(".") for key in (SETTING, "stack.inherits", "code")]
    # Of whichever host: the second part is its name.
    return any(name[0] == "hosts" and any(name[2:] == key[: len(name[2:])] for key in keys) for name in names)


def written_hosts(scenario: Mapping[str, Any]) -> list[str]:
    """The hosts by the names under which they are written: a group once."""
    hosts = scenario.get("hosts")
    return [*hosts] if isinstance(hosts, Mapping) else []


def named_by(scenario: Mapping[str, Any], host: str) -> str | None:
    """The kernel that a host names; None for none, or for non-text, which the scenario's check refuses."""
    table = _at(scenario, "hosts", host)
    found = of_profile(table) or _at(table, *SETTING.split("."))
    return found if isinstance(found, str) and found else None


def of_profile(table: Any) -> str | None:
    """The name of a kernel in place of a host's profile, perhaps empty; None where there is a profile."""
    stack = _at(table, "stack")
    profile = stack.get("inherits") if isinstance(stack, Mapping) else stack
    if isinstance(profile, str) and profile.startswith(_KERNEL):
        return profile.removeprefix(_KERNEL)
    return None


def _at(table: Any, *keys: str) -> Any:
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table
