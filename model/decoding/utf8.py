"""Automaton of valid UTF-8, for vocabularies that spell rare characters in bytes.

A state is the set of byte sequences that complete the current character; state 0 is between two
characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

OTHER = 256
"""The code of every token that is not a byte."""

_TAIL = (0x80, 0xBF)
_WELL_FORMED = (
    ((0x00, 0x7F),),
    ((0xC2, 0xDF), _TAIL),
    ((0xE0, 0xE0), (0xA0, 0xBF), _TAIL),
    ((0xE1, 0xEC), _TAIL, _TAIL),
    ((0xED, 0xED), (0x80, 0x9F), _TAIL),
    ((0xEE, 0xEE), _TAIL, _TAIL),
    ((0xEF, 0xEF), (0x80, 0xBE), _TAIL),
    ((0xEF, 0xEF), (0xBF, 0xBF), (0x80, 0xBC)),
    ((0xEF, 0xEF), (0xBF, 0xBF), (0xBE, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), _TAIL, _TAIL),
    ((0xF1, 0xF3), _TAIL, _TAIL, _TAIL),
    ((0xF4, 0xF4), (0x80, 0x8F), _TAIL, _TAIL),
)
"""The Unicode Standard, table 3-7, without EF BF BD: U+FFFD."""

_Ranges = tuple[tuple[int, int], ...]
_State = frozenset[_Ranges]


class Utf8Tables(NamedTuple):
    """Tables that restrict a search to valid UTF-8. S states, V tokens.

    spelled (V,): the byte of each token, or `OTHER`; is_allowed (S, 257): whether this byte, or
    `OTHER`, may come next; next_state (S, 257): the state after it, even if it was not allowed;
    is_forbidden (S, V): which tokens may not come next.
    """

    spelled: Tensor
    is_allowed: Tensor
    next_state: Tensor
    is_forbidden: Tensor

    @classmethod
    def of(cls, byte_ids: Mapping[int, int], vocab_size: int, device: torch.device) -> Utf8Tables:
        """`byte_ids`: maps each byte token to its byte.

        A byte sequence that the available tokens cannot complete is never begun, so every state
        allows at least one token.
        """
        spelled = torch.full((vocab_size,), OTHER)
        spelled[list(byte_ids)] = torch.tensor(list(byte_ids.values()))
        is_allowed, next_state = _tables(_states(set(byte_ids.values())))
        is_forbidden = ~is_allowed[:, spelled]
        tables = (spelled, is_allowed, next_state, is_forbidden)
        return cls(*(table.contiguous().to(device) for table in tables))

    def after(self, state: Tensor, token: Tensor) -> Tensor:
        """The state after each token."""
        return self.next_state[state, self.spelled[token]]


def _states(available: set[int]) -> list[_State]:
    """All states reachable with the available bytes; the one between two characters is first."""
    start = frozenset(
        ranges
        for ranges in _WELL_FORMED
        if all(available.intersection(range(first, last + 1)) for first, last in ranges)
    )
    states: list[_State] = [start]
    for state in states:
        found = (_after(state, byte) for byte in range(OTHER))
        states += dict.fromkeys(new for new in found if new and new not in states)
    return states


def _after(state: _State, byte: int) -> _State:
    """The state after this byte; empty if the character is complete or the byte is invalid."""
    rests = (ranges[1:] for ranges in state if ranges[0][0] <= byte <= ranges[0][1])
    return frozenset(rest for rest in rests if rest)


def _tables(states: list[_State]) -> tuple[Tensor, Tensor]:
    """`is_allowed` and `next_state`. A byte that is not allowed continues from state 0."""
    is_allowed = torch.zeros(len(states), OTHER + 1, dtype=torch.bool)
    next_state = torch.zeros(len(states), OTHER + 1, dtype=torch.int64)
    is_allowed[0, OTHER] = True
    for number, state in enumerate(states):
        for byte in range(OTHER):
            is_allowed[number, byte] = any(low <= byte <= high for (low, high), *_ in state)
            origin = state if is_allowed[number, byte] else states[0]
            if rest := _after(origin, byte):
                next_state[number, byte] = states.index(rest)
    return is_allowed, next_state
