"""What the tests of the scripts share."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent
# As where a script is run: it finds the files beside it.
sys.path.insert(0, str(SCRIPTS))


def load(name: str) -> Any:
    """One of the project's scripts as a module."""
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), SCRIPTS / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def script() -> Run:
    """Run one of the project's scripts and give what it printed."""

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SCRIPTS / name), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


@pytest.fixture
def lay(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Write files of a small project and give its folder."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write
