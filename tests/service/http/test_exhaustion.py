"""What clients are told when the server's machine fails it."""

from __future__ import annotations

import errno
from multiprocessing.process import BaseProcess

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.http.error_answers import error_of
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model


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
    with TestClient(create_app(Settings(), [fake_model(FakeRunner())])) as client:
        file = {"file": ("a.txt", b"Hello.")}
        answer = client.post("/translate_file", files=file, data={"source": "en", "target": "de"})
        assert (answer.status_code, answer.json()["code"]) == (503, "exhausted")
        assert int(answer.headers["Retry-After"]) > 0
        asked = client.post("/translate", json={"q": "Hi.", "source": "en", "target": "de"})
        assert asked.status_code == 200
