"""Every error on every surface: its status, its headers, its body in the shape of its API.

The errors find themselves: all subclasses of ServiceError.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from fastapi.testclient import TestClient

import service.errors
from service.app import create_app
from service.errors import LimitExceeded, ServiceError, UnsupportedLanguage, printable
from service.http.access.caller import Caller
from service.http.routes.websocket import PATH as WEBSOCKET
from service.http.state import ServerState
from service.settings import Settings
from service.stores.glossaries import GlossaryStore
from service.stores.suggestions import SuggestionStore
from service.translation.dispatcher import Dispatcher
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.routes.injection import break_stream

Response = httpx2.Response
FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
STREAM = {"Accept": "text/event-stream"}
FILE = {"file": ("a.txt", b"Hi.")}
DEEPL = {"text": ["Hi."], "target_lang": "DE", "source_lang": "EN"}
GLOSSARY = {
    "name": "a",
    "source": "en",
    "target": "de",
    "entries": [{"source": "a", "target": "b"}],
}
DEEPL_GLOSSARY = {"name": "b", "source_lang": "EN", "target_lang": "DE", "entries": "a\tb"}
MESSAGE = 'q has "<b>\ud83d" \x00\u2028 图 and 7\n characters, at most 5 are allowed'
SECONDS = 7


def subclasses(error: type[ServiceError]) -> Iterator[type[ServiceError]]:
    yield error
    for one in error.__subclasses__():
        yield from subclasses(one)


ERRORS = sorted(set(subclasses(ServiceError)), key=lambda error: error.__name__)


def made(error: type[ServiceError]) -> ServiceError:
    """An instance as the server makes them."""
    if issubclass(error, LimitExceeded):
        return error(MESSAGE, SECONDS)
    if issubclass(error, UnsupportedLanguage):
        return error(MESSAGE, "x\ud83dy")
    assert error.__init__ is ServiceError.__init__, error
    return error(MESSAGE)


def check_ours(body: Any, status: int, error: ServiceError, request_id: str) -> None:
    detail = {"detail"} if isinstance(error, UnsupportedLanguage) else set()
    assert set(body) == {"error", "code", "request_id"} | detail
    assert (body["code"], body["request_id"]) == (error.code, request_id)
    assert body.get("detail", body["error"]) == printable(MESSAGE)
    if detail:
        assert body["error"] == "x\\ud83dy is not supported"
    assert status == error.status


def check_deepl(body: Any, status: int, error: ServiceError, _: str) -> None:
    assert body == {"message": printable(MESSAGE)}
    ours = {"key_required": 403, "quota_exceeded": 456, "invalid_field": 400}
    assert status == ours.get(error.code, error.status)


def check_deeplx(body: Any, status: int, error: ServiceError, _: str) -> None:
    assert body == {"code": status, "message": printable(MESSAGE)}
    assert status == {"invalid_field": 400}.get(error.code, error.status)


def check_google(body: Any, status: int, error: ServiceError, _: str) -> None:
    """What google-api-core reads of an error, and the words of Google's own for a key."""
    assert set(body) == {"error"}
    told = body["error"]
    assert told["code"] == status
    assert isinstance(told.get("status", ""), str)
    assert all(isinstance(detail["@type"], str) for detail in told.get("details", []))
    words = {
        "invalid_key": "API key not valid. Please pass a valid API key.",
        "key_required": "The request is missing a valid API key.",
    }
    assert told["message"] == words.get(error.code, printable(MESSAGE))
    (one,) = told["errors"]
    assert (one["message"], one["domain"]) == (told["message"], "global")
    assert one["reason"]
    ours = {"key_required": 403, "invalid_key": 400, "invalid_field": 400}
    assert status == ours.get(error.code, error.status)


class Surface(NamedTuple):
    """A request, the call inside its route that fails, and how its API writes errors."""

    method: str
    path: str
    sent: dict[str, Any]
    owner: type
    call: str
    check: Callable[[Any, int, ServiceError, str], None]


TEXTS = (ServerState, "admit")
GOOGLE = "/language/translate/v2"
SURFACES = {
    "translate": Surface("POST", "/translate", {"json": FIELDS}, *TEXTS, check_ours),
    "form": Surface("POST", "/translate", {"data": FIELDS}, *TEXTS, check_ours),
    "plain text": Surface(
        *("POST", "/translate?source=en&target=de"),
        {"content": "Hi.", "headers": {"Content-Type": "text/plain"}},
        *(*TEXTS, check_ours),
    ),
    "stream": Surface(
        "POST", "/translate", {"json": FIELDS, "headers": STREAM}, *TEXTS, check_ours
    ),
    "next words": Surface(
        "POST", "/translate/next", {"json": FIELDS}, Dispatcher, "next_words", check_ours
    ),
    "detect": Surface("POST", "/detect", {"json": {"q": "Hi."}}, Dispatcher, "detect", check_ours),
    "suggest": Surface(
        "POST", "/suggest", {"json": {**FIELDS, "s": "Hallo."}}, SuggestionStore, "add", check_ours
    ),
    "file": Surface("POST", "/translate_file", {"data": FIELDS, "files": FILE}, *TEXTS, check_ours),
    "glossaries": Surface("GET", "/glossaries", {}, GlossaryStore, "all", check_ours),
    "new glossary": Surface(
        "POST", "/glossaries", {"json": GLOSSARY}, GlossaryStore, "add", check_ours
    ),
    "immersive": Surface(
        *("POST", "/immersive", {"json": {"text_list": ["Hi."], "target_lang": "de"}}),
        *(*TEXTS, check_ours),
    ),
    "deepl": Surface("POST", "/v2/translate", {"json": DEEPL}, *TEXTS, check_deepl),
    "deepl document": Surface(
        *("POST", "/v2/document", {"data": {"target_lang": "DE"}, "files": FILE}),
        *(*TEXTS, check_deepl),
    ),
    "deepl glossaries": Surface("GET", "/v2/glossaries", {}, GlossaryStore, "all", check_deepl),
    "deepl new glossary": Surface(
        "POST", "/v2/glossaries", {"json": DEEPL_GLOSSARY}, GlossaryStore, "add", check_deepl
    ),
    "deeplx": Surface(
        *("POST", "/v1/translate", {"json": {"text": "Hi.", "target_lang": "DE"}}),
        *(*TEXTS, check_deeplx),
    ),
    "google": Surface("POST", GOOGLE, {"json": FIELDS}, *TEXTS, check_google),
    "google query": Surface("GET", GOOGLE, {"params": FIELDS}, *TEXTS, check_google),
    "google detect": Surface(
        "POST", f"{GOOGLE}/detect", {"json": {"q": "Hi."}}, Dispatcher, "detect", check_google
    ),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    database = tmp_path_factory.mktemp("errors") / "server.sqlite"
    settings = Settings(database=database, suggestions=True, requests_per_minute=10**6)
    with TestClient(create_app(settings, [fake_model(FakeRunner())])) as client:
        yield client


def fail_with(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, error: Exception) -> None:
    """The method raises `error`."""

    def fail(*_: object, **__: object) -> None:
        raise error

    async def fail_later(*_: object, **__: object) -> None:
        raise error

    is_async = inspect.iscoroutinefunction(getattr(owner, name))
    monkeypatch.setattr(owner, name, fail_later if is_async else fail)


def check_answer(answer: Response, surface: Surface, error: ServiceError) -> None:
    request_id = answer.headers["X-Request-ID"]
    assert answer.headers["Content-Type"] == "application/json"
    surface.check(answer.json(), answer.status_code, error, request_id)
    seconds = error.retry_after_seconds
    assert answer.headers.get("Retry-After") == (None if seconds is None else str(seconds))
    assert ("WWW-Authenticate" in answer.headers) == (error.status == 401)
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize("name", SURFACES)
def test_the_surfaces_answer_when_nothing_fails(client: TestClient, name: str) -> None:
    surface = SURFACES[name]
    answer = client.request(surface.method, surface.path, **surface.sent)
    assert answer.is_success, answer.text


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_in_a_route_has_the_shape_of_its_api(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, kind: type[ServiceError]
) -> None:
    error = made(kind)
    for surface in SURFACES.values():
        with monkeypatch.context() as patch:
            fail_with(patch, surface.owner, surface.call, error)
            answer = client.request(surface.method, surface.path, **surface.sent)
        check_answer(answer, surface, error)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_before_the_body_is_read_has_the_shape_of_its_api(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, kind: type[ServiceError]
) -> None:
    error = made(kind)
    fail_with(monkeypatch, Caller, "enter", error)
    for surface in SURFACES.values():
        answer = client.request(surface.method, surface.path, **surface.sent)
        check_answer(answer, surface, error)


def check_message(message: dict[str, Any], error: ServiceError) -> None:
    """Of a stream, whose clients have neither a status nor headers."""
    assert (message["type"], message["code"]) == ("error", error.code)
    assert message["error"] == printable(MESSAGE)
    assert message.get("retry_after") == error.retry_after_seconds


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_in_a_stream_is_its_last_event(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, kind: type[ServiceError]
) -> None:
    error = made(kind)
    break_stream(monkeypatch, error, at_end=False)
    answer = client.post("/translate", json=FIELDS, headers=STREAM)
    *_, last = answer.text.strip().split("\n\n")
    event, data = last.split("\n")
    assert (answer.status_code, event) == (200, "event: error")
    check_message(json.loads(data.removeprefix("data: ")), error)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_on_a_websocket_ends_its_request_and_no_other(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, kind: type[ServiceError]
) -> None:
    error = made(kind)
    with client.websocket_connect(WEBSOCKET) as socket:
        with monkeypatch.context() as patch:
            fail_with(patch, ServerState, "admit", error)
            socket.send_json({**FIELDS, "id": "refused"})
            message = socket.receive_json()
        assert message["id"] == "refused"
        check_message(message, error)
        with monkeypatch.context() as patch:
            break_stream(patch, error, at_end=False)
            socket.send_json({**FIELDS, "id": "begun"})
            while (message := socket.receive_json())["type"] == "token":
                pass
        assert message["id"] == "begun"
        check_message(message, error)
        socket.send_json({**FIELDS, "id": 3})
        while (message := socket.receive_json())["type"] == "token":
            pass
        assert (message["type"], message["id"]) == ("final", 3)


@pytest.mark.parametrize(
    ("failure", "code"),
    [(MemoryError(), "exhausted"), (ValueError("secret"), "internal_error")],
    ids=["memory", "defect"],
)
def test_what_nobody_foresaw_is_the_same_error_on_a_stream_as_elsewhere(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, failure: Exception, code: str
) -> None:
    with client.websocket_connect(WEBSOCKET) as socket, monkeypatch.context() as patch:
        break_stream(patch, failure, at_end=False)
        socket.send_json({**FIELDS, "id": 1})
        while (message := socket.receive_json())["type"] == "token":
            pass
    with monkeypatch.context() as patch:
        break_stream(patch, failure, at_end=False)
        events = client.post("/translate", json=FIELDS, headers=STREAM).text
    last = json.loads(events.strip().rpartition("data: ")[2])
    assert (message["code"], last["code"]) == (code, code)
    assert "secret" not in events + message["error"]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_the_list_of_all_errors_has_it(kind: type[ServiceError]) -> None:
    (line,) = (
        line
        for line in (service.errors.__doc__ or "").splitlines()
        if line.strip("│├└─ ").split(" ")[0] == kind.__name__
    )
    assert f" {kind.status}" in line
    assert kind.code in line or kind is LimitExceeded
    if kind.retry_after_seconds is not None:
        assert "Retry-After" in line


def test_each_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in ERRORS if kind.__name__ != "ClientGone"]  # never sent
    assert len(set(codes)) == len(codes)


def test_the_test_knows_every_module_of_errors() -> None:
    """A subclass elsewhere would be found only if its module is imported."""
    root = Path(service.errors.__file__).parent
    names = "|".join(kind.__name__ for kind in ERRORS)
    for file in root.rglob("*.py"):
        if file.name == "errors.py":
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("class ") and "(" in line:
                bases = line.partition("(")[2].rstrip(":)").split(", ")
                assert not set(bases) & set(names.split("|")), (file, line)
