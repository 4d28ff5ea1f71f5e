"""What holds for every path and answer; languages, probes, metrics and who may see them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.http.language_names import language_name
from service.settings import Settings
from service.settings.reading import read_settings
from tests.service.http.clients import FIELDS, STREAM, client_of, routes_of
from tests.service.served import served

METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}
VARYING = ("/metrics", "/page/engine.txt", "/page/engine.json")
HEADERS = (
    "X-Content-Type-Options",
    "Referrer-Policy",
    "X-Frame-Options",
    "Content-Security-Policy",
)


def test_an_answer_of_the_protocol_itself_tells_them_too() -> None:
    with served(client_of().app) as server, server.connect() as client:  # type: ignore[arg-type]
        client.sendall(b"nonsense\r\n\r\n")
        answer = client.recv(65536).decode().lower()
    assert all(f"\n{name.lower()}: " in answer for name in HEADERS)


def test_every_path_takes_its_methods_tells_them_to_others_and_answers_head_as_get(
    tmp_path: Path,
) -> None:
    """And every answer tells browsers what they may not do."""
    with client_of(database=tmp_path / "server.db") as client:
        terms = [{"source": "a", "target": "b"}]
        glossary = {"source": "en", "target": "de", "entries": terms}
        assert client.put("/glossaries/mine", json=glossary).status_code == 201
        methods: dict[str, set[str]] = {}
        for method, path in routes_of(client.app):  # type: ignore[arg-type]
            methods.setdefault(re.sub(r"{\w+}", "mine", path), set()).add(method)
        del methods[STREAM]
        answers = [client.get("/nowhere"), client.post("/translate", json=FIELDS)]
        assert methods["/glossaries/mine"] == {"GET", "HEAD", "PUT", "DELETE"}
        for path, taken in methods.items():
            assert ("GET" in taken) == ("HEAD" in taken), path
            for method in METHODS - taken:
                answers.append(refused := client.request(method, path))
                allowed = refused.headers["Allow"].split(", ")
                assert (path, refused.status_code, allowed) == (path, 405, sorted(taken))
            if "GET" in taken:
                asked, probed = client.get(path), client.head(path)
                answers += [asked, probed]
                assert (path, probed.status_code) == (path, asked.status_code)
                assert probed.content == b""
                same = ["Content-Type", "ETag"]
                if path not in VARYING:
                    same.append("Content-Length")
                for name in same:
                    assert (path, probed.headers.get(name)) == (path, asked.headers.get(name))
        for answer in answers:
            assert all(len(answer.headers.get_list(name)) == 1 for name in HEADERS), answer.url


def test_metrics_can_have_a_port_of_their_own() -> None:
    """The app tells the ports apart by the address that a request was sent to."""
    with client_of(metrics_port=9) as client:
        inner = TestClient(client.app, base_url="http://testserver:9")
        assert client.get("/metrics").status_code == 404
        assert client.post("/translate", json=FIELDS).status_code == 200
        assert client.get("/health").status_code == 200
        assert inner.get("/metrics").status_code == 200
        assert inner.get("/health/ready").status_code == 200
        for path in ("/", "/languages", "/docs", "/metrics/"):
            assert inner.get(path).status_code == 404
        assert inner.post("/translate", json=FIELDS).json()["code"] == "not_found"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("api_keys", "optional", "needs the setting database"),
        ("suggestions", "true", "needs the setting database"),
        ("max_documents_bytes", "4096", "at least 4 times max_document_bytes"),
        ("trusted_proxies", "proxy.example", "an address or a network"),
        ("trusted_proxies", "10.0.0.1/8", "an address or a network"),
    ],
)
def test_what_is_stored_needs_a_database_and_a_proxy_an_address(
    name: str, given: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read_settings(Settings, {name: given})


def test_languages_have_names_and_targets(client: TestClient) -> None:
    assert client.get("/languages").json() == [
        {"code": "zh", "name": "Chinese", "targets": ["en", "zh-Hant", "de"]},
        {"code": "en", "name": "English", "targets": ["zh", "zh-Hant", "de"]},
        {"code": "zh-Hant", "name": "Chinese (Traditional)", "targets": ["zh", "en", "de"]},
        {"code": "de", "name": "German", "targets": []},
    ]


def test_a_language_without_a_name_is_called_by_its_code() -> None:
    assert language_name("pt-BR") == "Portuguese (Brazil)"
    assert language_name("xx") == "xx"
    assert language_name("not a code") == "not a code"


def test_a_dead_engine_is_alive_but_not_ready(client: TestClient) -> None:
    paths = ["/health", "/health/live", "/health/ready"]
    assert [client.get(path).json() for path in paths] == [{"status": "ok"}] * 3
    client.app.state.server.models.pool.engines["fake"].stop()
    assert [client.get(path).status_code for path in paths] == [503, 200, 503]
    assert client.get("/health/ready").json()["code"] == "not_ready"
    assert "dragoman_ready{" in client.get("/metrics").text


@pytest.mark.parametrize(
    ("given", "is_kept"), [("abc-1", True), ("a b", False), ("x" * 200, False)]
)
def test_a_sane_request_id_is_kept(client: TestClient, given: str, is_kept: bool) -> None:
    answered = client.get("/health/live", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert (answered == given) is is_kept
    assert answered


def test_metrics_count_outcomes_and_never_name_unknown_paths(client: TestClient) -> None:
    client.post("/translate", json=FIELDS)
    client.post("/translate", json={**FIELDS, "q": "x" * 1001})
    client.get("/private/words")
    client.get("/docs/private.js")
    text = client.get("/metrics").text
    for line in (
        'dragoman_requests_total{endpoint="/translate",outcome="ok"} 1.0',
        'dragoman_requests_total{endpoint="/translate",outcome="rejected"} 1.0',
        'dragoman_requests_total{endpoint="other",outcome="client_error"} 1.0',
        'dragoman_requests_total{endpoint="/docs/",outcome="client_error"} 1.0',
        'dragoman_rejected_total{reason="text_too_long"} 1.0',
        'dragoman_finished_total{finish_reason="stop",model="fake"} 1.0',
        'dragoman_source_tokens_total{model="fake"} 5.0',
        'dragoman_target_tokens_total{model="fake"} 4.0',
        'dragoman_ready{model="fake"} 1.0',
    ):
        assert line in text
    assert "private" not in text
    for name in ("queue_wait", "decode_step", "request", "model_load"):
        assert f"dragoman_{name}_seconds" in text
