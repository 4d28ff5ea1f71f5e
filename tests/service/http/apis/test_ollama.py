"""Ollama's chats and prompts: the same as OpenAI's, as lines of JSON or one object."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from tests.service.fakes import FakeRunner
from tests.service.http.clients import FORM

SYSTEM = "You translate from English to German."


def ask(client: TestClient, path: str, text: str, **fields: Any) -> Response:
    """Ask for the translation of `text` by either route."""
    if path == "generate":
        given: dict[str, Any] = {"prompt": text, "system": SYSTEM}
    else:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        given = {"messages": messages}
    return client.post(f"/api/{path}", json={"model": "gemma2", **given, **fields})


def said(answer: dict[str, Any]) -> str:
    """What clients read of an answer or of a part."""
    text = answer["response"] if "response" in answer else answer["message"]["content"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("path", ["chat", "generate"])
@pytest.mark.parametrize(
    "text",
    ["Hi there: one\ntwo", "Translate to German:\n\nHi there: one\ntwo", "  ", "Hi.\n\nYou 😀"],
)
@pytest.mark.parametrize(
    "form", [None, "json", {"properties": {"translation": {"type": "string"}}}]
)
def test_both_routes_say_what_openais_says_whole_and_in_lines(
    client: TestClient, path: str, text: str, form: Any
) -> None:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    shape = {"type": "json_schema", "json_schema": {"schema": form}}
    asked = {"model": "gemma2", "messages": messages, "response_format": shape}
    expected = client.post("/v1/chat/completions", json=asked).json()["choices"][0]["message"]
    whole = ask(client, path, text, format=form, stream=False, options={"temperature": 0}).json()
    streamed = ask(client, path, text, format=form)
    assert streamed.headers["content-type"].startswith("application/x-ndjson")
    *parts, end = map(json.loads, streamed.text.splitlines())
    assert said(whole) == expected["content"]
    assert "".join(map(said, parts)) == expected["content"]
    assert [one["done"] for one in (*parts, end)] == [False] * len(parts) + [True]
    for one in (whole, end):
        assert one["done_reason"] == "stop"
        assert one["eval_count"] == len(expected["content"])
        assert one["total_duration"] > 0
        datetime.fromisoformat(one["created_at"])


@pytest.mark.parametrize("stream", [True, False, None])
@pytest.mark.parametrize("path", ["chat", "generate"])
def test_a_request_without_a_text_only_loads_the_model(
    client: TestClient, path: str, stream: bool | None
) -> None:
    answer = client.post(f"/api/{path}", json={"model": "x", "stream": stream, "keep_alive": -1})
    assert (said(answer.json()), answer.json()["done_reason"]) == ("", "load")


def test_a_listed_model_is_asked_for_by_its_name_and_without_its_tag(client: TestClient) -> None:
    listed = [one["name"] for one in client.get("/api/tags").json()["models"]]
    assert [one["id"] + ":latest" for one in client.get("/v1/models").json()["data"]] == listed
    for name in listed:
        for spelled in (name, name.removesuffix(":latest"), name.replace("latest", "q4")):
            answer = ask(client, "chat", "Translate to German: Hi.", model=spelled, stream=False)
            assert answer.json()["model"] == spelled
            if name.startswith(("dragoman", "auto-de", "en-de")):
                assert said(answer.json()) == "HI."
        for spelled in (name, name.removesuffix(":latest")):
            told = client.post("/api/show", json={"model": spelled}).json()
            assert told["model_info"]
            assert told["capabilities"] == ["completion"]
    assert client.get("/api/version").json()["version"][0].isdigit()


def test_json_needs_no_content_type(client: TestClient) -> None:
    """curl -d sends it as a form."""
    asked = json.dumps({"model": "en-de", "prompt": "Hi.", "stream": False}).encode()
    for headers in (FORM, {"Content-Type": "text/plain"}):
        answer = client.post("/api/generate", content=asked, headers=headers)
        assert answer.json()["response"] == "HI."


@pytest.mark.parametrize(
    ("path", "fields", "status", "told"),
    [
        ("generate", {"model": "en-xx", "prompt": "Hi."}, 400, "'xx' is not supported"),
        ("generate", {"model": "gemma2", "prompt": "Hi."}, 400, "a pair of languages"),
        ("generate", {"prompt": "Hi."}, 400, "missing model"),
        ("generate", {"model": "en-de", "prompt": 5}, 400, "prompt must be a string"),
        ("generate", {"model": "en-de", "prompt": "Hi." * 100_000}, 413, "text limit"),
        ("chat", {"model": "en-de", "messages": "Hi."}, 400, "messages must be a list"),
        ("chat", {"model": "en-de", "messages": [{"role": "system"}]}, 400, "one of the user"),
        ("show", {"model": "gemma2"}, 404, "model 'gemma2' not found"),
        ("show", {"model": "en-de" * 99}, 400, "at most 255 characters"),
        ("embed", {"model": "en-de", "input": "Hi."}, 400, "embeddings are not offered"),
        ("pull", {"model": "gemma2"}, 400, "models to pull are not offered"),
        ("nothing", {}, 404, "not found"),
    ],
)
def test_errors_have_one_member_as_ollamas(
    client: TestClient, path: str, fields: dict[str, Any], status: int, told: str
) -> None:
    answer = client.post(f"/api/{path}", json=fields)
    assert answer.status_code == status
    assert told in answer.json()["error"]
    assert answer.json().keys() == {"error"}


def test_a_stream_that_fails_ends_with_an_error(client: TestClient, runner: FakeRunner) -> None:
    runner.fail_next_step = True
    *_, last = map(json.loads, ask(client, "chat", "Hi.").text.splitlines())
    assert last.keys() == {"error"}
