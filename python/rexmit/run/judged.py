"""Captures of real kernels' runs that are judged for their retransmissions, and then removed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import RexmitError
from rexmit.files import remove_file
from rexmit.places import temporary_folder
from rexmit.run.capture import hosts_of


class JudgedCaptures:
    """Asks runs for captures at the hosts that send, and judges them as `rexmit analyze` does.

    Use it as a context: its captures lie in a folder that is gone at its end. What a run captures anyway is
    judged where it is, and stays.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._folder = Path()
        self._runs: dict[int, tuple[str, dict[str, str], list[Path]]] = {}

    def __enter__(self) -> JudgedCaptures:
        self._folder = self._stack.enter_context(temporary_folder())
        return self

    def __exit__(self, *what: Any) -> None:
        self._stack.close()

    def options(self, run: int, scenario: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a run of this scenario, with the captures that are judged."""
        if not scenario.get("retransmissions"):
            return dict(options)
        text = json.dumps(scenario, default=str)
        hosts = hosts_of(scenario)
        captures = list(options.get("captures", [None] * len(hosts)))
        judged: dict[str, str] = {}
        own = []
        for host in _native.senders(text):
            at = hosts.index(host)
            if captures[at] is None:
                own.append(self._folder / f"run-{run}-{host}.pcapng")
                captures[at] = str(own[-1])
            judged[host] = captures[at]
        self._runs[run] = text, judged, own
        return {**options, "captures": captures}

    def take(self, run: int, answered: bool) -> list[dict[str, Any]]:
        """The rows of a run that is over, whose captures are removed; none where it left none whole."""
        text, judged, own = self._runs.pop(run, ("", {}, []))
        try:
            there = {host: path for host, path in judged.items() if Path(path).exists()}
            if not (answered and there):
                return []
            rows: list[dict[str, Any]] = json.loads(_native.retransmissions_of(text, there))
            return rows
        except ValueError as error:
            raise RexmitError(f"run {run}: {error}") from None
        finally:
            for path in own:
                remove_file(path)
