"""The engine's side of the connections: engines of one process work for front ends."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

import msgspec

from service.engine.admission import Crowd
from service.engine.engine import Engine
from service.engine.sentence_engine import Room
from service.engine.sentence_task import EngineRequest, SentenceOutcome
from service.engine.ticket import Ticket
from service.errors import ServiceError
from service.periodic import repeated
from service.processes.held_models import HeldModels, LoadedEngine, SharedModels
from service.processes.link import Link
from service.processes.messages import (
    Answer,
    Ask,
    Cancel,
    Hello,
    Outputs,
    State,
    Submit,
    error_fields,
    outcome_fields,
    sentences_of,
)
from service.processes.questions import Answers, answer

_STATE_SECONDS = 0.1
_decode = msgspec.msgpack.Decoder(Submit | Cancel | Ask).decode


class EngineServer:
    """Serves the engines of this process, by the name of their model, to any number of front
    ends, and loads models for them."""

    def __init__(
        self, pinned: Mapping[str, LoadedEngine], models: SharedModels[Any], answers: Answers
    ) -> None:
        """`pinned`: what is there from the start; `models`: of a store."""
        self._engines = {name: one.engine for name, one in pinned.items()}
        self._models, self._answers = models, answers
        self._hello = Hello({name: one.sizes for name, one in pinned.items()})
        self._front_ends: set[_FrontEnd] = set()

    async def serve(self, connected: socket.socket) -> None:
        """Work for the front end at the other end of this socket until it ends."""
        own = dict(self._engines)
        front_end = _FrontEnd(own, self._models, self._answers, self._front_ends.discard)
        await front_end.connect(connected)
        self._front_ends.add(front_end)
        front_end.greet(self._hello)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Tell the front ends inside the block which engines are ready; then let them go."""
        await self._tell_state()
        async with repeated(self._tell_state, _STATE_SECONDS):
            yield
        for front_end in self._front_ends:
            front_end.close()

    async def _tell_state(self) -> None:
        for front_end in self._front_ends:
            front_end.tell_state()


class _FrontEnd:
    """A front end: its requests, and the outputs that wait for the end of the iteration."""

    def __init__(
        self,
        engines: dict[str, Engine],
        models: SharedModels[Any],
        answers: Answers,
        forget: Callable[[_FrontEnd], None],
    ) -> None:
        """`engines`: those of all front ends; its own come to them."""
        self._engines, self._forget = engines, forget
        self._models = HeldModels(models, engines, self.tell_state)
        self._answers = {**answers, **self._models.answers()}
        self._told: State | None = None
        """What it was told last."""
        self._link = Link[Hello | State | Outputs | Answer, Submit | Cancel | Ask](
            _decode, self._take, self._end
        )
        self._requests: dict[int, _SentRequest] = {}
        self._outputs = Outputs()
        self._is_flushing = False

    async def connect(self, connected: socket.socket) -> None:
        await self._link.connect(connected)

    def greet(self, hello: Hello) -> None:
        self._link.send(hello)
        self.tell_state()

    def close(self) -> None:
        self._link.close()

    def tell_state(self) -> None:
        """Tell what is ready if this has changed, and as long as something is wanted back."""
        ready = [name for name, engine in self._engines.items() if engine.is_ready]
        state = State(ready, self._models.wanted_back(), self._crowds())
        if state != self._told or state.wanted_back:
            self._told = state
            self._link.send(state)

    @property
    def outputs(self) -> Outputs:
        """What is put into it is sent at the end of this iteration of the event loop."""
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._flush)
        return self._outputs

    def forget(self, request: _SentRequest) -> None:
        """No sentence of the request is computed any more."""
        self._requests.pop(request.number, None)

    def _flush(self) -> None:
        outputs, self._outputs, self._is_flushing = self._outputs, Outputs(), False
        self._link.send(outputs)
        if self._told is None or self._told.crowds != self._crowds():
            self.tell_state()

    def _crowds(self) -> dict[str, Crowd]:
        found = {name: engine.admission.crowd() for name, engine in self._engines.items()}
        return {name: crowd for name, crowd in found.items() if crowd}

    def _take(self, message: Submit | Cancel | Ask) -> None:
        if isinstance(message, Submit):
            self._submit(message)
        elif isinstance(message, Cancel):
            if request := self._requests.pop(message.request, None):
                request.engine.cancel(request, message.reason)
        else:
            answer(message, self._answers, self._link)

    def _submit(self, submit: Submit) -> None:
        number, engine = submit.request, self._engines[submit.model]
        engine.used_seconds = submit.arrived
        if self._told is not None and submit.model in self._told.crowds:
            self._told = None  # the front end counts these sentences as waiting, which not all may
        request = self._requests.get(number) or _SentRequest(self, engine, submit)
        rest = None if submit.rest is None else Room(*submit.rest)
        try:
            engine.submit(request, submit.first, sentences_of(submit), rest)
        except ServiceError as error:
            engine.cancel(request, "client")
            self.forget(request)
            self.outputs.refused.append((number, error_fields(error)))
            return
        if request.tasks:
            self._requests[number] = request
        if submit.asks_for_room:
            self.outputs.accepted.append(number)

    def _end(self) -> None:
        """The front end has ended: nobody wants its sentences."""
        self._forget(self)
        for request in list(self._requests.values()):
            request.engine.cancel(request, "client")
        self._requests.clear()
        self._models.end()


class _SentRequest(EngineRequest):
    """A request of another process."""

    def __init__(self, front_end: _FrontEnd, engine: Engine, submit: Submit) -> None:
        ticket = Ticket(submit.client, is_admitted=submit.is_admitted)
        self.arrived_seconds, self.expected_work = submit.arrived, submit.expected_work
        self.ticket, self.tasks = ticket, {}
        self.number, self.engine = submit.request, engine
        self._front_end = front_end

    def receive(self, index: int, ids: Sequence[int]) -> None:
        self._front_end.outputs.ids.append((self.number, index, list(ids)))

    def end(self, index: int, outcome: SentenceOutcome) -> None:
        outputs = self._front_end.outputs
        if outcome.error is None:
            outputs.outcomes.append(outcome_fields(self.number, index, outcome))
        else:
            outputs.errors.append((self.number, index, error_fields(outcome.error)))
        if not self.tasks:
            self._front_end.forget(self)
