"""Engines of several processes, used as one."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from model.decoding.sentence import SourceSentence, StepResult
from service.engine import sentence_engine
from service.engine.engine import Engine
from service.engine.sentence_engine import NO_ROOM, Room
from service.engine.sentence_task import EngineRequest, SentenceOutcome
from service.engine.ticket import NO_TICKET, Ticket
from service.errors import NotReady, Overloaded, ServiceError
from service.processes.engine_server import EngineServer
from service.processes.remote_engine import EngineProcess, RemoteEngine
from tests.service.fakes import (
    FakeRunner,
    emptied,
    engine_of,
    eventually,
    sentence,
    server_of,
    texts_of,
)


@dataclass
class Pair:
    """Two processes: their runners, engines, servers and connections; and both as one engine."""

    runners: Sequence[FakeRunner]
    engines: Sequence[Engine]
    servers: Sequence[EngineServer]
    processes: list[EngineProcess]
    both: RemoteEngine

    def open_gates(self) -> None:
        for runner in self.runners:
            runner.gate.set()


@contextlib.asynccontextmanager
async def pair(
    *, is_held: bool = False, max_slots: int = 100, **limits: int
) -> AsyncGenerator[Pair]:
    """`is_held`: no step ends until the gates open."""
    runners = [FakeRunner(max_slots, max_rows=400) for _ in range(2)]
    for runner in runners:
        if is_held:
            runner.gate.clear()
    processes = [EngineProcess(lambda _: None) for _ in runners]
    async with contextlib.AsyncExitStack() as stack:
        engines = [await stack.enter_async_context(engine_of(one, **limits)) for one in runners]
        servers = [server_of(one, {"twice": lambda number: 2 * number}) for one in engines]
        for server, process in zip(servers, processes, strict=True):
            ours, theirs = socket.socketpair()
            await stack.enter_async_context(server.running())
            await server.serve(theirs)
            await process.connect(ours)
        await eventually(lambda: all(process.ready for process in processes))
        both = RemoteEngine("fake", processes[0].sizes["fake"], processes)
        made = Pair(runners, engines, servers, processes, both)
        yield made
        made.open_gates()
    await eventually(lambda: not any(process.is_there for process in processes))


def different(count: int) -> list[SourceSentence]:
    return [sentence(f"{number:03}") for number in range(count)]


async def test_a_document_uses_every_process_and_its_results_are_in_order() -> None:
    async with pair(is_held=True) as two:
        document = asyncio.create_task(two.both.translate(different(100)))
        await eventually(lambda: two.processes[0].load + two.processes[1].load == 100)
        assert abs(two.processes[0].load - two.processes[1].load) <= 10
        two.open_gates()
        assert texts_of(await document) == [f"{number:03}" for number in range(100)]
        assert [process.load for process in two.processes] == [0, 0]
        front_ends = [front_end for server in two.servers for front_end in server._front_ends]
        assert [len(front_end._requests) for front_end in front_ends] == [0, 0]


@pytest.mark.parametrize("room", [Room(0, 0), Room(1, 1), Room(6, 11), Room(7, 12)])
async def test_what_follows_of_a_request_is_counted_by_the_processes_together(
    monkeypatch: pytest.MonkeyPatch, room: Room
) -> None:
    told = list[Room]()
    monkeypatch.setattr(EngineProcess, "submit", lambda *given: told.append(given[-1]))
    async with pair() as two:
        sentences = different(20)
        request = two.both._request(sentences, NO_TICKET)
        two.both.submit(request, 0, sentences, room)
        assert len(told) == 2
        assert Room(*map(sum, zip(*told, strict=True))) == room


async def test_equal_sentences_meet_in_one_process() -> None:
    async with pair(cache_bytes=10**6) as two:
        for _ in range(5):
            assert texts_of(await two.both.translate([sentence("a")])) == ["A"]
        assert sum(runner.num_admitted for runner in two.runners) == 1


async def test_what_a_dead_process_worked_for_fails_and_the_rest_goes_on() -> None:
    async with pair(is_held=True) as two:
        document = asyncio.create_task(two.both.translate(different(100)))
        await eventually(lambda: all(engine.num_running for engine in two.engines))
        two.processes[0].close()
        two.open_gates()
        outcomes = await document
        assert {type(one.error) for one in outcomes} == {NotReady, type(None)}
        two.both.renew()
        assert texts_of(await two.both.translate(different(9))) == [f"{i:03}" for i in range(9)]
        await emptied(two.engines[0])


async def test_a_sentence_that_fails_in_a_process_fails_alone_and_as_here() -> None:
    async with pair() as two:
        here = await two.engines[0].translate([sentence("☠")])
        first, *others = await two.both.translate([sentence("☠"), *different(9)])
        assert first.error is not None
        assert repr(first.error) == repr(here[0].error)
        assert texts_of(others) == [f"{number:03}" for number in range(9)]


async def test_who_waits_for_room_when_a_process_ends_waits_no_more() -> None:
    async with pair() as two:
        engine = RemoteEngine("fake", two.processes[0].sizes["fake"], two.processes[:1])

        async def streamed() -> list[SentenceOutcome]:
            async with engine.stream(different(3)) as updates:
                return [update.outcome async for update in updates if update.outcome]

        asked = asyncio.create_task(streamed())
        await asyncio.sleep(0)
        two.processes[0].close()
        async with asyncio.timeout(20):
            assert [type(outcome.error) for outcome in await asked] == [NotReady] * 3
        assert two.processes[0].load == 0


async def test_what_a_front_end_wanted_that_has_ended_is_computed_no_further() -> None:
    async with pair(is_held=True) as two:
        asked = asyncio.create_task(two.both.translate([sentence("a" * 40)] * 20))
        await eventually(lambda: all(runner.is_stepping.is_set() for runner in two.runners))
        for process in two.processes:
            process.close()
        assert {type(outcome.error) for outcome in await asked} == {NotReady}
        await eventually(lambda: not any(server._front_ends for server in two.servers))
        two.open_gates()
        for engine in two.engines:
            await emptied(engine)
        assert max(runner.num_steps for runner in two.runners) <= 2


async def test_without_any_process_nothing_waits() -> None:
    async with pair() as two:
        for process in two.processes:
            process.close()
        await eventually(lambda: not any(process.ready for process in two.processes))
        two.both.renew()
        with pytest.raises(NotReady):
            await two.both.translate([sentence("a")])
        with pytest.raises(NotReady):
            async with two.both.stream([sentence("a")]):
                pass
        with pytest.raises(NotReady):
            await two.processes[0].ask("twice", float)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_if_one_process_has_no_room_nothing_of_the_request_stays(is_streamed: bool) -> None:
    async with pair(is_held=True, max_slots=1, max_waiting_sentences=5) as two:
        async with asyncio.TaskGroup() as group:
            held = group.create_task(two.both.translate(different(8), Ticket("a")))
            await eventually(lambda: two.processes[0].load + two.processes[1].load == 8)
            before = [process.load for process in two.processes]
            with pytest.raises(Overloaded):
                await _ask(two.both, different(500), is_streamed=is_streamed)
            await eventually(lambda: [process.load for process in two.processes] == before)
            two.open_gates()
        assert len(held.result()) == 8


@pytest.mark.parametrize("num_taken", [0, 1, 2])
async def test_of_a_request_nothing_stays_whichever_part_of_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, num_taken: int
) -> None:
    submit, calls = Engine.submit, Counter[Engine]()

    def submit_first(engine: Engine, request: EngineRequest, *given: Any) -> None:
        calls[engine] += 1
        if calls[engine] > num_taken:
            raise NotReady("the engine is not running")
        submit(engine, request, *given)

    monkeypatch.setattr(Engine, "submit", submit_first)
    monkeypatch.setattr(sentence_engine, "SUBMITTED_AT_ONCE", 10)
    async with pair(is_held=True) as two:
        with pytest.raises(NotReady):
            await two.both.translate(different(40))
        two.open_gates()
        for engine in two.engines:
            await emptied(engine)
        known = [one for server in two.servers for one in server._front_ends]
        await eventually(lambda: not any(one._requests for one in known))


async def test_a_request_may_be_cancelled_just_when_it_is_refused() -> None:
    async with pair() as two:
        process = two.processes[0]
        request = two.both._request(different(1), NO_TICKET)
        request.asks_for_room = True
        process.submit(request, "fake", [0], different(1), NO_ROOM)
        waiting = asyncio.create_task(two.both.require_accepted(request))
        await asyncio.sleep(0)
        waiting.cancel()
        request.shares[process].refuse(NotReady("the engine is not running"))
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        two.both.cancel(request, "client")
        assert process.load == 0


async def _ask(engine: RemoteEngine, given: list[SourceSentence], *, is_streamed: bool) -> None:
    if not is_streamed:
        await engine.translate(given, Ticket("b"))
        return
    async with engine.stream(given, Ticket("b")):
        raise AssertionError("it was taken")


@pytest.mark.parametrize("seed", range(5))
async def test_whoever_would_be_refused_is_refused_before_it_is_sent(seed: int) -> None:
    """However many come before the engine's next word, all that are sent are taken."""
    chance = random.Random(seed)
    async with pair(is_held=True, max_slots=1, max_waiting_sentences=8) as two:
        process, engine = two.processes[0], two.engines[0]
        one = RemoteEngine("fake", process.sizes["fake"], [process])
        rest = different(1000)
        async with asyncio.TaskGroup() as group:

            async def send(client: str, count: int = 1) -> None:
                given = [rest.pop() for _ in range(count)]
                group.create_task(one.translate(given, Ticket(client)))
                await asyncio.sleep(0)  # it is sent, and nothing is received

            def is_told() -> bool:
                has_come = engine.num_running + engine.num_waiting == 1000 - len(rest)
                return has_come and process.crowds.get("fake") == engine.admission.crowd()

            await send("a")
            await eventually(lambda: engine.num_running)
            await send(chance.choice("ab"), 5 + chance.randrange(20))
            for client in chance.choices("abc", k=8):
                await eventually(is_told)
                while one.has_room(client):
                    await send(client)
                await eventually(is_told)
                refusals = []
                for either in (one, engine):
                    with pytest.raises(Overloaded) as refusal:
                        either.require_room(1, client=client)
                    refusals.append(str(refusal.value))
                assert refusals[0] == refusals[1]
            two.open_gates()
        await eventually(lambda: not process.crowds)


@pytest.mark.parametrize("seed", range(5))
async def test_a_front_end_soon_refuses_whom_every_engine_refuses_and_no_other(seed: int) -> None:
    """Whatever was sent: sentences that need no room, many in a request, accepted work, and what
    is refused or cancelled after it was counted. No step ends meanwhile."""
    chance, clients = random.Random(seed), "abc"
    limits = {"max_slots": 1, "max_waiting_sentences": 8, "cache_bytes": 10**6}
    async with pair(is_held=True, **limits) as two:
        asked: list[asyncio.Task[object]] = []

        def agree() -> bool:
            engines = [{one for one in clients if engine.has_room(one)} for engine in two.engines]
            return set().union(*engines) == {one for one in clients if two.both.has_room(one)}

        for _ in range(100):
            if asked and chance.random() < 0.3:
                asked.pop(chance.randrange(len(asked))).cancel()
            else:
                given = chance.choices(different(30), k=chance.choice((1, 1, 1, 4, 9)))
                ticket = Ticket(chance.choice(clients), is_admitted=chance.random() < 0.2)
                asked.append(asyncio.create_task(two.both.translate(given, ticket)))
            await asyncio.sleep(0)
            await eventually(agree)
        two.open_gates()
        await asyncio.gather(*asked, return_exceptions=True)
        await eventually(lambda: not any(process.crowds for process in two.processes))


async def test_a_request_goes_to_a_process_that_has_room() -> None:
    """Also if the front end has given more to that one, because others filled the first."""
    async with pair(is_held=True, max_slots=1, max_waiting_sentences=8) as two:
        filled = RemoteEngine("fake", two.processes[0].sizes["fake"], two.processes[:1])
        rest = different(20)
        async with asyncio.TaskGroup() as group:
            group.create_task(filled.translate([rest.pop()], Ticket("a")))
            await eventually(lambda: two.engines[0].num_running)
            for _ in range(8):
                group.create_task(filled.translate([rest.pop()], Ticket("b")))
            await eventually(lambda: not filled.has_room("b"))
            two.processes[1].load += 100
            for _ in range(4):
                group.create_task(two.both.translate([rest.pop()], Ticket("b")))
            await eventually(lambda: two.processes[1].load == 104)
            two.open_gates()
        two.processes[1].load -= 100


async def test_whoever_leaves_leaves_nothing_behind() -> None:
    async with pair(is_held=True) as two:
        left = asyncio.create_task(two.both.translate(different(50)))
        await eventually(lambda: all(engine.num_running for engine in two.engines))
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        late = two.both.translate(different(50), Ticket.issued("", 0.05))
        assert all(isinstance(outcome.error, ServiceError) for outcome in await late)
        two.open_gates()
        for engine in two.engines:
            await emptied(engine)
        assert [process.load for process in two.processes] == [0, 0]


async def test_of_whoever_leaves_no_part_is_computed_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sentence_engine, "SUBMITTED_AT_ONCE", 10)
    async with pair(is_held=True, max_slots=1) as two:
        left = asyncio.create_task(two.both.translate(different(50)))
        await eventually(lambda: sum(process.load for process in two.processes) == 50)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        await two.processes[0].ask("twice", float, 1)
        await two.processes[1].ask("twice", float, 1)
        two.open_gates()
        for engine in two.engines:
            await emptied(engine)
        assert max(runner.num_admitted for runner in two.runners) <= 1


async def test_of_whoever_leaves_when_a_part_is_done_the_rest_is_computed_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with pair(max_slots=1) as two:
        for runner in two.runners:
            hold_after_an_end(runner, monkeypatch)
        left = asyncio.create_task(two.both.translate(different(50)))
        await eventually(lambda: sum(process.load for process in two.processes) == 48)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        for process in two.processes:
            await process.ask("twice", float, 1)
        two.open_gates()
        for engine in two.engines:
            await emptied(engine)
        assert max(runner.num_admitted for runner in two.runners) <= 2
        front_ends = [front_end for server in two.servers for front_end in server._front_ends]
        assert [len(front_end._requests) for front_end in front_ends] == [0, 0]


def hold_after_an_end(runner: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step after one in which a sentence ends waits until the gate opens."""
    step = runner.step

    def held(handles: Sequence[int] | None = None) -> StepResult:
        result = step(handles)
        if result.finished:
            runner.gate.clear()
        return result

    monkeypatch.setattr(runner, "step", held)


async def test_questions_are_answered() -> None:
    async with pair() as two:
        asked = (two.processes[0].ask("twice", float, number) for number in (1.0, 2.0))
        assert await asyncio.gather(*asked) == [2.0, 4.0]
        assert not two.processes[0]._questions._answers
