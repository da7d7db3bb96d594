"""Transfers of a scenario: which of them end by the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rexmit.units import as_numbers


def timed_names(scenario: Mapping[str, Any]) -> list[str]:
    """What results call the transfers that write for a set time, and so do not complete by themselves."""
    return list(_timed(scenario.get("transfers")))


def _timed(transfers: Any) -> Iterator[str]:
    for number, transfer in enumerate(transfers if isinstance(transfers, list) else []):
        if isinstance(transfer, Mapping) and _is_timed(transfer):
            name = transfer.get("name")
            yield str(number if name is None else name)


def _is_timed(transfer: Mapping[str, Any]) -> bool:
    found = as_numbers([transfer.get("bulk")])
    return transfer.get("messages") is not None or (found is not None and found[0] == "ns")
