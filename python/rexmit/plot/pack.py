"""Blocks: named tables of columns in few bytes, for the pages that people open.

A block is base64 of gzip of: `RXB1`, the length of the head as u32, the head as JSON padded to 8 bytes, and
the columns, each at a multiple of 8 bytes from the end of the head, in little-endian numbers of the smallest
type that holds them. `web/src/block.ts` reads it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_MARK = b"RXB1"
_WHOLE = (np.uint8, np.uint16, np.uint32)
_EXACT = 2**53
"""Whole numbers up to here are exact in JavaScript."""

_MUCH = 1_000_000


@dataclass(frozen=True)
class Scaled:
    """Whole numbers that a page multiplies by `scale`: nanoseconds to be read as seconds have 1e-9."""

    values: npt.NDArray[Any]
    scale: float


Column: TypeAlias = npt.NDArray[Any] | Scaled | Sequence[str | None]
"""Numbers, truths (0 and 1), scaled whole numbers, or texts."""


def pack(head: Mapping[str, Any], tables: Mapping[str, Mapping[str, Column]]) -> str:
    """The block of these tables with `head`, which is anything that JSON holds, beside them.

    Raises ValueError for whole numbers beyond 2**53, which a page would not read exactly.
    """
    data = bytearray()
    layouts = {
        name: {column: _add(data, values) for column, values in table.items()}
        for name, table in tables.items()
    }
    text = json.dumps(
        {"head": head, "tables": layouts}, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    front = text.encode()
    front += b" " * (-len(front) % 8)
    whole = _MARK + len(front).to_bytes(4, "little") + front + bytes(data)
    # The last tenth of a percent takes seconds where there is much.
    level = 9 if len(whole) < _MUCH else 6
    return base64.b64encode(gzip.compress(whole, compresslevel=level, mtime=0)).decode("ascii")


def _add(data: bytearray, column: Column) -> dict[str, Any]:
    layout: dict[str, Any] = {}
    if isinstance(column, Scaled):
        layout["scale"] = column.scale
        values = np.asarray(column.values)
        if values.dtype.kind not in "iu":
            raise ValueError("only whole numbers are scaled")
    elif isinstance(column, np.ndarray):
        values = column
    else:
        words = list(dict.fromkeys(column))
        places = {word: place for place, word in enumerate(words)}
        layout["words"] = words
        values = np.array([places[word] for word in column], dtype=np.int64)
    if values.dtype.kind in "iub":
        values = _small(values, layout)
    elif values.dtype != np.float32:
        values = values.astype(np.float64)
    values = values.astype(values.dtype.newbyteorder("<"))
    data += b"\0" * (-len(data) % 8)
    kind = {"u": "u", "f": "f"}[values.dtype.kind]
    layout |= {"type": f"{kind}{values.dtype.itemsize}", "at": len(data), "count": len(values)}
    data += values.tobytes()
    return layout


def _small(values: npt.NDArray[Any], layout: dict[str, Any]) -> npt.NDArray[Any]:
    """Whole numbers in the smallest type that holds them, as differences where they never fall."""
    if not values.size:
        return values.astype(np.uint8)
    low, high = int(values.min()), int(values.max())
    if max(abs(low), abs(high)) > _EXACT:
        raise ValueError(f"{low if abs(low) > high else high} is beyond what a page reads exactly")
    whole = values.astype(np.int64)
    if "words" not in layout and values.size > 1 and high - low > 255:
        steps = np.diff(whole)
        if steps.min() >= 0 and int(steps.max()) * 2 < high - low:
            layout["delta"] = True
            if low:
                layout["base"] = low
            return _typed(np.concatenate([[0], steps]))
    if low < 0 or (high > np.iinfo(np.uint32).max and high - low <= np.iinfo(np.uint32).max):
        layout["base"] = low
        whole = whole - low
    return _typed(whole)


def _typed(values: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    most = int(values.max())
    for kind in _WHOLE:
        if most <= np.iinfo(kind).max:
            return values.astype(kind)
    return values.astype(np.float64)
