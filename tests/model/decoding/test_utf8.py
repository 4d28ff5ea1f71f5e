"""The law of byte pieces: whatever the scores are, what is generated is UTF-8."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Mapping, Sequence

import pytest

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from model.decoding.utf8 import OTHER, Utf8Tables
from model.network.transformer import Transformer
from model.runner import Runner
from tests.model.network.reference import EOS, assert_same, run_to_end, tiny_model, tiny_runner
from tests.model.test_runner import BACKENDS

FIRST = 4
BYTE_IDS = {FIRST + byte: byte for byte in range(256)}
WORDS = range(FIRST + 256, FIRST + 266)
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
SURROGATES = range(0xD800, 0xE000)
COPIED = {0x27E6, 0x27E7, *range(0xE000, 0xF900), *range(0xF0000, 0x110000)}
OPTIONS = [
    DecodingOptions(beam_size=1),
    DecodingOptions(beam_size=4, length_penalty=0.6, normalization="wu"),
    DecodingOptions(beam_size=5, n_best=5),
    DecodingOptions(beam_size=3, max_length=7),
    DecodingOptions(beam_size=2, max_length=1),
    DecodingOptions(beam_size=2, repetition_penalty=1.3, no_repeat_ngram_size=1),
    DecodingOptions(beam_size=1, no_repeat_ngram_size=2, max_length=30),
    DecodingOptions(beam_size=1, sampling=True, temperature=3.0, seed=3),
    DecodingOptions(beam_size=1, sampling=True, top_k=5, top_p=0.9, seed=11),
]
PREFIXES = [(), (), "é".encode(), b"\xe2\x82", b"\xf0", b"\xed", b"\xef\xbf", b"a\xf4"]


def byte_model(seed: int, bytes_bonus: float = 4.0, eos_bonus: float = 13.0) -> Transformer:
    """Of a vocabulary that is mostly bytes; those beyond ASCII are likelier than all else."""
    model = tiny_model(vocab_size=WORDS.stop, seed=seed)
    model.output.bias.data[FIRST : FIRST + 256] += bytes_bonus
    model.output.bias.data[FIRST + 128 : FIRST + 256] += bytes_bonus
    model.output.bias.data[EOS] += eos_bonus
    return model


def byte_runner(
    model: Transformer, backend: Backend, byte_ids: Mapping[int, int] = BYTE_IDS
) -> Runner:
    unknown = [token for token in BYTE_IDS if token not in byte_ids]
    return tiny_runner(model, backend=backend, byte_ids=byte_ids, more_control_ids=unknown)


def hostile_sentences(seed: int) -> list[SourceSentence]:
    """16, some with a prefix, if it leaves room for the end."""
    rng, sentences = random.Random(seed), []
    for _ in range(16):
        ids = [*(rng.choice(WORDS) for _ in range(rng.randint(1, 9))), EOS]
        options = rng.choice(OPTIONS)
        prefix = [FIRST + byte for byte in rng.choice(PREFIXES)]
        fits = len(prefix) < options.target_limit(len(ids))
        sentences.append(SourceSentence(ids, options, prefix=prefix if fits else []))
    return sentences


def spelled(ids: Sequence[int]) -> bytes:
    return bytes(itertools.chain.from_iterable([BYTE_IDS.get(i, ord("w"))] for i in ids))


def is_utf8(hypothesis: Hypothesis) -> bool:
    """Whole characters; one that a limit or a loop ended may end within its last."""
    data = spelled(hypothesis.ids)
    ends = (
        [len(data)] if hypothesis.finish_reason == "stop" else range(len(data) - 3, len(data) + 1)
    )
    return any(_decodes(data, end) for end in ends)


def _decodes(data: bytes, end: int) -> bool:
    try:
        text, rest = data[: max(end, 0)].decode("utf-8"), data[max(end, 0) :]
    except UnicodeDecodeError:
        return False
    is_unfinished = rest.decode("utf-8", "replace") in ("", REPLACEMENT)
    return REPLACEMENT not in text and is_unfinished


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_scores_are_only_utf8_is_generated(seed: int, backend: Backend) -> None:
    """The same by each backend."""
    model, sentences = byte_model(seed), hostile_sentences(seed)
    results = run_to_end(byte_runner(model, backend), sentences)
    found = [h for result in results for h in result.hypotheses]
    assert [result.error for result in results] == [None] * 16
    assert all(result.hypotheses for result in results)
    assert [spelled(h.ids) for h in found if not is_utf8(h)] == []
    assert any(max(spelled(h.ids), default=0) > 0x7F for h in found if h.finish_reason == "stop")
    assert_same(results, run_to_end(byte_runner(model, "eager"), sentences), 1e-3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(2))
def test_a_vocabulary_that_lacks_bytes_never_gets_stuck_within_a_character(
    seed: int, backend: Backend
) -> None:
    """Nothing is begun that cannot be ended, so that no sentence fails."""
    known = set(random.Random(seed).sample(range(256), 60)) | {0xE2, 0x82, 0xF0}
    byte_ids = {i: byte for i, byte in BYTE_IDS.items() if byte in known}
    runner = byte_runner(byte_model(seed), backend, byte_ids)
    sentences = [dataclasses.replace(s, prefix=()) for s in hostile_sentences(seed)]
    results = run_to_end(runner, sentences)
    assert [result.error for result in results] == [None] * 16
    assert all(is_utf8(h) for result in results for h in result.hypotheses)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", ["⟦", "\ue000", "\uf8ff", "\U000f0000", "\U0010fffd"])
def test_a_prefix_may_have_what_is_else_only_copied(text: str, backend: Backend) -> None:
    ids = tuple(FIRST + byte for byte in text.encode())
    options = DecodingOptions(beam_size=4, n_best=4, max_length=12)
    sentence = SourceSentence([WORDS.start, EOS], options, prefix=ids)
    (result,) = run_to_end(byte_runner(byte_model(2), backend), [sentence])
    assert all(text.encode() in spelled(h.ids) and is_utf8(h) for h in result.hypotheses)


def accepts(found: Utf8Tables, data: bytes) -> bool:
    """Whether these bytes may follow each other, and the sentence end after them."""
    state = 0
    for column in (*data, OTHER):
        if not found.is_allowed[state, column]:
            return False
        state = int(found.next_state[state, column])
    return True


def test_characters_can_be_spelled_but_those_lost_or_copied_and_nothing_else() -> None:
    """Every two bytes, and many of three and four, against Python's own decoder."""
    found, rng = Utf8Tables.of(BYTE_IDS, WORDS.stop), random.Random(5)
    edges = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xFEFF, 0xFFFC, 0xFFFD, 0xFFFE]
    edges += [0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF]
    edges += [0x27E5, 0x27E6, 0x27E7, 0x27E8, 0xE000, 0xF8FF, 0xF900, 0xEFFFF, 0xF0000, 0x100000]
    edges += [code for code in rng.sample(range(0x110000), 3000) if code not in SURROGATES]
    leads, tails = [*range(0xE0, 0xF5)], [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
    candidates = [chr(code).encode() for code in edges]
    candidates += [bytes(pair) for pair in itertools.product(range(256), repeat=2)]
    candidates += [bytes(three) for three in itertools.product(leads, tails, tails)]
    candidates += [bytes([rng.choice(leads), *rng.choices(tails, k=3)]) for _ in range(20_000)]
    for data in candidates:
        assert accepts(found, data) == is_free(data.decode("utf-8", "replace")), data


def is_free(text: str) -> bool:
    """Whether it has neither U+FFFC nor U+FFFD, and nothing that is only copied."""
    copied = (code in COPIED for code in map(ord, text))
    return {"\ufffc", REPLACEMENT}.isdisjoint(text) and not any(copied)
