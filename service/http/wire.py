"""Bounds that uvicorn lacks: the head of a request and its time, what waits behind it, websocket
frames with little content, and the time that an answer waits for its reader.

Other slow clients and connections per address are a proxy's work: deploy/nginx.conf.
"""

from __future__ import annotations

import asyncio
import functools
import secrets
import sys
import time
from collections.abc import Sequence, Sized
from typing import Any

import httptools
from uvicorn import Config
from uvicorn._types import ASGISendEvent
from uvicorn.middleware.proxy_headers import _TrustedHosts
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import ProtocolError
from websockets.frames import CTRL_OPCODES, CloseCode, Frame, Opcode
from websockets.http11 import Response
from websockets.server import ServerProtocol
from websockets.typing import StatusLike

from service.errors import (
    Draining,
    HeadTooLarge,
    InvalidHttp,
    ServiceError,
    drop_frames,
    shown,
)
from service.http.error_answers import SECURITY_HEADERS, error_response, unexpected_error
from service.http.head import CONNECTION_LOST, FORWARDED_PREFIX, RECORD_REFUSED

MAX_HEAD_BYTES = 32 * 1024
MAX_HEADERS = 100
_MAX_PIPELINED = 100
_MAX_SMALL_FRAMES = 500
_MAPPED = "::ffff:"
_LAST_SECONDS = 3.0
"""In which an answer ends once the draining is over; uvicorn waits two seconds longer."""
_LINGER_SECONDS = 2.0
"""Closing a connection while the client sends would reset it and lose the last answer."""
MOST_UNREAD_SECONDS = 60.0
"""Time in which a client takes 48 KiB of an answer that it does not read as fast as it comes."""


class _EndsForSlowReaders(asyncio.Protocol):
    """A connection that ends if what was written waits too long for its reader."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    most_unread_seconds = MOST_UNREAD_SECONDS
    _end: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """asyncio calls this when 64 KiB wait."""
        super().pause_writing()
        self._end = self.loop.call_later(self.most_unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """asyncio calls this when 16 KiB or fewer wait."""
        super().resume_writing()
        self._forget_end()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._forget_end()

    def _forget_end(self) -> None:
        if self._end is not None:
            self._end.cancel()


class HttpProtocol(_EndsForSlowReaders, HttpToolsProtocol):
    """Refuses a head that is too large with 431 and one that is malformed with 400, in the format
    of the path's API. Believes X-Forwarded-Prefix only of trusted proxies. Ignores trailers, and
    ends a connection that sends them without end. Reads nothing while a request waits for the
    answer of the one before it."""

    url = b""
    _is_refused = False
    _is_in_head = True
    _wants_other_protocol = False
    _data = b""
    """What is being parsed."""
    _num_headers = 0
    _num_bytes = 0  # since a head or a part of a body was complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client = _unmapped(self.client)
        self.flow = _PipelineFlow(transport, self.pipeline)
        self._extensions = {CONNECTION_LOST: self.loop.create_future()}
        peer = self.client[0] if self.client else None
        self._is_trusted = peer in _trusted(tuple(self.config.forwarded_allow_ips or ()))
        seconds, end = self.timeout_keep_alive, self.timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(seconds, end)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        super()._unset_keepalive_if_required()
        self._extensions[CONNECTION_LOST].set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._num_bytes += len(data)
        self._data = data
        super().data_received(data)
        self._data = b""
        if self._num_bytes > MAX_HEAD_BYTES and not self._is_refused:
            self._refuse(_too_large(f"{MAX_HEAD_BYTES} bytes"))

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise InvalidHttp(f"more than {_MAX_PIPELINED} requests wait for an answer")
        self._is_in_head, self._num_headers, self._wants_other_protocol = True, 0, False
        super().on_message_begin()
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]

    def on_header(self, name: bytes, value: bytes) -> None:
        self._num_headers += 1
        if self._num_headers > MAX_HEADERS:
            raise _too_large(f"{MAX_HEADERS} headers")
        is_believed = self._is_trusted or name.lower() != FORWARDED_PREFIX
        if is_believed and self._is_in_head:  # else it is a trailer
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head, self._num_bytes = False, 0
        self._unset_keepalive_if_required()
        if len(self.url) + sum(map(len, sum(self.headers, ()))) > MAX_HEAD_BYTES:
            raise _too_large(f"{MAX_HEAD_BYTES} bytes")
        if not self.url.startswith(b"/"):
            self._take_path()
        if self.parser.should_upgrade():
            self._wants_other_protocol = self._get_upgrade() not in (None, b"websocket")
        if not self._wants_other_protocol:
            super().on_headers_complete()

        if self.scope["http_version"] == "1.0" and self.cycle is not None:
            self.cycle.__class__ = _UnframedCycle

    def on_message_complete(self) -> None:
        self._is_in_head = True
        if not self._wants_other_protocol:
            super().on_message_complete()

    def _unset_keepalive_if_required(self) -> None:
        """uvicorn calls this at any byte. Here an idle connection, and a new one, has its time
        until a head is complete: a client that is gone without a word would have it for ever."""
        if not self._is_in_head:
            super()._unset_keepalive_if_required()

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        del self.parser  # it has methods of this object

    def _unsupported_upgrade_warning(self) -> None:
        """uvicorn calls this while it handles the parser's end at a head that asks for another
        protocol, as those of Java and of curl ask for HTTP/2: parse it without that question (RFC
        9110, 7.8), and what comes behind it."""
        ended = sys.exception()
        if not self._wants_other_protocol or ended is None:  # it is CONNECT
            return
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        headers = (b"%b: %b\r\n" % one for one in self.headers if one[0] != b"upgrade")
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(headers))
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(head + self._data[ended.args[0] :])

    def _take_path(self) -> None:
        """Take the path of an absolute URL, whose host replaces the header's (RFC 9112, 3.2.2).
        Raises InvalidHttp."""
        try:
            target = httptools.parse_url(self.url)
        except httptools.HttpParserInvalidURLError:
            target = None
        given = self.url.decode("latin-1")
        if target is None or (target.schema or b"http").lower() not in (b"http", b"https"):
            raise InvalidHttp(f"the target must be a path or an HTTP URL, got {shown(given)}")
        if target.host is None:  # the target is *
            return
        self.url = (target.path or b"/") + (b"?" + target.query if target.query else b"")
        host = b"[%b]" % target.host if b":" in target.host else target.host
        if target.port is not None:
            host += b":%d" % target.port
        self.headers[:] = [one for one in self.headers if one[0] != b"host"] + [(b"host", host)]

    def on_body(self, body: bytes) -> None:
        self._num_bytes = 0
        super().on_body(body)

    def shutdown(self) -> None:
        """uvicorn calls this when the draining is over. It would end what is left with 500, and log
        it as an error."""
        super().shutdown()
        if self.cycle is None or self.cycle.response_complete:
            return
        if self.cycle.more_body and not self.cycle.response_started:
            self._refuse(Draining())
        else:
            self.loop.call_later(_LAST_SECONDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """uvicorn calls this while it handles an error of the parser, whose context is what a
        callback raised."""
        raised = getattr(sys.exception(), "__context__", None)
        if raised is None:
            raised = InvalidHttp("this is not a valid HTTP/1.1 request")
        self._refuse(raised if isinstance(raised, ServiceError) else unexpected_error(raised))

    def _refuse(self, error: ServiceError) -> None:
        """Close the connection, with an answer unless the client would take it for another's."""
        self._is_refused = True
        request_id, path = secrets.token_hex(16), self.url.partition(b"?")[0].decode("latin-1")
        if record := self.app_state.get(RECORD_REFUSED):
            record(error, request_id, path)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self.pipeline or cycle.response_started or not cycle.more_body:
                self.transport.close()
                return
            cycle.disconnected = True  # its body is malformed: the app waits for no more of it
            cycle.message_event.set()
        response = error_response(error, request_id, path)
        response.headers.update({"x-request-id": request_id, "connection": "close"})
        headers = [*self.server_state.default_headers, *SECURITY_HEADERS, *response.raw_headers]
        head = STATUS_LINE[error.status] + b"".join(b"%b: %b\r\n" % one for one in headers)
        _end_with(self.transport, self.loop, head + b"\r\n" + bytes(response.body))


class _UnframedCycle(RequestResponseCycle):
    """A request by HTTP/1.0, which has no chunks (RFC 9112, 6.1): the end of the connection is that
    of an answer without a length."""

    is_unframed = False

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message.get("headers", ())}
            if b"content-length" not in names:
                self.is_unframed, self.chunked_encoding = True, False
        elif message["type"] == "http.response.body" and self.is_unframed:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)


class _PipelineFlow(FlowControl):
    """Reads on only when no request waits for the answer of the one before it: nobody has room for
    the bodies that come behind it."""

    def __init__(self, transport: asyncio.Transport, pipeline: Sized) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        if not self._pipeline:
            super().resume_reading()


class WebSocketProtocol(_EndsForSlowReaders, WebSocketsSansIOProtocol):
    """Bounds frames, answers every handshake, and lets the client read why a connection ends."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.conn = _BoundedConnection(max_size=config.ws_max_size, logger=self.logger)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.client = _unmapped(self.client)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        broken = self.conn.handshake_exc or self.conn.parser_exc
        if broken is not None:
            drop_frames(broken)

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        self.handshake_complete |= self.close_sent  # or uvicorn logs each refusal as an error

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.handshake_initiated = self.handshake_complete = self.close_sent = True
            refusal = self.conn.reject(400, "Failed to open a WebSocket connection.\n")
            answer = b"".join(self.conn.data_to_send()) or refusal.serialize()
            _end_with(self.transport, self.loop, answer)

    def send_receive_event_to_app(self) -> None:
        """uvicorn would log a text that is not UTF-8 as an error."""
        if self.curr_msg_data_type == "text" and not _is_utf_8(b"".join(self.frames)):
            self.frames = []
            self.conn.fail(CloseCode.INVALID_DATA, "a text must be UTF-8")
            self.handle_parser_exception()
        else:
            super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        if not self.close_sent and self.conn.close_sent is not None:
            code, reason = self.conn.close_sent.code, self.conn.close_sent.reason
            self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
            self.close_sent = True
            _end_with(self.transport, self.loop, b"".join(self.conn.data_to_send()))


def _unmapped(peer: tuple[str, int] | None) -> tuple[str, int] | None:
    """A peer whose IPv4 address a socket of both kinds shows as one of IPv6, as IPv4 writes it."""
    if peer is None or not peer[0].startswith(_MAPPED):
        return peer
    return peer[0].removeprefix(_MAPPED), peer[1]


class _BoundedConnection(ServerProtocol):
    """Fails at more than 500 small frames in a second: parsing a quarter of a megabyte of them,
    which the event loop reads at once, takes half a second."""

    _second = _num_small = 0

    def reject(self, status: StatusLike, text: str) -> Response:
        """Names the only version (RFC 6455, 4.4)."""
        refusal = super().reject(status, text)
        refusal.headers["Sec-WebSocket-Version"] = "13"
        return refusal

    def recv_frame(self, frame: Frame) -> None:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._num_small = second, 0
        is_part = frame.opcode in CTRL_OPCODES or frame.opcode is Opcode.CONT or not frame.fin
        self._num_small += len(frame.data) < (256 if is_part else 16)
        if self._num_small > _MAX_SMALL_FRAMES:
            self.fail(CloseCode.POLICY_VIOLATION, "too many small frames in a second")
            raise ProtocolError
        super().recv_frame(frame)


def _end_with(transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, data: bytes) -> None:
    transport.write(data)
    transport.write_eof()
    loop.call_later(_LINGER_SECONDS, transport.abort)


@functools.cache
def _trusted(proxies: Sequence[str]) -> _TrustedHosts:
    return _TrustedHosts([*proxies])


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _too_large(allowed: str) -> HeadTooLarge:
    return HeadTooLarge(f"the request's head or trailers have more than the {allowed} allowed")
