"""The laws of the compiled step: options give what the tensors give, and only terms need them."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import pytest

from model.backends import selection
from model.backends.native import NativeNetwork, NativeSearch
from model.decoding.options import DecodingOptions
from model.decoding.search import Search
from model.decoding.sentence import Finished, SourceSentence, Term, TermForm
from model.decoding.step import Step
from tests.model.decoding.test_utf8 import byte_model, byte_runner, hostile_sentence
from tests.model.network.reference import EOS, run_to_end, tiny_model, tiny_runner

TERM = Term((TermForm((6, 8, 11)),), 1)
PLAIN = SourceSentence([5, 7, 9, 4, EOS], DecodingOptions(beam_size=2, max_length=20))


def any_options(rng: random.Random) -> DecodingOptions:
    is_drawn = rng.random() < 0.4
    return DecodingOptions(
        beam_size=1 if is_drawn else rng.randint(1, 5),
        sampling=is_drawn,
        seed=rng.getrandbits(63),
        temperature=rng.choice([0.3, 1.0, 1.7]),
        top_k=rng.choice([0, 1, 3, 500]),
        top_p=rng.choice([0.0, 0.4, 0.95, 1.0]),
        repetition_penalty=rng.choice([1.0, 1.0, 1.3, 0.8]),
        no_repeat_ngram_size=rng.choice([0, 0, 1, 2, 4]),
        max_length=rng.choice([1, 5, 20, 30]),
    )


def any_sentence(rng: random.Random) -> SourceSentence:
    options = any_options(rng)
    ids = [*rng.choices(range(4, 13), k=rng.randint(1, 9)), EOS]
    limit = options.max_length or 1
    prefix = rng.choices(range(4, 13), k=rng.choice([0, 0, min(3, limit - 1)]))
    has_terms = rng.random() < 0.2 and len(prefix) + 3 <= limit
    return SourceSentence(ids, options, prefix=prefix, terms=(TERM,) if has_terms else ())


def by_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let native runners take their steps operation by operation."""
    monkeypatch.setattr(selection, "NativeStep", Step)


def assert_same(found: Sequence[Finished], expected: Sequence[Finished]) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.error == theirs.error
        assert [h.ids for h in mine.hypotheses] == [h.ids for h in theirs.hypotheses]
        for a, b in zip(mine.hypotheses, theirs.hypotheses, strict=True):
            assert a.log_probs == pytest.approx(b.log_probs, abs=1e-4)
            assert a.score == pytest.approx(b.score, abs=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_any_options_give_what_the_tensors_give(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng, model = random.Random(seed), tiny_model(seed=seed)
    sentences = [any_sentence(rng) for _ in range(14)]
    found = run_to_end(tiny_runner(model, backend="native", max_rows=80), sentences)
    by_tensors(monkeypatch)
    expected = run_to_end(tiny_runner(model, backend="native", max_rows=80), sentences)
    assert_same(found, expected)


@pytest.mark.parametrize("seed", range(6))
def test_bytes_and_options_together_give_what_the_tensors_give(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng, model = random.Random(seed), byte_model(seed)
    sentences = [hostile_sentence(rng) for _ in range(10)]
    found = run_to_end(byte_runner(model, "native"), sentences)
    by_tensors(monkeypatch)
    assert_same(found, run_to_end(byte_runner(model, "native"), sentences))


@pytest.mark.parametrize("seed", range(4))
def test_streams_of_any_options_are_the_same_tokens(seed: int) -> None:
    """What is streamed is a beginning of the result, with and without terms in the batch."""
    rng = random.Random(seed)
    sentences = [dataclasses.replace(any_sentence(rng), is_streamed=True) for _ in range(12)]
    runner = tiny_runner(tiny_model(seed=seed), backend="native", max_rows=80)
    handles = runner.admit(sentences)
    streamed: dict[int, list[int]] = {handle: [] for handle in handles}
    while runner.num_running:
        result = runner.step()
        for handle, ids in result.streamed.items():
            streamed[handle] += ids
        for ended in result.finished:
            ids = ended.hypotheses[0].ids
            assert streamed[ended.handle] == ids[: len(streamed[ended.handle])]
    assert any(streamed.values())


def test_only_terms_leave_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    choose = Search.choose

    def recorded(self: Search, logits: object, table: object, *others: object) -> object:
        rows.append(len(table.rows))  # type: ignore[attr-defined]
        return choose(self, logits, table, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(NativeSearch, "choose", recorded)
    rng = random.Random(3)
    others = [dataclasses.replace(any_sentence(rng), terms=()) for _ in range(12)]
    runner = tiny_runner(tiny_model(), backend="native", max_rows=80)
    run_to_end(runner, others)
    assert not rows
    run_to_end(runner, [*others, dataclasses.replace(PLAIN, terms=(TERM,))])
    assert rows
    assert set(rows) == {PLAIN.options.beam_size}


def test_a_step_of_terms_alone_calls_no_compiled_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise AssertionError("there is nobody to step")

    monkeypatch.setattr(NativeNetwork, "decode", refused)
    runner = tiny_runner(tiny_model(), backend="native")
    (result,) = run_to_end(runner, [dataclasses.replace(PLAIN, terms=(TERM,))])
    assert result.hypotheses
