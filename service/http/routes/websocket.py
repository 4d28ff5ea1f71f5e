"""WS /translate/stream: concurrent requests on one connection, each with an id."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.types import Message

from service.errors import (
    Cancelled,
    ClientGone,
    DuplicateId,
    InvalidMessage,
    ServiceError,
    TooManyStreams,
    UnknownId,
    drop_frames,
    shown,
)
from service.http.access.caller import Caller, key_of_head
from service.http.answers import RequestId, render_error, render_piece
from service.http.bodies import parse_json
from service.http.error_answers import unforeseen
from service.http.head import headers_of
from service.http.limits import RequestLimits
from service.http.request_log import RequestRecord, request_id_of
from service.http.requests import key_of_fields
from service.http.state import ServerState, server_state
from service.http.translate_request import TranslateRequest
from service.translation.job import TranslationJob

router = APIRouter()
_logger = logging.getLogger(__name__)

PATH = "/translate/stream"
_MAX_ID_CHARACTERS, _MAX_ID_NUMBER = 128, 2**63 - 1
LEAVING = 1012
_IDLE, _TOO_LARGE, _BROKEN = 1001, 1009, 1011
_GONE = (WebSocketDisconnect, RuntimeError)  # RuntimeError: already closed
SERVER_LEAVES: Message = {
    "type": "websocket.disconnect",
    "code": LEAVING,
    "reason": "",
    "is_server_leaving": True,  # a client can send the code, but not this key
}


@router.websocket(PATH)
async def translate_stream(socket: WebSocket) -> None:
    """Answer requests until the client disconnects, then cancel its running requests.

    Without a key the messages may have one. Raises a ServiceError, such as for a wrong key.
    """
    state = server_state(socket)
    caller = state.access.caller(socket.scope)
    try:
        await caller.enter(socket.scope, headers_of(socket.scope), may_have_key_in_body=True)
    finally:
        await caller.leave(None)
    await socket.accept()
    with state.metrics.open_streams.track_inprogress():
        await Connection(socket, state).serve()


@dataclass
class _Request:
    """A request in progress. It can be cancelled until `is_ending`, when its last message is
    being sent."""

    wanted: TranslateRequest
    job: TranslationJob
    record: RequestRecord
    caller: Caller
    task: asyncio.Task[None] | None = None
    is_ending: bool = False

    def cancel(self) -> None:
        if not self.is_ending and self.task is not None:
            self.is_ending = True
            self.task.cancel()


class Connection:
    """One websocket and its requests in progress, one asyncio task each.

    A slow reader blocks its tasks at the send, so unsent data is bounded by the translations.
    Every request ends with a message; if the message cannot be sent, the connection is closed.
    """

    def __init__(self, socket: WebSocket, state: ServerState) -> None:
        self._socket, self._state = socket, state
        headers = headers_of(socket.scope)
        self._id = request_id_of(headers)
        self._numbers = itertools.count(1)
        self._requests: dict[RequestId, _Request] = {}
        self._sending = asyncio.Lock()
        self._key = key_of_head(socket.scope, headers)

    async def serve(self) -> None:
        """Handle messages until the client disconnects, is idle too long or exceeds a limit."""
        try:
            while (message := await self._receive()) is not None:
                await self._handle(message)
                await asyncio.sleep(0)  # let other connections run between messages
        except ClientGone:
            pass
        except Exception:
            _logger.exception("a websocket failed", extra={"request_id": self._id})
            await self._close(_BROKEN, "something went wrong here")
        finally:
            tasks = self._tasks
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    @property
    def _tasks(self) -> list[asyncio.Task[None]]:
        return [request.task for request in self._requests.values() if request.task is not None]

    async def _receive(self) -> str | bytes | None:
        """The next message, or None at the end. If the server is stopping, wait for the requests
        in progress first."""
        limits = self._state.limits
        while True:
            try:
                async with asyncio.timeout(limits.stream_idle_seconds):
                    frame = await self._socket.receive()
            except TimeoutError:
                if self._requests:
                    continue
                await self._close(_IDLE, "nothing was asked for too long")
                return None
            if frame["type"] == "websocket.disconnect":
                if frame.get("is_server_leaving") and self._requests:
                    await asyncio.wait(self._tasks)
                return None
            content: str | bytes = frame.get("text") or frame.get("bytes") or ""
            if len(content) > limits.max_body_bytes:
                await self._close(_TOO_LARGE, f"over {limits.max_body_bytes} bytes")
                return None
            return content

    async def _handle(self, message: str | bytes) -> None:
        """Start or cancel a request; answer an invalid message with an error."""
        request_id: RequestId | None = None
        try:
            try:
                values = _parse(message, self._state.limits)
                request_id = _id_of(values)
                is_cancel = values.get("cancel") is True
                self._require_possible(request_id, is_cancel=is_cancel)
            except ServiceError as error:
                await self._count_refused(error)
                raise
            if is_cancel:
                self._requests[request_id].cancel()
            else:
                await self._start(request_id, values)
                await asyncio.sleep(0)  # a task cancelled before it starts never answers
        except ServiceError as error:
            await self._send_error(error, request_id)
        except Exception as error:
            await self._send_error(unforeseen(error, self._id), request_id)

    async def _count_refused(self, error: ServiceError) -> None:
        """Count a refused message as a request. Raises a ServiceError if it is one too many."""
        caller = self._state.access.caller(self._socket.scope)
        try:
            await caller.identify(self._key)
        finally:
            await caller.leave(error.status)

    def _require_possible(self, request_id: RequestId, *, is_cancel: bool) -> None:
        """Raises UnknownId, DuplicateId or TooManyStreams."""
        if is_cancel:
            if request_id not in self._requests:
                raise UnknownId(f"no request with id {shown(request_id)} is in progress")
            return
        if request_id in self._requests:
            raise DuplicateId(f"a request with id {shown(request_id)} is still in progress")
        if len(self._requests) >= self._state.limits.max_streams:
            raise TooManyStreams(
                f"{len(self._requests)} requests are in progress on this connection, "
                f"at most {self._state.limits.max_streams} are allowed"
            )

    async def _start(self, request_id: RequestId, values: dict[str, Any]) -> None:
        fields = {name: value for name, value in values.items() if name not in ("id", "cancel")}
        self._key = key_of_fields(fields) or self._key
        caller = self._state.access.caller(self._socket.scope)
        try:
            await caller.identify(self._key)
            self._state.dispatcher.require_room(caller.client.name)
            greatest = self._state.limits.greatest
            wanted = TranslateRequest.validated(fields, greatest=greatest)
            job = await self._state.admit(caller, wanted)
        except BaseException:
            await caller.leave(InvalidMessage.status)
            raise
        request = _Request(wanted, job, self._record(), caller)
        self._requests[request_id] = request
        request.task = asyncio.create_task(self._answer(request_id, request))

    def _record(self) -> RequestRecord:
        """The logged id is the connection's id and a number, because the client's id may be any
        text."""
        own_id = f"{self._id}-{next(self._numbers)}"
        return RequestRecord(own_id, "WS", PATH, self._socket.headers.get("traceparent"))

    async def _answer(self, request_id: RequestId, request: _Request) -> None:
        """Translate and send the outcome; close the connection if sending fails."""
        record = request.record
        try:
            error = await self._translate(request_id, request)
            request.is_ending = True
            record.status = error.status if error else 200
            if error is not None:
                await self._send_error(error, request_id)
        except (ClientGone, asyncio.CancelledError):
            record.status = ClientGone.status
        except Exception as error:
            record.status = unforeseen(error, record.request_id).status
            await self._close(_BROKEN, "something went wrong here")
        finally:
            del self._requests[request_id]
            await request.caller.leave(record.status, has_delivered=record.has_delivered)
            self._enter(record)

    async def _translate(self, request_id: RequestId, request: _Request) -> ServiceError | None:
        """Send the translation's messages; return the error that ended it, or None."""
        try:
            async with self._state.suggested.stream(request.job) as pieces:
                async for piece in pieces:
                    message = await render_piece(request.wanted, piece, request.record, request_id)
                    await self._send(message)
        except ServiceError as error:
            return error
        except asyncio.CancelledError:
            return Cancelled("the request was cancelled")
        except Exception as error:
            return unforeseen(error, request.record.request_id)
        return None

    def _enter(self, record: RequestRecord) -> None:
        try:
            self._state.request_log.enter(record)
        except Exception as error:
            unforeseen(error, record.request_id)

    async def _send_error(self, error: ServiceError, request_id: RequestId | None) -> None:
        drop_frames(error)
        if error.is_rejection:
            self._state.metrics.count_rejected(error.code)
        await self._send(render_error(error, request_id))

    async def _send(self, message: str) -> None:
        """Raises ClientGone if the connection is lost."""
        async with self._sending:
            try:
                await self._socket.send_text(message)
            except _GONE as error:
                raise ClientGone("the client disconnected") from error

    async def _close(self, code: int, reason: str) -> None:
        with contextlib.suppress(*_GONE):
            await self._socket.close(code, reason)


def _parse(message: str | bytes, limits: RequestLimits) -> dict[str, Any]:
    if isinstance(message, bytes):
        raise InvalidMessage("a message must be a text frame with JSON, got a binary frame")
    values = parse_json(message.encode(), limits, "message")
    if not isinstance(values, dict):
        raise InvalidMessage(f"a message must be a JSON object, got {shown(values)}")
    return values


def _id_of(values: dict[str, Any]) -> RequestId:
    request_id = values.get("id")
    if isinstance(request_id, int) and not isinstance(request_id, bool):
        if abs(request_id) <= _MAX_ID_NUMBER:
            return request_id
        raise InvalidMessage(f"id must be at most {_MAX_ID_NUMBER}, got {shown(request_id)}")
    if isinstance(request_id, str) and len(request_id) <= _MAX_ID_CHARACTERS:
        return request_id
    raise InvalidMessage(
        f"id must be a whole number or a string of at most {_MAX_ID_CHARACTERS} characters, "
        f"got {shown(request_id)}"
    )
