"""A slice of the wide set of `make fidelity`: what is the same on the model and on a real kernel stays so."""

from pathlib import Path

import pytest
from rexmit.kernel import KernelError, find_kernel

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

SAME = {
    "fast": (118,),
    "bursts": (4, 19),
    "reordering": (8, 10),
    "duplication": (4, 19),
    "jitter": (1, 14),
    "ack-loss": (2, 5),
    "aqm": (7, 17),
    "small-buffers": (3, 14),
    "slow-readers": (1, 18),
    "thin": (16, 18),
    "requests": (1, 17),
    "changes": (10, 11),
    "sysctls": (5, 13, 45),
}
"""Numbers of scenarios by group, short ones."""

PACED = (0, 2, 3, 4, 5, 6, 7, 8, 83, 446)
"""Numbers of scenarios with a pacing rate; in the last two a window is long unused (LK-CW-2)."""

NEAR_NS = 1_000


@pytest.fixture
def kernel_6_1() -> None:
    """The kernel is of the version that the profile is of."""
    try:
        kernel = find_kernel()
    except KernelError as error:
        pytest.skip(str(error))
    if not kernel.version.startswith("6.1."):
        pytest.skip(f"the profile is of Linux 6.1, the kernel is {kernel.version}")


@pytest.mark.usefixtures("kernel_6_1")
def test_the_model_sends_what_linux_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins import wide  # type: ignore[import-not-found]

    drawn = {}
    for group, numbers in SAME.items():
        every = wide.draw([group], max(numbers) + 1, wide.SEED)[group]
        drawn[group] = {number: every[number] for number in numbers}
    table = wide.compare(drawn, tmp_path, lambda _: None)
    assert len(table) == sum(map(len, SAME.values()))
    for row in table.iter_rows(named=True):
        assert row["identical"], f"{row['group']} {row['scenario']}: {row['kind']} at {row['first_packet']}"
        assert row["times_off_ns"] <= NEAR_NS, f"{row['group']} {row['scenario']}: times differ"


@pytest.mark.usefixtures("kernel_6_1")
def test_paced_senders_send_what_linux_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LK-PACE-4, LK-CUBIC-5: Reno and CUBIC where the application allows a rate."""
    monkeypatch.syspath_prepend(SCRIPTS)
    from rexmit import draw_scenario
    from twins import wide

    every = {number: draw_scenario(number, seed=wide.SEED, family="paced") for number in PACED}
    drawn = {number: wide.Drawn("paced", number, scenario) for number, scenario in every.items()}
    table = wide.compare({"paced": drawn}, tmp_path, lambda _: None)
    algorithms = {
        one.scenario["hosts"]["server"]["stack"]["congestion"]["algorithm"] for one in drawn.values()
    }
    assert algorithms == {"reno", "cubic"}
    assert table.height == len(PACED)
    for row in table.iter_rows(named=True):
        assert row["identical"], f"paced {row['scenario']}: {row['kind']} at {row['first_packet']}"
        assert row["times_off_ns"] <= NEAR_NS, f"paced {row['scenario']}: times differ"


def test_the_page_keeps_its_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """`fidelity.py` and `fidelity_wide.py` write one page, each its part of it."""
    monkeypatch.syspath_prepend(SCRIPTS)
    from twins import wide_page

    real, wide = wide_page.BEFORE, wide_page.HEAD
    old = f"# Page\n\nbasic\n\n{real}\n\nlate\n"
    both = f"# Page\n\nbasic\n\n{wide}\n\nmany\n\n{real}\n\nlate\n"
    assert wide_page.with_section(old, f"{wide}\n\nmany") == both
    assert wide_page.with_section(both, f"{wide}\n\nmany") == both
    assert wide_page.with_section("# Page\n", f"{wide}\n\nmany") == f"# Page\n\n{wide}\n\nmany\n"
    assert wide_page.carried(both, "# Page\n\nnew\n") == both.replace("basic", "new")
    assert wide_page.carried(both, f"# Page\n\nnew\n\n{real}\n\nlater\n").endswith(
        f"many\n\n{real}\n\nlater\n"
    )


def test_groups_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    from rexmit.errors import UsageError
    from twins import wide

    assert "ecn" in wide.chosen_groups(None)
    assert wide.chosen_groups("ecn") == ["ecn"]
    with pytest.raises(UsageError, match="no group 'slow'; there are fast, bursts"):
        wide.chosen_groups("slow")
    drawn = wide.draw(["thin", "fast"], 5, 1)
    assert {group: list(some) for group, some in drawn.items()} == {"thin": [0, 1, 2], "fast": [0, 1]}
