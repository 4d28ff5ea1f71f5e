"""Received bytes wait their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from service.http.protocols.input import PacedInput

PIECE = 10


class Transport:
    """Whether it is read from, and whether it was aborted."""

    def __init__(self) -> None:
        self.is_reading, self.is_aborted = True, False

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def abort(self) -> None:
        self.is_aborted = True


class Parser:
    """Each piece takes `milliseconds` by the clock that the input looks at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, milliseconds: float = 0.0) -> None:
        self.pieces: list[bytes] = []
        self.wants_more = True
        self.num_exhausted = 0
        self._milliseconds, self._seconds = milliseconds, 0.0
        monkeypatch.setattr("service.http.protocols.input.time.perf_counter", lambda: self._seconds)

    def piece_bytes(self) -> int:
        return PIECE

    def is_wanted(self) -> bool:
        return self.wants_more

    def refuse_exhausted(self) -> None:
        self.num_exhausted += 1

    def parse(self, piece: bytes) -> None:
        self._seconds += self._milliseconds / 1000
        self.pieces.append(piece)


def run(
    parser: Parser,
    scenario: Callable[[PacedInput, Transport], Any],
) -> None:
    async def start() -> None:
        transport = Transport()
        paced = PacedInput(cast(Any, transport), asyncio.get_running_loop(), parser)
        await scenario(paced, transport)

    asyncio.run(start())


def test_a_slow_parser_lets_the_loop_go_on_and_is_sent_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parser, data = Parser(monkeypatch, milliseconds=1), bytes(range(200))

    async def scenario(paced: PacedInput, transport: Transport) -> None:
        paced.push(data)
        assert len(parser.pieces) == 3
        assert not transport.is_reading
        turns = 0
        while not transport.is_reading:
            before = len(parser.pieces)
            await asyncio.sleep(0.001)
            assert len(parser.pieces) - before <= 3
            turns += 1
        assert turns > 5
        assert b"".join(parser.pieces) == data

    run(parser, scenario)


def test_what_comes_meanwhile_stays_behind_what_came_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parser = Parser(monkeypatch, milliseconds=5)

    async def scenario(paced: PacedInput, transport: Transport) -> None:
        paced.push(b"a" * 15)
        paced.push(b"b" * 15)
        assert b"".join(parser.pieces) == b"a" * 10
        while not transport.is_reading:
            await asyncio.sleep(0.001)
        assert b"".join(parser.pieces) == b"a" * 15 + b"b" * 15

    run(parser, scenario)


def test_nothing_is_parsed_or_read_while_no_more_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = Parser(monkeypatch)

    async def scenario(paced: PacedInput, transport: Transport) -> None:
        parser.wants_more = False
        paced.push(b"x" * 15)
        paced.wake()
        await asyncio.sleep(0.01)
        assert parser.pieces == []
        assert not transport.is_reading
        parser.wants_more = True
        paced.wake()
        await asyncio.sleep(0)
        assert b"".join(parser.pieces) == b"x" * 15
        assert transport.is_reading

    run(parser, scenario)


def test_dropped_input_is_read_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = Parser(monkeypatch, milliseconds=5)

    async def scenario(paced: PacedInput, transport: Transport) -> None:
        paced.push(b"x" * 30)
        paced.drop()
        paced.push(b"y" * 30)
        paced.wake()
        await asyncio.sleep(0.02)
        assert parser.pieces == [b"x" * 10]
        assert transport.is_reading

    run(parser, scenario)


def test_a_parser_that_breaks_ends_the_connection_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Parser):
        def parse(self, piece: bytes) -> None:
            raise RuntimeError("broken")

    async def scenario(paced: PacedInput, transport: Transport) -> None:
        paced.push(b"x")
        assert transport.is_aborted

    run(Broken(monkeypatch), scenario)
    assert "parsing failed" in caplog.text


def test_a_parser_without_memory_is_not_taken_for_a_broken_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Exhausted(Parser):
        def parse(self, piece: bytes) -> None:
            raise MemoryError

    parser = Exhausted(monkeypatch)

    async def scenario(paced: PacedInput, transport: Transport) -> None:
        paced.push(b"abc")
        assert parser.num_exhausted == 1
        assert not transport.is_aborted

    run(parser, scenario)
