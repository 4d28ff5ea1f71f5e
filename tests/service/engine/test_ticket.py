"""A ticket stays that of its request on its whole way."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest

from service.engine.ticket import Ticket

CHANGES = (Ticket.admitted, Ticket.streamed, Ticket.to_pivot)


@pytest.mark.parametrize("allowed_seconds", [None, 5.0, -1.0])
@pytest.mark.parametrize("changes", [*itertools.product(CHANGES, repeat=2)])
def test_client_and_deadline_stay_whatever_a_ticket_becomes(
    allowed_seconds: float | None, changes: tuple[Callable[[Ticket], Ticket], ...]
) -> None:
    before = time.monotonic()
    ticket = issued = Ticket.issued("client", allowed_seconds)
    for change in changes:
        ticket = change(ticket)
    assert ticket.client == "client"
    assert ticket.ends_seconds == issued.ends_seconds
    assert ticket.is_over == (allowed_seconds == -1.0)
    if allowed_seconds is not None:
        assert before <= (ticket.ends_seconds or 0) - allowed_seconds <= time.monotonic()
        assert f"{1000 * allowed_seconds:.0f} ms" in str(ticket.deadline_error())


@pytest.mark.parametrize("is_admitted", [True, False])
@pytest.mark.parametrize("is_streamed", [True, False])
def test_the_first_of_two_hops_streams_nothing_and_is_admitted_if_the_answer_has_begun(
    is_admitted: bool, is_streamed: bool
) -> None:
    ticket = Ticket(is_admitted=is_admitted, is_streamed=is_streamed).to_pivot()
    assert not ticket.is_streamed
    assert ticket.is_admitted == (is_admitted or is_streamed)


def test_what_continues_accepted_work_is_admitted_with_the_work_it_had() -> None:
    ticket = Ticket.issued("client", None)
    assert (ticket.is_admitted, ticket.is_streamed, ticket.prior_work) == (False, False, 0)
    ticket = ticket.streamed().admitted(7)
    assert (ticket.is_admitted, ticket.is_streamed, ticket.prior_work) == (True, True, 7)
