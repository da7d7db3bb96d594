import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import load

check = load("check_release.py")
ROOT = check.ROOT
VERSION = check.workspace(ROOT)["package"]["version"]
COPIED = ["Cargo.toml", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "README.md", "pyproject.toml"]
COPIED += [
    "docs/reference/rust.md",
    "docs/explanation/promises.md",
    "scripts/setup.py",
    ".github/workflows/ci.yml",
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the check reads of this project."""
    manifests = [
        path.relative_to(ROOT) for path in ROOT.glob("crates/**/Cargo.toml") if "program/" not in f"{path}"
    ]
    beside = [path.parent / name for path in manifests for name in ("README.md", "example.md")]
    top = [Path(folder) / "Cargo.toml" for folder in ("benches", "foreign", "fuzz")]
    golden = Path("tests/golden") / f"digests-{VERSION}.json"
    pages = [path.relative_to(ROOT) for path in ROOT.glob("man/**/*.1")][:2]
    for name in [*map(Path, COPIED), *manifests, *beside, *top, *pages, golden]:
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def changed(project: Path, name: str, old: str, new: str) -> list[str]:
    """What is found wrong after one change of one file."""
    path = project / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return list(check.faults(project, check.workspace(project)["package"]["version"]))


def test_everything_agrees(script: Callable[..., subprocess.CompletedProcess[str]], project: Path) -> None:
    assert list(check.faults(project, VERSION)) == []
    done = script("check_release.py")
    assert (done.returncode, done.stdout) == (0, f"versions: {VERSION}, 0 places disagree\n")


@pytest.mark.parametrize(
    ("name", "old", "new", "wrong"),
    [
        (
            "CITATION.cff",
            f"version: {VERSION}",
            "version: 0.0.9",
            f"CITATION.cff: does not say 'version: {VERSION}'",
        ),
        (
            "Cargo.toml",
            f'rexmit-wire = {{ path = "crates/wire", version = "{VERSION}" }}',
            'rexmit-wire = { path = "crates/wire" }',
            f'Cargo.toml: rexmit-wire needs version = "{VERSION}" beside its path',
        ),
        (
            "crates/wire/Cargo.toml",
            "keywords.workspace = true\n",
            "",
            "crates/wire/Cargo.toml: keywords missing; or, if it is for nobody else, publish = false",
        ),
        (
            "crates/sim/Cargo.toml",
            "[dependencies]\n",
            "[dependencies]\nrexmit-live.workspace = true\n",
            "crates/sim/Cargo.toml: rexmit-sim is public and depends on rexmit-live, which is not",
        ),
        (
            "crates/wire/Cargo.toml",
            "version.workspace = true",
            'version = "0.1.0"',
            "crates/wire/Cargo.toml: write version.workspace = true",
        ),
        (
            "crates/wire/README.md",
            "# rexmit-wire",
            "# wire",
            "crates/wire/README.md is out of date: run scripts/crate_readmes.py",
        ),
        (
            "pyproject.toml",
            'requires-python = ">=3.11"',
            'requires-python = ">=3.12"',
            "pyproject.toml: the classifiers begin with Python 3.11, requires-python with 3.12",
        ),
        (
            ".github/workflows/ci.yml",
            '"3.13", "3.14"]',
            '"3.13"]',
            '.github/workflows/ci.yml: does not say \'python: ["3.11", "3.12", "3.13", "3.14"]\'',
        ),
    ],
)
def test_a_place_that_disagrees_is_named(project: Path, name: str, old: str, new: str, wrong: str) -> None:
    assert wrong in changed(project, name, old, new)


def test_the_version_is_changed_in_one_place_and_all_others_are_named(project: Path) -> None:
    wrong = changed(project, "Cargo.toml", f'version = "{VERSION}"\nedition', 'version = "9.9.9"\nedition')
    named = {re.split(r":| is ", line)[0] for line in wrong}
    assert {"CHANGELOG.md", "CITATION.cff", "SECURITY.md", "docs/reference/rust.md", "Cargo.toml"} <= named
    assert "tests/golden/digests-9.9.9.json" in named


CHANGES = "# Changes\n\n## Unreleased\n\n## 0.2.0, 2026-11-27\n\n### Added\n\n- A.\n\n### Fixed\n\n- B.\n"


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", []),
        ("## Unreleased\n", "", ["CHANGELOG.md: begins with '## Unreleased', even where nothing is"]),
        (
            "### Fixed",
            "### Mended",
            ["CHANGELOG.md: 0.2.0, 2026-11-27: 'Mended' is not one of " + ", ".join(check.KINDS)],
        ),
        (
            "0.2.0, 2026-11-27",
            "0.2.0",
            ["CHANGELOG.md: '## 0.2.0' is neither '## Unreleased' nor '## X.Y.Z, YYYY-MM-DD'"],
        ),
        ("0.2.0", "0.1.0", ["CHANGELOG.md: the newest release is 0.1.0, and not 0.2.0"]),
        ("### Added\n\n- A.\n\n### Fixed", "### Fixed\n\n- A.\n\n### Added", ["in the order"]),
    ],
)
def test_the_form_of_the_changelog(old: str, new: str, wrong: list[str]) -> None:
    found = list(check.of_changelog(CHANGES.replace(old, new), "0.2.0"))
    assert bool(found) == bool(wrong)
    assert all(line in "\n".join(found) for line in wrong)


def test_notes_are_what_the_changelog_says_of_the_release() -> None:
    assert check.notes(CHANGES, "0.2.0") == "### Added\n\n- A.\n\n### Fixed\n\n- B."


def test_a_tag_needs_its_version_and_nothing_unreleased(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    assert check.of_tag(tmp_path, "0.2.0", "v0.2.0") == []
    assert check.of_tag(tmp_path, "0.2.0", "v0.2.1") == ["the tag is v0.2.1, and the version 0.2.0"]
    (tmp_path / "CHANGELOG.md").write_text(CHANGES.replace("Unreleased\n", "Unreleased\n\n- More.\n"))
    assert len(check.of_tag(tmp_path, "0.2.0", "v0.2.0")) == 1
