"""What the guides show as TOML is accepted by the program."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit import _native

GUIDES = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"\| `(\w+ = .+?)` \|")
TRANSFER = {"from": "server", "to": "client", "writes": "10 x 2500 bytes"}


def settings() -> list[str]:
    """Each line of the guide to patterns that sets something."""
    text = (GUIDES / "guide" / "patterns.md").read_text()
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines() if "=" in line]
    return lines + CELL.findall(text)


def resolve(scenario: dict[str, Any]) -> None:
    stack = {"stack": "freebsd-6.0"}
    _native.resolve(
        json.dumps({"hosts": {"server": stack, "client": stack}, "transfers": [TRANSFER], **scenario})
    )


def test_there_is_something_to_check() -> None:
    assert len(settings()) > 15


@pytest.mark.parametrize("line", settings())
def test_patterns_and_impairments(line: str) -> None:
    table = tomllib.loads(line)
    # A shaper shapes to a rate.
    resolve({"path": {"rate": "1 Mbit/s", **table["path"]}} if "path" in table else {"path": {"down": table}})


def test_a_slip_would_be_seen() -> None:
    with pytest.raises(ValueError, match="drop"):
        resolve({"path": {"down": {"dorp": 18}}})


def test_the_study_of_the_guide_runs() -> None:
    whole, _slips, links, more = BLOCK.findall((GUIDES / "guide" / "studies.md").read_text())
    study = rexmit.Study.from_dict(tomllib.loads(whole)).set("design.replications", 1)
    assert study.run(progress=False).table()["completed"].all()
    linked = study.set("vary.link", tomllib.loads(links)["vary"]["link"]).set("link", "12:1")
    assert linked.run(progress=False).table()["path.up.rate"].unique().to_list() == ["196 kbit/s"]
    transfers = tomllib.loads(more)["scenario"]["transfers"]
    assert study.set("transfers", transfers).run(progress=False).table()["completed"].all()


def test_the_profiles_of_the_guide(tmp_path: Path) -> None:
    choices, mine, switches = BLOCK.findall((GUIDES / "profiles.md").read_text())
    path = tmp_path / "mine.toml"
    path.write_text(mine)
    lines = [*choices.splitlines(), *switches.splitlines()]
    assert len(lines) == 4
    for line in lines:
        hosts = tomllib.loads(line.replace("./mine.toml", str(path)))["hosts"]
        for host in hosts.values():
            assert json.loads(_native.resolve(json.dumps(scenario_of(host))))["hosts"]["server"]["profile"]


def scenario_of(host: dict[str, Any]) -> dict[str, Any]:
    return {"hosts": {"server": host, "client": {"stack": "freebsd-6.0"}}, "transfers": [TRANSFER]}
