"""LibreTranslate's own API tests, run against this server.

Its wheel holds them. They get this server in place of LibreTranslate's test client.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.service.served import Served

LIBRETRANSLATE, NUM_TESTS = "libretranslate==1.9.6", 14
CONFTEST = '''
import os
import shutil
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


def test_all_of_libretranslates_api_tests_pass(server: Served, tmp_path: Path) -> None:
    """Its package is under the AGPL: downloaded for this test only, and nothing of it is kept."""
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", LIBRETRANSLATE]
    subprocess.run([*download, "--dest", str(tmp_path)], check=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    tests = tmp_path / "api"  # away from the package, which needs more than is installed
    tests.mkdir()
    for file in (tmp_path / "libretranslate" / "tests" / "test_api").glob("test_*.py"):
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
