"""What is offered is what the store has: a random walk over changes of a store, with requests and
reloads at the same time, against a simple model of what must be offered."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from service.app import create_app
from service.errors import NotReady
from service.models.loading import load_models
from service.models.local_models import LocalModels
from service.models.store import ModelStore
from service.observability.metrics import Metrics
from service.settings import BUNDLED, Settings
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from service.translation.language.chinese import with_traditional
from tests.service.fakes import FakeRunner, eventually, fake_model
from tests.service.models.tiny_stores import (
    NUM_SEEDS,
    PAIRS,
    SMALL,
    TEXT,
    TOKENIZER,
    WEIGHTS,
    Answer,
    FarServer,
    GpuServer,
    Pair,
    Server,
    Workshop,
)

Fault = Literal["", "incomplete", "rotten"]
"""Of an entry of the store: some of it is missing, or its weights are wrong, which only a load
finds."""
PULLED, COPIED = ("a", "b"), ("c", "d")
"""Models by the way that they come into the store."""
NAMES = (*PULLED, *COPIED)
TWO_MODELS = 500_000
"""Bytes that two models take, with the slots of SMALL."""


Change = tuple[str, str, list[Pair], int]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "remove", "copy_half", "rot"]),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(PAIRS), min_size=1, unique=True),
        st.integers(0, NUM_SEEDS - 1),
    ),
    max_size=3,
)
ASKED = st.lists(st.sampled_from(PAIRS), max_size=6)


class Entry(NamedTuple):
    """What the store has under a name; the seed is that of its weights."""

    number: int
    pairs: tuple[Pair, ...]
    seed: int
    fault: Fault = ""


class Offer(NamedTuple):
    """A model that is offered, and whether it is in memory."""

    entry: Entry
    is_loaded: bool


Offers = frozenset[Offer | None]
"""What may be offered under a name."""


def followed(entry: Entry | None, old: Offer | None) -> Offers:
    """What is offered under a name once the store has `entry` there."""
    if entry is None:
        return frozenset({None})
    if old and old.entry == entry:
        return frozenset({old, None}) if entry.fault and not old.is_loaded else frozenset({old})
    if not entry.fault:
        return frozenset({Offer(entry, old is not None and old.is_loaded)})
    if old and old.is_loaded:
        return frozenset({old})
    return frozenset({None} if entry.fault == "incomplete" else {None, Offer(entry, False)})


def used(offer: Offer | None, *, may_leave: bool) -> Offers:
    """What it may be after requests. `may_leave`: other models may have taken its memory."""
    if offer is None or offer.entry.fault:
        return frozenset({offer})
    loaded = offer._replace(is_loaded=True)
    return frozenset({offer, loaded, *([offer._replace(is_loaded=False)] if may_leave else [])})


def forgotten(offer: Offer | None) -> Offers:
    """What it may be once the process has ended that had it in memory."""
    return frozenset({offer, offer._replace(is_loaded=False)} if offer else {None})


def every(change: Callable[[Offer | None], Offers], offers: Offers) -> Offers:
    """All that may follow from what may be."""
    return frozenset[Offer | None]().union(*map(change, offers))


class Walk(RuleBasedStateMachine):
    """`entries`: of the store; `offers`: what may be offered under each name."""

    def __init__(self, workshop: Workshop, serve: type[Server], memory_limit: int) -> None:
        super().__init__()
        self.used = functools.partial(used, may_leave=memory_limit > 0)
        self.workshop, self.numbers = workshop, itertools.count()
        self.store = ModelStore(workshop.new_directory())
        self.entries: dict[str, Entry | None] = dict.fromkeys(NAMES)
        self.num_loads = dict.fromkeys(NAMES, 0.0)
        self.put(NAMES[0], PAIRS[:1], 0)
        self.offers = {name: followed(self.entries[name], None) for name in NAMES}
        self.foreign = set(threading.enumerate())
        self.runner = asyncio.Runner()
        self.server = serve(self.store.directory, memory_limit=memory_limit)
        self.context = self.server.running()
        self.runner.run(self.context.__aenter__())

    def teardown(self) -> None:
        self.runner.run(self.context.__aexit__(None, None, None))
        self.runner.close()
        assert self.num_workers == 0

    @property
    def num_workers(self) -> int:
        """Threads of engines; tests of workers may leave some in the process."""
        own = set(threading.enumerate()) - self.foreign
        return sum(thread.name == "dragoman-worker" for thread in own)

    # What happens in the store

    def put(self, name: str, pairs: Sequence[Pair], seed: int) -> None:
        made, place = self.workshop.make(name, pairs, seed), self.store.directory / name
        if name in COPIED or not place.is_symlink():
            self.remove(name)
        if name in PULLED:
            with self.store.scratch() as scratch:
                self.store.put(made.rename(scratch / "checkpoint"))
        else:
            made.rename(place)
        self.entries[name] = Entry(next(self.numbers), tuple(pairs), seed)

    def remove(self, name: str, *_: object) -> None:
        place = self.store.directory / name
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            shutil.rmtree(place)
        self.entries[name] = None

    def copy_half(self, name: str, pairs: Sequence[Pair], seed: int) -> None:
        """Copy files over those of the entry; the last one is not complete."""
        made, place = self.workshop.make(name, pairs, seed), self.store.directory / name
        place.mkdir(exist_ok=True)
        files = sorted(made.iterdir())
        for file in files[: 1 + seed % len(files)]:
            shutil.copy(file, place)
        for file in (WEIGHTS, TOKENIZER):
            content = (made / file).read_bytes()
            (place / file).write_bytes(content[: len(content) // 2])
        shutil.copy(made / "SHA256SUMS", place)
        self.entries[name] = Entry(next(self.numbers), tuple(pairs), seed, "incomplete")

    def rot(self, name: str, pairs: Sequence[Pair], seed: int) -> None:
        """A new version whose weights have a wrong byte."""
        self.put(name, pairs, seed)
        with (self.store.directory / name / WEIGHTS).open("r+b") as file:
            file.seek(-1, 2)
            (last,) = file.read(1)
            file.seek(-1, 2)
            file.write(bytes([last ^ 1]))
        entry = self.entries[name]
        assert entry is not None
        self.entries[name] = entry._replace(fault="rotten")

    # What the server does meanwhile

    @rule(changes=CHANGES, reloaded=st.lists(st.sampled_from(NAMES), max_size=4), asked=ASKED)
    def change(
        self,
        changes: Iterable[Change],
        reloaded: Sequence[str],
        asked: Sequence[Pair],
    ) -> None:
        """Change the store, and follow it, reload and translate at the same time."""
        self.apply(changes)
        self.runner.run(self.meet(reloaded, asked))

    def apply(self, changes: Iterable[Change]) -> None:
        for kind, name, pairs, seed in changes:
            getattr(self, kind)(name, pairs, seed)

    async def meet(self, reloaded: Sequence[str], asked: Sequence[Pair]) -> None:
        before = {name: every(self.used, offers) for name, offers in self.offers.items()}
        after = self.followed(before)
        _, _, seen, *answers = await asyncio.gather(
            self.server.models.follow_store(),
            asyncio.gather(*map(self.server.reload, reloaded)),
            self.server.get("/models"),
            *map(self.server.translate, asked),
        )
        assert seen.status_code == 200, seen.text
        meanwhile = {name: before[name] | after[name] for name in NAMES}
        for pair, answer in zip(asked, answers, strict=True):
            assert answer in self.possible(pair, meanwhile), (pair, answer, meanwhile)
        self.offers = after
        await self.settle()

    def followed(self, offers: Mapping[str, Offers]) -> dict[str, Offers]:
        return {
            name: every(functools.partial(followed, self.entries[name]), every(self.used, before))
            for name, before in offers.items()
        }

    async def settle(self) -> None:
        """Follow the store once more; then what is offered, is in memory and is measured is what
        must be."""
        await self.server.models.follow_store()
        listed = {one["name"]: one for one in (await self.server.get("/models")).json()}
        for name, after in self.followed(self.offers).items():
            shown = frozenset(one for one in after if is_shown(one, listed.get(name)))
            assert shown, (name, self.entries[name], self.offers[name], after, listed.get(name))
            self.offers[name] = shown
        loaded = {name for name, one in listed.items() if one["state"] == "loaded"}
        sizes = {name: listed[name]["bytes"] for name in loaded}
        num_bytes = sum(sizes.values())
        pool = self.server.models.pool
        assert num_bytes <= pool.limit
        await eventually(lambda: self.num_workers <= len(loaded))
        await eventually(lambda: pool.num_bytes <= num_bytes)
        assert (self.num_workers, pool.num_bytes) == (len(loaded), num_bytes)
        assert set(pool.engines) == loaded
        ready = 200 if listed else 503
        assert (await self.server.get("/health/ready")).status_code == ready
        await self.require_measured(sizes)

    async def require_measured(self, loaded: Mapping[str, int]) -> None:
        """The bytes that engines tell are those that the pool plans with, and of no other model."""
        page = (await self.server.get("/metrics")).text
        told = re.findall(r'^dragoman_model_bytes{model="(\w+)".*} (\S+)', page, re.MULTILINE)
        assert {name: float(count) for name, count in told} == loaded
        ready = dict(re.findall(r'^dragoman_ready{model="(\w+)".*} (\S+)', page, re.MULTILINE))
        assert ready == dict.fromkeys(loaded, "1.0")
        loads = re.findall(r'^dragoman_model_loads_total{model="(\w+)"} (\S+)', page, re.MULTILINE)
        now = {**dict.fromkeys(NAMES, 0.0), **{name: float(count) for name, count in loads}}
        assert all(now[name] >= count for name, count in self.num_loads.items())
        self.num_loads = now

    @rule(pair=st.sampled_from(PAIRS))
    def ask(self, pair: Pair) -> None:
        answer = self.runner.run(self.server.translate(pair))
        assert answer in self.possible(pair, self.offers), (pair, answer, self.offers)
        self.runner.run(self.settle())

    def possible(self, pair: Pair, offers: dict[str, Offers]) -> set[Answer]:
        """The answers to a request; of equal models the first by name translates."""
        found: set[Answer] = set()
        for mix in itertools.product(*(offers[name] for name in NAMES)):
            models = [(name, one) for name, one in zip(NAMES, mix, strict=True) if one]
            able = [(name, one) for name, one in models if pair in one.entry.pairs]
            if able:
                found |= self._answers(pair, *able[0])
            else:
                found.add((400 if models else 503, ""))
        return found

    def _answers(self, pair: Pair, name: str, offer: Offer) -> set[Answer]:
        """A model that is not in memory cannot be loaded once its files have changed."""
        sound = (200, self.workshop.texts[offer.entry.seed, pair])
        if offer.is_loaded:
            return {sound}
        is_current = offer.entry == self.entries[name]
        found = set() if offer.entry.fault else {sound}
        return found | (set() if is_current and found else {(503, "")})


def is_shown(offer: Offer | None, listed: dict[str, Any] | None) -> bool:
    """Whether GET /models shows it so."""
    if offer is None or listed is None:
        return offer is None and listed is None
    sources, targets = map(set, zip(*with_traditional(offer.entry.pairs), strict=True))
    state = "loaded" if offer.is_loaded else "stored"
    shown = listed["state"], set(listed["sources"]), set(listed["targets"])
    return shown == (state, sources, targets)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer_file: Path) -> Workshop:
    workshop = Workshop(tmp_path_factory.mktemp("workshop"), tiny_tokenizer_file)
    asyncio.run(workshop.learn_texts())
    return workshop


class WalkWithKills(Walk):
    """The engine is in a process that ends at times."""

    @rule(changes=CHANGES, asked=ASKED)
    def kill(self, changes: Iterable[Change], asked: Sequence[Pair]) -> None:
        """End it after changes that the server has not seen."""
        self.apply(changes)
        self.runner.run(self.kill_while(asked))
        self.runner.run(self.settle())

    async def kill_while(self, asked: Sequence[Pair]) -> None:
        """A model whose files have changed is not loaded again. Requests fail if the process ends
        in them."""
        before = {name: every(self.used, offers) for name, offers in self.offers.items()}
        answering = [asyncio.ensure_future(self.server.translate(pair)) for pair in asked]
        assert isinstance(self.server, FarServer)
        await self.server.kill()
        found = await asyncio.gather(*answering)
        await eventually(lambda: self.is_ready)
        self.offers = {name: every(forgotten, offers) for name, offers in before.items()}
        seen = self.followed(self.offers)
        meanwhile = {name: self.offers[name] | seen[name] for name in NAMES}
        for pair, answer in zip(asked, found, strict=True):
            allowed = self.possible(pair, meanwhile) | {(503, "")}
            assert answer in allowed, (pair, answer, meanwhile)
        for pair in asked:
            answer = await self.server.translate(pair)
            assert answer in self.possible(pair, meanwhile), (pair, answer, meanwhile)

    @property
    def is_ready(self) -> bool:
        with contextlib.suppress(NotReady):
            self.server.models.require_ready()
            return True
        return False


@pytest.mark.parametrize(
    ("walk", "serve", "memory_limit"),
    [(Walk, Server, 0), (Walk, Server, TWO_MODELS), (WalkWithKills, FarServer, TWO_MODELS)],
)
def test_what_is_offered_is_what_the_store_has(
    workshop: Workshop, walk: type[Walk], serve: type[Server], memory_limit: int
) -> None:
    make: Callable[[], Walk] = functools.partial(walk, workshop, serve, memory_limit)
    run_state_machine_as_test(
        make,
        settings=settings(
            max_examples=8,
            phases=[Phase.generate],  # to shrink takes minutes
            stateful_step_count=12,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


NEEDS_MODELS = {
    "/translate": {"q": TEXT, "source": "auto", "target": "en"},
    "/translate/next": {"q": TEXT, "source": "zh", "target": "en", "prefix": "a"},
    "/detect": {"q": TEXT},
    "/v2/translate": {"text": [TEXT], "target_lang": "EN"},
    "/language/translate/v2": {"q": TEXT, "target": "en"},
    "/language/translate/v2/detect": {"q": TEXT},
    "/v1/translate": {"text": TEXT, "target_lang": "EN"},
    "/v1/chat/completions": {"model": "zh-en", "messages": [{"role": "user", "content": TEXT}]},
    "/api/generate": {"model": "zh-en", "prompt": TEXT},
}
NEEDS_NONE = ("/languages", "/frontend/settings", "/v2/languages?type=target", "/v1/models",
              "/language/translate/v2/languages", "/models", "/api/tags", "/page/limits.json",
              "/health/live")  # fmt: skip


def test_a_store_that_is_emptied_is_not_ready_and_says_why(workshop: Workshop) -> None:
    store = workshop.make("tiny", PAIRS, 0).parent
    given = Settings.model_validate({"models_dir": store, **SMALL})
    app = create_app(given, load_models(given))
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.get("/health/ready").status_code == 200
        shutil.rmtree(store / "tiny")
        assert client.portal is not None
        client.portal.call(app.state.server.models.follow_store)
        for path, body in NEEDS_MODELS.items():
            answer = client.post(path, json=body)
            assert (path, answer.status_code) == (path, 503)
            assert "the store of models has none that can be served" in answer.text
        assert client.get("/health/ready").status_code == 503
        for path in NEEDS_NONE:
            assert (path, client.get(path).status_code) == (path, 200)
        with client.websocket_connect("/translate/stream") as websocket:
            websocket.send_json({"id": "1", **NEEDS_MODELS["/translate"]})
            assert websocket.receive_json()["code"] == "not_ready"


def test_without_a_store_no_model_is_loaded_again(tmp_path: Path) -> None:
    database = tmp_path / "server.db"
    with contextlib.closing(KeyStore(database)) as keys:
        admin, _ = keys.create(KeyOptions(), is_admin=True)
    given = Settings(database=database, api_keys="required")
    with TestClient(create_app(given, [fake_model(FakeRunner())])) as client:
        headers = {"Authorization": f"Bearer {admin}"}
        answer = client.post("/admin/models/fake/reload", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
        assert "models_dir" in answer.json()["error"]


def test_models_of_the_store_take_pairs_from_the_bundled_ones_but_not_from_named_ones(
    workshop: Workshop,
) -> None:
    store, own = workshop.make("tiny", PAIRS, 0).parent, fake_model(FakeRunner())
    for model, first in ((BUNDLED, "tiny"), ((Path("own"),), own.name)):
        given = Settings.model_validate({"models_dir": store, "model": model, **SMALL})
        registry = LocalModels(given, [own], Metrics())
        assert registry.offered[0].name == first
        assert {version.name for version in registry.offered} == {"tiny", own.name}


@pytest.mark.parametrize("serve", [Server, FarServer])
def test_a_fault_is_logged_and_counted_once_until_it_changes(
    workshop: Workshop, caplog: pytest.LogCaptureFixture, serve: type[Server]
) -> None:
    """What has not failed is there as 0, so that its first failure is an increase."""
    broken = workshop.make("broken", PAIRS, 0)
    store, gone = broken.parent, broken.parent.with_name("gone")
    workshop.make("tiny", PAIRS, 1).rename(store / "tiny")
    sound = (broken / WEIGHTS).read_bytes()
    (broken / WEIGHTS).write_bytes(sound[:1000])

    async def follow_while(change: Callable[[], object]) -> int:
        change()
        caplog.clear()
        for _ in range(5):
            await server.models.follow_store()
        return len(caplog.records)

    async def run() -> None:
        async with server.running():
            assert await follow_while(lambda: None) == 0, "the start has logged it"
            assert await failures() == {"broken": 1, "tiny": 0}
            assert await follow_while((broken / WEIGHTS).unlink) == 1
            assert await follow_while(lambda: (broken / WEIGHTS).write_bytes(sound)) == 0
            assert await failures() == {"broken": 2, "tiny": 0}
            assert await follow_while((broken / TOKENIZER).unlink) == 1
            assert await follow_while(lambda: store.rename(gone)) == 1, "it cannot be read"
            with pytest.raises(NotReady, match="the log says why"):
                await server.models.reload("tiny")
            assert await follow_while(lambda: gone.rename(store)) == 0
            assert await failures() == {"broken": 3, "tiny": 0}

    async def failures() -> dict[str, float]:
        page = (await server.get("/metrics")).text
        found = re.findall(r'^dragoman_model_load_failures_total{model="(\w+)"} (.*)', page, re.M)
        return {name: float(value) for name, value in found}

    server = serve(store)
    assert "the model broken is not taken" in caplog.text
    asyncio.run(run())


def test_a_model_in_memory_is_described_by_the_metrics_whenever_it_was_loaded(
    workshop: Workshop,
) -> None:
    """Before it is offered, as what is preloaded, or when it is asked for."""
    store = workshop.make("tiny", PAIRS[:1], 0).parent
    workshop.make("other", PAIRS[1:], 1).rename(store / "other")

    async def run() -> None:
        async with server.running():
            assert await server.translate(PAIRS[1])
            metrics = (await server.get("/metrics")).text
        for name in ("model_info", "model_bytes", "model_load_seconds", "ready"):
            found = re.findall(rf'^dragoman_{name}{{.*model="(\w+)"', metrics, re.MULTILINE)
            assert sorted(found) == ["other", "tiny"], name

    server = Server(store, preload=("tiny",))
    asyncio.run(run())


@pytest.mark.parametrize("kind", [Server, FarServer])
def test_the_store_knows_the_last_use_and_not_only_the_load(
    workshop: Workshop, kind: type[Server]
) -> None:
    store = workshop.make("tiny", PAIRS, 0).parent

    async def days() -> int:
        await server.models.follow_store()
        used = ModelStore(store).contents().models["tiny"].used
        return -1 if used is None else int((time.time() - used) / 86_400)

    async def run() -> None:
        async with server.running():
            assert await days() == -1
            await server.translate(PAIRS[0])
            assert await days() == 0
            os.utime(store / ".used" / "tiny", (time.time() - 40 * 86_400,) * 2)
            assert await days() == 40
            await server.translate(PAIRS[0])
            assert await days() == 0

    server = kind(store)
    asyncio.run(run())


def test_a_preloaded_model_that_returns_is_in_memory_again(workshop: Workshop) -> None:
    store = workshop.make("tiny", PAIRS, 0).parent
    workshop.make("other", PAIRS, 1).rename(store / "other")

    async def run() -> None:
        async with server.running():
            (store / "tiny").rename(store.parent / "away")
            await server.models.follow_store()
            assert set(server.models.pool.models) == {"other"}
            (store.parent / "away").rename(store / "tiny")
            await server.models.follow_store()
            model = server.models.pool.models["tiny"]
            assert (model.is_pinned, model.resident is not None) == (True, True)

    server = Server(store, preload="tiny")
    asyncio.run(run())


@pytest.mark.parametrize(("memory_limit", "is_offered"), [(TWO_MODELS, True), (1000, False)])
def test_a_model_that_only_the_engine_can_plan_is_offered_unless_it_does_not_fit(
    workshop: Workshop, memory_limit: int, is_offered: bool
) -> None:
    async def run() -> None:
        server = GpuServer(workshop.make("tiny", PAIRS, 0).parent, memory_limit=memory_limit)
        async with server.running():
            assert (await server.translate(PAIRS[0]))[0] == (200 if is_offered else 503)
            await server.models.follow_store()
            assert list(server.models.names) == (["tiny"] if is_offered else [])

    asyncio.run(run())
