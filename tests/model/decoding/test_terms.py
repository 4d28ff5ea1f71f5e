"""Laws of lexical constraints: all terms appear, whatever beam, limit and neighbours."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence, Term, TermForm
from model.offline import translate_all
from tests.model.network.reference import EOS, run_to_end, tiny_model, tiny_runner

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


def test_repetition_guards_do_not_forbid_a_term() -> None:
    terms = [term(6, 8, times=3)]
    (best,) = found(terms, beam_size=2, no_repeat_ngram_size=1, repetition_penalty=9.0)
    assert has_all(best, terms)


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


@settings(max_examples=30, deadline=None)
@given(
    terms=st.dictionaries(
        st.lists(st.integers(4, 12), min_size=1, max_size=5).map(tuple),
        st.integers(1, 3),
        min_size=1,
        max_size=6,
    ),
    beam_size=st.integers(1, 9),
    slack=st.integers(0, 6),
)
def test_whatever_the_terms_and_the_limit_all_appear(
    terms: dict[tuple[int, ...], int], beam_size: int, slack: int
) -> None:
    """In every hypothesis; also terms that begin or overlap each other."""
    wanted = [term(*ids, times=times) for ids, times in terms.items()]
    limit = min(48, sum(len(ids) * times for ids, times in terms.items()) + slack)
    assume(sum(len(ids) * times for ids, times in terms.items()) <= limit)
    hypotheses = found(wanted, beam_size=beam_size, n_best=beam_size, max_length=limit)
    assert hypotheses
    assert all(has_all(hypothesis, wanted) for hypothesis in hypotheses)
