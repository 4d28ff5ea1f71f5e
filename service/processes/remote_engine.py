"""The front end's side of the connections: engines of other processes, used as one."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from model.decoding.sentence import SourceSentence
from service.engine.admission import Crowd
from service.engine.pooled_engine import PooledEngine, not_running
from service.engine.sentence_engine import NO_ROOM, AwaitedRequest, Room
from service.engine.sentence_task import CancelReason, SentenceOutcome
from service.errors import Draining, Overloaded, ServiceError
from service.processes.link import Link
from service.processes.messages import (
    Answer,
    Ask,
    Cancel,
    Hello,
    LoadAnswer,
    ModelFiles,
    ModelSizes,
    Outputs,
    State,
    Submit,
    error_of,
    outcome_of,
    sentence_fields,
)
from service.processes.questions import Questions

_SLACK_ROWS = 8
"""Rows by which a process may have more work than another, for the sake of what it remembers."""
_decode = msgspec.msgpack.Decoder(Hello | State | Outputs | Answer).decode


class Share:
    """The sentences of a request that one process works for."""

    def __init__(self, number: int, request: AwaitedRequest) -> None:
        self.number, self.request = number, request
        self.indices: list[int] = []
        """Those that its sentences have in the request."""
        self.open_rows: dict[int, int] = {}
        """The rows of its sentences without an outcome, by their index in the share."""
        self.accepted: asyncio.Future[None] | None = None
        """Whether the engine takes what it was sent last; None: nobody waits to know."""

    def add(self, indices: Sequence[int], sentences: Sequence[SourceSentence]) -> None:
        if self.request.asks_for_room:
            self.accepted = asyncio.get_running_loop().create_future()
        first = len(self.indices)
        self.indices += indices
        for place, sentence in enumerate(sentences, first):
            self.open_rows[place] = sentence.options.beam_size

    def accept(self) -> None:
        if self.accepted is not None and not self.accepted.done():
            self.accepted.set_result(None)

    def refuse(self, error: ServiceError) -> None:
        """Raise the error for who waits for room or for the outcomes."""
        if self.accepted is None:
            self.request.refuse(error)
        elif not self.accepted.done():  # else who waited is just being cancelled
            self.accepted.set_exception(error)
            self.accepted.exception()  # nobody may wait any more

    def fail(self, error: ServiceError) -> None:
        """Give the error to each sentence without an outcome."""
        for place in self.open_rows:
            self.request.end(self.indices[place], SentenceOutcome([], error))


class EngineProcess:
    """A process with engines, and what it works for. Used on the event loop."""

    def __init__(self, changed: Callable[[EngineProcess], None]) -> None:
        """`changed` is called when it is there, when other engines are ready, and when it has
        ended."""
        self.is_there = False
        self.sizes: Mapping[str, ModelSizes] = {}
        """Of the models that it has from its start, by name."""
        self.ready: Collection[str] = ()
        """The models, by name or key, whose engine accepts new work."""
        self.wanted_back: Collection[str] = ()
        """The keys of models whose memory others need."""
        self.crowds: Mapping[str, Crowd] = {}
        """Of the models for which many sentences wait there."""
        self.load = 0
        """Rows of the sentences that it was given."""
        self._changed = changed
        self._link = Link[Submit | Cancel | Ask, Hello | State | Outputs | Answer](
            _decode, self._take, self._end
        )
        self._questions = Questions(self._link.send, "the engine")
        self.ask = self._questions.ask
        self._shares: dict[int, Share] = {}
        self._numbers = itertools.count()

    async def connect(self, connected: socket.socket) -> None:
        await self._link.connect(connected)

    def close(self) -> None:
        self._link.close()

    async def load_model(self, key: str, files: ModelFiles) -> LoadAnswer:
        """Have a model in memory there, under this key, once. Raises NotReady if it ends first."""
        return await self._lease("load", key, [files])

    async def reserve(self, key: str, models: Sequence[ModelFiles]) -> LoadAnswer:
        """Have several models in memory there at once, each of which is then loaded. Likewise."""
        return await self._lease("reserve", key, models)

    def give_back(self, key: str) -> None:
        """The models of this key leave, before others are loaded."""
        self._questions.tell("give_back", key)

    async def _lease(self, kind: str, key: str, models: Sequence[ModelFiles]) -> LoadAnswer:
        found = await self.ask(kind, LoadAnswer, key, list(models))
        assert isinstance(found, LoadAnswer)
        return found

    def submit(
        self,
        request: AwaitedRequest,
        model: str,
        indices: Sequence[int],
        sentences: Sequence[SourceSentence],
        rest: Room | None,
    ) -> None:
        """Send sentences, which have these indices in their request."""
        share: Share | None = request.shares.get(self)
        if share is None:
            share = Share(next(self._numbers), request)
            self._shares[share.number] = request.shares[self] = share
        first = len(share.indices)
        share.add(indices, sentences)
        self.load += sum(sentence.options.beam_size for sentence in sentences)
        options, told = sentence_fields(sentences)
        if crowd := self.crowds.get(model):
            crowd.add(len(sentences), request.ticket.client, is_new=not first)
        self._link.send(
            Submit(
                share.number,
                model,
                first,
                options,
                told,
                request.arrived_seconds,
                request.expected_work,
                request.ticket.client,
                request.ticket.is_admitted,
                rest,
                request.asks_for_room,
            )
        )

    def fail_all(self, error: ServiceError) -> None:
        """End all that it works for with this error."""
        for share in list(self._shares.values()):
            share.request.fail(error)
            self.cancel(share, "client")

    def cancel(self, share: Share, reason: CancelReason) -> None:
        """Compute nothing more for the share."""
        self._link.send(Cancel(share.number, reason))
        self._close(share)

    def _close(self, share: Share) -> None:
        """Wait for nothing more of the share."""
        share.accept()
        del self._shares[share.number], share.request.shares[self]
        self.load -= sum(share.open_rows.values())
        share.open_rows.clear()

    def _take(self, message: Hello | State | Outputs | Answer) -> None:
        if isinstance(message, Outputs):
            self._take_outputs(message)
        elif isinstance(message, State):
            self._take_state(message)
        elif isinstance(message, Hello):
            self.is_there, self.sizes = True, message.models
            self._changed(self)
        else:
            self._questions.take(message)

    def _take_state(self, state: State) -> None:
        self.crowds = state.crowds
        if state.ready != self.ready or state.wanted_back or self.wanted_back:
            self.ready, self.wanted_back = state.ready, state.wanted_back
            self._changed(self)

    def _take_outputs(self, outputs: Outputs) -> None:
        for number in outputs.accepted:
            if share := self._shares.get(number):
                share.accept()
        for number, told in outputs.refused:
            if share := self._shares.get(number):
                share.refuse(error_of(told))
                self._close(share)
        for number, place, ids in outputs.ids:
            if share := self._shares.get(number):
                share.request.receive(share.indices[place], ids)
        for outcome in outputs.outcomes:
            self._take_outcome(outcome[0], outcome[1], outcome_of(outcome))
        for number, place, told in outputs.errors:
            self._take_outcome(number, place, SentenceOutcome([], error_of(told)))

    def _take_outcome(self, number: int, place: int, outcome: SentenceOutcome) -> None:
        if (share := self._shares.get(number)) is None:
            return
        self.load -= share.open_rows.pop(place)
        if not share.open_rows:
            self._close(share)
        share.request.end(share.indices[place], outcome)

    def _end(self) -> None:
        """The process has ended: what it worked for fails."""
        self.is_there, self.ready, self.wanted_back, self.crowds = False, (), (), {}
        self._changed(self)
        for share in list(self._shares.values()):
            share.fail(not_running())
            self._close(share)
        self._questions.fail()


class RemoteEngine(PooledEngine):
    """The engines of one model in all processes. Each sentence goes to the process with the least
    work, or among equals to the one that had it before."""

    def __init__(
        self,
        model: str,
        sizes: ModelSizes,
        processes: Collection[EngineProcess],
        let_go: Callable[[], object] = tuple,
    ) -> None:
        """`model`: its name or key in the processes; `processes`: those that are there; `let_go`
        is called when it stops, in any thread."""
        self.model, self._processes, self._let_go = model, processes, let_go
        self.max_beam_size, self.max_target_tokens, _ = sizes
        self.is_draining = False
        self._running: Sequence[EngineProcess] = ()
        """Those whose engine accepts new work."""
        self.renew()

    def renew(self) -> None:
        """What is ready may have changed."""
        self._running = [one for one in self._processes if self.model in one.ready]

    @property
    def is_ready(self) -> bool:
        return not self.is_draining and bool(self._running)

    def gauges(self) -> Mapping[str, float]:
        """The processes tell them."""
        return {}

    def start(self) -> None:
        """It works already."""

    def stop(self) -> None:
        """What it works for fails as far as the processes let the model go."""
        self.is_draining = True
        self._let_go()

    def refuse_new_work(self) -> None:
        self.is_draining = True

    def require_ready(self, name: str | None = None) -> None:
        if self.is_draining:
            raise Draining()
        if not self._running:
            raise not_running(name)

    def has_room(self, client: str) -> bool:
        return self.is_ready and bool(self._with_room(client))

    def require_running(self) -> None:
        if not self._running:
            raise not_running()

    def require_room(self, num_sentences: int, num_tokens: int = 0, client: str = "") -> None:
        """The processes count what waits. They tell of crowds, and refuse what has no room when
        they get it."""
        if self.is_draining:
            raise Draining()
        self.require_running()
        if num_sentences and not self._with_room(client):
            raise Overloaded(self._why_full(self._running[0], client))

    def _with_room(self, client: str) -> Sequence[EngineProcess]:
        """Those that take one more sentence of a client, as far as is known."""
        return [one for one in self._running if not self._why_full(one, client)]

    def _why_full(self, process: EngineProcess, client: str) -> str:
        crowd = process.crowds.get(self.model)
        return crowd.why_full(client) if crowd else ""

    def submit(
        self,
        request: AwaitedRequest,
        first: int,
        sentences: Sequence[SourceSentence],
        rest: Room | None = NO_ROOM,
    ) -> None:
        is_new = rest is not None and not request.ticket.is_admitted
        self.require_room(0) if is_new else self.require_running()
        if not sentences:
            return
        running = self._with_room(request.ticket.client) if is_new else ()
        shares = self._divided(sentences, running or self._running)
        for number, (process, places) in enumerate(shares.items()):
            own = [sentences[place] for place in places]
            part = rest and Room(*((all_ + number) // len(shares) for all_ in rest))  # whole in sum
            process.submit(request, self.model, [first + place for place in places], own, part)

    async def require_accepted(self, request: AwaitedRequest) -> None:
        for share in list(request.shares.values()):
            if share.accepted is not None:
                await share.accepted

    def cancel(self, request: AwaitedRequest, reason: CancelReason) -> None:
        for process, share in list(request.shares.items()):
            process.cancel(share, reason)

    def _divided(
        self, sentences: Sequence[SourceSentence], running: Sequence[EngineProcess]
    ) -> dict[EngineProcess, Sequence[int]]:
        """The sentences of each process, in order."""
        if len(running) == 1:
            return {running[0]: range(len(sentences))}
        loads = {process: process.load for process in running}
        shares: dict[EngineProcess, list[int]] = {}
        for place in sorted(range(len(sentences)), key=lambda i: -len(sentences[i].ids)):
            sentence = sentences[place]
            usual = running[hash(tuple(sentence.ids)) % len(running)]
            least = min(loads, key=lambda process: loads[process])
            chosen = usual if loads[usual] <= loads[least] + _SLACK_ROWS else least
            loads[chosen] += sentence.options.beam_size
            shares.setdefault(chosen, []).append(place)
        return {process: sorted(places) for process, places in shares.items()}
