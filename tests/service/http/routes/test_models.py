"""Several models in one server: who translates what, and the way through English."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

STREAM = "/translate/stream"
ZH_EN, EN_DE = (("zh", "en"), ("en", "zh")), (("en", "de"), ("de", "en"))
Runners = dict[str, FakeRunner]


@pytest.fixture
def runners() -> Runners:
    return {"first": FakeRunner(), "second": FakeRunner(), "third": FakeRunner()}


@pytest.fixture
def client(runners: Runners) -> Iterator[TestClient]:
    """Chinese and English, English and German, and English and German once more."""
    pairs = {"first": ZH_EN, "second": EN_DE, "third": EN_DE}
    models = [fake_model(runners[name], name, pairs[name]) for name in runners]
    settings = Settings(max_waiting_sentences=3, max_characters=1000)
    with TestClient(create_app(settings, models)) as client:
        yield client


def ask(client: TestClient, **fields: Any) -> dict[str, Any]:
    body = {"q": "a b", "source": "zh", "target": "en", **fields}
    answer: dict[str, Any] = client.post("/translate", json=body).json()
    return answer


def users(runners: Runners) -> list[str]:
    """The models that were given something to translate."""
    return [name for name, runner in runners.items() if runner.admitted]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["first"]),
        ({"source": "de"}, ["second"]),
        ({"source": "de-AT", "model": "third"}, ["third"]),
        ({"source": "zh", "target": "de"}, ["first", "second"]),
        ({"source": "zho_Hans", "target": "de-CH"}, ["first", "second"]),
        ({"source": "de", "target": "zh"}, ["first", "second"]),
        ({"source": "de", "target": "de"}, []),
    ],
)
def test_a_pair_goes_to_the_first_model_that_has_it_or_to_two(
    client: TestClient, runners: Runners, fields: dict[str, str], expected: list[str]
) -> None:
    assert ask(client, **fields)["translatedText"].upper() == "A B"
    assert users(runners) == expected


def test_details_tell_the_models_and_what_the_text_was_on_its_way(client: TestClient) -> None:
    (detail,) = ask(client, target="de", details=True)["details"]
    assert detail["model"] == "second"
    assert detail["pivot"] == {"language": "en", "text": "A B", "model": "first", "checks": []}
    assert [sentence["source"] for sentence in detail["sentences"]] == ["A B"]
    (detail,) = ask(client, details=True)["details"]
    assert detail["model"] == "first"
    assert "pivot" not in detail


def test_wishes_hold_for_the_translation_and_the_beam_for_the_whole_way(
    client: TestClient, runners: Runners
) -> None:
    seen: dict[str, list[Any]] = {name: [] for name in runners}
    for name, runner in runners.items():
        admit = runner.admit

        def watched(sentences: Any, name: str = name, admit: Any = admit) -> Any:
            seen[name] += sentences
            return admit(sentences)

        runner.admit = watched  # type: ignore[method-assign]
    answer = ask(client, target="de", beam_size=3, alternatives=2, target_prefix="ja ")
    assert answer["translatedText"] == "ja A B"
    assert len(answer["alternatives"]) == 2
    ask(client, target="de", temperature=0.5)
    way = [(s.options.beam_size, s.options.n_best, len(s.prefix)) for s in seen["first"]]
    last = [(s.options.beam_size, s.options.n_best, len(s.prefix)) for s in seen["second"]]
    assert way == [(3, 1, 0), (4, 1, 0)]
    assert last == [(3, 3, 3), (1, 1, 0)]
    assert [s.options.sampling for s in seen["first"] + seen["second"]] == [False] * 3 + [True]


@pytest.mark.parametrize("source", ["zh", "auto"])
def test_streamed_pieces_join_to_the_translation_however_many_models_it_takes(
    client: TestClient, source: str
) -> None:
    texts = ["图书馆在哪里？我想借一本书。", "我们明天一起去吧。"]
    body = {"q": texts, "source": source, "target": "de", "beam_size": 1}
    streamed = client.post("/translate", json=body, headers={"Accept": "text/event-stream"})
    events = [json.loads(line[6:]) for line in streamed.text.splitlines() if line[:5] == "data:"]
    assert events[-1]["type"] == "final"
    expected = [text.replace("？", "？ ") for text in texts]  # as English and German join
    assert events[-1]["translatedText"] == expected
    for index, text in enumerate(expected):
        pieces = [e["text"] for e in events if e["type"] == "token" and e["index"] == index]
        assert "".join(pieces) == text
        assert len(pieces) > 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "fourth"}, "model must be one of first, second, third, got 'fourth'"),
        ({"model": "second"}, "source language 'zh' is not supported; supported: auto, en, de"),
        ({"source": "fr"}, "source language 'fr' is not supported; supported: auto, zh, en, de"),
        ({"target": "fr"}, "target language 'fr' is not supported; supported: zh, en, de"),
    ],
)
def test_what_cannot_be_routed_is_refused_with_what_can(
    client: TestClient, fields: dict[str, str], message: str
) -> None:
    answer = ask(client, **fields)
    said = answer.get("detail", answer["error"])
    assert message.replace("'", '"') in said.replace("'", '"')


def test_a_dead_engine_takes_only_its_own_pairs_with_it(client: TestClient) -> None:
    client.app.state.server.engines["first"].stop()  # type: ignore[attr-defined]
    ready = client.get("/health/ready")
    assert ready.status_code == 503
    assert "the engine of first is not running" in ready.json()["error"]
    assert ask(client)["code"] == "not_ready"
    assert ask(client, target="de")["code"] == "not_ready"
    assert ask(client, source="de")["translatedText"] == "A B"
