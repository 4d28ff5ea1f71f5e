"""Messages between processes, in whatever pieces they arrive."""

from __future__ import annotations

import asyncio
import socket

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import NotReady
from service.processes.link import Link
from service.processes.questions import Conversation
from tests.service.fakes import eventually

_SIZE = 1_000_000


class Copied(bytearray):
    """Counts the bytes that are copied out of it."""

    num_copied = 0

    def __bytes__(self) -> bytes:
        self.num_copied += len(self)
        return memoryview(self).tobytes()


def framed(message: bytes) -> bytes:
    packed = msgspec.msgpack.encode(message)
    return len(packed).to_bytes(4, "little") + packed


def link_to(taken: list[bytes]) -> Link[bytes, bytes]:
    return Link(msgspec.msgpack.Decoder(bytes).decode, taken.append, lambda: None)


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(1, 400), min_size=1))
def test_messages_arrive_whole_and_in_order(sent: list[bytes], pieces: list[int]) -> None:
    taken: list[bytes] = []
    link, rest = link_to(taken), b"".join(map(framed, sent))
    while rest:
        for size in pieces:
            link.data_received(rest[:size])
            rest = rest[size:]
    assert taken == sent


def test_a_long_message_in_many_pieces_is_copied_a_few_times_only() -> None:
    taken: list[bytes] = []
    link, sent = link_to(taken), framed(bytes(_SIZE))
    link._received = copied = Copied()
    for begin in range(0, len(sent), 1000):
        link.data_received(sent[begin : begin + 1000])
    assert taken == [bytes(_SIZE)]
    assert copied.num_copied < 3 * _SIZE


@pytest.mark.parametrize(
    ("question", "arguments"), [("later", []), ("now", []), ("later", [object()])]
)
async def test_what_cannot_be_sent_ends_the_connection_and_nobody_waits(
    question: str, arguments: list[object]
) -> None:
    """A question, or its answer."""

    async def later() -> object:
        return object()

    is_over, ended = asyncio.Event(), list[str]()
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    asking = Conversation({}, lambda: ended.append("asking"), "the other")
    answers = {"later": later, "now": object, "never": is_over.wait}
    answering = Conversation(answers, lambda: ended.append("answering"), "the other")
    for one, connected in zip((asking, answering), socket.socketpair(), strict=True):
        await one.connect(connected)
    waiting = asyncio.ensure_future(asking.ask("never", bool))
    await asyncio.sleep(0)
    with pytest.raises((NotReady, TypeError)):
        async with asyncio.timeout(30):
            await asking.ask(question, int, *arguments)
    await eventually(lambda: sorted(ended) == ["answering", "asking"])
    with pytest.raises(NotReady):
        await waiting
    is_over.set()
