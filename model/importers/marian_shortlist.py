"""Marian's lexical shortlists: the likely translations of each source piece.

As text, a line for each pair of pieces with its probability, or as marian-conv's binary file.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.files import FileError, read_file
from model.importers.imported import SourceError

_MAGIC = 0xF11A48D5013417F5
_HEADER = ("magic", "checksum", "first", "best", "num_offsets", "num_tokens")
_GZIP_START = b"\x1f\x8b"
_MOST_BYTES = 2**30
_USUAL = ("100", "100", "0")
_UNKNOWN, _ABSENT = b"<unk>", b"NULL"
"""A piece that the vocabulary lacks, and what words without a translation are aligned with."""


class ShortlistFile(NamedTuple):
    """A file, and what Marian is told about a text: how many target pieces every list has first,
    how many of the likeliest each source piece adds, and the probability that these exceed."""

    path: Path
    options: Sequence[str]

    def limits(self) -> tuple[int, int, float]:
        """Raises SourceError."""
        first, best, threshold, *_ = [*self.options, *_USUAL[len(self.options) :]]
        try:
            return int(first), int(best), float(threshold)
        except ValueError:
            raise SourceError(
                f"shortlist must be a file, two whole numbers and a number, got {self.options}"
            ) from None


class ListedTokens(NamedTuple):
    """Every list has the first `first` target ids. The ids of source token i are
    tokens[offsets[i]:offsets[i + 1]]."""

    first: int
    offsets: NDArray[np.int64]
    tokens: NDArray[np.int32]

    def with_sources(self) -> ListedTokens:
        """Each token of a shared vocabulary is its own translation, too."""
        own = np.arange(len(self.offsets) - 1, dtype=np.int32)
        tokens = np.insert(self.tokens, self.offsets[1:], own)
        return ListedTokens(self.first, self.offsets + np.arange(len(self.offsets)), tokens)


def read_shortlist(
    file: ShortlistFile, source: Sequence[str], target: Sequence[str]
) -> ListedTokens:
    """Read it for these pieces. Raises SourceError."""
    try:
        content = read_file(file.path, _MOST_BYTES)
        if content.startswith(_GZIP_START):
            content = _unpacked(content)
    except (FileError, OSError, EOFError, zlib.error) as error:
        raise SourceError(f"cannot read the shortlist {file.path}: {error}") from error
    if content.startswith(_MAGIC.to_bytes(8, "little")):
        return _read_binary(file.path, content, len(source), len(target))
    return _read_text(file, content, source, target)


def _unpacked(content: bytes) -> bytes:
    """Raises OSError, EOFError or zlib.error if it is damaged, FileError if it is too large."""
    with gzip.open(io.BytesIO(content)) as opened:
        unpacked = opened.read(_MOST_BYTES + 1)
    if len(unpacked) > _MOST_BYTES:
        raise FileError("it is too large unpacked")
    return unpacked


def _read_binary(path: Path, content: bytes, num_source: int, num_target: int) -> ListedTokens:
    """The header, an offset for each source piece and the end, and the lists."""
    start = 8 * len(_HEADER)
    if len(content) < start:
        raise SourceError(f"the shortlist {path} ends in its header")
    header = dict(zip(_HEADER, np.frombuffer(content, "<u8", len(_HEADER)).tolist(), strict=True))
    num_offsets, num_tokens = header["num_offsets"], header["num_tokens"]
    if len(content) != start + 8 * num_offsets + 4 * num_tokens:
        raise SourceError(f"the shortlist {path} has {len(content)} bytes, its header says others")
    if checksum(content) != header["checksum"]:
        raise SourceError(f"the shortlist {path} does not have the checksum that its header says")
    if num_offsets != num_source + 1:
        raise SourceError(
            f"the shortlist {path} is of {num_offsets - 1} source pieces, the vocabulary has "
            f"{num_source}"
        )
    offsets = np.frombuffer(content, "<u8", num_offsets, start)
    tokens = np.frombuffer(content, "<u4", num_tokens, start + 8 * num_offsets)
    if tokens.max(initial=0) >= num_target:
        raise SourceError(
            f"the shortlist {path} has the target piece {tokens.max()}, the vocabulary has "
            f"{num_target}"
        )
    first = min(header["first"], num_target)
    return ListedTokens(first, offsets.astype(np.int64), tokens.astype(np.int32))


def checksum(content: bytes) -> int:
    """Of a binary's whole words behind the checksum itself, as boost::hash_combine."""
    most, found = 2**64 - 1, 0
    for word in np.frombuffer(content, "<u8", len(content) // 8 - 2, 16).tolist():
        found ^= word + 0x9E3779B9 + (found << 6) + (found >> 2) & most
    return found


def _read_text(
    file: ShortlistFile, content: bytes, source: Sequence[str], target: Sequence[str]
) -> ListedTokens:
    """Of equal translations the higher id is the likelier one."""
    first, best, threshold = file.limits()
    from_, to, shares = _links(file.path, content, source, target)
    is_usual = shares > threshold
    from_, to, shares = from_[is_usual], to[is_usual], shares[is_usual]
    order = np.lexsort((-to, -shares, from_))
    starts = np.searchsorted(from_[order], np.arange(len(source)))
    ranks = np.arange(len(order)) - starts[from_[order]]
    kept = order[ranks < best]
    counts = np.bincount(from_[kept], minlength=len(source))
    offsets = np.concatenate([[0], counts.cumsum()])
    return ListedTokens(first, offsets, to[kept].astype(np.int32))


def _links(
    path: Path, content: bytes, source: Sequence[str], target: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The source and target ids and the probability of each line, of a pair the last one."""
    fields = content.split()
    try:
        shares = np.array(fields[2::3]).astype(np.float32)
    except ValueError:
        shares = np.empty(0, np.float32)
    if not len(shares) or 3 * len(shares) != len(fields):
        raise SourceError(
            f"the shortlist {path} is neither a binary one of Marian nor a text of lines with a "
            "target piece, a source piece and a probability"
        )
    from_, to = _ids(fields[1::3], source), _ids(fields[::3], target)
    (lines,) = ((from_ >= 0) & (to >= 0)).nonzero()
    lines = lines[::-1]
    _, last = np.unique(from_[lines] * len(target) + to[lines], return_index=True)
    return from_[lines[last]], to[lines[last]], shares[lines[last]]


def _ids(pieces: Sequence[bytes], vocabulary: Sequence[str]) -> NDArray[np.int64]:
    """An unknown piece is "<unk>"; -1 for what is no piece."""
    ids = {piece.encode(): i for i, piece in enumerate(vocabulary)}
    unknown = ids.get(_UNKNOWN, -1)
    return np.array([-1 if piece == _ABSENT else ids.get(piece, unknown) for piece in pieces])
