"""Laws of the runner: cached, batched, interleaved decoding equals decoding alone."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import random
import sys
from types import FrameType
from typing import Any

import pytest
import torch

from model.backends.selection import Backend
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.network.transformer import Transformer
from model.offline import translate_all
from model.runner import Runner
from model.trials.step_timing import measure_step_cost
from tests.model.network.reference import (
    EOS,
    VARIANTS,
    assert_same,
    greedy,
    run_at_random,
    run_to_end,
    teacher_forced,
    tiny_model,
    tiny_runner,
)

BACKENDS: tuple[Backend, ...] = ("native", "eager", "graphs")
KINDS: list[tuple[Precision, Backend]] = [
    ("int8", "native"),
    *(("float32", backend) for backend in BACKENDS),
]
OVERFLOWING = 12
SOURCES = [[5, 7, 9, EOS], [4, EOS], [10, 11, 12, 4, 6, 8, EOS], [6, 6, EOS], [12, 5, 8, 9, EOS]]


def mixed_sentences(count: int, seed: int) -> list[SourceSentence]:
    rng = random.Random(seed)
    options = [
        DecodingOptions(beam_size=1),
        DecodingOptions(beam_size=4, length_penalty=0.6, normalization="wu"),
        DecodingOptions(beam_size=3, n_best=3),
        DecodingOptions(beam_size=7, max_length=9),
        DecodingOptions(beam_size=2, repetition_penalty=1.3, no_repeat_ngram_size=2),
        DecodingOptions(beam_size=1, sampling=True, top_p=0.9, seed=3),
        DecodingOptions(beam_size=1, sampling=True, top_k=5, temperature=0.7, seed=11),
    ]
    return [
        SourceSentence(
            [*(rng.randint(4, 12) for _ in range(rng.randint(1, 20))), EOS],
            rng.choice(options),
            prefix=(5, 7) if rng.random() < 0.2 else (),
        )
        for _ in range(count)
    ]


def texts(results: list[Finished]) -> list[list[tuple[int, ...]]]:
    return [[tuple(h.ids) for h in result.hypotheses] for result in results]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_cached_greedy_search_gives_what_teacher_forcing_gives(
    variant: dict[str, Any], backend: Backend
) -> None:
    """Law 2, for rows at different positions of sources of different lengths."""
    model = tiny_model(seed=6, **variant)
    options = DecodingOptions(beam_size=1, max_length=20)
    runner = tiny_runner(model, backend=backend)
    results = run_to_end(runner, [SourceSentence(src, options) for src in SOURCES])
    for src, result in zip(SOURCES, results, strict=True):
        best = result.hypotheses[0]
        assert best.ids == greedy(model, src, 20)
        assert best.log_probs == pytest.approx(teacher_forced(model, src, best), abs=1e-4)


@pytest.mark.parametrize(("precision", "backend"), KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sentence_translates_alike_alone_and_in_a_crowd(
    variant: dict[str, Any], precision: Precision, backend: Backend
) -> None:
    """Law 5. Scores differ by less than the documentation says; our own code's are equal where no
    sentence needs the logits."""
    runner = tiny_runner(tiny_model(seed=6, **variant), precision=precision, backend=backend)
    mixed = mixed_sentences(14, seed=1)
    plain = [
        index
        for index, sentence in enumerate(mixed)
        if not (sentence.prefix or sentence.options.sampling or sentence.options.is_guarded)
    ]
    alone = [run_to_end(runner, [sentence])[0] for sentence in mixed]
    for crowd, tolerance in ((range(14), 1e-4), (plain, 0.0 if backend == "native" else 1e-4)):
        found = run_to_end(runner, [mixed[index] for index in crowd])
        assert_same(found, [alone[index] for index in crowd], tolerance)


def joining_model(seed: int, autoregression: str) -> Transformer:
    return tiny_model(seed=seed, autoregression=autoregression, has_shortlist=seed == 2)


@functools.cache
def joining_alone(
    seed: int, autoregression: str, precision: Precision, backend: Backend
) -> list[Finished]:
    """What each sentence gives alone, which does not depend on who takes part in a step."""
    model = joining_model(seed, autoregression)
    runner = tiny_runner(model, precision=precision, backend=backend)
    return [run_to_end(runner, [sentence])[0] for sentence in mixed_sentences(40, seed)]


@pytest.mark.parametrize(("precision", "backend"), KINDS)
@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize(
    ("seed", "autoregression"), [(0, "attention"), (2, "attention"), (0, "ssru")]
)
def test_sentences_that_join_sit_out_and_leave_at_any_step_translate_as_alone(
    seed: int, autoregression: str, share: float, precision: Precision, backend: Backend
) -> None:
    """Laws 3, 6 and 7. A stream, begun late or not, gives the first tokens of the result early."""
    model, rng = joining_model(seed, autoregression), random.Random(seed)
    sentences = [
        dataclasses.replace(sentence, is_streamed=rng.random() < 0.3)
        for sentence in mixed_sentences(40, seed)
    ]
    alone = joining_alone(seed, autoregression, precision, backend)
    runner = tiny_runner(model, max_slots=6, max_rows=20, precision=precision, backend=backend)
    run = run_at_random(runner, sentences, rng, share, streamed=0.2, abandoned=0.05)
    assert len(run.results) > 20
    for index, result in run.results.items():
        assert texts([result]) == texts([alone[index]])
        told = list(itertools.chain(*run.streamed[index]))
        assert told == [*result.hypotheses[0].ids, EOS][: len(told)]
    is_wide = [sentence.options.beam_size > 1 for sentence in sentences]
    parts = {(is_wide[index], len(steps) > 1) for index, steps in run.streamed.items()}
    assert {(True, True), (False, True)} <= parts
    assert (runner.num_free_slots, runner.num_free_rows, runner.num_running) == (6, 20, 0)


def test_a_short_sentence_admitted_late_overtakes_a_long_one() -> None:
    model = tiny_model()
    model.output.bias.data[EOS] = -50.0
    runner = tiny_runner(model)
    long = SourceSentence([5, EOS], DecodingOptions(beam_size=1, max_length=40))
    first = runner.admit([long])[0]
    for _ in range(5):
        assert runner.step().finished == []
    late = SourceSentence([6, EOS], DecodingOptions(beam_size=4, max_length=3))
    second = runner.admit([late])[0]
    ended = [f.handle for _ in range(40) for f in runner.step().finished]
    assert ended == [second, first]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_host_works_no_more_for_many_rows_than_for_few(backend: Backend) -> None:
    """Law 8: python calls of a step in which nobody ends, counted."""
    counts = []
    for num_sentences in (2, 14):
        model = tiny_model()
        model.output.bias.data[EOS] = -50.0
        runner = tiny_runner(model, backend=backend)
        options = DecodingOptions(beam_size=4, max_length=30)
        runner.admit([SourceSentence([5, 7, EOS], options) for _ in range(num_sentences)])
        for _ in range(4):
            runner.step()
        counts.append(_calls_of(runner))
    assert counts[0] == counts[1]


def _calls_of(runner: Runner) -> int:
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        runner.step()
    finally:
        sys.setprofile(None)
    return calls


@torch.inference_mode()
def test_the_encoder_and_the_projections_of_its_memory_run_at_admission_alone() -> None:
    """Law 1: what they compute lies in the cache, so that nobody misses their weights later."""
    model, sentences = tiny_model(seed=4), mixed_sentences(9, seed=5)
    expected = texts(run_to_end(tiny_runner(model, backend="eager"), sentences))
    runner = tiny_runner(model, backend="eager")
    handles, results = runner.admit(sentences), dict[int, Finished]()
    attention = [layer.memory_attention for layer in model.decoder_layers]
    for module in (*model.encoder_layers, *(a.k_proj for a in attention)):
        for weight in module.parameters():
            weight.fill_(float("nan"))
    for module in attention:
        module.v_proj.weight.fill_(float("nan"))
    while runner.num_running:
        results |= {f.handle: f for f in runner.step().finished}
    assert texts([results[handle] for handle in handles]) == expected


@pytest.mark.parametrize("seed", range(6))
def test_every_backend_gives_the_same_for_any_options(seed: int) -> None:
    """And whole prefixes, within the limits, with finite scores."""
    rng, model = random.Random(seed), tiny_model(seed=seed, has_shortlist=seed % 2 == 1)
    sentences = [any_sentence(rng) for _ in range(24)]
    found = {
        backend: run_at_random(tiny_runner(model, backend=backend), sentences, rng).results
        for backend in BACKENDS
    }
    for index, sentence in enumerate(sentences):
        expected = found["eager"][index]
        assert expected.hypotheses or expected.error
        for hypothesis in expected.hypotheses:
            assert tuple(hypothesis.ids[: len(sentence.prefix)]) == sentence.prefix
            assert len(hypothesis.ids) <= sentence.target_limit(48)
            assert all(map(math.isfinite, [hypothesis.score, *hypothesis.log_probs]))
        for results in found.values():
            assert_same([results[index]], [expected])


def any_sentence(rng: random.Random) -> SourceSentence:
    """Every bound of every option, and a prefix of every length that fits."""
    is_sampling = rng.random() < 0.3
    beam_size = 1 if is_sampling else rng.choice([1, 2, 4, 16, 20])
    options = DecodingOptions(
        beam_size=beam_size,
        n_best=rng.randint(1, min(beam_size, 4)),
        length_penalty=rng.choice([0.0, 1.0, 10.0]),
        normalization=rng.choice(["wu", "average"]),
        lookahead=rng.choice([None, 0, 3, 100_000]),
        sampling=is_sampling,
        temperature=rng.choice([0.01, 1.0, 100.0]),
        top_k=rng.choice([0, 1, 13, 2**31 - 1]),
        top_p=rng.choice([0.0, 1e-300, 0.5, 1.0]),
        seed=rng.choice([0, 2**63 - 1]),
        max_length=rng.choice([None, 1, 2, 48, 100_000]),
        length_ratio=rng.choice([0.1, 2.0, 100.0]),
        length_margin=rng.choice([1, 16, 100_000]),
        repetition_penalty=rng.choice([0.1, 1.0, 10.0]),
        no_repeat_ngram_size=rng.choice([0, 1, 2, 20]),
    )
    ids = [rng.randint(4, 12) for _ in range(rng.choice([1, 5, 32]))]
    capacity = SourceSentence(ids, options).target_limit(48) - 1
    prefix = tuple(rng.choice([4, 5, 6]) for _ in range(rng.choice([0, capacity // 2, capacity])))
    return SourceSentence(ids, options, rng.random() < 0.5, prefix)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (SourceSentence([], DecodingOptions()), "1 to 32 source tokens, got 0"),
        (SourceSentence([5] * 33, DecodingOptions()), "1 to 32 source tokens, got 33"),
        (SourceSentence([5], DecodingOptions(beam_size=9)), "beam_size must be at most 8, got 9"),
        (SourceSentence([5], DecodingOptions(max_length=9), prefix=[5] * 9), "less than 9 tokens"),
        (SourceSentence([5], DecodingOptions(beam_size=8)), "no room"),
    ],
)
def test_what_cannot_be_admitted_is_refused_whole(sentence: SourceSentence, message: str) -> None:
    runner = tiny_runner(tiny_model(), max_slots=4, max_rows=8)
    with pytest.raises(ValueError, match=message):
        runner.admit([SourceSentence([5, EOS], DecodingOptions(beam_size=1)), sentence])
    assert (runner.num_free_slots, runner.num_free_rows) == (4, 8)


def test_translate_all_keeps_the_order() -> None:
    model = tiny_model(seed=7)
    sentences = mixed_sentences(30, seed=9)
    alone = [run_to_end(tiny_runner(model), [s])[0] for s in sentences]
    results = translate_all(tiny_runner(model, max_slots=4, max_rows=16), sentences)
    assert texts(results) == texts(alone)


def overflowing_model(place: str, autoregression: str = "attention") -> Transformer:
    """One in whose encoder or decoder the numbers overflow at a token."""
    model = tiny_model(seed=3, shared_embeddings="none", autoregression=autoregression)
    embedding = model.src_embedding if place == "encoder" else model.tgt_embedding
    embedding.tokens.weight.data[OVERFLOWING] = float("inf")
    if place == "decoder":  # never generated, only forced by a prefix
        model.output.bias.data[OVERFLOWING] = -1e4
    return model


def bad_sentence(place: str, beam_size: int = 4) -> SourceSentence:
    options, source = DecodingOptions(beam_size=beam_size), [*range(5, 12), 4, 5, 6, 7, EOS]
    if place == "encoder":
        source[1] = OVERFLOWING
        return SourceSentence(source, options, is_aligned=True)
    return SourceSentence(source, options, prefix=(5, 7, 8, OVERFLOWING, 7), is_aligned=True)


def good_sentence(rng: random.Random) -> SourceSentence:
    source = [rng.randint(4, 11) for _ in range(rng.randint(1, 16))]
    return SourceSentence([*source, EOS], DecodingOptions(beam_size=rng.choice([1, 2, 4])))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("place", ["encoder", "decoder"])
@pytest.mark.parametrize(
    ("seed", "autoregression"), [(0, "attention"), (1, "attention"), (1, "ssru")]
)
def test_sentences_that_overflow_among_others_fail_alone(
    seed: int, autoregression: str, place: str, backend: Backend
) -> None:
    """Law 9. They join, end, are cancelled, and leave holes that others move into. Masked attention
    multiplies a stale value by 0, and 0 x NaN is NaN: none stays where another sentence reads."""
    rng = random.Random(seed)
    model = overflowing_model(place, autoregression)
    sentences = [
        bad_sentence(place, rng.choice([1, 3])) if rng.random() < 0.25 else good_sentence(rng)
        for _ in range(16)
    ]
    reference = tiny_runner(model, max_slots=1, max_rows=4, backend="native")
    alone = [run_to_end(reference, [sentence])[0] for sentence in sentences]
    runner = tiny_runner(model, max_slots=5, max_rows=14, backend=backend)
    found = run_at_random(runner, sentences, rng, abandoned=0.15).results
    assert_same(list(found.values()), [alone[i] for i in found])
    assert sum(result.error is not None for result in alone) > 1


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize(("max_slots", "max_rows"), [(8, 64), (1, 4), (2, 2)])
def test_measured_costs_are_above_zero_and_leave_the_runner_idle(
    backend: Backend, max_slots: int, max_rows: int
) -> None:
    runner = tiny_runner(tiny_model(), backend=backend, max_slots=max_slots, max_rows=max_rows)
    cost = measure_step_cost(runner, DecodingOptions(beam_size=4, max_length=8))
    assert all(value > 0 for value in vars(cost).values())
    assert cost.fixed + 64 * cost.per_row < 1.0
    assert (runner.num_running, runner.num_free_slots) == (0, max_slots)
    assert runner.num_free_rows == max_rows
