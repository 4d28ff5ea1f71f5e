"""The search's part of a recorded step as kernels of our own (kernels.cu), for beams of up to 16.

On an H200 PyTorch's operations for it took more than half of a step of the bundled model at one
row, because each of some 150 launches takes longer than its work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import torch
from torch import Tensor

from model.backends.pytorch.cache import History
from model.backends.pytorch.nvrtc import Argument, CudaLauncher, Grid, Launch, address
from model.backends.pytorch.rows import RowCandidates, RowTable
from model.backends.pytorch.search_state import SearchState

_logger = logging.getLogger(__name__)
_WIDEST = 16
_UNIT_BYTES = 16
"""Bytes that a thread of `reorder` moves."""
_THREADS = 256
_SEARCH_THREADS = 64
_BLOCKS = 264
"""Enough to keep a large GPU busy: two for each of its 132 multiprocessors."""
_LEAST_PART = 4096
"""Tokens of a row that a block of `rank` reads at least."""


class SearchKernels:
    """Ranks, advances and reorders on the state of all searches and the cache of their rows."""

    def __init__(self, search: SearchState, rows: History, vocabulary: int, launch: Launch) -> None:
        self._search, self._rows, self._launch = search, rows, launch
        self._vocabulary = vocabulary
        self._tables = _tables(search, vocabulary)
        numbers = [number for column in _columns(search) for number in column]
        numbers += [address(table) for table in self._tables]
        num_codes = 0 if search.utf8 is None else search.utf8.next_state.size(1)
        numbers += [num_codes, vocabulary, search.eos_id]
        self._state = torch.tensor(numbers, dtype=torch.int64).to(search.length.device)

    def fit(self, table: RowTable) -> bool:
        """Whether the kernels know beams and heads of this size."""
        planes = self._rows.planes
        head_bytes = planes.size(-1) * planes.element_size()
        return table.by_slot.size(1) <= _WIDEST and head_bytes % _UNIT_BYTES == 0

    def rank(self, logits: Tensor, table: RowTable) -> RowCandidates:
        """As `Search.choose` for sentences without options: the likeliest allowed tokens of logits
        (R, V), of which each row is contiguous. They do not change."""
        width, n_rows = _width(table), len(logits)
        count, threads = 2 * width, _THREADS if width <= _WIDEST // 2 else _THREADS // 2
        parts = max(1, min(_BLOCKS // n_rows, self._vocabulary // _LEAST_PART))
        values, sums = (logits.new_empty(n_rows, parts, size) for size in (count, 2))
        apart = (values, torch.empty_like(values, dtype=torch.int32), sums)
        tokens = table.slots.new_empty(n_rows, count)
        is_failed = tokens.new_empty(n_rows, dtype=torch.bool)
        found = RowCandidates(logits.new_empty(n_rows, count), tokens, is_failed)
        read = (self._state, logits, logits.stride(0), parts, table.slots, table.beams)
        self._launch("rank", width, Grid(n_rows, parts, threads), [*read, *apart, *found])
        if parts > 1:
            grid = Grid(n_rows, 1, 32)
            self._launch("join_parts", width, grid, [parts, *apart, *found])
        return found

    def advance(self, candidates: RowCandidates, table: RowTable) -> Tensor:
        """As `Search.advance` -> the hypothesis that each one of a slot goes on from (N, WIDTH)."""
        n_slots, beams = table.by_slot.shape
        width = _width(table)
        parents = self._state.new_empty(n_slots, width, dtype=torch.int32)
        offered = candidates.tokens.size(1)
        grid = Grid(n_slots, 1, _SEARCH_THREADS)
        given = (self._state, table.by_slot, beams, offered, *candidates)
        self._launch("advance", width, grid, [*given, parents])
        return parents

    def reorder(self, parents: Tensor, table: RowTable) -> None:
        """Each row takes over the history of its parent's row."""
        n_slots, beams = table.by_slot.shape
        planes = self._rows.planes
        steps = (step * planes.element_size() for step in planes.stride()[:4])
        given = (self._state, parents, table.by_slot, beams, planes)
        grid = Grid(n_slots, len(planes), _THREADS)
        self._launch("reorder", _width(table), grid, [*given, *steps])


def search_kernels(search: SearchState, rows: History, vocabulary: int) -> SearchKernels | None:
    """The kernels, or None on a CPU and where they cannot be compiled."""
    device = search.length.device
    if device.type != "cuda":
        return None
    try:
        launcher = CudaLauncher(device, _width_of(search.live.score.size(1)))
        return SearchKernels(search, rows, vocabulary, launcher)
    except (ImportError, OSError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        _logger.warning("kernels cannot be compiled here, and steps are slower: %s", reason)
        return None


def _columns(search: SearchState) -> Iterator[tuple[int, int, int]]:
    """The fields `Column` of `State` in kernels.cu."""
    options, live, finished = search.options, search.live, search.finished
    for tensor in (
        *(options.beam_size, options.n_best, options.limit, options.lookahead),
        *(options.prefix_length, options.length_penalty, options.is_wu, options.is_cut),
        *(live.tokens, live.log_probs, live.score),
        *(finished.tokens, finished.log_probs, finished.score, finished.length),
        *(search.last, search.spelling, search.length, search.status, search.is_stuck),
        search.is_held,
    ):
        slot, beam, *_ = (step * tensor.element_size() for step in (*tensor.stride(), 0))
        yield tensor.data_ptr(), slot, beam


def _tables(search: SearchState, vocabulary: int) -> list[Argument]:
    """Those of `Utf8Tensors`, and the column of each token in `is_held` (V,), -1 for tokens that
    are not copied; nulls if no token is forbidden."""
    if search.utf8 is None:
        return [None] * 4
    places = search.length.new_full((vocabulary,), -1)
    places[search.copied] = torch.arange(len(search.copied), device=places.device)
    return [*(table.contiguous() for table in search.utf8), places]


def _width(table: RowTable) -> int:
    """The WIDTH of the kernels that serve a table."""
    return _width_of(table.by_slot.size(1))


def _width_of(beam_size: int) -> int:
    return 1 << (min(beam_size, _WIDEST) - 1).bit_length()
