"""Messages between processes, in whatever pieces they arrive."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from service.processes.link import Link

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
