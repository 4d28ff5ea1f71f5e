"""The tokens that may come next: bytes that make valid UTF-8, and pieces that the source holds.

Vocabularies spell rare characters in bytes. A state of their automaton is the set of byte sequences
that complete the current character; state 0 is between two characters.

Some characters are only copied from the source: brackets of reserved pieces and private use. A
search begins none of them in bytes, and generates a piece with one if the source has this piece.
Prefixes are free to have them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

OTHER = 256
"""The code of tokens that are not a byte. The codes of copied pieces follow it."""

_TAIL = (0x80, 0xBF)
_WELL_FORMED = (
    ((0x00, 0x7F),),
    ((0xC2, 0xDF), _TAIL),
    ((0xE0, 0xE0), (0xA0, 0xBF), _TAIL),
    ((0xE1, 0xE1), _TAIL, _TAIL),
    ((0xE2, 0xE2), (0x80, 0x9E), _TAIL),
    ((0xE2, 0xE2), (0x9F, 0x9F), (0x80, 0xA5)),
    ((0xE2, 0xE2), (0x9F, 0x9F), (0xA8, 0xBF)),
    ((0xE2, 0xE2), (0xA0, 0xBF), _TAIL),
    ((0xE3, 0xEC), _TAIL, _TAIL),
    ((0xED, 0xED), (0x80, 0x9F), _TAIL),
    ((0xEF, 0xEF), (0xA4, 0xBE), _TAIL),
    ((0xEF, 0xEF), (0xBF, 0xBF), (0x80, 0xBB)),
    ((0xEF, 0xEF), (0xBF, 0xBF), (0xBE, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), _TAIL, _TAIL),
    ((0xF1, 0xF2), _TAIL, _TAIL, _TAIL),
    ((0xF3, 0xF3), (0x80, 0xAF), _TAIL, _TAIL),
)
"""The Unicode Standard, table 3-7, without EF BF BC (U+FFFC stands for an object), EF BF BD (U+FFFD
for what is lost), and the copied characters."""
_COPIED = (
    ((0xE2, 0xE2), (0x9F, 0x9F), (0xA6, 0xA7)),
    ((0xEE, 0xEE), _TAIL, _TAIL),
    ((0xEF, 0xEF), (0x80, 0xA3), _TAIL),
    ((0xF3, 0xF3), (0xB0, 0xBF), _TAIL, _TAIL),
    ((0xF4, 0xF4), (0x80, 0x8F), _TAIL, _TAIL),
)
"""U+27E6, U+27E7 and the private use areas."""


class _Rest(NamedTuple):
    """The ranges of the bytes that complete a character, and whether it is a copied one."""

    ranges: tuple[tuple[int, int], ...]
    is_copied: bool

    def goes_on(self, byte: int) -> bool:
        (low, high), *_ = self.ranges
        return low <= byte <= high


_State = frozenset[_Rest]


class Utf8Tables(NamedTuple):
    """Tables that restrict a search. S states, V tokens.

    spelled (V,): the byte of each token, `OTHER`, or the code of a copied piece; is_allowed
    (S, 257): whether this byte, or `OTHER`, may come next; next_state (S, 257): the state after it,
    even if it was not allowed.
    """

    spelled: NDArray[np.int64]
    is_allowed: NDArray[np.bool_]
    next_state: NDArray[np.int64]

    @classmethod
    def of(
        cls, byte_ids: Mapping[int, int], vocab_size: int, copied: Sequence[int] = ()
    ) -> Utf8Tables:
        """`byte_ids`: maps each byte token to its byte; `copied`: the tokens that are copied.

        A byte sequence that the available tokens cannot complete is never begun, so every state
        allows at least one token.
        """
        spelled = np.full(vocab_size, OTHER)
        spelled[list(byte_ids)] = list(byte_ids.values())
        spelled[list(copied)] = OTHER + 1 + np.arange(len(copied))
        return cls(spelled, *_tables(frozenset(byte_ids.values())))

    @property
    def codes(self) -> NDArray[np.int64]:
        """The column of each token in `is_allowed` and `next_state` (V,)."""
        return np.minimum(self.spelled, OTHER)

    def forbidden(self, states: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens may not come next in these states (R,), whatever the source is (R, V)."""
        return ~self.is_allowed[states][:, self.codes]


def _states(available: frozenset[int]) -> list[_State]:
    """All states reachable with the available bytes; the one between two characters is first."""
    start = frozenset(
        _Rest(ranges, is_copied)
        for sequences, is_copied in ((_WELL_FORMED, False), (_COPIED, True))
        for ranges in sequences
        if all(available.intersection(range(first, last + 1)) for first, last in ranges)
    )
    states: list[_State] = [start]
    for state in states:
        found = (_after(state, first) for first, _ in _spans(state))
        states += dict.fromkeys(new for new in found if new and new not in states)
    return states


def _spans(*states: _State) -> Iterator[tuple[int, int]]:
    """Cut all bytes into ranges (first, end): from each of the states, all bytes of a range lead to
    the same state."""
    ranges = [rest.ranges[0] for state in states for rest in state]
    ends = {0, OTHER, *(low for low, _ in ranges), *(high + 1 for _, high in ranges)}
    return itertools.pairwise(sorted(ends))


def _after(state: _State, byte: int) -> _State:
    """The state after this byte; empty if the character is complete or the byte is invalid."""
    rests = (rest for rest in state if rest.goes_on(byte))
    return frozenset(_Rest(r.ranges[1:], r.is_copied) for r in rests if len(r.ranges) > 1)


@functools.cache
def _tables(available: frozenset[int]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """`is_allowed` and `next_state`. A byte that no character goes on with continues from state 0.
    A copied character that was begun, by a prefix, may be completed."""
    states = _states(available)
    is_allowed = np.zeros((len(states), OTHER + 1), np.bool_)
    next_state = np.zeros((len(states), OTHER + 1), np.int64)
    is_allowed[0, OTHER] = True
    for number, state in enumerate(states):
        free = [rest for rest in state if not rest.is_copied] or state
        for byte, end in _spans(state, states[0]):
            is_allowed[number, byte:end] = any(rest.goes_on(byte) for rest in free)
            is_valid = any(rest.goes_on(byte) for rest in state)
            if rests := _after(state if is_valid else states[0], byte):
                next_state[number, byte:end] = states.index(rests)
    return is_allowed, next_state
