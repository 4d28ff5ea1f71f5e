"""WS /translate/stream: many requests on one connection, told apart by id."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import BaseModel

from service.dispatcher import Job
from service.errors import (
    Cancelled,
    ClientGone,
    DuplicateId,
    InvalidMessage,
    ServiceError,
    TooManyStreams,
    UnknownId,
    shown,
)
from service.journal import Record, request_id_of
from service.routes.body import parse_json
from service.routes.events import message_of, render
from service.routes.state import Limits, ServerState, StateDep
from service.schemas import ErrorMessage, TranslateRequest

router = APIRouter()

PATH = "/translate/stream"
RequestId = str | int
_MAX_ID_CHARACTERS, _MAX_ID_NUMBER = 128, 2**63 - 1
LEAVING = 1012
_IDLE, _TOO_LARGE = 1001, 1009
_GONE = (WebSocketDisconnect, RuntimeError)  # the latter if the connection was closed before


@router.websocket(PATH)
async def translate_stream(socket: WebSocket, state: StateDep) -> None:
    """Answer requests until the client leaves; leaving cancels what it still had running."""
    await socket.accept()
    with state.metrics.open_streams.track_inprogress():
        await Connection(socket, state).serve()


class Connection:
    """One websocket and its requests in progress, each a task of its own.

    A reader that is slow stops its tasks at the send, so that what waits for it is bounded by the
    translations themselves.
    """

    def __init__(self, socket: WebSocket, state: ServerState) -> None:
        self._socket, self._state = socket, state
        self._id = request_id_of(socket.headers)
        self._numbers = itertools.count(1)
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Take messages until the client leaves, is idle for too long or breaks the limits.

        If it is the server that leaves, what is in progress is finished.
        """
        try:
            while (message := await self._receive()) is not None:
                await self._take(message)
        except WebSocketDisconnect as left:
            if left.code == LEAVING and self._tasks:
                await asyncio.wait(self._tasks.values())
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def _receive(self) -> str | bytes | None:
        """The next frame; None if the connection was closed for idleness or size."""
        limits = self._state.limits
        while True:
            try:
                async with asyncio.timeout(limits.stream_idle_seconds):
                    frame = await self._socket.receive()
            except TimeoutError:
                if self._tasks:
                    continue
                await self._socket.close(_IDLE, "nothing was asked for too long")
                return None
            if frame["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(frame.get("code", 1005))
            content: str | bytes = frame.get("text") or frame.get("bytes") or ""
            if len(content) > limits.max_body_bytes:
                await self._socket.close(_TOO_LARGE, f"over {limits.max_body_bytes} bytes")
                return None
            return content

    async def _take(self, message: str | bytes) -> None:
        """Start or cancel a request; what is wrong with a message is answered, not fatal."""
        request_id: RequestId | None = None
        try:
            values = _parse(message, self._state.limits)
            request_id = _id_of(values)
            if values.get("cancel") is True:
                self._cancel(request_id)
            else:
                self._start(request_id, values)
                await asyncio.sleep(0)  # a task cancelled before it began would never answer
        except ServiceError as error:
            await self._send_error(error, request_id)

    def _cancel(self, request_id: RequestId) -> None:
        task = self._tasks.get(request_id)
        if task is None:
            raise UnknownId(f"no request with id {shown(request_id)} is in progress")
        task.cancel()

    def _start(self, request_id: RequestId, values: dict[str, Any]) -> None:
        if request_id in self._tasks:
            raise DuplicateId(f"a request with id {shown(request_id)} is still in progress")
        if len(self._tasks) >= self._state.limits.max_streams:
            raise TooManyStreams(
                f"{len(self._tasks)} requests are in progress on this connection, "
                f"at most {self._state.limits.max_streams} are allowed"
            )
        fields = {name: value for name, value in values.items() if name not in ("id", "cancel")}
        wanted = TranslateRequest.from_json(fields)
        job = self._state.job(wanted)
        self._tasks[request_id] = asyncio.create_task(self._answer(request_id, wanted, job))

    async def _answer(self, request_id: RequestId, wanted: TranslateRequest, job: Job) -> None:
        record = self._record()
        error = await self._translate(request_id, wanted, job, record)
        with contextlib.suppress(*_GONE):
            if error is not None:
                await self._send_error(error, request_id)
        del self._tasks[request_id]
        record.status = error.status if error else 200
        self._state.journal.enter(record)

    def _record(self) -> Record:
        """In the log a request has the connection's id and its number on it, not what the client
        calls it, which may be anything."""
        own_id = f"{self._id}-{next(self._numbers)}"
        return Record(own_id, "WS", PATH, self._socket.headers.get("traceparent"))

    async def _translate(
        self, request_id: RequestId, wanted: TranslateRequest, job: Job, record: Record
    ) -> ServiceError | None:
        """Send the translation's messages -> why it did not come to its end."""
        try:
            async with self._state.dispatcher.stream(job) as pieces:
                async for piece in pieces:
                    await self._send(message_of(wanted, piece, record, request_id))
        except ServiceError as error:
            return error
        except asyncio.CancelledError:
            return Cancelled("the request was cancelled")
        except _GONE:
            return ClientGone("the client hung up")
        return None

    async def _send_error(self, error: ServiceError, request_id: RequestId | None) -> None:
        if error.is_rejection:
            self._state.metrics.count_rejected(error.code)
        await self._send(ErrorMessage.of(error, request_id))

    async def _send(self, message: BaseModel) -> None:
        async with self._sending:
            await self._socket.send_text(render(message))


def _parse(message: str | bytes, limits: Limits) -> dict[str, Any]:
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
        f"id must be a number or a string of at most {_MAX_ID_CHARACTERS} characters, "
        f"got {shown(request_id)}"
    )
