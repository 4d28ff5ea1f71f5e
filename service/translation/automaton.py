"""Finds all of many sequences at once (Aho and Corasick 1975)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

_Symbol = TypeVar("_Symbol", bound=Hashable)


class Automaton(Generic[_Symbol]):
    """A trie of sequences. Each node falls back to the node of the longest proper end of its own
    path. Time and memory are linear in the sequences, and then in what is read and found."""

    def __init__(self, sequences: Iterable[Sequence[_Symbol]]) -> None:
        self._children: dict[tuple[int, _Symbol], int] = {}
        self._fallbacks, self._lengths = [0], [()]  # type: list[int], list[tuple[int, ...]]
        reached = [(0, sequence) for sequence in sequences]
        length = 0
        while reached:  # all nodes of one length, then the longer ones, which fall back to them
            reached = [
                (self._child(node, sequence[length]), sequence)
                for node, sequence in reached
                if len(sequence) > length
            ]
            length += 1
            for node in {node for node, sequence in reached if len(sequence) == length}:
                self._lengths[node] = (length, *self._lengths[node])

    def lengths(self, symbols: Iterable[_Symbol]) -> Iterator[tuple[int, ...]]:
        """For each symbol the lengths of the sequences that end with it, longest first."""
        node = 0
        for symbol in symbols:
            node = self._after(node, symbol)
            yield self._lengths[node]

    def _child(self, node: int, symbol: _Symbol) -> int:
        child = self._children.setdefault((node, symbol), len(self._fallbacks))
        if child == len(self._fallbacks):
            fallback = self._after(self._fallbacks[node], symbol) if node else 0
            self._fallbacks.append(fallback)
            self._lengths.append(self._lengths[fallback])
        return child

    def _after(self, node: int, symbol: _Symbol) -> int:
        while node and (node, symbol) not in self._children:
            node = self._fallbacks[node]
        return self._children.get((node, symbol), 0)
