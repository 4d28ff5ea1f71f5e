"""uvicorn's websocket protocol with limits."""

from __future__ import annotations

import asyncio
import time
from typing import Any, ClassVar

from uvicorn import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import ProtocolError
from websockets.frames import CTRL_OPCODES, CloseCode, Frame, Opcode
from websockets.server import ServerProtocol

from service.errors import Exhausted
from service.http.early_refusals import EarlyRefusals
from service.http.protocols.early import EARLY_REFUSALS
from service.http.protocols.http import uvicorn_logger
from service.http.protocols.input import PacedInput
from service.http.protocols.limits import WireLimits
from service.http.protocols.output import SendWatch
from service.http.protocols.raw_answers import EXHAUSTED
from service.http.routes.websocket import SERVER_LEAVES

_PIECE_BYTES = 512  # 85 empty frames
_EXHAUSTED_REASON = "the server has too little memory for this now"
_LAST_SECONDS = 1.0
"""After the time for a pong is over."""


class FrameBudget:
    """Counts control frames and small fragments."""

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._num_control_frames = self._num_fragments = self._num_bytes = 0
        self._second = 0

    def excess(self, frame: Frame, now_seconds: float) -> str | None:
        """The limit that this frame exceeds, in words, or None."""
        if frame.opcode in CTRL_OPCODES:
            return self._control_excess(int(now_seconds))
        return self._fragment_excess(frame)

    def _control_excess(self, second: int) -> str | None:
        if second != self._second:
            self._second, self._num_control_frames = second, 0
        self._num_control_frames += 1
        most = self._limits.control_frames_per_second
        if self._num_control_frames > most:
            return f"more than {most} control frames in a second"
        return None

    def _fragment_excess(self, frame: Frame) -> str | None:
        if frame.opcode is not Opcode.CONT:
            self._num_fragments = self._num_bytes = 0
        self._num_fragments += 1
        self._num_bytes += len(frame.data)
        limits = self._limits
        if self._num_fragments > limits.spare_fragments + self._num_bytes // limits.fragment_bytes:
            return f"a message in fragments of less than {limits.fragment_bytes} bytes"
        return None


class BoundedConnection(ServerProtocol):
    """The state of one websocket; closes it with 1008 if it exceeds its frame budget."""

    def __init__(self, limits: WireLimits, max_message_bytes: int) -> None:
        super().__init__(max_size=max_message_bytes, logger=uvicorn_logger)
        self._budget = FrameBudget(limits)

    def recv_frame(self, frame: Frame) -> None:
        excess = self._budget.excess(frame, time.monotonic())
        if excess is not None:
            self.fail(CloseCode.POLICY_VIOLATION, excess)
            raise ProtocolError(excess)
        super().recv_frame(frame)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """Limits a connection's frames, and the time its messages stay unread.

    Parses on only after the app has received the last message. Compression is off, because a small
    frame could inflate to the maximum message size.
    """

    limits: ClassVar[WireLimits] = WireLimits()

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = uvicorn_logger
        self.conn = BoundedConnection(self.limits, config.ws_max_size)
        self._refusals: EarlyRefusals | None = app_state.get(EARLY_REFUSALS)
        self._heard_seconds = 0.0
        self._is_overdue = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._input = PacedInput(self.transport, self.loop, self)
        self._sends = SendWatch(self.transport, self.limits.send_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._input.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard_seconds = self.loop.time()
        self._input.push(data)

    def keepalive_timeout(self) -> None:
        """Close the connection only if nothing came since the ping: its answer may wait behind
        messages that a busy app has not received. What a stalled event loop has not read yet gets
        another second."""
        if self._input.has_pending or self._heard_seconds >= self.ping_sent_at:
            self._is_overdue = False
            self.pending_ping_payload = None
            self.schedule_ping()
        elif not self._is_overdue:
            self._is_overdue = True
            self.pong_timer = self.loop.call_later(_LAST_SECONDS, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def check(self, now_seconds: float) -> None:
        """End the connection if the client does not read; called about every second."""
        if self._sends.is_stalled(now_seconds):
            self.transport.abort()

    def shutdown(self) -> None:
        """Send SERVER_LEAVES to the app, which a client cannot imitate; called at shutdown."""
        if self.transport.is_closing():
            return
        if self.handshake_complete:
            leaves: Any = {**SERVER_LEAVES}
            self.queue.put_nowait(leaves)
        super().shutdown()

    def send_receive_event_to_app(self) -> None:
        """Queue a complete message for the app."""
        data = b"".join(self.frames)
        self.frames = []
        if self.close_sent:
            return
        if self.curr_msg_data_type == "bytes":
            self.queue.put_nowait({"type": "websocket.receive", "bytes": data})
            return
        try:
            self.queue.put_nowait({"type": "websocket.receive", "text": data.decode()})
        except UnicodeDecodeError:
            self.conn.fail(CloseCode.INVALID_DATA, "a text message must be UTF-8")
            self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        """Send the close frame, and close the connection after a delay."""
        if self.close_sent:
            return
        close = self.conn.close_sent
        assert close is not None
        self.queue.put_nowait(
            {"type": "websocket.disconnect", "code": close.code, "reason": close.reason}
        )
        self.close_sent = True
        self._end_with(b"".join(self.conn.data_to_send()))

    async def receive(self) -> Any:
        message = await self.queue.get()
        self._input.wake()
        return message

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.close_sent:
            self._input.wake()

    def piece_bytes(self) -> int:
        return _PIECE_BYTES

    def is_wanted(self) -> bool:
        """Whether the app has received the last message."""
        return self.close_sent or self.queue.empty()

    def parse(self, piece: bytes) -> None:
        super().data_received(piece)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.handshake_complete = self.close_sent = True
            self._input.drop()
            self._end_with(b"".join(self.conn.data_to_send()) or self._bad_request())

    def refuse_exhausted(self) -> None:
        """Close a connection that there is no memory to receive or parse."""
        self._input.drop()
        self.frames = []
        try:
            if self._refusals is not None:
                self._refusals.count(Exhausted.code)
            if self.handshake_complete:
                self.conn.fail(CloseCode.TRY_AGAIN_LATER, _EXHAUSTED_REASON)
                self.handle_parser_exception()
            else:
                self.handshake_complete = self.close_sent = self.disconnected = True
                self._end_with(EXHAUSTED)
        except MemoryError:
            self.transport.abort()

    def _bad_request(self) -> bytes:
        response = self.conn.reject(400, "Failed to open a WebSocket connection.\n")
        return response.serialize()

    def _end_with(self, data: bytes) -> None:
        """Send `data` and close after a delay. Closing while the client sends would reset the
        connection and lose `data`."""
        self.transport.write(data)
        self.transport.write_eof()
        self.close_timer = self.loop.call_later(self.limits.linger_seconds, self.transport.close)
