"""What web pages of other origins can do: nothing but read what is open to everybody, unanswered.

Every route of the app is tried in every way in which a page can send something.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse

from service.app import create_app
from service.settings import Settings
from service.settings.reading import read_settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.clients import FIELDS, STREAM, client_of, error_members, routes_of
from tests.service.served import served

NAME = "translate.example"
OPEN = re.compile(
    r"/(languages|spec|openapi\.json|frontend/settings|health(/live|/ready)?|metrics|"
    r"docs(/.*)?|page/.*|download_file/.*)?"
)
"""Routes that only read, and nothing that somebody stored: a file's name is a secret."""
FOREIGN: dict[str, dict[str, str]] = {
    "another host": {"Origin": "https://evil.example"},
    "another port": {"Origin": f"http://{NAME}:81", "Sec-Fetch-Site": "same-site"},
    "a longer host": {"Origin": f"http://{NAME}.evil.example"},
    "a user's name": {"Origin": f"http://evil@{NAME}"},
    "a sandboxed page or a file": {"Origin": "null"},
    "no name": {"Origin": ""},
    "a form": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    "an image or a link": {"Sec-Fetch-Site": "cross-site"},
    "an extension without permission": {
        "Origin": "moz-extension://ab",
        "Sec-Fetch-Site": "cross-site",
    },
}
OWN: dict[str, dict[str, str]] = {
    "no page": {},
    "this server's page": {"Origin": f"http://{NAME}", "Sec-Fetch-Site": "same-origin"},
    "this server's page in an old browser": {"Origin": f"http://{NAME}"},
    "this server's page behind a proxy": {
        "Origin": "https://public.example",
        "Sec-Fetch-Site": "same-origin",
    },
    "the reader": {"Sec-Fetch-Site": "none"},
    "an extension": {"Origin": "chrome-extension://ab", "Sec-Fetch-Site": "none"},
    "an extension, without TLS": {"Origin": "moz-extension://ab"},
    "an allowed page": {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"},
}
TYPES = ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    settings = Settings(
        database=tmp_path_factory.mktemp("origins") / "server.db",
        suggestions=True,
        cors_origins=("https://app.example",),
        allowed_hosts=(NAME,),
    )
    return create_app(settings, [fake_model(FakeRunner())])


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url=f"http://{NAME}") as client:
        yield client


def routes(app: FastAPI) -> set[tuple[str, str]]:
    """Every route with "mine" for each parameter. One of the page's files, and of the reference's,
    stands for all."""
    return {
        (method, re.sub(r"(?<=/(page|docs)/).+", "start.js", re.sub(r"{\w+}", "mine", path)))
        for method, path in routes_of(app)
    }


def handshake(client: TestClient, headers: dict[str, str]) -> tuple[int, Any]:
    """The status and the answer to a websocket's first request."""
    try:
        with client.websocket_connect(f"ws://{NAME}{STREAM}", headers=headers) as socket:
            socket.send_json({"id": 1, **FIELDS})
            return 101, socket.receive_json()
    except WebSocketDenialResponse as refused:
        return refused.status_code, refused.json()


def ask(client: TestClient, route: tuple[str, str], headers: dict[str, str]) -> tuple[int, Any]:
    method, path = route
    if method == "WS":
        return handshake(client, headers)
    answer = client.request(method, path, headers=headers, content="q=Hi." * (method == "POST"))
    return answer.status_code, None if method == "HEAD" else answer.content


def check_error(route: tuple[str, str], body: Any, words: str) -> None:
    """The body has its API's members, and the words."""
    if body is not None:
        found = body if isinstance(body, dict) else json.loads(body)
        method, path = route
        assert set(found) == error_members(path, method)
        assert words in json.dumps(found)


@pytest.mark.parametrize("sender", FOREIGN)
def test_a_foreign_page_can_use_no_route_that_is_not_open(
    app: FastAPI, client: TestClient, sender: str
) -> None:
    for route in routes(app):
        method, path = route
        for media_type in TYPES if method == "POST" else ("text/plain",):
            status, body = ask(client, route, {**FOREIGN[sender], "Content-Type": media_type})
            if OPEN.fullmatch(path):
                assert method in ("GET", "HEAD")
                assert status in (200, 404), (route, status)
            else:
                assert status == 403, (route, status)
                check_error(route, body, "cors_origins")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", f"{NAME}.", f"a.{NAME}", ""])
@pytest.mark.parametrize("site", [{}, {"Sec-Fetch-Site": "same-origin"}])
def test_a_page_whose_name_was_rebound_can_use_no_route(
    app: FastAPI, client: TestClient, host: str, site: dict[str, str]
) -> None:
    for method, path in routes(app):
        headers = {"Host": host, "Origin": f"http://{host}", **site}
        status, body = ask(client, (method, path), headers)
        assert status == 421, (method, path, status)
        check_error((method, path), body, "allowed_hosts")


def test_the_log_names_each_refused_page_and_host_once_and_not_without_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with client_of(allowed_hosts=(NAME,)) as client:
        for _ in range(3):
            for headers in ({"Origin": "http://localhost:3000"}, {"Host": "mine.example"}):
                client.options("/translate", headers={"Host": NAME, **headers})
        assert _told(caplog) == [
            "no page of 'http://localhost:3000' may use this server (setting cors_origins)",
            "'mine.example' is no name of this server (setting allowed_hosts)",
        ]
        for number in range(100):
            client.get("/models", headers={"Host": f"{number}.example"})
    assert 2 < len(_told(caplog)) < 50


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    own = (one for one in caplog.records if one.name == "service.http.origins")
    return [record.getMessage() for record in own]


@pytest.mark.parametrize("sender", OWN)
def test_all_others_can_use_every_route(app: FastAPI, client: TestClient, sender: str) -> None:
    for route in routes(app):
        assert ask(client, route, OWN[sender])[0] not in (403, 421), route


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "192.0.2.7", "[::1]:8000", "[fe80::1]"]
)
def test_localhost_and_addresses_always_name_the_server(client: TestClient, host: str) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert client.post("/translate", json=FIELDS, headers=headers).status_code == 200


@pytest.mark.parametrize("hosts", [(), ("*",)])
def test_without_names_any_name_is_the_servers(hosts: tuple[str, ...]) -> None:
    with client_of(cors_origins=("*",), allowed_hosts=hosts) as client:
        for headers in FOREIGN.values():  # `*` of cors_origins lets every page in
            assert client.post("/translate", json=FIELDS, headers=headers).status_code == 200
            assert handshake(client, headers)[0] == 101


def test_hosts_are_plain_names_in_the_settings_and_origins_have_no_path() -> None:
    for host in ("https://a.example", "a.example:80", "A.example", "*.a.example"):
        with pytest.raises(ValueError, match="a host must be"):
            read_settings(Settings, {"allowed_hosts": host})
    for origin in ("app.example", "https://a.example/", "https://A.example", ""):
        with pytest.raises(ValueError, match="an origin must be"):
            Settings(cors_origins=(origin, "x"))
    several = ("https://app.example:8443", "chrome-extension://abc", "http://[::1]:3000")
    read = read_settings(Settings, {"cors_origins": ",".join(several)})
    assert read.cors_origins == several


PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


def test_only_an_allowed_page_may_ask_for_permission_and_read_answers_and_refusals() -> None:
    """No key and no limit holds for the question."""
    origin = {"Origin": "https://app.example"}
    with client_of(cors_origins=(origin["Origin"],), requests_per_minute=1) as client:
        for _ in range(3):
            asked = client.options("/translate", headers={**origin, **PREFLIGHT})
            assert asked.status_code == 200
            assert asked.headers["X-Request-ID"]
            assert asked.headers["Vary"].count("Origin") == 1
            for name in ("authorization", "content-type"):
                assert name in asked.headers["Access-Control-Allow-Headers"]
        answers = [client.post("/translate", json=FIELDS, headers=origin) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]
        for answer in answers:
            assert answer.headers["Access-Control-Allow-Origin"] == origin["Origin"]
            for name in ("X-Ignored-Fields", "Retry-After"):
                assert name in answer.headers["Access-Control-Expose-Headers"]
        private = {"Access-Control-Request-Private-Network": "true"}  # of a server in its network
        asked = client.options("/translate", headers={**origin, **PREFLIGHT, **private})
        assert asked.status_code == 200
        assert asked.headers["Access-Control-Allow-Private-Network"] == "true"
        for other in ("https://other.example", "null"):
            asked = client.options("/translate", headers={"Origin": other, **PREFLIGHT})
            answer = client.post("/translate", json=FIELDS, headers={"Origin": other})
            assert (asked.status_code, answer.status_code) == (403, 403)
            assert asked.json()["code"] == answer.json()["code"] == "foreign_page"
            assert "Access-Control-Allow-Origin" not in asked.headers.keys() | answer.headers.keys()
        counts = client.get("/metrics").text
        asked_of = 'dragoman_requests_total{endpoint="/translate",outcome='
        assert f'{asked_of}"ok"}} 5.0' in counts
        assert f'{asked_of}"rejected"}} 5.0' in counts
    with client_of() as closed:
        asked = closed.options("/translate", headers={**origin, **PREFLIGHT})
        assert (asked.status_code, asked.json()["code"]) == (403, "foreign_page")


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [("1.1", "", b"400"), ("1.1", "Host: a\r\nHost: b\r\n", b"400"), ("1.0", "", b"200")],
)
def test_http_1_1_has_one_host(version: str, hosts: str, status: bytes) -> None:
    app = create_app(Settings(), [fake_model(FakeRunner())])
    with served(app) as server, server.connect() as client:
        client.sendall(f"GET /health/live HTTP/{version}\r\n{hosts}\r\n".encode())
        assert client.recv(65536).split(b" ")[1] == status


def test_a_refusal_costs_a_client_nothing_of_its_limits() -> None:
    with client_of(requests_per_minute=1) as client:
        for headers in FOREIGN.values():
            assert client.post("/translate", json=FIELDS, headers=headers).status_code == 403
        assert client.post("/translate", json=FIELDS).status_code == 200
        assert 'rejected_total{reason="foreign_page"} 9.0' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("listens_on", "host", "status"),
    [
        ("0.0.0.0", "dragoman", 200),
        ("10.0.0.3", "dragoman", 200),
        ("::", "dragoman", 200),
        ("127.0.0.1", "dragoman", 421),
        ("::1", "dragoman", 421),
        ("localhost", "dragoman", 421),
        ("127.0.0.1", NAME, 200),
        ("127.0.0.1", "localhost", 200),
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/health/ready"])
def test_the_metrics_port_has_the_names_of_its_own_address(
    listens_on: str, host: str, status: int, path: str
) -> None:
    with client_of(allowed_hosts=(NAME,), metrics_port=9, metrics_host=listens_on) as client:
        url = f"http://{NAME}:9{path}"
        assert client.get(url, headers={"Host": f"{host}:9"}).status_code == status
        assert client.get("/health/ready", headers={"Host": "dragoman"}).status_code == 421
