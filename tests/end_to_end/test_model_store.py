"""A server that loads the models of a store on demand; these are the bundled ones."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from model.backends.native import PackedModel
from model.checkpoint.bundled import bundled_checkpoint
from service.app import create_app
from service.models.loading import load_models
from service.models.store import ModelStore
from service.settings import Settings
from service.settings.startup import StartupError
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.end_to_end.conftest import ask, put_bundled
from tests.service.fakes import until

ONE_MODEL = 100_000_000
"""Bytes: room for one model with the slots below, and not for two."""
SMALL = {"device": "cpu", "max_slots": 2, "max_rows": 8, "max_beam_size": 4, "cache_bytes": 0}


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """Both bundled models."""
    store = ModelStore(tmp_path / "models")
    for name in ("zh-en", "en-de"):
        put_bundled(store, name)
    return store


@contextmanager
def serving(store: ModelStore, **settings: object) -> Iterator[TestClient]:
    given = Settings.model_validate({"models_dir": store.directory, **SMALL, **settings})
    with TestClient(create_app(given, load_models(given))) as client:
        yield client


def translate(client: TestClient, text: str, source: str, target: str) -> Any:
    return ask(client, q=text, source=source, target=target)["translatedText"]


def states(client: TestClient) -> dict[str, str]:
    return {model["name"]: model["state"] for model in client.get("/models").json()}


@contextmanager
def no_collection() -> Iterator[None]:
    """Weights must be freed without the garbage collector, which may come late."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def num_packed() -> int:
    return sum(type(one) is PackedModel for one in gc.get_objects())


def test_models_are_offered_at_once_loaded_when_needed_and_leave_for_others(
    store: ModelStore,
) -> None:
    gc.collect()
    before = num_packed()
    with serving(store, memory_limit=ONE_MODEL) as client, no_collection():
        offered = {one["code"]: one["targets"] for one in client.get("/languages").json()}
        assert offered == {
            "en": ["de", "zh", "zh-Hant"],
            "de": ["en", "zh", "zh-Hant"],
            "zh": ["en", "de", "zh-Hant"],
            "zh-Hant": ["en", "de", "zh"],
        }
        assert states(client) == {"en-de": "stored", "zh-en": "stored"}
        for _ in range(2):
            assert translate(client, "Hello!", "en", "de") == "Hallo!"
            assert states(client) == {"en-de": "loaded", "zh-en": "stored"}
            assert translate(client, "你好！", "zh", "en") == "Hello!"
            assert states(client) == {"en-de": "stored", "zh-en": "loaded"}
            assert num_packed() == before + 1
        assert client.get("/health/ready").status_code == 200
        metrics = client.get("/metrics").text
        assert 'dragoman_model_loads_total{model="en-de"} 2.0' in metrics
        assert 'dragoman_model_evictions_total{model="en-de"} 2.0' in metrics
        assert 'dragoman_ready{model="en-de"}' not in metrics


def test_pinned_and_preloaded_models_are_there_at_the_start_and_stay(store: ModelStore) -> None:
    with serving(store, preload="en-de") as client:
        assert states(client) == {"en-de": "loaded", "zh-en": "stored"}
    with serving(store, model=str(bundled_checkpoint("zh-en")), preload="en-de") as client:
        assert states(client) == {"en-de": "loaded", "zh-en": "loaded"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"preload": "fr-en"}, "the store has no model fr-en"),
        ({"preload": "en-de,zh-en", "memory_limit": ONE_MODEL}, "never leave need"),
        ({"memory_limit": 1_000_000}, "no model that can be served"),
    ],
)
def test_what_the_store_cannot_give_is_said_before_the_start(
    store: ModelStore, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(StartupError, match=said), serving(store, **settings):
        pass


def test_the_server_follows_the_store(store: ModelStore, caplog: pytest.LogCaptureFixture) -> None:
    """A new model is offered, a new version taken, a removed model not offered any more; a damaged
    version leaves the old one."""
    store.remove("zh-en")
    with serving(store, preload="en-de") as client:
        app = client.app
        assert isinstance(app, FastAPI)
        assert client.portal is not None
        models = app.state.server.models
        put_bundled(store, "zh-en")
        client.portal.call(models.follow_store)
        assert translate(client, "你好！", "zh", "en") == "Hello!"
        assert ["zh", "en"] in client.get("/page/limits.json").json()["direct"]
        body = client.get("/openapi.json").json()["paths"]["/translate"]["post"]["requestBody"]
        fields = body["content"]["application/json"]["schema"]["properties"]
        assert "enum" not in fields["source"], "languages come and go"
        first = models.pool.models["en-de"].resident
        put_bundled(store, "en-de")
        client.portal.call(models.follow_store)
        assert models.pool.models["en-de"].resident is not first
        assert translate(client, "Hello!", "en", "de") == "Hallo!"
        store.remove("zh-en")
        client.portal.call(models.follow_store)
        assert states(client) == {"en-de": "loaded"}
        until(lambda: models.pool.num_bytes == models.pool.models["en-de"].resident.num_bytes)
        weights = store.directory / "en-de" / "model.safetensors"
        sound = weights.read_bytes()
        for damaged in (sound[:1000], sound[:-1] + bytes([sound[-1] ^ 1])):
            weights.write_bytes(damaged)
            for _ in range(2):
                client.portal.call(models.follow_store)
            assert translate(client, "Hello!", "en", "de") == "Hallo!"
        assert caplog.text.count("the model en-de is not taken") == 2
        store.directory.rename(store.directory.with_name("unmounted"))
        for _ in range(2):
            client.portal.call(models.follow_store)
        assert caplog.text.count(f"No such file or directory: '{store.directory}'") == 1
        failures = 'dragoman_model_load_failures_total{model="en-de"} 2.0'
        assert failures in client.get("/metrics").text


def test_only_an_admin_loads_a_model_again(store: ModelStore, tmp_path: Path) -> None:
    database = tmp_path / "server.db"
    with closing(KeyStore(database)) as keys:
        admin, _ = keys.create(KeyOptions(), is_admin=True)
        other, _ = keys.create(KeyOptions())
    settings = {"preload": "en-de", "database": database, "api_keys": "required"}
    with serving(store, **settings) as client:

        def reload(name: str, key: str) -> int:
            headers = {"Authorization": f"Bearer {key}"}
            return client.post(f"/admin/models/{name}/reload", headers=headers).status_code

        assert [reload("en-de", other), reload("en-de", admin)] == [403, 200]
        assert reload("fr-en", admin) == 422
        assert 'dragoman_model_loads_total{model="en-de"} 2.0' in client.get("/metrics").text


def test_a_model_whose_files_are_gone_translates_and_says_what_it_cannot(store: ModelStore) -> None:
    fields = {"q": "Hello!", "source": "en", "target": "de"}
    with serving(store, preload="en-de") as client:
        store.remove("en-de")
        assert translate(client, "Hello!", "en", "de") == "Hallo!"
        answer = client.post("/translate", json={**fields, "details": "attention"})
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert "files of the model" in answer.json()["error"]
        assert ask(client, **fields, details="search")["details"]
