"""The queue's bounds count exactly, in sentences and in source tokens."""

from __future__ import annotations

import pytest

from service.engine.admission import AdmissionControl
from service.errors import Overloaded
from tests.service.conftest import MakeTasks


def test_as_many_may_wait_as_the_bounds_say_and_not_one_more(tasks_of: MakeTasks) -> None:
    waiting = tasks_of(1, 1, 1)
    num_tokens = sum(task.num_tokens for task in waiting)
    admission = AdmissionControl(4, num_tokens + 5)
    admission.require_room(100, 100)  # an empty queue accepts any one request
    admission.enter(waiting)
    admission.require_room(1, 5)
    for num_sentences, tokens in ((2, 0), (1, 6)):
        with pytest.raises(Overloaded):
            admission.require_room(num_sentences, tokens)
    admission.leave(waiting[:1])
    admission.leave(waiting[:1])
    admission.require_room(2, 5)
    assert admission.num_sentences == 2
