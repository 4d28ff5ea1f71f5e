"""The part of a corpus that one of several machines translates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Shard:
    """One of `count` parts, the first is 0. The parts in their order are the whole."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read "1/4", the first of four. Raises ValueError."""
        match = re.fullmatch(r"(\d+)/(\d+)", written)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(f"must be i/n with i from 1 to n, such as 1/4, got {written!r}")
        return cls(int(match[1]) - 1, int(match[2]))

    def of(self, total: int) -> tuple[int, int]:
        """Where the part begins and ends in so many bytes or rows."""
        return total * self.index // self.count, total * (self.index + 1) // self.count
