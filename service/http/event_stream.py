"""A streaming response that ends with its client, and its work with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from service.http.request_log import RequestRecord
from service.http.state import ServerState
from service.translation.job import TranslationJob
from service.translation.translator import Pieces

EVENT_STREAM = "text/event-stream"


class EventStream(StreamingResponse):
    """A streaming response that always closes `work` at its end, and detects a disconnect even
    while there is nothing to send."""

    media_type = EVENT_STREAM

    def __init__(
        self, events: AsyncGenerator[bytes], work: contextlib.AsyncExitStack, record: RequestRecord
    ) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store"})
        self._work, self._record = work, record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._work:
            sending = asyncio.ensure_future(self.stream_response(send))
            leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
            try:
                await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not sending.done():
                    self._record.status = None
            finally:
                sending.cancel()
                leaving.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)
            if not sending.cancelled():
                sending.result()


async def event_stream(
    job: TranslationJob,
    state: ServerState,
    record: RequestRecord,
    events: Callable[[Pieces], AsyncGenerator[bytes]],
) -> EventStream:
    """Start the job before the response, so early errors are ordinary error answers."""
    work = contextlib.AsyncExitStack()
    pieces = await work.enter_async_context(state.suggested.stream(job))
    return EventStream(events(pieces), work, record)
