"""Pieces of several sentences join to the text; short work runs at once, long work in a thread."""

from __future__ import annotations

import random
import threading

from hypothesis import given
from hypothesis import strategies as st

from service.translation.streaming import StreamAssembler
from service.translation.text_work import text_work
from tests.service.fakes import FakeStreamDecoder


@given(
    texts=st.lists(st.text(max_size=8), max_size=5),
    gap=st.text(max_size=3),
    seed=st.integers(0, 1000),
)
def test_pieces_join_to_the_text_in_whatever_order_sentences_grow(
    texts: list[str], gap: str, seed: int
) -> None:
    rng = random.Random(seed)
    gaps = [gap + str(i) for i in range(len(texts) + 1)]
    growing = StreamAssembler(0, gaps, [FakeStreamDecoder() for _ in texts])
    told = list(growing.pieces())
    events = [(i, c) for i, text in enumerate(texts) for c in [*text, None]]
    while events:
        sentence = rng.choice(events)[0]
        event = next(e for e in events if e[0] == sentence)
        events.remove(event)
        if event[1] is None:
            growing.finish(sentence, texts[sentence])
        else:
            growing.grow(sentence, [ord(event[1])])
        told += growing.pieces()
    last = max(0, len(texts) - 1)
    for number in range(last + 1):
        expected = "".join(gaps[number : number + 1] + texts[number : number + 1])
        expected += gaps[-1] if texts and number == last else ""
        assert "".join(one.text for one in told if one.sentence == number) == expected
    assert [one.sentence for one in told] == sorted(one.sentence for one in told)


async def test_short_work_runs_at_once_and_long_work_in_another_thread() -> None:
    own = threading.get_ident()
    assert await text_work(20, threading.get_ident) == own
    assert await text_work(5_000, threading.get_ident) != own
