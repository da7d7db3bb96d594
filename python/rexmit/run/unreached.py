"""What patterns named but no packet matched, in runs of a real kernel or a cluster: one line a pattern."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_NUMBERS = re.compile(r"(.+: .+?) (\d[\d, -]*(?:\.\.\.)?) was never reached\b.*")
_SHOWN = 8


class Unreached:
    """Lines of single runs, such as `path.down.drop: position 11-30 was never reached (10 packets came)`."""

    def __init__(self, shown: int = _SHOWN) -> None:
        self._shown = shown
        self._more: set[str] = set()
        self._runs: Counter[str] = Counter()
        self._numbers: dict[str, set[tuple[int, int]]] = {}

    def add(self, lines: Iterable[str], runs: int = 1) -> None:
        """Those of one run, or a line that stands for several."""
        named = set()
        for line in lines:
            match = _NUMBERS.fullmatch(line)
            name = match[1] if match else line
            named.add(name)
            if match:
                ranges = self._numbers.setdefault(name, set())
                for part in match[2].split(","):
                    if part.strip() == "...":
                        self._more.add(name)
                        continue
                    first, _, last = part.strip().partition("-")
                    ranges.add((int(first), int(last or first)))
        for name in named:
            self._runs[name] += runs

    def texts(self) -> list[tuple[str, int]]:
        """One line per pattern, and in how many runs."""
        return [(self._text(name), self._runs[name]) for name in sorted(self._runs)]

    def _text(self, name: str) -> str:
        if name not in self._numbers:
            return name
        whole: list[tuple[int, int]] = []
        for first, last in sorted(self._numbers[name]):
            if whole and first <= whole[-1][1] + 1:
                whole[-1] = (whole[-1][0], max(last, whole[-1][1]))
            else:
                whole.append((first, last))
        shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in whole[: self._shown]]
        shown += ["..."] if len(whole) > self._shown or name in self._more else []
        return f"{name} {', '.join(shown)} was never reached"
