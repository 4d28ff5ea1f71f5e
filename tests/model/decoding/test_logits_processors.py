"""Repetition guards and forced beginnings, against the same rules on plain lists."""

from __future__ import annotations

import pytest
import torch

from model.backends.pytorch.logits_processors import is_looping
from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from tests.model.network.reference import (
    BOS,
    CONTROL_IDS,
    EOS,
    greedy,
    run_to_end,
    tiny_model,
    tiny_runner,
)
from tests.model.test_runner import BACKENDS

SOURCE = [5, 7, 9, EOS]


def completes_a_repetition(tokens: list[int], token: int, size: int) -> bool:
    """Whether the last n-gram of tokens + [token] stands in tokens already."""
    if not 0 < size <= len(tokens) + 1:
        return False
    last = [*tokens, token][-size:]
    return any(tokens[i : i + size] == last for i in range(len(tokens) - size + 1))


@torch.inference_mode()
def greedy_without_repeats(src: list[int], size: int, penalty: float, limit: int) -> list[int]:
    model, tokens = tiny_model(seed=2), list[int]()
    while len(tokens) < limit:
        logits = model(torch.tensor([src]), torch.tensor([[BOS, *tokens]]))[0, -1].tolist()
        for token in set(tokens):
            logits[token] *= 1 / penalty if logits[token] > 0 else penalty
        allowed = [
            t
            for t in range(len(logits))
            if t not in CONTROL_IDS and not completes_a_repetition(tokens, t, size)
        ]
        token = max(allowed, key=lambda t: logits[t])
        if token == EOS:
            break
        tokens.append(token)
    return tokens


@pytest.mark.parametrize(("size", "penalty"), [(1, 1.0), (2, 1.0), (3, 1.0), (0, 4.0), (2, 4.0)])
def test_a_guarded_sentence_follows_the_rules_among_unguarded_ones(
    size: int, penalty: float
) -> None:
    guarded = DecodingOptions(
        beam_size=1, no_repeat_ngram_size=size, repetition_penalty=penalty, max_length=14
    )
    plain = DecodingOptions(beam_size=1, max_length=14)
    runner = tiny_runner(tiny_model(seed=2))
    crowd = [SourceSentence(SOURCE, options) for options in (plain, guarded, plain)]
    results = [result.hypotheses[0].ids for result in run_to_end(runner, crowd)]
    assert results[1] == greedy_without_repeats(SOURCE, size, penalty, 14)
    assert results[0] == results[2] == greedy(tiny_model(seed=2), SOURCE, 14)
    assert results[1] != results[0]


def test_a_translation_begins_with_its_prefix_and_goes_on_as_the_model_would() -> None:
    model, options = tiny_model(seed=3), DecodingOptions(beam_size=1, max_length=12)
    sentence = SourceSentence(SOURCE, options, prefix=(11, 4, 8))
    best = run_to_end(tiny_runner(model), [sentence])[0].hypotheses[0]
    assert best.ids[:3] == [11, 4, 8]
    assert best.ids == greedy(model, SOURCE, 12, prefix=[11, 4, 8])


def test_even_a_token_that_is_never_generated_can_be_forced() -> None:
    """Such as a language tag; it costs nothing, so that the score is of what follows."""
    options = DecodingOptions(beam_size=3, max_length=12)
    sentence = SourceSentence(SOURCE, options, prefix=(CONTROL_IDS[1],))
    best = run_to_end(tiny_runner(tiny_model(seed=3)), [sentence])[0].hypotheses[0]
    assert best.ids[0] == CONTROL_IDS[1]
    assert best.log_probs[0] == 0.0
    assert not set(best.ids[1:]) & set(CONTROL_IDS)
    assert best.score == pytest.approx(sum(best.log_probs) / len(best.log_probs))


@pytest.mark.parametrize("period", [1, 2, 3, 6])
def test_only_a_tail_that_repeats_a_short_cycle_is_a_loop(period: int) -> None:
    cycle = list(range(period))
    loop = (cycle * 24)[:24]
    broken = [99, *loop[1:]]
    longer = (list(range(7)) * 4)[:24]
    assert is_looping(torch.tensor([loop, broken, longer])).tolist() == [True, False, False]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_model_caught_in_a_loop_is_stopped_and_says_so(beam_size: int, backend: Backend) -> None:
    """Its neighbour, which is not, goes on to its own end."""
    model = tiny_model(seed=2)
    model.output.bias.data[EOS] = -50.0
    model.output.bias.data[7] = 50.0
    options = DecodingOptions(beam_size=beam_size, max_length=44)
    short = DecodingOptions(beam_size=1, max_length=9)
    crowd = [SourceSentence(SOURCE, options), SourceSentence(SOURCE, short)]
    results = run_to_end(tiny_runner(model, backend=backend), crowd)
    looping, neighbour = (result.hypotheses[0] for result in results)
    assert looping.finish_reason == "repetition"
    assert looping.ids == [7] * 25
    assert (neighbour.finish_reason, len(neighbour.ids)) == ("length", 9)
