"""Laws of the runner: cached, batched, interleaved decoding equals decoding alone."""

from __future__ import annotations

import dataclasses
import math
import random
import sys
from types import FrameType

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from model.backends.pytorch.cache import MemoryCache, RowCache, StepRows
from model.backends.selection import Backend
from model.decoding.decoder import Precision, StepShape
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.network.layers import KV
from model.offline import translate_all
from model.runner import Runner
from tests.model.backends.test_networks import TABLE
from tests.model.network.reference import (
    BOS,
    EOS,
    run_joining_at_random,
    run_to_end,
    tiny_model,
    tiny_runner,
)

BACKENDS: tuple[Backend, ...] = ("native", "eager", "graphs")
VARIANTS: list[dict[str, object]] = [
    {},
    {"norm": "pre", "activation": "gelu"},
    {"positions": "alibi", "activation": "silu"},
    {"positions": "learned", "shared_embeddings": "none"},
    {"n_encoder_layers": 4, "n_decoder_layers": 1, "shared_embeddings": "target"},
    {"norm": "pre", "positions": "learned", "embedding_norm": True},
    {"norm": "pre", "sinusoids": "tensor2tensor", "position_offset": 2},
]


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


@pytest.mark.parametrize("variant", VARIANTS)
def test_cached_steps_give_the_logits_of_one_full_pass(variant: dict[str, object]) -> None:
    """Rows at different positions, two hypotheses over one memory, against teacher forcing."""
    model = tiny_model(**variant)
    config = model.config
    like = model.output.weight
    src = torch.tensor([[5, 7, 9, EOS, 0, 0], [4, 6, 8, 10, 12, EOS]])
    tgt = torch.tensor([[BOS, 5, 6, 7, 8], [BOS, 9, 9, 4, 11], [BOS, 12, 4, 6, 10]])
    rows, memory = RowCache(config, 3, 8, like), MemoryCache(config, 2, 8, like)
    with torch.inference_mode():
        by_layer = model.project_memory(model.encode(src))
        encoded = KV(*(torch.stack(parts) for parts in zip(*by_layer, strict=True)))
        memory.store(torch.tensor([0, 1]), encoded, torch.tensor([4, 6]))
        expected = model(src[[0, 0, 1]], tgt)
        for t in range(5):
            at = torch.full((3,), t)
            step = StepRows(rows, memory, TABLE, at, StepShape(target=t + 1, source=6))
            torch.testing.assert_close(model.step(tgt[:, t], step), expected[:, t])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sentence_translates_alike_alone_and_in_a_crowd(
    variant: dict[str, object], backend: Backend
) -> None:
    model = tiny_model(seed=6, **variant)
    sentences = mixed_sentences(12, seed=1)
    alone = [run_to_end(tiny_runner(model, backend="eager"), [s])[0] for s in sentences]
    assert texts(run_to_end(tiny_runner(model, backend=backend), sentences)) == texts(alone)


@pytest.mark.parametrize(
    ("precision", "backend"),
    [("float32", "eager"), ("float32", "graphs"), ("float32", "native"), ("int8", "native")],
)
@pytest.mark.parametrize("seed", range(4))
def test_sentences_that_join_and_leave_at_any_step_translate_as_alone(
    seed: int, precision: Precision, backend: Backend
) -> None:
    model = tiny_model(seed=seed)
    rng = random.Random(seed)
    sentences = mixed_sentences(25, seed)

    def make_runner(**capacity: int) -> Runner:
        return tiny_runner(model, precision=precision, backend=backend, **capacity)

    alone = [run_to_end(make_runner(), [s])[0] for s in sentences]
    found = run_joining_at_random(make_runner(max_slots=6, max_rows=20), sentences, rng)
    assert texts(found) == texts(alone)


@pytest.mark.parametrize("backend", BACKENDS[:2])
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_that_begins_late_begins_with_the_first_token(seed: int, backend: Backend) -> None:
    rng, model = random.Random(seed), tiny_model(seed=seed)
    sentences = mixed_sentences(12, seed)
    alone = [run_to_end(tiny_runner(model, backend=backend), [s])[0] for s in sentences]
    runner = tiny_runner(model, backend=backend, max_slots=12, max_rows=90)
    handles = runner.admit(sentences)
    streamed: dict[int, list[int]] = {handle: [] for handle in handles}
    results: dict[int, Finished] = {}
    while len(results) < len(sentences):
        if rng.random() < 0.5:
            runner.stream(rng.choice(handles))
        result = runner.step()
        for handle, ids in result.streamed.items():
            streamed[handle] += ids
        results |= {finished.handle: finished for finished in result.finished}
    assert texts([results[handle] for handle in handles]) == texts(alone)
    assert sum(map(bool, streamed.values())) > 1
    for handle, told in streamed.items():
        assert told == [*results[handle].hypotheses[0].ids, EOS][: len(told)]


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("seed", range(4))
def test_sentences_that_sit_out_steps_translate_as_alone(seed: int, precision: Precision) -> None:
    model = tiny_model(seed=seed)
    rng = random.Random(seed)
    sentences = mixed_sentences(12, seed)
    alone = [run_to_end(tiny_runner(model, precision=precision), [s])[0] for s in sentences]
    runner = tiny_runner(model, precision=precision)
    assert runner.can_step_subset
    waiting = list(enumerate(sentences))
    index_of: dict[int, int] = {}
    streamed: dict[int, list[int]] = {}
    results: dict[int, Finished] = {}
    while waiting or index_of:
        if waiting and rng.random() < 0.5:
            index, sentence = waiting.pop()
            (handle,) = runner.admit([dataclasses.replace(sentence, is_streamed=True)])
            index_of[handle], streamed[handle] = index, []
        if some := [handle for handle in index_of if rng.random() < 0.4]:
            result = runner.step(some)
            for handle, ids in result.streamed.items():
                streamed[handle] += ids
            for finished in result.finished:
                results[index_of.pop(finished.handle)] = finished
                told = streamed[finished.handle]
                assert told == [*finished.hypotheses[0].ids, EOS][: len(told)]
    assert texts([results[i] for i in range(12)]) == texts(alone)
    assert any(streamed.values())


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
def test_slots_and_rows_come_back_after_any_mix_of_ends(backend: Backend) -> None:
    runner = tiny_runner(tiny_model(), max_slots=5, max_rows=20, backend=backend)
    rng = random.Random(0)
    running: set[int] = set()
    for sentence in mixed_sentences(80, seed=2):
        fits = runner.num_free_rows >= sentence.options.beam_size and runner.num_free_slots
        if fits:
            running.add(runner.admit([sentence])[0])
        running -= {f.handle for f in runner.step().finished}
        if running and rng.random() < 0.3:
            handle = rng.choice(sorted(running))
            runner.release(handle)
            running.remove(handle)
    for handle in running:
        runner.release(handle)
    assert (runner.num_free_slots, runner.num_free_rows, runner.num_running) == (5, 20, 0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_streamed_tokens_are_a_growing_prefix_of_the_result(
    beam_size: int, backend: Backend
) -> None:
    model = tiny_model(seed=11)
    runner = tiny_runner(model, backend=backend)
    options = DecodingOptions(beam_size=beam_size, max_length=20)
    sources = [[5, 7, EOS], [9, 4, 12, 8, EOS], [6, EOS], [11, 10, 9, EOS]]
    handles = runner.admit([SourceSentence(s, options, is_streamed=True) for s in sources])
    streamed: dict[int, list[int]] = {handle: [] for handle in handles}
    is_early = False
    while runner.num_running:
        told_before = {handle: list(told) for handle, told in streamed.items()}
        result = runner.step()
        for handle, ids in result.streamed.items():
            streamed[handle] += ids
        for finished in result.finished:
            best = finished.hypotheses[0].ids
            told = streamed[finished.handle]
            assert told == [*best, EOS][: len(told)]
            is_early |= 0 < len(told_before.get(finished.handle, [])) < len(best)
    assert is_early


class _Forbidden(TorchDispatchMode):
    """Inside, every PyTorch operation fails."""

    def __torch_dispatch__(self, func: object, types: object, *_: object) -> None:
        raise AssertionError(f"{func} was called")


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


def test_our_cpu_code_translates_without_a_pytorch_operation() -> None:
    """Beams, greedy ones, streams, and sentences that are left out or abandoned."""
    runner = tiny_runner(tiny_model(seed=5), max_slots=4, backend="native")
    waiting = [
        SourceSentence([5, 4 + i, EOS], DecodingOptions(beam_size=1 + i % 4), is_streamed=i > 4)
        for i in range(9)
    ]
    results: list[Finished] = []
    with _Forbidden():
        while waiting or runner.num_running:
            newcomers = runner.admit([waiting.pop() for _ in waiting[: runner.num_free_slots]])
            results += runner.step(newcomers or None).finished
        (abandoned,) = runner.admit([SourceSentence([5, EOS], DecodingOptions())])
        runner.release(abandoned)
    assert (len(results), runner.num_running) == (9, 0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(3))
def test_every_option_that_can_be_asked_for_gives_whole_prefixes_and_finite_scores(
    seed: int, backend: Backend
) -> None:
    rng = random.Random(seed)
    runner = tiny_runner(tiny_model(seed=seed), max_slots=4, max_rows=80, backend=backend)
    for _ in range(6):
        sentences = [_with_any_options(rng) for _ in range(4)]
        for sentence, finished in zip(sentences, run_to_end(runner, sentences), strict=True):
            limit = sentence.target_limit(runner.max_target_tokens)
            assert finished.hypotheses or finished.error
            for hypothesis in finished.hypotheses:
                assert tuple(hypothesis.ids[: len(sentence.prefix)]) == sentence.prefix
                assert len(hypothesis.ids) <= limit
                assert all(map(math.isfinite, [hypothesis.score, *hypothesis.log_probs]))


def _with_any_options(rng: random.Random) -> SourceSentence:
    """Every bound of every option, and a prefix of every length that fits."""
    is_sampling = rng.random() < 0.3
    beam_size = 1 if is_sampling else rng.choice([1, 2, 4, 16, 20])
    options = DecodingOptions(
        beam_size=beam_size,
        n_best=rng.randint(1, beam_size),
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
    ("precision", "backend"), [("float32", "native"), ("int8", "native"), ("float32", "eager")]
)
@pytest.mark.parametrize("seed", range(3))
def test_scores_alone_and_in_a_crowd_differ_by_less_than_the_documentation_says(
    seed: int, precision: Precision, backend: Backend
) -> None:
    """Whatever the neighbours use. Our own code's are equal where none needs the logits."""
    model = tiny_model(seed=seed)
    mixed = mixed_sentences(14, seed)
    plain = [
        sentence
        for sentence in mixed
        if not (sentence.prefix or sentence.options.sampling or sentence.options.is_guarded)
    ]
    for crowd, tolerance in ((mixed, 1e-4), (plain, 0.0 if backend == "native" else 1e-4)):
        runner = tiny_runner(model, precision=precision, backend=backend)
        alone = [run_to_end(runner, [sentence])[0] for sentence in crowd]
        together = run_to_end(runner, crowd)
        assert texts(together) == texts(alone)
        for one, other in zip(alone, together, strict=True):
            for mine, theirs in zip(one.hypotheses, other.hypotheses, strict=True):
                numbers = [mine.score, *mine.log_probs], [theirs.score, *theirs.log_probs]
                assert numbers[0] == pytest.approx(numbers[1], rel=0, abs=tolerance)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (SourceSentence([5] * 33, DecodingOptions()), "1 to 32 source tokens, got 33"),
        (SourceSentence([5], DecodingOptions(beam_size=8)), "no room"),
    ],
)
def test_what_cannot_be_admitted_is_refused_whole(sentence: SourceSentence, message: str) -> None:
    runner = tiny_runner(tiny_model(), max_slots=4, max_rows=8)
    with pytest.raises(ValueError, match=message):
        runner.admit([SourceSentence([5, EOS], DecodingOptions(beam_size=1)), sentence])
    assert (runner.num_free_slots, runner.num_free_rows) == (4, 8)


def test_translate_all_keeps_the_order_and_tells_of_each_end() -> None:
    model = tiny_model(seed=7)
    sentences = mixed_sentences(30, seed=9)
    alone = [run_to_end(tiny_runner(model), [s])[0] for s in sentences]
    ended: list[int] = []
    results = translate_all(tiny_runner(model, max_slots=4, max_rows=16), sentences, ended.append)
    assert texts(results) == texts(alone)
    assert sorted(ended) == list(range(30))
