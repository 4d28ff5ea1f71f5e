"""Feed received bytes to a parser in short slices, so parsing does not block the event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

_TURN_SECONDS = 0.002
_REST_SECONDS = 0.004
_logger = logging.getLogger(__name__)


class Parser(Protocol):
    """The protocol that parses the bytes of a connection."""

    def piece_bytes(self) -> int:
        """The size of the next piece."""
        ...

    def parse(self, piece: bytes) -> None: ...

    def is_wanted(self) -> bool:
        """Whether the next piece may be parsed."""
        ...

    def refuse_exhausted(self) -> None:
        """Called if there is no memory for parsing a piece."""
        ...


class _Ended:
    """Parses nothing."""

    def piece_bytes(self) -> int:
        return 0

    def parse(self, piece: bytes) -> None: ...

    def is_wanted(self) -> bool:
        return False

    def refuse_exhausted(self) -> None: ...


_ENDED = _Ended()


class PacedInput:
    """Passes received bytes to a parser in pieces, for a few milliseconds at a time and only while
    it wants them. Pauses the transport while bytes are buffered.

    One read may return 250 KB: tens of thousands of empty frames or pipelined requests.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, parser: Parser
    ) -> None:
        self._transport, self._loop, self._parser = transport, loop, parser
        self._pending = b""
        self._position = 0
        self._turn: asyncio.Handle | None = None
        self._is_dropped = False

    def push(self, data: bytes) -> None:
        """Buffer received bytes and parse them."""
        if self._is_dropped:
            return
        self._pending = self._pending[self._position :] + data
        self._position = 0
        if self._turn is None:
            self._parse_for_a_turn()

    def wake(self) -> None:
        """Schedule parsing, because the parser may want bytes again."""
        if self._turn is None and not self._is_dropped:
            self._turn = self._loop.call_soon(self._parse_for_a_turn)

    def drop(self) -> None:
        """Stop parsing; later bytes are read and discarded."""
        self._is_dropped = True
        self._transport.resume_reading()
        self._pending = b""
        if self._turn is not None:
            self._turn.cancel()

    def end(self) -> None:
        """Drop the input, and let go of the parser, which owns it: reference counting frees both,
        where a cycle would stay until the garbage collector comes."""
        self.drop()
        self._parser = _ENDED

    def _parse_for_a_turn(self) -> None:
        self._turn = None
        try:
            self._parse_pieces(time.perf_counter() + _TURN_SECONDS)
        except MemoryError:
            self._parser.refuse_exhausted()
        except Exception:
            _logger.exception("parsing failed; the connection is ended")
            self._transport.abort()
        if not self._is_dropped:
            self._pause_or_resume()

    def _parse_pieces(self, ends_seconds: float) -> None:
        while self.has_pending and self._parser.is_wanted():
            piece = self._pending[self._position : self._position + self._parser.piece_bytes()]
            self._position += len(piece)
            self._parser.parse(piece)
            if self.has_pending and time.perf_counter() > ends_seconds:
                self._turn = self._loop.call_later(_REST_SECONDS, self._parse_for_a_turn)
                return

    @property
    def has_pending(self) -> bool:
        """Whether received bytes wait to be parsed."""
        return self._position < len(self._pending)

    def _pause_or_resume(self) -> None:
        if self.has_pending or not self._parser.is_wanted():
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
