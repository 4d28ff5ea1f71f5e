"""Tables of embeddings in one block of memory, which begins with a directory of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.backends.memory import LINE_BYTES, Memory
from model.backends.native.weights import Tables

_COLUMNS = 4
"""Of the directory, for each table: where it begins, bytes of a number (0: there is no such table),
rows, columns."""
DIRECTORY_BYTES = 8 * _COLUMNS * len(Tables._fields)


def table_bytes(tables: Tables) -> int:
    """Of the tables, each once, without the directory."""
    distinct = {id(table): table for table in tables if table is not None}
    return sum(_whole_lines(table.nbytes) for table in distinct.values())


def put_tables(tables: Tables, memory: Memory, start: int) -> None:
    """Write the directory, and each table once from `start` on."""
    places: dict[int, int] = {}
    for entry, table in zip(_directory(memory), tables, strict=True):
        if table is None:
            continue
        if id(table) not in places:
            places[id(table)] = start
            memory[start : start + table.nbytes] = table.reshape(-1).view(np.uint8)
            start += _whole_lines(table.nbytes)
        entry[:] = (places[id(table)], table.itemsize, *table.shape)


def tables_in(memory: Memory) -> Tables:
    """The tables where they lie."""
    return Tables(*(_table(memory, *entry) for entry in _directory(memory).tolist()))


def _directory(memory: Memory) -> NDArray[np.int64]:
    return memory[:DIRECTORY_BYTES].view(np.int64).reshape(len(Tables._fields), _COLUMNS)


def _table(memory: Memory, start: int, size: int, rows: int, columns: int) -> Any:
    if not size:
        return None
    numbers = memory[start : start + size * rows * columns]
    return numbers.view(np.float16 if size == 2 else np.float32).reshape(rows, columns)


def _whole_lines(num_bytes: int) -> int:
    return -(-num_bytes // LINE_BYTES) * LINE_BYTES
