"""What every answer says to browsers, what can be switched off, and who may see the metrics."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
HEADERS = (
    "X-Content-Type-Options",
    "Referrer-Policy",
    "X-Frame-Options",
    "Content-Security-Policy",
)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            ("GET", path)
            for path in ("/", "/languages", "/health", "/metrics", "/nowhere", "/docs")
        ),
        *(("POST", path) for path in ("/translate", "/v2/translate", "/detect", "/health")),
        *(("GET", path) for path in ("/page/limits.json", "/openapi.json", "/download_file/x")),
    ],
)
def test_every_answer_tells_browsers_what_they_may_not_do(
    client: TestClient, method: str, path: str
) -> None:
    headers = client.request(method, path).headers
    assert all(len(headers.get_list(name)) == 1 for name in HEADERS)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/translate", "POST"),
        ("/v2/glossaries/mine", "DELETE, GET, HEAD"),
        ("/download_file/mine.txt", "GET, HEAD"),
    ],
)
def test_a_refused_method_is_told_all_that_the_path_has(path: str, methods: str) -> None:
    with TestClient(create_app(Settings(), [fake_model(FakeRunner())])) as client:
        refused = client.patch(path)
    assert (refused.status_code, refused.headers["Allow"]) == (405, methods)


def test_metrics_can_have_a_port_of_their_own() -> None:
    """The app tells the ports apart by the address that a request was sent to."""
    app = create_app(Settings(metrics_port=9), [fake_model(FakeRunner())])
    with TestClient(app) as client:
        inner = TestClient(app, base_url="http://testserver:9")
        assert client.get("/metrics").status_code == 404
        assert client.post("/translate", json=FIELDS).status_code == 200
        assert client.get("/health").status_code == 200
        assert inner.get("/metrics").status_code == 200
        assert inner.get("/health/ready").status_code == 200
        for path in ("/", "/languages", "/docs", "/metrics/"):
            assert inner.get(path).status_code == 404
        assert inner.post("/translate", json=FIELDS).json()["code"] == "not_found"
