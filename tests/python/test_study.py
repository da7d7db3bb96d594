"""Reading studies, factors and designs, without running anything."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import rexmit
from hypothesis import given
from hypothesis import strategies as st
from rexmit.errors import StudyError
from rexmit.study import Design, Factor, find_study, list_studies, load_spec
from rexmit.study.factors import factor_to_toml, parse_factor
from rexmit.study.settings import get_setting, parse_assignment, with_setting
from rexmit.study.spec import parse_spec
from rexmit.tables import reserved

SCENARIO = {
    "hosts": {"server": {"stack": "freebsd-6.0"}},
    "path": {"rate": "1 Mbit/s"},
    "transfers": [{"from": "a"}],
}


def test_the_studies_of_the_package_have_the_size_of_the_thesis() -> None:
    assert {entry.name: load_spec(entry.name).design.runs for entry in list_studies()} == {
        "appenzeller-2004/completion": 18,
        "appenzeller-2004/few": 32,
        "appenzeller-2004/hosts": 16,
        "appenzeller-2004/least": 84,
        "appenzeller-2004/one": 9,
        "appenzeller-2004/short": 20,
        "appenzeller-2004/table": 48,
        "asymmetric-today/disciplines": 648,
        "asymmetric-today/model": 216,
        "deboer-2005/acks": 24,
        "deboer-2005/again": 60,
        "deboer-2005/base": 192,
        "deboer-2005/buffers": 100,
        "deboer-2005/connections": 6,
        "deboer-2005/dummynet": 48,
        "deboer-2005/linux-acks": 24,
        "deboer-2005/linux-again": 60,
        "deboer-2005/linux-buffers": 60,
        "deboer-2005/linux-connections": 6,
        "deboer-2005/linux-dummynet": 48,
        "deboer-2005/linux-loss": 160,
        "deboer-2005/linux-queue": 42,
        "deboer-2005/linux-writes": 18,
        "deboer-2005/live": 8,
        "deboer-2005/newreno": 160,
        "deboer-2005/order": 30,
        "deboer-2005/queue": 21,
        "deboer-2005/queue-order": 40,
        "deboer-2005/reassembly": 42,
        "deboer-2005/sack": 160,
        "deboer-2005/writes": 18,
        "hurtig-2006/earlier": 378,
        "hurtig-2006/linux-long": 203_616,
        "hurtig-2006/linux-short": 83_160,
        "hurtig-2006/long": 16_968,
        "hurtig-2006/model-short": 27_720,
        "hurtig-2006/short": 6_930,
        "klaver-2005/absent": 68,
        "klaver-2005/acks": 66,
        "klaver-2005/buffers": 9,
        "klaver-2005/conditions": 27,
        "klaver-2005/controlled": 84,
        "klaver-2005/cycles": 3,
        "klaver-2005/enschede": 6,
        "klaver-2005/linux": 56,
        "klaver-2005/random": 15,
        "klaver-2005/shared": 24,
        "klaver-2005/window": 8,
        "merritt-2010/in-order": 90,
        "merritt-2010/linux": 180,
        "merritt-2010/own-link": 57,
        "merritt-2010/pairs": 360,
        "merritt-2010/two-way": 90,
        "pedersen-2006/burst": 50,
        "pedersen-2006/clocks": 240,
        "pedersen-2006/enhancements": 50,
        "pedersen-2006/figure-4-03": 16,
        "pedersen-2006/figure-5-01": 9,
        "pedersen-2006/linux": 6,
        "pedersen-2006/linux-burst": 10,
        "pedersen-2006/linux-enhancements": 10,
        "pedersen-2006/linux-tcp": 12,
        "pedersen-2006/linux-tcp-thick": 27,
        "pedersen-2006/linux-tcp-thin": 36,
        "pedersen-2006/linux-thick": 9,
        "pedersen-2006/linux-thin": 12,
        "pedersen-2006/restart": 20,
        "pedersen-2006/rto": 20,
        "pedersen-2006/switches": 512,
        "pedersen-2006/switches-today": 512,
        "pedersen-2006/tcp-thick": 150,
        "pedersen-2006/tcp-thick-reno": 150,
        "pedersen-2006/tcp-thin": 200,
        "pedersen-2006/tcp-thin-reno": 200,
        "pedersen-2006/thick": 30,
        "pedersen-2006/thin": 40,
        "pedersen-2006/today": 180,
        "pedersen-2006/usrsctp": 18,
        "pedersen-2006/window": 36,
        "which-losses-wait/long": 6_060,
        "which-losses-wait/reordering": 270,
        "which-losses-wait/short": 34_650,
        "which-losses-wait/thin": 600,
        "who-shares/bbr": 70,
        "who-shares/linux": 864,
        "who-shares/pairs": 384,
        "who-shares/shallow": 20,
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hurtig-2006/shrt", "did you mean 'hurtig-2006/short'?"),
        ("hurtig-2006", "hurtig-2006/long, hurtig-2006/model-short"),
        ("nothing.toml", "no such file"),
    ],
)
def test_an_unknown_study_names_what_there_is(name: str, text: str) -> None:
    with pytest.raises(StudyError, match=text.replace("?", r"\?")):
        find_study(name)


def test_a_file_never_takes_the_place_of_a_study_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hurtig-2006").mkdir()
    Path("hurtig-2006/short").touch()
    with pytest.raises(
        StudyError, match=r"is a file here and a study of the package; write \./hurtig-2006/short"
    ):
        find_study("hurtig-2006/short")
    assert find_study("./hurtig-2006/short") == ("short", Path("hurtig-2006/short"))


def test_levels_are_a_list_positions_or_a_range() -> None:
    assert parse_factor("a", ["1 ms", "2 ms"]).labels == ("1 ms", "2 ms")
    assert parse_factor("a", {"position": "0..3,7"}).labels == (0, 1, 2, 3, 7)
    assert parse_factor("a", {"position": 4}).levels == ({"position": 4},)
    assert parse_factor("a", {"range": "10..30", "step": 10, "unit": "ms"}).levels == (
        "10 ms",
        "20 ms",
        "30 ms",
    )
    assert parse_factor("a", {"range": "1..3"}).levels == (1, 2, 3)


@pytest.mark.parametrize(
    ("given_levels", "text"),
    [
        ([], "vary.a: has no levels"),
        ({"position": ""}, "vary.a: has no levels"),
        ("5 ms", "not a list of levels"),
        ({"postion": "0..3"}, "did you mean 'position'"),
        ({"range": "1..3", "setp": 2}, "did you mean 'step'"),
        ({"range": "1..3", "step": 0}, "vary.a.step"),
        ({"position": "3..1"}, "runs backwards"),
        ({"position": "-1"}, "cannot read '-1'"),
        ({"position": "0..9999999"}, "more than 1000000 levels"),
        (["1 ms", "1 ms"], "appears twice"),
    ],
)
def test_wrong_levels_are_refused_in_one_line(given_levels: object, text: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_factor("a", given_levels)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.lists(st.integers(0, 500), min_size=1, max_size=40, unique=True))
def test_positions_read_back_from_what_is_written(positions: list[int]) -> None:
    factor = parse_factor("a", {"position": ",".join(map(str, positions))})
    assert parse_factor("a", factor_to_toml(factor)) == factor
    assert list(factor.labels) == positions


@given(st.lists(st.integers(1, 5), max_size=4), st.integers(1, 4), st.data())
def test_every_run_has_its_own_place(sizes: list[int], replications: int, data: st.DataObject) -> None:
    factors = [Factor(f"f{n}", tuple(range(size)), tuple(range(size))) for n, size in enumerate(sizes)]
    design = Design(tuple(factors), replications)
    assert design.runs == replications * math.prod(sizes)
    run = data.draw(st.integers(0, design.runs - 1))
    point = design.point(run)
    assert design.number(point.levels, point.replication) == run
    assert len({(p.levels, p.replication) for p in design.points()}) == design.runs


def test_the_replication_varies_fastest_then_the_last_factor() -> None:
    design = Design((Factor("a", (1, 2), (1, 2)), Factor("b", (1, 2, 3), (1, 2, 3))), replications=2)
    assert [(p.levels, p.replication) for p in list(design.points())[:4]] == [
        ((0, 0), 0),
        ((0, 0), 1),
        ((0, 1), 0),
        ((0, 1), 1),
    ]
    with pytest.raises(StudyError, match=r"0\.\.11"):
        design.point(12)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"scenrio": {}}, "unknown key 'scenrio'; did you mean 'scenario'?"),
        ({"title": 3}, "title: 3 is not text"),
        ({"vary": 3}, "vary: 3 is not a table"),
        ({"vary": {"path.rate": []}}, "vary.path.rate: has no levels"),
        ({"vary": {"path.rate": ["1 Mbit/s"], "path": {"rate": ["2 Mbit/s"]}}}, "appears twice"),
        ({"design": {"replication": 3}}, "did you mean 'replications'?"),
        ({"design": {"replications": 0}}, "design.replications"),
        ({"design": {"seed": "x"}}, "design.seed"),
        ({"scenario": {}}, "scenario: is missing"),
    ],
)
def test_a_wrong_study_is_refused_with_file_and_key(change: dict[str, object], text: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_spec({"scenario": SCENARIO, **change}, "mine", Path("mine.toml"))
    lines = str(caught.value).splitlines()
    assert all(line.startswith("mine.toml: ") for line in lines)
    assert sum(text in line for line in lines) == 1


def test_a_file_that_is_no_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[scenario\n")
    with pytest.raises(StudyError, match=r"bad\.toml: is not TOML: .*line 1"):
        load_spec(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[scenario.hosts]\nnear = {}\nnear = {}\n", r"near appears twice \(at line 3\); leave one out"),
        (
            "[links.x]\n[links.y]\n[links.x]\n",
            r"\[links\.x\] appears twice \(at line 3, .*\); leave one out",
        ),
        (
            '[path]\nrate = "5 Mbit/s"\ndelay = "10 ms"\nrate.trace = "x"\n',
            r"rate\.trace \(at line 4\) lies in rate, which has a value \(at line 2\); leave one out",
        ),
    ],
)
def test_a_name_that_is_there_twice_is_told(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(StudyError, match=rf"bad\.toml: is not TOML: {told}"):
        load_spec(tmp_path / "bad.toml")


def test_settings_are_changed_by_their_dotted_name() -> None:
    spec = parse_spec({"scenario": SCENARIO, "vary": {"path.rate": ["1 Mbit/s", "2 Mbit/s"]}}, "mine", None)
    assert (
        get_setting(spec.with_set("path.down.queue", "5 packets").scenario, "path.down.queue") == "5 packets"
    )
    assert spec.with_set("path.rate", "3 Mbit/s").design.factors[0].labels == ("3 Mbit/s",)
    assert spec.with_set("path.rate", ["3 Mbit/s", "4 Mbit/s"]).design.runs == 2
    assert spec.with_set("vary.path.delay", ["1 ms", "2 ms", "3 ms"]).design.runs == 6
    assert spec.with_set("design.seed", 9).design.seed == 9
    assert spec.scenario == SCENARIO, "the study itself stays as it is"


def test_the_name_of_a_sysctl_is_one_key() -> None:
    table = with_setting({"hosts": {"server": {}}}, "hosts.server.linux.sysctl.net.ipv4.tcp_ecn", 1)
    assert table == {"hosts": {"server": {"linux": {"sysctl": {"net.ipv4.tcp_ecn": 1}}}}}
    assert get_setting(table, "hosts.server.linux.sysctl.net.ipv4.tcp_ecn") == 1
    given = {
        "scenario": {
            "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
            "path": {"delay": "1 ms"},
            "transfers": [{"from": "server", "to": "client", "bulk": "10 kB"}],
        },
        "vary": {"hosts.server.linux.sysctl.net.ipv4.tcp_ecn": [0, 1]},
    }
    study = rexmit.Study.from_dict(given)
    assert [study.spec.scenario_of(run)["hosts"]["server"]["linux"] for run in (0, 1)] == [
        {"sysctl": {"net.ipv4.tcp_ecn": value}} for value in (0, 1)
    ]


def test_hosts_that_are_one_object_are_changed_one_by_one() -> None:
    host = {"stack": "linux-6.1"}
    table = {"hosts": {"server": host, "client": host}}
    changed = with_setting(table, "hosts.server.tick_phase", "1 ms")
    assert changed["hosts"] == {"server": {**host, "tick_phase": "1 ms"}, "client": host}
    assert table == {"hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}}}


def test_a_setting_inside_a_named_stack_makes_a_profile_that_inherits() -> None:
    table = with_setting(SCENARIO, "hosts.server.stack.recovery.dupack_threshold", 2)
    assert table["hosts"]["server"]["stack"] == {
        "inherits": "freebsd-6.0",
        "recovery": {"dupack_threshold": 2},
    }


def test_lists_are_entered_by_number() -> None:
    assert with_setting(SCENARIO, "transfers.0.from", "b")["transfers"] == [{"from": "b"}]
    with pytest.raises(StudyError, match=r"allowed are 0\.\.0"):
        with_setting(SCENARIO, "transfers.1.from", "b")
    with pytest.raises(StudyError, match="not a table"):
        with_setting(SCENARIO, "path.rate.down", "b")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("path.rate=1 Mbit/s", "path.rate", "1 Mbit/s"),
        ('path.rate="1 Mbit/s"', "path.rate", "1 Mbit/s"),
        ("design.seed=3", "design.seed", 3),
        ('a=["x", "y"]', "a", ["x", "y"]),
        ('a={ position = "0..3" }', "a", {"position": "0..3"}),
    ],
)
def test_a_value_on_the_command_line_is_toml_or_text(text: str, key: str, value: object) -> None:
    assert parse_assignment(text) == (key, value)


def test_a_profile_in_a_file_is_found_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('inherits = "freebsd-6.0"\n')
    (tmp_path / "study.toml").write_text(
        '[scenario]\nhosts.server.stack = "./mine.toml"\nhosts.client.stack = "freebsd-6.0"\n'
    )
    scenario = load_spec(tmp_path / "study.toml").scenario
    assert scenario["hosts"]["server"]["stack"] == {"inherits": "freebsd-6.0"}
    (tmp_path / "mine.toml").unlink()
    with pytest.raises(StudyError, match=r"hosts\.server\.stack: cannot read .*mine\.toml"):
        load_spec(tmp_path / "study.toml")


def test_a_profile_inherits_from_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "child.toml").write_text('inherits = "./parent.toml"\n')
    (tmp_path / "deep" / "parent.toml").write_text('inherits = "rfc"\nsummary = "mine"\n')
    (tmp_path / "study.toml").write_text(
        '[scenario]\nhosts.server.stack = "deep/child.toml"\n'
        'hosts.client.stack = { inherits = "deep/parent.toml", recovery.dupack_threshold = 2 }\n'
    )
    hosts = load_spec(tmp_path / "study.toml").scenario["hosts"]
    assert hosts["server"]["stack"] == {"inherits": {"inherits": "rfc", "summary": "mine"}}
    assert hosts["client"]["stack"] == {
        "inherits": {"inherits": "rfc", "summary": "mine"},
        "recovery": {"dupack_threshold": 2},
    }
    (tmp_path / "deep" / "parent.toml").write_text('inherits = "./child.toml"\n')
    with pytest.raises(StudyError, match=r"hosts\.server\.stack: .*child\.toml inherits from itself"):
        load_spec(tmp_path / "study.toml")


def test_a_folder_is_no_study(tmp_path: Path) -> None:
    (tmp_path / "study.toml").mkdir()
    with pytest.raises(StudyError, match=r"study\.toml: is a folder"):
        load_spec(tmp_path / "study.toml")


def test_a_profile_in_a_file_can_be_a_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prof").mkdir()
    (tmp_path / "prof" / "mine.toml").write_text('inherits = "./parent.toml"\n')
    (tmp_path / "prof" / "parent.toml").write_text('inherits = "rfc"\n')
    (tmp_path / "study.toml").write_text(
        '[scenario]\nhosts.server.stack = "rfc"\nhosts.client.stack = "rfc"\n'
        '[vary]\n"hosts.server.stack" = ["./prof/mine.toml", "rfc"]\n'
    )
    inlined = {"inherits": {"inherits": "rfc"}}
    spec = load_spec(tmp_path / "study.toml")
    (factor,) = spec.design.factors
    assert factor.levels == (inlined, "rfc")
    assert factor.labels == ("./prof/mine.toml", "rfc")
    assert parse_factor(factor.name, factor_to_toml(factor)) == factor, "the resolved study stands alone"
    assert parse_spec(spec.to_table(), "again", None).design == spec.design

    monkeypatch.chdir(tmp_path / "prof")
    changed = spec.with_set("hosts.server.stack", ["mine.toml", "freebsd-6.0"])
    assert changed.design.factors[0].levels == (inlined, "freebsd-6.0"), "as seen from the working directory"
    host = spec.with_set("vary.hosts.client", [{"stack": "./mine.toml"}]).design.factors[1]
    assert host.levels == ({"stack": inlined},)
    inherits = spec.with_set("vary.hosts.client.stack.inherits", ["./parent.toml", "rfc"]).design.factors[1]
    assert inherits.levels == ({"inherits": "rfc"}, "rfc")
    (tmp_path / "prof" / "mine.toml").unlink()
    with pytest.raises(StudyError, match=r"vary\.hosts\.server\.stack: cannot read .*mine\.toml"):
        load_spec(tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("given_levels", "text"),
    [
        ({"levels": 3}, "vary.a.levels: 3 is not a list"),
        ({"levels": ["x"], "labels": ["a", "b"]}, "vary.a.labels"),
        ({"levels": ["x"], "labels": [{}]}, "vary.a.labels"),
        ({"levels": ["x"], "label": ["a"]}, "did you mean 'labels'"),
    ],
)
def test_wrong_labels_are_refused_in_one_line(given_levels: object, text: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_factor("a", given_levels)
    assert text in str(caught.value)


TOGETHER = """
[scenario]
hosts.server.stack = "freebsd-6.0"
hosts.client.stack = "freebsd-6.0"
[[scenario.transfers]]
from = "server"
to = "client"
writes = "2500 bytes"
[vary.link]
labels = ["3", "12"]
[vary.link.together]
"path.down.rate" = ["3000 kbit/s", "2400 kbit/s"]
path.up.rate = ["1000 kbit/s", "196 kbit/s"]
"hosts.server.stack.recovery.dupack_threshold" = [3, 2]
[vary]
"path.delay" = ["1 ms", "2 ms"]
"""


class TestTogether:
    """Settings that vary together are one factor."""

    @pytest.fixture
    def study(self, tmp_path: Path) -> rexmit.Study:
        """Two links at two delays."""
        path = tmp_path / "links.toml"
        path.write_text(TOGETHER)
        return rexmit.Study.load(path)

    def test_each_level_sets_all_its_settings(self, study: rexmit.Study) -> None:
        assert study.runs == 4
        scenario = study.spec.scenario_of(3)
        assert scenario["path"] == {
            "down": {"rate": "2400 kbit/s"},
            "up": {"rate": "196 kbit/s"},
            "delay": "2 ms",
        }
        assert scenario["hosts"]["server"]["stack"]["recovery"]["dupack_threshold"] == 2

    def test_the_table_has_the_label_and_every_setting(self, study: rexmit.Study, tmp_path: Path) -> None:
        results = study.run(tmp_path / "out", progress=False)
        table = results.table()
        assert table["link"].to_list() == ["3", "3", "12", "12"]
        assert table["path.up.rate_bit_s"].to_list() == [1_000_000] * 2 + [196_000] * 2
        assert table["hosts.server.stack.recovery.dupack_threshold"].to_list() == [3, 3, 2, 2]
        assert results.run_number(link="12", path__delay="2 ms") == 3
        again = rexmit.Study.load(tmp_path / "out" / "study.toml")
        assert again.run(progress=False).table().drop("link").equals(table.drop("link"))
        assert rexmit.open_results(tmp_path / "out").spec().design == study.spec.design

    def test_some_of_its_levels_are_chosen_by_their_labels(self, study: rexmit.Study) -> None:
        assert study.set("link", "12").run(progress=False).table()["path.down.rate"].unique().to_list() == [
            "2400 kbit/s"
        ]
        with pytest.raises(StudyError, match=r"vary\.link: '30' is not one of its levels.*: 3, 12"):
            study.set("link", "30")
        with pytest.raises(StudyError, match=r"path\.up\.rate: varies with others as link"):
            study.set("path.up.rate", "1 Mbit/s")

    def test_without_labels_a_level_is_called_after_its_values(self) -> None:
        factor = parse_factor("link", {"together": {"path.rate": ["1 Mbit/s"], "path.delay": ["2 ms"]}})
        assert factor.labels == ("1 Mbit/s, 2 ms",)
        assert parse_factor("link", factor_to_toml(factor)) == factor

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ({"together": {}}, "not a table of settings"),
            ({"together": ["path.rate"]}, "not a table of settings"),
            ({"together": {"path.rate": "1 Mbit/s"}}, r"together\.path\.rate: '1 Mbit/s' is not a list"),
            ({"together": {"a": [1, 2], "b": [1]}}, "a has 2, b has 1 levels"),
            ({"together": {"a": [1, 2]}, "labels": ["x"]}, "not 2 texts or numbers"),
            ({"together": {"a": [1]}, "steps": 1}, "unknown key 'steps'"),
        ],
    )
    def test_what_does_not_fit_is_told(self, given: object, text: str) -> None:
        with pytest.raises(StudyError, match=text):
            parse_factor("link", given)

    def test_a_setting_is_not_varied_twice(self, tmp_path: Path) -> None:
        path = tmp_path / "twice.toml"
        path.write_text(
            TOGETHER.replace('"path.delay"', '"path.up.rate"').replace('["1 ms", "2 ms"]', '["1 Mbit/s"]')
        )
        with pytest.raises(StudyError, match=r"vary\.path\.up\.rate: appears twice"):
            rexmit.Study.load(path)


@pytest.mark.parametrize("name", ["", " "])
def test_settings_that_vary_together_have_a_name(name: str) -> None:
    with pytest.raises(
        StudyError, match=r'^vary\."": settings that vary together need a name; write \[vary\.NAME'
    ):
        parse_factor(name, {"together": {"path.rate": ["1 Mbit/s", "2 Mbit/s"]}})


def test_case_alone_tells_no_two_factors_apart(tmp_path: Path) -> None:
    path = tmp_path / "twice.toml"
    again = '[vary.LINK.together]\n"path.up.loss" = [0.01, 0.02]\n'
    path.write_text(f"{TOGETHER}\n{again}")
    with pytest.raises(StudyError, match=r"vary\.(link|LINK): appears twice"):
        rexmit.Study.load(path)


def test_a_name_of_ones_own_is_no_column_of_the_results() -> None:
    settings = {"together": {"path.rate": ["1 Mbit/s", "2 Mbit/s"]}}
    for name in reserved():
        with pytest.raises(StudyError, match=rf"vary\.{name}: {name} is the name of a column of the results"):
            parse_factor(name, settings)
    with pytest.raises(StudyError, match=r"vary\.goodput: goodput_bit_s is the name of a column"):
        parse_factor("goodput", settings)
    for name in ("RUN", "Completed", "folder"):
        with pytest.raises(StudyError, match=rf"vary\.{name}: {name} is the name of a column"):
            parse_factor(name, settings)
    assert parse_factor("rate", settings).name == "rate"


def test_every_column_of_the_results_is_kept_from_factors(tmp_path: Path) -> None:
    path = tmp_path / "links.toml"
    path.write_text(TOGETHER.replace("[scenario]\n", '[scenario]\nintervals = "1 s"\n', 1))
    results = rexmit.Study.load(path).run(progress=False)
    columns = {*results.table().columns, *results.intervals().columns}
    assert {name for name in columns if "." not in name} - {"link"} <= reserved()
