"""POST /translate/next: a search that fails."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

import pytest
from fastapi.testclient import TestClient

from model.decoding.sentence import Hypothesis, SourceSentence
from service.engine.sentence_engine import SentenceEngine
from service.engine.sentence_task import SentenceOutcome
from service.engine.ticket import Ticket
from service.errors import DeadlineExceeded, NotReady, ServiceError
from tests.service.http.clients import FIELDS

ASKED = {**FIELDS, "q": "One. Two. Three.", "prefix": ""}


@pytest.mark.parametrize("failing", [1, 2, 3])
@pytest.mark.parametrize("error", [DeadlineExceeded("too late"), NotReady("not running")])
def test_next_words_fail_with_each_of_their_searches_which_ends_the_others(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: ServiceError, failing: int
) -> None:
    """The first finds a token, the others begin together."""
    numbers = itertools.count(1)

    async def fail(
        _: SentenceEngine, sentences: Sequence[SourceSentence], ticket: Ticket
    ) -> Sequence[SentenceOutcome]:
        assert sentences
        if (number := next(numbers)) == failing:
            return [SentenceOutcome([], error) for _ in sentences]
        if number > 1:
            await asyncio.Event().wait()  # until it is cancelled
        return [SentenceOutcome([Hypothesis([ord("O")], [-0.1], -0.1, "length")])]

    monkeypatch.setattr(SentenceEngine, "translate", fail)
    answer = client.post("/translate/next", json=ASKED)
    assert (answer.status_code, answer.json()["code"]) == (error.status, error.code)
    assert answer.json()["error"] == str(error)
