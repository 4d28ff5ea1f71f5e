"""LibreTranslate's own API tests, run against this server.

Its wheel holds them. They get this server in place of LibreTranslate's test client.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.service.served import Served

NUM_TESTS = 14
CONFTEST = '''
import os
from types import SimpleNamespace

import httpx
import pytest


class Client:
    """The part of Flask's test client that the tests use."""

    def _send(self, method, path, **sent):
        answer = httpx.request(method, os.environ["SERVER_URL"] + path, timeout=60, **sent)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        body = answer.json() if is_json else None
        return SimpleNamespace(status_code=answer.status_code, data=answer.content, json=body)

    def get(self, path, **sent):
        return self._send("GET", path, **sent)

    def post(self, path, **sent):
        return self._send("POST", path, **sent)


@pytest.fixture
def client():
    return Client()
'''


def test_all_of_libretranslates_api_tests_pass(
    server: Served, libretranslate: Path, tmp_path: Path
) -> None:
    tests = tmp_path / "api"
    tests.mkdir()
    for file in (libretranslate / "tests" / "test_api").glob("test_*.py"):
        shutil.copy(file, tests)
    (tests / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        cwd=tmp_path,
        env={**os.environ, "SERVER_URL": server.url},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stdout
    assert f"{NUM_TESTS} passed" in finished.stdout
