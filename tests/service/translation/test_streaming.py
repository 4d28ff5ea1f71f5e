"""Pieces of several sentences join to the text."""

from __future__ import annotations

import asyncio
import random
import re

from hypothesis import given
from hypothesis import strategies as st

from service.app import create_app
from service.settings import Settings
from service.translation.job import TranslationJob
from service.translation.results import TextPiece
from service.translation.sentence.parsed_text import ParsedText, Sentence
from service.translation.streaming import StreamAssembler
from tests.service.fakes import FakeRunner, FakeStreamDecoder, emptied, fake_model


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


@given(st.lists(st.text("a1", min_size=1, max_size=3), max_size=4), st.sampled_from(["", " ", "5"]))
def test_the_numbers_of_two_translations_do_not_touch(texts: list[str], gap: str) -> None:
    """Neither in a stream nor else: 9:21 and 15:13 of two parts of a sentence are no number."""
    parsed = ParsedText(item for _ in texts for item in (gap, Sentence("It is 5.")))
    growing = StreamAssembler(0, parsed.gaps, [FakeStreamDecoder() for _ in texts])
    for number, text in enumerate(texts):
        growing.finish(number, text)
    joined = "".join(map(str, parsed.join([[text] for text in texts])))
    assert "".join(piece.text for piece in growing.pieces()) == joined
    between = re.sub("(?<=1)[|](?=1)", " ", "|".join(texts)).replace("|", "")
    assert joined == (between if not gap else "".join(gap + text for text in texts))


async def test_pieces_that_wait_for_the_first_sentence_do_not_come_all_in_one_turn() -> None:
    """It ends last, and then all can be sent."""
    num_lines, largest, num_pieces = 2000, 0, 0
    app = create_app(
        Settings(cache_bytes=0, max_waiting_sentences=10_000),
        [fake_model(FakeRunner(max_slots=4096, max_rows=4096))],
    )

    def turn() -> None:
        nonlocal largest, num_pieces
        largest, num_pieces = max(largest, num_pieces), 0
        loop.call_soon(turn)

    loop = asyncio.get_running_loop()
    async with app.router.lifespan_context(app):
        text = "x" * 30 + "\na" * num_lines
        job = TranslationJob([text], "en", "de", beam_size=1)
        async with app.state.server.dispatcher.stream(job) as pieces:
            turn()
            told = ""
            async for piece in pieces:
                if isinstance(piece, TextPiece):
                    told += piece.text
                    num_pieces += 1
    assert told == text.upper()
    assert largest <= 64


async def test_a_stream_that_is_left_before_it_begins_gives_back_what_it_has() -> None:
    runner = FakeRunner()
    runner.gate.clear()
    app = create_app(Settings(), [fake_model(runner)])
    async with app.router.lifespan_context(app):
        state = app.state.server
        (model,) = state.models.pool.models.values()
        async with state.dispatcher.stream(TranslationJob(["hello there"], "en", "de")):
            assert model.resident.num_leases == 1
        assert (model.resident.num_leases, state.dispatcher.num_in_progress) == (0, 0)
        runner.gate.set()
        await emptied(model.engine)
