"""Laws of lexical constraints: all terms appear, whatever beam, limit and neighbours."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence, Term, TermForm
from model.offline import translate_all
from model.runner import Runner
from tests.model.network.reference import CONTROL_IDS, EOS, run_to_end, tiny_model, tiny_runner

SOURCE = [5, 7, 9, 4, EOS]
BACKENDS: tuple[Backend, ...] = ("native", "eager", "graphs")


def term(*ids: int, times: int = 1) -> Term:
    return Term((TermForm(ids),), times)


def occurrences(ids: Sequence[int], part: Sequence[int]) -> int:
    return sum(list(ids[i : i + len(part)]) == list(part) for i in range(len(ids)))


def has_all(hypothesis: Hypothesis, terms: Sequence[Term]) -> bool:
    return all(
        sum(occurrences(hypothesis.ids, form.ids) for form in one.forms) >= one.times
        for one in terms
    )


def found(
    terms: Sequence[Term], backend: Backend = "native", seed: int = 0, **options: object
) -> list[Hypothesis]:
    sentence = SourceSentence(
        SOURCE, DecodingOptions.from_dict({"max_length": 20, **options}), terms=tuple(terms)
    )
    (result,) = run_to_end(tiny_runner(tiny_model(seed=seed), backend=backend), [sentence])
    assert result.error is None
    return result.hypotheses


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("beam_size", [1, 16])
def test_all_terms_appear_in_every_hypothesis(backend: Backend, beam_size: int) -> None:
    terms = [term(6, 8, 11), term(10), term(4, 4), term(12, 5)]
    hypotheses = found(terms, backend, beam_size=beam_size, n_best=beam_size)
    assert hypotheses
    assert all(has_all(hypothesis, terms) for hypothesis in hypotheses)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_missing_when_the_length_runs_out_still_appears(backend: Backend) -> None:
    terms = [term(6, 8, 11), term(10, 10), term(5)]
    for max_length in (6, 8):
        for beam_size in (1, 3):
            (best,) = found(terms, backend, beam_size=beam_size, max_length=max_length)
            assert has_all(best, terms)
            assert len(best.ids) <= max_length


@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_term_that_begins_another_is_produced_besides_it(beam_size: int) -> None:
    terms = [term(6, times=2), term(6, 8)]
    (best,) = found(terms, beam_size=beam_size)
    assert occurrences(best.ids, [6]) >= 2
    assert occurrences(best.ids, [6, 8]) >= 1


def test_a_term_appears_once_for_each_occurrence() -> None:
    (best,) = found([term(9, 9, times=3)], beam_size=4)
    assert occurrences(best.ids, [9, 9]) >= 3


def test_a_term_that_overlaps_itself_is_matched() -> None:
    (best,) = found([term(4, 4, 5)], beam_size=2, max_length=4)
    assert has_all(best, [term(4, 4, 5)])


def test_the_form_of_the_start_stands_only_there() -> None:
    one = Term((TermForm((6, 6, 6)), TermForm((11,), "start")))
    for seed in range(8):
        (best,) = found([one], seed=seed, beam_size=1, max_length=3)
        assert best.ids[0] == 11 or best.ids == [6, 6, 6]


def test_a_form_is_recognised_where_the_network_writes_it() -> None:
    (plain,) = found([], seed=1, beam_size=1)
    one = Term((TermForm((12, 11)), TermForm((plain.ids[0],), "recognised")))
    (best,) = found([one], seed=1, beam_size=1)
    assert best.ids == plain.ids


def test_a_prefix_counts() -> None:
    sentence = SourceSentence(
        SOURCE, DecodingOptions(beam_size=2, max_length=6), prefix=(6, 8), terms=(term(6, 8),)
    )
    plain = SourceSentence(SOURCE, DecodingOptions(beam_size=2, max_length=6), prefix=(6, 8))
    first, second = run_to_end(tiny_runner(tiny_model()), [sentence, plain])
    assert first.hypotheses[0].ids == second.hypotheses[0].ids


def test_repetition_guards_do_not_forbid_a_term() -> None:
    terms = [term(6, 8, times=3)]
    (best,) = found(terms, beam_size=2, no_repeat_ngram_size=1, repetition_penalty=9.0)
    assert has_all(best, terms)


def test_terms_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="must have at most 3 tokens, got 4"):
        found([term(6, 8), term(5, 4)], max_length=3)


@pytest.mark.parametrize("seed", range(2))
def test_the_backends_agree(seed: int) -> None:
    rng = random.Random(seed)
    sets = [
        [term(*(rng.randint(4, 12) for _ in range(rng.randint(1, 4)))) for _ in range(3)]
        for _ in range(2)
    ]
    for terms in sets:
        for beam_size in (1, 4):
            ids = [
                [h.ids for h in found(terms, backend, seed, beam_size=beam_size, n_best=beam_size)]
                for backend in BACKENDS
            ]
            assert ids[0] == ids[1] == ids[2]


def mixed(rng: random.Random, count: int) -> list[SourceSentence]:
    sentences = []
    for _ in range(count):
        source = [*(rng.randint(4, 12) for _ in range(rng.randint(1, 12))), EOS]
        sizes = [rng.randint(1, 3) for _ in range(rng.choice([0, 0, 1, 3]))]
        terms = tuple(dict.fromkeys(term(*(rng.randint(4, 12) for _ in range(n))) for n in sizes))
        options = DecodingOptions(beam_size=rng.choice([1, 2, 4]), n_best=1, max_length=18)
        if not terms and rng.random() < 0.3:
            options = DecodingOptions(beam_size=1, sampling=True, seed=rng.randint(0, 9))
        is_prefixed = rng.random() < 0.2
        sentences.append(
            SourceSentence(source, options, prefix=(5,) if is_prefixed else (), terms=terms)
        )
    return sentences


@pytest.mark.parametrize("backend", BACKENDS)
def test_neighbours_change_nothing(backend: Backend) -> None:
    sentences = mixed(random.Random(3), 12)
    model = tiny_model()
    together = translate_all(tiny_runner(model, backend=backend), sentences)
    alone = [run_to_end(tiny_runner(model, backend=backend), [one])[0] for one in sentences]
    assert [[h.ids for h in r.hypotheses] for r in together] == [
        [h.ids for h in r.hypotheses] for r in alone
    ]
    for sentence, result in zip(sentences, together, strict=True):
        assert has_all(result.hypotheses[0], sentence.terms)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_slot_forgets_the_terms_of_its_last_sentence(backend: Backend) -> None:
    model = tiny_model()
    options = DecodingOptions(beam_size=2, max_length=12)
    plain, termed = (
        SourceSentence(SOURCE, options),
        SourceSentence(SOURCE, options, terms=(term(6, 8),)),
    )
    runner = tiny_runner(model, backend=backend, max_slots=1)
    before = run_to_end(runner, [plain])[0].hypotheses
    run_to_end(runner, [termed])
    handle = runner.admit([termed])[0]
    runner.step()
    runner.release(handle)
    assert run_to_end(runner, [plain])[0].hypotheses == before


@pytest.mark.parametrize("backend", BACKENDS)
def test_streamed_tokens_are_a_prefix_of_the_result(backend: Backend) -> None:
    runner = tiny_runner(tiny_model(), backend=backend)
    sentence = SourceSentence(
        SOURCE,
        DecodingOptions(beam_size=4, max_length=20),
        is_streamed=True,
        terms=(term(6, 8), term(11)),
    )
    (handle,) = runner.admit([sentence])
    streamed: list[int] = []
    while True:
        step = runner.step()
        streamed += step.streamed.get(handle, [])
        if step.finished:
            (best,) = step.finished[0].hypotheses
            assert best.ids[: len(streamed)] == streamed[: len(best.ids)]
            return


@settings(max_examples=30, deadline=None)
@given(
    terms=st.lists(
        st.lists(st.integers(4, 12), min_size=1, max_size=5).map(tuple),
        min_size=1,
        max_size=6,
        unique=True,
    ),
    beam_size=st.integers(1, 9),
    slack=st.integers(0, 6),
)
def test_whatever_the_terms_and_the_limit_all_appear(
    terms: list[tuple[int, ...]], beam_size: int, slack: int
) -> None:
    wanted = [term(*ids) for ids in terms]
    limit = sum(map(len, terms)) + slack
    (best,) = found(wanted, beam_size=beam_size, max_length=limit)
    assert has_all(best, wanted)


def test_two_hundred_terms_fit_a_long_sentence() -> None:
    rng = random.Random(0)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(200):
        ids = (rng.randint(4, 12),)
        counts[ids] = counts.get(ids, 0) + 1
    wanted = [term(*ids, times=count) for ids, count in counts.items()]
    runner = Runner(
        tiny_model(max_positions=256),
        CONTROL_IDS,
        max_slots=1,
        max_rows=4,
        max_source_tokens=16,
        max_target_tokens=256,
    )
    sentence = SourceSentence(
        SOURCE, DecodingOptions(beam_size=4, max_length=230), terms=tuple(wanted)
    )
    assert has_all(run_to_end(runner, [sentence])[0].hypotheses[0], wanted)
