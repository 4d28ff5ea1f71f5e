"""What a request is given at the door and shows to every engine that works for it."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

from service.errors import DeadlineExceeded


@dataclass(frozen=True)
class Ticket:
    """Whose request it is, until when it is worth an answer, and what it was promised.

    `client`: whose share of the queues it takes, and whose files take turns; `ends_seconds`: the
    deadline on the monotonic clock, None is no deadline; `allowed_seconds`: from the start to the
    deadline; `is_admitted`: never refused for lack of room, because it continues accepted work;
    `prior_work`: of the outcomes that the request had before, which makes the next ones less
    urgent; `is_streamed`: whether its tokens are sent as they settle.
    """

    client: str = ""
    ends_seconds: float | None = None
    allowed_seconds: float = 0.0
    is_admitted: bool = False
    prior_work: int = 0
    is_streamed: bool = False

    @classmethod
    def issued(cls, client: str, allowed_seconds: float | None) -> Ticket:
        """The ticket of a request that starts now; `allowed_seconds` None: it has no deadline."""
        if allowed_seconds is None:
            return cls(client)
        return cls(client, time.monotonic() + allowed_seconds, allowed_seconds)

    @property
    def is_over(self) -> bool:
        """Whether its deadline has passed."""
        return self.ends_seconds is not None and time.monotonic() > self.ends_seconds

    def admitted(self, prior_work: int = 0) -> Ticket:
        """For the next work of a request that was accepted."""
        return dataclasses.replace(self, is_admitted=True, prior_work=prior_work)

    def streamed(self) -> Ticket:
        return dataclasses.replace(self, is_streamed=True)

    def to_pivot(self) -> Ticket:
        """For the first of two hops, whose tokens nobody sees. That of a stream begins after its
        answer has begun, so the stream asks for room before."""
        is_admitted = self.is_admitted or self.is_streamed
        return dataclasses.replace(self, is_admitted=is_admitted, is_streamed=False)

    def deadline_error(self) -> DeadlineExceeded:
        return DeadlineExceeded(
            f"not done within the deadline of {1000 * self.allowed_seconds:.0f} ms"
        )


NO_TICKET = Ticket()
"""Of work without a client and a deadline, such as that of the command line."""
