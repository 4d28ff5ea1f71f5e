"""Errors: in the shape of each API, told from failures of the machine, and described.

The errors find themselves: all subclasses of ServiceError. What every operation of the OpenAPI
document answers to keys, limits, load and deadlines must be described there.
"""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from fastapi.testclient import TestClient

from model.text.languages import every_pair
from service.app import create_app
from service.errors import LimitExceeded, Loading, ServiceError, UnsupportedLanguage, printable
from service.http.answers import render_error
from service.http.error_answers import ErrorBody, error_response, unexpected_error
from service.http.route_table import PATHS
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.access.conftest import WRONG
from tests.service.http.clients import FIELDS, client_of

MESSAGE = 'q has "<b>\ud83d" \x00\u2028 图 and 7\n characters, at most 5 are allowed'
ID, SECONDS = "id-1", 7
ERRORS = sorted(set(ServiceError.kinds()), key=lambda error: error.__name__)


def made(error: type[ServiceError]) -> ServiceError:
    """An instance as the server makes them."""
    if issubclass(error, LimitExceeded | Loading):
        return error(MESSAGE, SECONDS)
    if issubclass(error, UnsupportedLanguage):
        return error(MESSAGE, "x\ud83dy")
    return error(MESSAGE)


def check_ours(body: Any, status: int, error: ServiceError) -> None:
    assert (body["code"], body["request_id"], status) == (error.code, ID, error.status)
    assert body.get("detail", body["error"]) == printable(MESSAGE)
    if isinstance(error, UnsupportedLanguage):
        assert body["error"] == "x\\ud83dy is not supported"


def check_apertium(body: Any, status: int, error: ServiceError) -> None:
    assert (body["status"], body["code"], body["explanation"]) == (
        "error",
        status,
        printable(MESSAGE),
    )
    assert body["message"]
    assert status == {"invalid_field": 400}.get(error.code, error.status)


def check_deepl(body: Any, status: int, error: ServiceError) -> None:
    words = "Invalid file: " if error.code in ("unsupported_file", "invalid_document") else ""
    assert body == {"message": words + printable(MESSAGE)}
    ours = {"key_required": 403, "quota_exceeded": 456, "invalid_field": 400}
    assert status == ours.get(error.code, error.status)


def check_openai(body: Any, status: int, error: ServiceError) -> None:
    assert body["error"]["message"] == printable(MESSAGE)
    assert (body["error"]["code"], body["error"]["param"]) == (error.code, None)
    assert status == {"invalid_field": 400, "invalid_key": 401}.get(error.code, error.status)


def check_ollama(body: Any, status: int, error: ServiceError) -> None:
    assert body == {"error": printable(MESSAGE)}
    assert status == {"invalid_field": 400}.get(error.code, error.status)


def check_deeplx(body: Any, status: int, error: ServiceError) -> None:
    assert body == {"code": status, "message": printable(MESSAGE)}
    assert status == {"invalid_field": 400}.get(error.code, error.status)


def check_google(body: Any, status: int, error: ServiceError) -> None:
    """What google-api-core reads of an error, and the words of Google's own for a key."""
    told = body["error"]
    assert told["code"] == status
    assert all(isinstance(detail["@type"], str) for detail in told.get("details", []))
    words = {
        "invalid_key": "API key not valid. Please pass a valid API key.",
        "key_required": "The request is missing a valid API key.",
    }
    assert told["message"] == words.get(error.code, printable(MESSAGE))
    (one,) = told["errors"]
    assert (one["message"], one["domain"], bool(one["reason"])) == (told["message"], "global", True)
    ours = {"key_required": 403, "invalid_key": 400, "invalid_field": 400}
    assert status == ours.get(error.code, error.status)


CHECKS: dict[str, Callable[[Any, int, ServiceError], None]] = {
    "/translate": check_ours,
    "GET /translate": check_apertium,
    "GET /listPairs": check_apertium,
    "/MTRestService/TranslateJson": check_ours,
    "/v2/translate": check_deepl,
    "/v1/translate": check_deeplx,
    "/v1/chat/completions": check_openai,
    "/v1/responses": check_openai,
    "/api/chat": check_ollama,
    "/language/translate/v2/detect": check_google,
}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("asked", CHECKS)
def test_an_error_has_the_shape_of_its_api(asked: str, kind: type[ServiceError]) -> None:
    error = made(kind)
    answer = error_response(error, ID, *reversed(asked.split()))
    CHECKS[asked](json.loads(bytes(answer.body)), answer.status_code, error)
    seconds = error.retry_after_seconds
    assert answer.headers.get("Retry-After") == (None if seconds is None else str(seconds))
    assert ("WWW-Authenticate" in answer.headers) == (answer.status_code == 401)
    message = json.loads(render_error(error))  # of a stream, which has no headers
    assert (message["code"], message["error"]) == (error.code, printable(MESSAGE))
    assert message.get("retry_after") == seconds


def test_each_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in ERRORS if kind.__name__ != "ClientGone"]  # never sent
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (MemoryError(), 503, "exhausted"),
        (RuntimeError("can't start new thread"), 503, "exhausted"),
        (BlockingIOError(errno.EAGAIN, "no more processes"), 503, "exhausted"),
        (OSError(errno.EMFILE, "too many open files"), 503, "exhausted"),
        (OSError(errno.ENOENT, "secret/path"), 500, "internal_error"),
        (ValueError("secret"), 500, "internal_error"),
    ],
)
def test_a_failure_of_the_machine_is_told_from_one_of_the_server(
    failure: Exception, status: int, code: str
) -> None:
    error = unexpected_error(failure)
    assert (error.status, error.code) == (status, code)
    assert "secret" not in str(error)


def test_a_file_that_no_process_can_be_started_for_gets_503(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(_: BaseProcess) -> None:
        raise EOFError  # the fork server is gone

    monkeypatch.setattr(BaseProcess, "start", start)
    with client_of() as client:
        file = {"file": ("a.txt", b"Hello.")}
        answer = client.post("/translate_file", files=file, data={"source": "en", "target": "de"})
        assert (answer.status_code, answer.json()["code"]) == (503, "exhausted")
        assert int(answer.headers["Retry-After"]) > 0
        assert client.post("/translate", json=FIELDS).status_code == 200


ASKED: dict[str, dict[str, Any]] = {
    "/translate": {**FIELDS, "model": "fake", "glossary": "mine", "keep": ["a"]},
    "/translate/next": {**FIELDS, "prefix": "a"},
    "/detect": {"q": "a"},
    "/suggest": {**FIELDS, "s": "a"},
    "/glossaries": {**FIELDS, "name": "a", "entries": [{"source": "a", "target": "b"}]},
    "/v2/translate": {"text": ["a"], "target_lang": "DE", "source_lang": "EN", "glossary_id": "a"},
    "/v2/glossaries": {"name": "a", "source_lang": "EN", "target_lang": "DE", "entries": "a\tb"},
    "/v3/glossaries": {"name": "a", "dictionaries": [{"source_lang": "EN", "target_lang": "DE"}]},
    "/v1/translate": {"text": "a", "target_lang": "DE", "source_lang": "EN"},
    "/v1/chat/completions": {"model": "en-de", "messages": [{"role": "user", "content": "a"}]},
    "/api/generate": {"model": "en-de", "prompt": "a"},
    "/immersive": {"text_list": ["a"], "target_lang": "DE", "source_lang": "EN"},
    "/language/translate/v2": {"q": "a", "target": "de", "source": "en"},
}
HOSTILE = ["x" * 5000, "\0" * 5000, "xx", "q196", [["x" * 5000]] * 50, {"x" * 5000: 1}, 10**300]


def test_an_error_stays_small_however_many_languages_there_are_and_whatever_is_sent(
    tmp_path: Path,
) -> None:
    """Of a model whose pairs are no product of sources and targets."""
    codes = [f"q{a}{b}" for a in "abcdefghijklmn" for b in "abcdefghijklmn"]
    pairs = [*every_pair(codes[:98], codes[:98]), *every_pair(codes[98:], codes[98:])]
    pairs += [("en", "de"), ("de", "en")]
    given = {"database": tmp_path / "server.db", "suggestions": True, "max_characters": 4000}
    app = create_app(Settings(**given), [fake_model(FakeRunner(), pairs=pairs)])
    with TestClient(app) as client:
        answers = [
            client.post(path, json={**fields, name: value})
            for path, fields in ASKED.items()
            for name in fields
            for value in HOSTILE
        ]
        unrouted = {**FIELDS, "source": codes[0], "target": codes[-1]}
        told = client.post("/translate", json=unrouted).json()["error"]
        assert f"cannot translate {codes[0]} to {codes[-1]}; supported: " in told
        answers.append(client.post("/translate", json=unrouted))
    refused = [answer for answer in answers if answer.status_code >= 400]
    assert len(refused) > 200
    assert {answer.status_code // 100 for answer in refused} == {4}
    largest = max(refused, key=lambda answer: len(answer.content))
    assert len(largest.content) < 2000, largest.text


SUGGESTED = {**FIELDS, "s": "Hallo."}
GLOSSARY = {**FIELDS, "name": "mine", "entries": [{"source": "a", "target": "b"}]}
UPLOADS = {"/translate_file", "/v2/document", "/documents"}
UPLOADED = {**FIELDS, "source_lang": FIELDS["source"], "target_lang": FIELDS["target"]}
WORK = {"/translate", "/translate/next", "/translate_file"}
Serve = Callable[..., TestClient]


class Operation(NamedTuple):
    method: str
    path: str
    responses: dict[str, Any]

    @property
    def is_open(self) -> bool:
        return PATHS.is_open(self.path)

    @property
    def is_foreign(self) -> bool:
        """Whether errors have the shape and the statuses of DeepL."""
        return self.path.startswith("/v2/")

    def ask(self, client: TestClient, **headers: str) -> httpx2.Response:
        """Ask it; the status must be described, and errors have the body that is described."""
        path = self.path.format(name="mine", document_id="mine")
        is_glossary = path.startswith("/glossaries")
        sent: dict[str, Any] = {}
        if self.path in UPLOADS:
            sent = {"data": UPLOADED, "files": {"file": ("a.txt", b"Hello.")}}
        elif self.method in "POST PUT":
            sent = {"json": GLOSSARY if is_glossary else {**SUGGESTED, "document_key": "a"}}
        answer = client.request(self.method, path, headers=headers, **sent)
        described = self.responses.get(str(answer.status_code))
        assert described, f"{self.method} {path} answers {answer.status_code}, not described"
        if answer.status_code >= 400 and self.method != "HEAD":
            schema = described["content"]["application/json"]["schema"]
            if self.is_foreign:
                assert (schema["required"], [*answer.json()]) == (["message"], ["message"])
            else:
                ErrorBody.model_validate_json(answer.content)
                assert schema == {"$ref": "#/components/schemas/ErrorBody"}
        for name in ("Retry-After", "WWW-Authenticate"):
            assert (name in answer.headers) == (name in described.get("headers", {})), self
        return answer


def operations(client: TestClient) -> list[Operation]:
    document = client.get("/openapi.json").json()
    return [
        Operation(method.upper(), path, operation["responses"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


@pytest.fixture
def serve(tmp_path: Path, runner: FakeRunner) -> Iterator[Serve]:
    with contextlib.ExitStack() as clients:

        def start(**settings: Any) -> TestClient:
            given = {"database": tmp_path / "server.db", "suggestions": True, **settings}
            return clients.enter_context(client_of(runner, **given))

        yield start
        runner.gate.set()


@pytest.mark.parametrize(
    ("settings", "headers", "status"),
    [
        ({"api_keys": "required"}, {}, 401),
        ({"api_keys": "optional"}, {"Authorization": f"Bearer {WRONG}"}, 403),
        ({"requests_per_minute": 1}, {}, 429),
    ],
)
def test_without_a_key_with_a_wrong_one_and_over_a_limit_all_but_open_operations_are_refused(
    serve: Serve, settings: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    client = serve(**settings)
    told = operations(client)
    client.post("/detect", json=FIELDS)  # with a limit, the minute's only request
    for operation in told:
        own = 403 if operation.is_foreign and status == 401 else status
        assert (operation.ask(client, **headers).status_code == own) != operation.is_open


def test_with_another_hosts_name_all_operations_are_refused(serve: Serve) -> None:
    client = serve(allowed_hosts=["testserver"])
    assert {one.ask(client, Host="evil.example").status_code for one in operations(client)} == {421}


def test_while_the_server_stops(serve: Serve) -> None:
    client = serve()
    told = operations(client)
    for engine in client.app.state.server.models.pool.engines.values():  # type: ignore[attr-defined]
        engine.refuse_new_work()
    refused = {one.path for one in told if one.ask(client).status_code == 503}
    assert refused == WORK | UPLOADS | {"/health", "/health/ready"}


def test_after_the_deadline(serve: Serve, runner: FakeRunner) -> None:
    client = serve(deadline_seconds=0.05)
    runner.gate.clear()
    late = {one.path for one in operations(client) if one.ask(client).status_code == 504}
    assert late == WORK


def test_without_the_database(serve: Serve) -> None:
    client = serve()
    store = client.app.state.server.glossaries  # type: ignore[attr-defined]
    store.close()
    failed = {one.path for one in operations(client) if one.ask(client).status_code == 503}
    assert failed == {"/glossaries", "/glossaries/{name}"}


def test_open_operations_name_no_error_of_keys_and_limits(serve: Serve) -> None:
    found = operations(serve())
    for operation in found:
        named = {"401", "403", "429"} & operation.responses.keys()
        expected = {"403", "429"} if operation.is_foreign else {"401", "403", "429"}
        assert named == (set() if operation.is_open else expected), operation
        assert {"431", "500", "503"} <= operation.responses.keys()
        assert ({"502", "504"} <= operation.responses.keys()) == (operation.path in WORK)
    assert {operation.path for operation in found if not operation.is_open} >= WORK


@pytest.mark.parametrize("settings", [{}, {"metrics_port": 9}])
def test_what_a_server_does_not_offer_is_not_described(
    serve: Serve, settings: dict[str, Any]
) -> None:
    every = {operation.path for operation in operations(serve())}
    with client_of(**settings) as client:
        offered = {operation.path for operation in operations(client)}
        absent = {"/glossaries", "/glossaries/{name}", "/suggest"}
        assert every - offered == absent | ({"/metrics"} if settings else set())
        for path in every - offered:
            answer = client.request("POST" if path == "/suggest" else "GET", path)
            assert answer.status_code == (403 if path == "/suggest" else 404)  # LibreTranslate's
            assert answer.json()["error"]
