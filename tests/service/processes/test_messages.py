"""What the processes tell each other arrives as it was."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.sentence_task import SentenceOutcome
from service.errors import Draining, InvalidField, NotReady, Overloaded, TranslationFailed
from service.processes.messages import (
    Outputs,
    Submit,
    error_fields,
    error_of,
    outcome_fields,
    outcome_of,
    sentence_fields,
    sentences_of,
)

ids = st.lists(st.integers(0, 2**31 - 1), max_size=20)
options = st.builds(
    DecodingOptions,
    beam_size=st.integers(1, 64),
    length_penalty=st.floats(0, 10),
    lookahead=st.none() | st.integers(0, 9),
    max_length=st.none() | st.integers(1, 99),
    repetition_penalty=st.floats(0.1, 10),
) | st.builds(
    DecodingOptions,
    beam_size=st.just(1),
    sampling=st.just(True),
    seed=st.integers(0, 2**63 - 1),
)
sentences = st.lists(
    st.builds(SourceSentence, ids, options, st.booleans(), ids, st.booleans(), st.booleans()),
    max_size=5,
)


@st.composite
def hypotheses(draw: st.DrawFn) -> Hypothesis:
    target = draw(ids)
    attention = None
    if draw(st.booleans()):
        num_columns = draw(st.integers(1, 9))
        count = len(target) * num_columns
        attention = np.random.default_rng(count).random(count, np.float32)
        attention = attention.reshape(len(target), num_columns)
    log_probs = draw(st.lists(st.floats(-99, 0), max_size=20))
    reason = draw(st.sampled_from(["stop", "length", "repetition"]))
    return Hypothesis(target, log_probs, draw(st.floats(-99, 0)), reason, attention)


outcomes = st.builds(
    SentenceOutcome,
    st.lists(hypotheses(), max_size=3),
    st.none(),
    *[st.floats(0, 1e9)] * 4,
    st.integers(0, 10**9),
)


@given(sentences)
def test_sentences_arrive(sent: list[SourceSentence]) -> None:
    told, fields = sentence_fields(sent)
    submit = Submit(1, "a", 0, told, fields, 1.5, 7, "b", False, None, True)
    packed = msgspec.msgpack.encode(submit)
    assert sentences_of(msgspec.msgpack.decode(packed, type=Submit)) == sent


@given(outcomes)
def test_outcomes_arrive(outcome: SentenceOutcome) -> None:
    packed = msgspec.msgpack.encode(Outputs(outcomes=[outcome_fields(3, 4, outcome)]))
    (told,) = msgspec.msgpack.decode(packed, type=Outputs).outcomes
    assert told[:2] == (3, 4)
    found = outcome_of(told)
    assert found == outcome
    for one, other in zip(found.hypotheses, outcome.hypotheses, strict=True):
        if one.attention is None or other.attention is None:
            assert one.attention is other.attention
        else:
            assert np.array_equal(one.attention, other.attention)


def test_errors_of_an_engine_arrive() -> None:
    for kind in (Draining, InvalidField, NotReady, Overloaded, TranslationFailed):
        found = error_of(error_fields(kind("why")))
        assert (type(found), str(found)) == (kind, "why")
