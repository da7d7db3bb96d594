"""Studies that come with the package, by name, and a user's own, by file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rexmit.errors import StudyError, nearest

PACKAGED = Path(__file__).resolve().parent.parent / "_studies"
"""Where the studies of the package are: a link to `studies/` in the repository, a folder in a wheel."""


@dataclass(frozen=True)
class StudyEntry:
    """A study that comes with the package: `name` as in `hurtig-2006/short`, its file and its title."""

    name: str
    path: Path
    title: str
    source: str


def list_studies() -> list[StudyEntry]:
    """All studies of the package, by name."""
    found = map(_entry, sorted(_files(), key=lambda path: path.with_suffix("")))
    return [entry for entry in found if entry is not None]


def _files() -> Iterable[Path]:
    """What may be studies of the package."""
    return PACKAGED.glob("*/*.toml")


@cache
def _entry(path: Path) -> StudyEntry | None:
    """The study that a file of the package holds, or None. To read all of them takes a tenth of a second."""
    with path.open("rb") as file:
        head = tomllib.load(file)
    if "scenario" not in head:
        return None
    return StudyEntry(_name(path), path, str(head.get("title", "")), str(head.get("source", "")))


def find_study(name: str) -> tuple[str, Path]:
    """The name and file of a study: a file of the user's, or the name of one of the package.

    Raises StudyError naming the nearest known study.
    """
    path = Path(name)
    if path.suffix != ".toml" and path.is_file() and _packaged(name) is not None:
        raise StudyError(f"{name!r} is a file here and a study of the package; write ./{name} for the file")
    # What is neither a file nor a folder is refused where it is opened.
    if path.suffix == ".toml" or (path.exists() and not path.is_dir()):
        if path.is_dir():
            raise StudyError(f"{name}: is a folder; name a study's file")
        if not path.exists():
            raise StudyError(f"{name}: there is no such file{_beside(path)}")
        resolved = path.resolve()
        inside = resolved.is_relative_to(PACKAGED.resolve())
        return (_name(resolved) if inside else path.stem), path
    if (packaged := _packaged(name)) is not None:
        return name, packaged
    known = [entry.name for entry in list_studies()]
    beginning = [entry for entry in known if entry.startswith(f"{name}/")]
    if beginning:
        raise StudyError(f"{name!r} holds several studies; name one of {', '.join(sorted(beginning))}")
    raise StudyError(f"there is no study {name!r}, nor such a file{_instead(path, known)}")


def _packaged(name: str) -> Path | None:
    """The file of the package's study of this name, if there is one."""
    named = (path for path in _files() if _name(path) == name)
    return next((path for path in named if _entry(path) is not None), None)


def _instead(path: Path, known: Iterable[str]) -> str:
    """What was meant: a file of that name, the study in a folder, or the nearest of the package's."""
    files = [path.with_name(f"{path.name}.toml")] if path.name else []
    if path.is_dir():
        files += [path / "study.toml", *sorted(path.glob("*.toml"))]
    elif path.suffix and (hint := _beside(path)):
        return hint
    meant = next((one for one in files if one.is_file()), None)
    if meant is not None:
        return f"; did you mean {str(meant)!r}?"
    if path.is_dir():
        return ": it is a folder without one; name a study's file"
    return _nearest_study(str(path), known)


def _beside(path: Path) -> str:
    """The study's file in the same folder whose name is nearest; nothing where none is near."""
    hint = nearest(path.name, [one.name for one in path.parent.glob("*.toml")])
    return hint if "did you mean" in hint else ""


def _nearest_study(name: str, known: Iterable[str]) -> str:
    """The nearest of them; the list of all would hide what is wrong."""
    hint = nearest(name, known)
    return hint if "did you mean" in hint else "; `rexmit studies` lists those of the package"


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"
