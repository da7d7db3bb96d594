"""What `make wheels` looks for in a wheel that nobody here can run."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars
import wheels

PE_HEADER = bytearray(0x84) + b"PE\0\0\x64\x86"
PE_HEADER[:2], PE_HEADER[0x3C] = b"MZ", 0x84
HEADERS = {
    "x86_64-unknown-linux-musl": b"\x7fELF\x02\x01" + bytes(12) + b"\x3e\x00",
    "aarch64-unknown-linux-gnu": b"\x7fELF\x02\x01" + bytes(12) + b"\xb7\x00",
    "aarch64-unknown-linux-musl": b"\x7fELF\x02\x01" + bytes(12) + b"\xb7\x00",
    "aarch64-apple-darwin": b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
    "x86_64-apple-darwin": b"\xcf\xfa\xed\xfe\x07\x00\x00\x01",
    "x86_64-pc-windows-gnu": bytes(PE_HEADER),
}


def wheel(folder: Path, module: bytes, *more: str, pages: bool = True) -> Path:
    path = folder / "rexmit.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rexmit/_native.abi3.so", module)
        archive.writestr("rexmit/_native.pyi", "")
        for name in [*more, *(["rexmit/plot/web/rexmit.js"] if pages else [])]:
            archive.writestr(name, "")
    return path


@pytest.mark.parametrize("name", wheels.TARGETS)
def test_a_module_is_for_one_target_alone(name: str, tmp_path: Path) -> None:
    header = HEADERS[name]
    found = wheel(tmp_path, header + bytes(64) + wheels.ENTRY)
    assert wheels.amiss(found, wheels.TARGETS[name]) is None
    others = [target for other, target in wheels.TARGETS.items() if HEADERS[other] != header]
    assert all("is not for this target" in str(wheels.amiss(found, target)) for target in others)
    assert "does not export" in str(wheels.amiss(wheel(tmp_path, header + bytes(64)), wheels.TARGETS[name]))


def test_a_wheel_has_its_pages_and_nothing_of_this_machines_linux(tmp_path: Path) -> None:
    target, module = wheels.TARGETS["aarch64-apple-darwin"], HEADERS["aarch64-apple-darwin"] + wheels.ENTRY
    assert (
        wheels.amiss(wheel(tmp_path, module, pages=False), target) == "the script of the pages is not in it"
    )
    guest = wheel(tmp_path, module, "rexmit/_guest")
    assert wheels.amiss(guest, target) == "it has what a guest of this machine's Linux runs"
    twice = wheel(tmp_path, module, "rexmit/_native.pyd")
    assert wheels.amiss(twice, target) == "2 native modules, not one"


def test_a_table_that_differs_in_one_cell_or_one_row_is_not_as_here(tmp_path: Path) -> None:
    tables = {"here": [1, 2], "same": [1, 2], "other": [1, 3], "short": [1]}
    for place, values in tables.items():
        (tmp_path / place).mkdir()
        polars.DataFrame({"run": values}).write_parquet(tmp_path / place / "runs.parquet")
    found = {place: wheels.differing(tmp_path / "here", tmp_path / place) for place in tables}
    assert [place for place, slip in found.items() if slip is None] == ["here", "same"]
    assert "is not as here" in str(found["other"])
