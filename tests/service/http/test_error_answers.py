"""Every error in the shape of each API: its status, its headers and its body; and what clients are
told when the server's machine fails it.

The errors find themselves: all subclasses of ServiceError.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from service.errors import LimitExceeded, Loading, ServiceError, UnsupportedLanguage, printable
from service.http.answers import ErrorMessage
from service.http.error_answers import error_of, error_response
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


def check_deepl(body: Any, status: int, error: ServiceError) -> None:
    words = "Invalid file: " if error.code in ("unsupported_file", "invalid_document") else ""
    assert body == {"message": words + printable(MESSAGE)}
    ours = {"key_required": 403, "quota_exceeded": 456, "invalid_field": 400}
    assert status == ours.get(error.code, error.status)


def check_openai(body: Any, status: int, error: ServiceError) -> None:
    assert body["error"]["message"] == printable(MESSAGE)
    assert (body["error"]["code"], body["error"]["param"]) == (error.code, None)
    assert status == {"invalid_field": 400, "invalid_key": 401}.get(error.code, error.status)


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
    "/v2/translate": check_deepl,
    "/v1/translate": check_deeplx,
    "/v1/chat/completions": check_openai,
    "/language/translate/v2/detect": check_google,
}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("path", CHECKS)
def test_an_error_has_the_shape_of_its_api(path: str, kind: type[ServiceError]) -> None:
    error = made(kind)
    answer = error_response(error, ID, path)
    CHECKS[path](json.loads(bytes(answer.body)), answer.status_code, error)
    seconds = error.retry_after_seconds
    assert answer.headers.get("Retry-After") == (None if seconds is None else str(seconds))
    assert ("WWW-Authenticate" in answer.headers) == (error.status == 401)
    message = ErrorMessage.of(error, None)  # of a stream, which has no headers
    assert (message.code, message.error) == (error.code, printable(MESSAGE))
    assert message.retry_after == seconds


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
    error = error_of(failure)
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
