"""A study as its file says it: read, checked for its own keys, changed by `--set`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rexmit.errors import StudyError
from rexmit.inputs import STUDY, read_toml
from rexmit.study.design import Design, parse_design
from rexmit.study.factors import Factor, columns_of_factor, factor_to_toml, is_levels, parse_factor
from rexmit.study.find import find_study
from rexmit.study.keys import nearest_key
from rexmit.study.measures import Measure, check_measures
from rexmit.study.network import is_network
from rexmit.study.profiles import inline_levels, inline_stacks
from rexmit.study.programs import have_programs, place_programs
from rexmit.study.responses import OwnResponse, parse_responses
from rexmit.study.settings import Table, get_setting, with_setting
from rexmit.study.traces import place_levels, place_traces
from rexmit.tables import reserved_where_measured

_TEXTS = ("title", "source", "question", "description")
_KEYS = {*_TEXTS, "scenario", "vary", "design", "responses"}


@dataclass(frozen=True)
class StudySpec:
    """A study: one scenario, the factors that vary it, and the design. Nothing in it has been run.

    `name` is what the package or the file calls it, `path` its file (None for one made in Python).
    `scenario` is the table `[scenario]` as written; the native code knows its keys and checks them.
    `responses` are numbers from programs, `measured` those from connections and links.
    """

    name: str
    path: Path | None
    texts: dict[str, str]
    scenario: Table
    design: Design
    responses: tuple[OwnResponse, ...] = ()
    measured: tuple[Measure, ...] = ()

    @property
    def has_programs(self) -> bool:
        """Whether a host of one of its runs has a program."""
        return have_programs(self.scenario, self.design.factors)

    @property
    def is_network(self) -> bool:
        """Whether it has a network of hosts, rather than a server and a client with a path between them."""
        return is_network(self.scenario)

    @property
    def measures(self) -> bool:
        """Whether its runs tell what connections and links did."""
        named = any(one.split(".")[0] == "measure" for one in self._varied())
        return self.is_network or named or self.base().get("measure") is not None

    @property
    def measures_over_time(self) -> bool:
        """The same by intervals."""
        measure = self.base().get("measure")
        named = any(one in ("measure", "measure.every") for one in self._varied())
        return named or (isinstance(measure, dict) and measure.get("every") is not None)

    def _varied(self) -> Iterator[str]:
        """The settings that its factors vary."""
        for factor in self.design.factors:
            yield from factor.settings or (factor.name,)

    @property
    def title(self) -> str:
        """Its title, or its name where it has none."""
        return self.texts.get("title", self.name)

    def with_set(self, key: str, value: Any) -> StudySpec:
        """Returns a study with one setting changed.

        `key` is `design.seed`, `design.replications`, `design.sequence`, the name of a factor (a list or
        table replaces its levels, one value leaves just that level), `vary.NAME` for a new factor, or a
        setting of the scenario. Files of profiles and traces are named as seen from the working directory.
        Raises StudyError where the key cannot be set.
        """
        names = [factor.name for factor in self.design.factors]
        own, _, rest = key.partition(".")
        if own == "design":
            given = with_setting(self.design.to_table(), rest, value)
            return replace(self, design=parse_design(given, self.design.factors))
        if own == "scenario" and rest:
            key = rest
        name = rest if own == "vary" else key
        if own == "vary" or name in names:
            factor = self._factor(name, value)
            factors = [factor if f.name == name else f for f in self.design.factors]
            return self._with_factors(factors if name in names else [*factors, factor])
        for factor in self.design.factors:
            if key in factor.settings:
                raise StudyError(f"{key}: varies with others as {factor.name}; set {factor.name} instead")
        if key in _TEXTS:
            return replace(self, texts={**self.texts, key: str(value)})
        changed = inline_stacks(with_setting(self.scenario, key, value), Path())
        return replace(self, scenario=place_traces(changed, Path()))

    def _factor(self, name: str, value: Any) -> Factor:
        """A factor of this name with other levels; of one that varies settings together, some of its own."""
        given = value if is_levels(value) else [value]
        own = next((factor for factor in self.design.factors if factor.name == name), None)
        if own is not None and own.settings and isinstance(given, list):
            return own.with_labels(given)
        return _with_files(parse_factor(name, given), Path())

    def base(self) -> Table:
        """The scenario that each run starts from; ready for settings inside an inherited stack."""
        table = self.scenario
        names = [name for factor in self.design.factors for name in (factor.settings or (factor.name,))]
        for name in names:
            head, stack, tail = name.partition(".stack.")
            given = get_setting(table, f"{head}.stack") if stack else None
            if tail and isinstance(given, str):
                table = with_setting(table, f"{head}.stack", {"inherits": given})
        return table

    def scenario_of(self, run: int) -> Table:
        """The scenario of the run of this number, its levels filled in."""
        table = self.scenario
        for factor, level in zip(self.design.factors, self.design.point(run).levels, strict=True):
            for setting, value in factor.assigned(level).items():
                table = with_setting(table, setting, value)
        return table

    def to_table(self, scenario: Table | None = None) -> Table:
        """The study as its file would say it; with `scenario`, with that one (a resolved one) in place."""
        table: Table = {key: self.texts[key] for key in _TEXTS if key in self.texts}
        table["scenario"] = self.scenario if scenario is None else scenario
        table["vary"] = _in_order({factor.name: factor_to_toml(factor) for factor in self.design.factors})
        table["design"] = self.design.to_table()
        if own := self.responses_table():
            table["responses"] = own
        return table

    def responses_table(self) -> Table:
        """The table `[responses]`."""
        own: list[OwnResponse | Measure] = [*self.responses, *self.measured]
        return {one.name: one.to_table() for one in own}

    def check(self) -> None:
        """Raises StudyError where parts of the study do not go together.

        These are a measure of what no run has, such as a transfer that does not exist, and a factor with the
        name of a measured column.
        """
        names = (
            (name for one in self.design.factors for name in columns_of_factor(one)) if self.measures else ()
        )
        for name in names:
            if name.lower() in reserved_where_measured():
                raise StudyError(
                    f"vary.{name}: is a column of what connections and links did; choose another"
                )
        over_time = self.measures_over_time if self.measures else None
        check_measures(self.measured, self._with_names(), over_time)

    def _with_names(self) -> Iterator[Table]:
        """Scenarios that have all names of transfers, links and hosts which any run has."""
        yield self.scenario
        for factor in self.design.factors:
            settings = factor.settings or (factor.name,)
            if any(name.split(".")[0] in ("transfers", "links", "hosts") for name in settings):
                for level in range(len(factor.levels)):
                    table = self.scenario
                    for setting, value in factor.assigned(level).items():
                        table = with_setting(table, setting, value)
                    yield table

    def _with_factors(self, factors: list[Factor]) -> StudySpec:
        return replace(self, design=parse_design(self.design.to_table(), factors))


def load_spec(name: str | Path) -> StudySpec:
    """Reads a study: one of the package by its name, or a file.

    Raises StudyError of one line that names the file, the key and what is allowed.
    """
    found, path = find_study(str(name))
    try:
        table = read_toml(path, STUDY)
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_spec(table, found, path)


def parse_spec(table: Table, name: str, path: Path | None) -> StudySpec:
    """A study from the table that its file holds; `path` is for errors, for stacks and traces in files."""
    try:
        return _parse(table, name, path)
    except StudyError as error:
        raise _with_all(error, table, name, path) from None


def slips_of(spec: StudySpec, first: StudyError) -> StudyError:
    """The first slip of a study that was not run yet, with all others, each with its line in the file."""
    table = spec.to_table()
    try:
        own = {} if spec.path is None else read_toml(spec.path, STUDY)
        if _parse(own, spec.name, spec.path).to_table() == table:
            # Nothing was set since it was read: levels and profiles are as the file writes them.
            table = own
    except (OSError, StudyError):
        pass
    return _with_all(first, table, spec.name, spec.path)


def _with_all(error: StudyError, table: Table, name: str, path: Path | None) -> StudyError:
    # Loaded when something is wrong.
    from rexmit.study.slips import with_all_slips

    return with_all_slips(error, table, path, lambda mended: _parse(mended, name, path), str(path or name))


def _parse(table: Table, name: str, path: Path | None) -> StudySpec:
    for key in table:
        if key not in _KEYS:
            raise StudyError(f"unknown key {key!r}{nearest_key(key, _KEYS)}")
    texts = {}
    for key in _TEXTS:
        if key in table:
            if not isinstance(table[key], str):
                raise StudyError(f"{key}: {table[key]!r} is not text")
            texts[key] = table[key]
    scenario = _table(table, "scenario")
    if not scenario:
        raise StudyError("scenario: is missing; a study needs a table [scenario]")
    folder = path.parent if path is not None else Path()
    factors = [_with_files(parse_factor(key, value), folder) for key, value in _flat(_table(table, "vary"))]
    names = [name for factor in factors for name in (factor.name, *factor.settings)]
    # SQL ignores the case of columns.
    folded = [name.lower() for name in names]
    for factor_name in names:
        if folded.count(factor_name.lower()) > 1:
            raise StudyError(f"vary.{factor_name}: appears twice")
    design = parse_design(_table(table, "design"), factors)
    scenario = place_traces(inline_stacks(scenario, folder), folder)
    scenario = place_programs(scenario, factors, folder)
    own = parse_responses(_table(table, "responses"))
    responses = tuple(one for one in own if isinstance(one, OwnResponse))
    if responses and not have_programs(scenario, factors):
        raise StudyError(
            f"responses.{responses[0].name}: is a number from programs; give hosts.client.program"
        )
    measured = tuple(one for one in own if isinstance(one, Measure))
    spec = StudySpec(name, path, texts, scenario, design, responses, measured)
    spec.check()
    return spec


def _with_files(factor: Factor, folder: Path) -> Factor:
    """The factor with the files that its levels name, as seen from `folder`."""
    return place_levels(inline_levels(factor, folder), folder)


def _in_order(vary: Table) -> Table:
    """`[vary]` so that its order stays when it is written: TOML has values before tables."""
    tables = [isinstance(given, dict) for given in vary.values()]
    if tables == sorted(tables):
        return vary
    return {name: {"levels": given} if isinstance(given, list) else given for name, given in vary.items()}


def _table(table: Table, key: str) -> Table:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise StudyError(f"{key}: {value!r} is not a table; write [{key}]")
    return value


def _flat(vary: Table, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The factors of `[vary]`, whether their names are quoted or written as dotted keys."""
    for key, value in vary.items():
        nested = isinstance(value, dict) and "." not in key and not is_levels(value)
        if nested and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
