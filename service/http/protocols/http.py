"""uvicorn's HTTP/1.1 protocol with limits."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import Any, ClassVar, cast

from uvicorn import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from service.errors import HeadTooLarge, InvalidHttp, RequestTimeout, ServiceError
from service.http.protocols.connections import is_proxy, num_connections
from service.http.protocols.input import PacedInput
from service.http.protocols.joined import JoinedWrites
from service.http.protocols.output import SendWatch
from service.http.protocols.raw_answers import EXHAUSTED
from service.http.protocols.received import BufferedReceiver, ReadBuffer, Receiver
from service.http.protocols.refusing import RefusingProtocol

_PIECE_BYTES = 2048  # 100 pipelined requests or 1000 empty headers
_logger = logging.getLogger(__name__)
uvicorn_logger = logging.getLogger(f"{__name__}.uvicorn")
uvicorn_logger.setLevel(logging.ERROR)  # lower levels log URLs, headers and frames


class HttpProtocol(RefusingProtocol):
    """Limits the size of a request's head and of its body's framing, the time to receive head and
    body, the pipelined requests of a connection, and the time an answer stays unread.

    A violation gets 400, 408 or 431, and a request that no memory is left for gets 503, unless the
    client would take it for the answer to an earlier request. The connection is closed in any case.
    """

    read_buffer: ClassVar[ReadBuffer]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = uvicorn_logger
        self._is_in_message = False
        self._num_headers = self._num_body_bytes = self._step_bytes = 0
        self._announced_bytes = 0  # the content-length, or 0
        self._num_other_bytes = 0  # bytes of the head, or of the body's framing
        self._since_seconds = time.monotonic()
        self._error: ServiceError | None = None

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        self._input = PacedInput(transport, self.loop, self)
        transport.set_protocol(BufferedReceiver(self, self.read_buffer))
        self._sends = SendWatch(transport, self.limits.send_seconds)
        self.flow = _PacedFlow(transport, self._input)
        if self._is_one_too_many():
            _logger.info("a connection was refused", extra={"code": "too_many_connections"})
            self._is_refused = True
            self._input.drop()
            transport.abort()

    def _is_one_too_many(self) -> bool:
        most = self.limits.connections_per_address
        if not most or self.client is None or is_proxy(self.client[0], self.limits.proxies):
            return False
        return num_connections(self.client[0], self.connections) > most

    def connection_lost(self, exc: Exception | None) -> None:
        self._input.end()
        super().connection_lost(exc)
        self._forget_requests()

    def data_received(self, data: bytes) -> None:
        self._input.push(data)

    def check(self, now_seconds: float) -> None:
        """End the connection if the client is too slow; called about every second."""
        seconds = now_seconds - self._since_seconds
        if self._sends.is_stalled(now_seconds):
            self.transport.abort()
        elif self._is_refused:
            return
        elif not self.is_wanted():
            self._since_seconds = now_seconds
        elif self._is_in_message and seconds > self.limits.receive_seconds:
            part = "head" if self._is_in_head else "body"
            self._refuse(RequestTimeout(f"the request's {part} took too long to arrive"))
        elif self._is_idle and seconds > self.limits.idle_seconds:
            self.transport.close()

    def on_message_begin(self) -> None:
        self._is_in_message = True
        self._begin_part(is_head=True)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; count but ignore trailers."""
        self._num_headers += 1
        if self._num_headers > self.limits.headers:
            self._error = HeadTooLarge(
                f"the request has more than the {self.limits.headers} headers that are allowed"
            )
            raise self._error
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._begin_part(is_head=False)
        sizes = [value for name, value in self.headers if name == b"content-length"]
        self._announced_bytes = int(sizes[0]) if sizes else 0

    def on_body(self, body: bytes) -> None:
        self._num_body_bytes += len(body)
        self._step_bytes += len(body)
        if self._step_bytes >= self.limits.body_step_bytes:
            self._step_bytes = 0
            self._since_seconds = time.monotonic()
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_in_message = False
        self._begin_part(is_head=True)

    def on_response_complete(self) -> None:
        if not self._is_in_message:
            self._since_seconds = time.monotonic()
        super().on_response_complete()
        self._unset_keepalive_if_required()  # a timer of each connection; `check` does its work
        self.loop.call_soon(self._forget_if_idle)  # freeing a long text takes milliseconds

    def send_400_response(self, msg: str) -> None:
        """Called when the parser or a method that it calls fails."""
        failure = sys.exception()
        if failure is not None and isinstance(failure.__context__, MemoryError):
            self.refuse_exhausted()
            return
        self._refuse(self._error or InvalidHttp("this is not a valid HTTP/1.1 request"))

    def handle_websocket_upgrade(self) -> None:
        if not all(value.isascii() for _, value in self.headers):
            self._refuse(InvalidHttp("the headers of a websocket's handshake must be ASCII"))
            return
        self._input.end()
        try:
            super().handle_websocket_upgrade()
            receiver = cast(Receiver, self.transport.get_protocol())
            self.transport.set_protocol(BufferedReceiver(receiver, self.read_buffer))
        except MemoryError:
            self._count_exhausted()
            self._end_with(EXHAUSTED)
        self.parser = None  # type: ignore[assignment]
        self._forget_requests()

    def _forget_if_idle(self) -> None:
        if self._is_idle:
            self._forget_requests()

    def _forget_requests(self) -> None:
        """Drop the requests, which refer to this protocol: an idle connection needs none, and those
        of one that has ended would stay until the garbage collector comes, after thousands of
        connections."""
        self.pipeline.clear()
        self.cycle = None  # type: ignore[assignment]
        self._running = None
        self.scope = None  # type: ignore[assignment]
        self.headers = []

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if cycle.scope["method"] != "HEAD":  # whose answer has nothing to join
            written: Any = JoinedWrites(self.transport, self.loop)
            cycle.transport = written
        super()._start_asgi_task(cycle, app)

    def _begin_part(self, *, is_head: bool) -> None:
        self._is_in_head = is_head
        self._num_headers = self._num_body_bytes = self._num_other_bytes = self._step_bytes = 0
        self._since_seconds = time.monotonic()

    @property
    def _is_idle(self) -> bool:
        """Whether no request and no answer is in progress."""
        return not self._is_in_message and (self.cycle is None or self.cycle.response_complete)

    def is_wanted(self) -> bool:
        """Whether the next request may be parsed, or the app accepts more of the body."""
        if self.pipeline or self.transport.is_closing():
            return False
        cycle = self.cycle
        return cycle is None or cycle.response_complete or len(cycle.body) <= HIGH_WATER_LIMIT

    def piece_bytes(self) -> int:
        """The next piece's size: the rest of a sized body, up to HIGH_WATER_LIMIT."""
        if self._is_in_head:
            return _PIECE_BYTES
        left = self._announced_bytes - self._num_body_bytes
        return max(_PIECE_BYTES, min(left, HIGH_WATER_LIMIT))

    def parse(self, piece: bytes) -> None:
        num_body_bytes = self._num_body_bytes
        super().data_received(piece)
        if self._is_refused or self.transport.is_closing():
            return
        self._num_other_bytes += len(piece) - max(0, self._num_body_bytes - num_body_bytes)
        if self._is_in_message and self._num_other_bytes > self._most_other_bytes:
            part = "head is" if self._is_in_head else "body's chunk sizes and trailers are"
            self._refuse(HeadTooLarge(f"the request's {part} larger than is allowed"))

    @property
    def _most_other_bytes(self) -> int:
        if self._is_in_head:
            return self.limits.head_bytes
        return self.limits.spare_framing_bytes + self._num_body_bytes


class _PacedFlow(FlowControl):
    """uvicorn's flow control; PacedInput decides when to read."""

    def __init__(self, transport: asyncio.Transport, paced: PacedInput) -> None:
        super().__init__(transport)
        self._input = paced

    def pause_reading(self) -> None:
        """Do nothing: PacedInput asks `is_wanted()`."""

    def resume_reading(self) -> None:
        self._input.wake()
