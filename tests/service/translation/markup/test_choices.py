"""Messages of ICU: what is translated of their plurals and choices, and what stays."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from service.models.local_models import LocalModels
from service.observability.metrics import Metrics
from service.settings import Settings
from service.translation.job import TranslationJob
from service.translation.markup.coded_text import CodedText
from tests.service.fakes import FakeRunner, fake_model

BLOCKS = ("{{n, plural, =0 {{{}}} other {{{}}}}}", "{{g, select, male {{{}}} other {{{}}}}}")


def joined(parts: list[tuple[str, str]]) -> tuple[str, str]:
    """One message of the parts, each with its translation."""
    return " ".join(part for part, _ in parts), " ".join(part for _, part in parts)


WORDS = st.sampled_from(["a", "wide sea", "{name}", "has #", "end."]).map(
    lambda words: (words, words.upper().replace("{NAME}", "{name}"))
)
MESSAGES = st.recursive(
    WORDS,
    lambda inner: st.lists(
        WORDS
        | st.builds(
            lambda block, one, other: tuple(map(block.format, one, other)),
            st.sampled_from(BLOCKS),
            inner,
            inner,
        ),
        min_size=1,
        max_size=4,
    ).map(joined),
    max_leaves=8,
)


@settings(deadline=None, max_examples=100)
@given(st.lists(MESSAGES, min_size=1, max_size=5))
def test_all_words_of_a_message_are_translated_and_all_else_stays(
    messages: list[tuple[str, str]],
) -> None:
    sources, translations = zip(*messages, strict=True)
    assert asyncio.run(translated(sources)) == [*translations]
    texts = [CodedText.of([source]) for source in sources]
    assert asyncio.run(translated(texts)) == [*translations]


async def translated(texts: tuple[str, ...] | list[CodedText]) -> list[str]:
    """Their translations by a model that puts small letters in capitals."""
    models = LocalModels(Settings(), [fake_model(FakeRunner())], Metrics())
    (engine,) = models.pool.engines.values()
    engine.start()
    try:
        results = await models.dispatcher.translate(TranslationJob(texts, "en", "de"))
        return [result.coded.read() if result.coded else result.text for result in results]
    finally:
        engine.stop()
