"""Questions that one process asks another, and their answers."""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from service.errors import NotReady
from service.processes.link import Link
from service.processes.messages import Answer, Ask, Hello, Outputs, State

Answers = Mapping[str, Callable[..., Any]]
"""What gives the answer to each question, or an awaitable of it."""
_decode = msgspec.msgpack.Decoder(Ask | Answer | Hello | State | Outputs).decode
_logger = logging.getLogger(__name__)


class Questions:
    """Those that wait for their answer."""

    def __init__(self, send: Callable[[Ask], None], to_whom: str) -> None:
        """`send`: to the other process, whose name for people is `to_whom`."""
        self._send, self._to_whom = send, to_whom
        self._answers: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._numbers = itertools.count()
        self._has_ended = False

    async def ask(self, question: str, kind: Any, *arguments: Any) -> Any:
        """The answer, which is of this kind. Raises NotReady if the process ends first."""
        if self._has_ended:
            raise self._not_running()
        number, answer = next(self._numbers), asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            self._send(Ask(number, question, list(arguments)))
            return msgspec.msgpack.decode(await answer, type=kind)
        finally:
            del self._answers[number]

    def tell(self, question: str, *arguments: Any) -> None:
        """Ask, but want no answer."""
        self._send(Ask(None, question, list(arguments)))

    def take(self, message: Answer) -> None:
        if (answer := self._answers.get(message.number)) and not answer.done():
            answer.set_result(message.value)

    def fail(self) -> None:
        """The process has ended."""
        self._has_ended = True
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(self._not_running())

    def _not_running(self) -> NotReady:
        return NotReady(f"{self._to_whom} is not running; try again later")


class Conversation:
    """Two processes that ask each other. Used on the event loop."""

    def __init__(self, answers: Answers, ended: Callable[[], None], with_whom: str) -> None:
        """`answers`: to what the other one asks; `ended` is called when it has ended."""
        self._answers, self._ended = answers, ended
        self._link = Link[Ask | Answer, Ask | Answer | Hello | State | Outputs](
            _decode, self._take, self._end
        )
        self._questions = Questions(self._link.send, with_whom)
        self.ask, self.tell = self._questions.ask, self._questions.tell

    async def connect(self, connected: socket.socket) -> None:
        await self._link.connect(connected)

    def close(self) -> None:
        self._link.close()

    def _take(self, message: Ask | Answer | Hello | State | Outputs) -> None:
        if isinstance(message, Answer):
            self._questions.take(message)
        elif isinstance(message, Ask):
            answer(message, self._answers, self._link)

    def _end(self) -> None:
        self._questions.fail()
        self._ended()


def answer(asked: Ask, answers: Answers, link: Link[Any, Any]) -> None:
    """Send the answer, now or later. A question without one ends the connection, so that nobody
    waits for it."""
    value = answers[asked.question](*asked.arguments)
    if isinstance(value, Awaitable):
        later = asyncio.ensure_future(value)
        later.add_done_callback(lambda done: _answer_later(asked, done, link))
    else:
        _send(asked, value, link)


def _answer_later(asked: Ask, done: asyncio.Future[Any], link: Link[Any, Any]) -> None:
    if done.cancelled():
        link.close()
    elif (error := done.exception()) is not None:
        _logger.error("a question has no answer: %s", asked.question, exc_info=error)
        link.close()
    else:
        _send(asked, done.result(), link)


def _send(asked: Ask, value: Any, link: Link[Any, Any]) -> None:
    """Send the answer, if it is wanted."""
    if asked.number is not None:
        link.send(Answer(asked.number, value))
