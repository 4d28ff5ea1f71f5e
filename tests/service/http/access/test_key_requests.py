"""Requests with keys, on every surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from starlette.routing import BaseRoute
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from service.commands.group import dragoman
from service.http.route_table import PATHS
from service.stores.api_key import read_key
from service.stores.keys import KeyStore
from tests.service.fakes import until
from tests.service.http.access.conftest import FIELDS, Serve
from tests.service.served import Served

MakeKey = Callable[..., str]
DEEPL = {"text": ["Hi."], "target_lang": "DE", "source_lang": "EN"}
GOOGLE = "/language/translate/v2"
WRONG = "drg_0123456789ab_" + "0" * 48


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


WAYS = {
    "bearer": lambda key: ("/translate", {"json": FIELDS, "headers": bearer(key)}),
    "json": lambda key: ("/translate", {"json": {**FIELDS, "api_key": key}}),
    "form": lambda key: ("/translate", {"data": {**FIELDS, "api_key": key}}),
    "multipart": lambda key: (
        "/translate",
        {"files": {name: (None, value) for name, value in {**FIELDS, "api_key": key}.items()}},
    ),
    "query": lambda key: ("/translate", {"params": {**FIELDS, "api_key": key}}),
    "query beside a body": lambda key: ("/translate", {"params": {"api_key": key}, "json": FIELDS}),
    "plain text": lambda key: (
        "/translate?source=en&target=de",
        {"content": "Hi.", "headers": {"Content-Type": "text/plain", **bearer(key)}},
    ),
    "stream": lambda key: (
        "/translate",
        {"json": {**FIELDS, "api_key": key}, "headers": {"Accept": "text/event-stream"}},
    ),
    "file": lambda key: (
        "/translate_file",
        {
            "data": {"source": "en", "target": "de", "api_key": key},
            "files": {"file": ("a.txt", b"Hi.")},
        },
    ),
    "deepl header": lambda key: (
        "/v2/translate", {"json": DEEPL, "headers": {"Authorization": f"DeepL-Auth-Key {key}"}}
    ),
    "deepl field": lambda key: ("/v2/translate", {"data": {**DEEPL, "auth_key": key}}),
    "google query": lambda key: (GOOGLE, {"params": {"key": key}, "json": FIELDS}),
    "google header": lambda key: (GOOGLE, {"json": FIELDS, "headers": {"X-Goog-Api-Key": key}}),
    "deeplx": lambda key: (
        "/v1/translate",
        {"json": {"text": "Hi.", "target_lang": "DE", "source_lang": "EN"},
         "headers": {"Authorization": f"Bearer {key}"}},
    ),
    "immersive": lambda key: (
        "/immersive",
        {"json": {"text_list": ["Hi."], "target_lang": "de", "source_lang": "en", "api_key": key}},
    ),
}  # fmt: skip


def post(server: Served, path: str, given: dict[str, Any]) -> httpx.Response:
    return httpx.post(server.url + path, timeout=60, **given)


def used(server: Served, key: str) -> int:
    """What the server says that the key has used."""
    headers = {"Authorization": f"DeepL-Auth-Key {key}"}
    answer = httpx.get(f"{server.url}/v2/usage", headers=headers)
    return int(answer.json()["character_count"])


def test_a_key_is_understood_in_every_way_that_clients_send_it(
    serve: Serve, make_key: MakeKey
) -> None:
    server = serve(api_keys="required")
    keys = [make_key() for _ in WAYS]
    until(lambda: used_or_none(server, keys[-1]) == 0)
    for key, (name, way) in zip(keys, WAYS.items(), strict=True):
        answer = post(server, *way(key))
        assert (answer.status_code, name) == (200, name), answer.text
        assert used(server, key) == 3, name
        assert post(server, *way(WRONG)).status_code in (400, 403), name


def used_or_none(server: Served, key: str) -> int | None:
    """None until the server knows the key."""
    headers = {"Authorization": f"Bearer {key}"}
    answer = httpx.get(f"{server.url}/v2/usage", headers=headers)
    return answer.json().get("character_count") if answer.status_code == 200 else None


@pytest.mark.parametrize(
    ("path", "body", "missing", "wrong"),
    [
        (
            "/translate",
            FIELDS,
            (401, "error", "Please contact the server operator to get an API key"),
            (403, "error", "Invalid API key"),
        ),
        (
            "/v2/translate",
            DEEPL,
            (403, "message", "Please contact the server operator to get an API key"),
            (403, "message", "Invalid API key"),
        ),
    ],
)
def test_refusals_have_the_words_of_their_api(
    serve: Serve,
    path: str,
    body: dict[str, Any],
    missing: tuple[int, str, str],
    wrong: tuple[int, str, str],
) -> None:
    server = serve(api_keys="required")
    answer = post(server, path, {"json": body})
    assert (answer.status_code, answer.json()[missing[1]]) == (missing[0], missing[2])
    answer = post(server, path, {"json": body, "headers": {"Authorization": f"Bearer {WRONG}"}})
    assert (answer.status_code, answer.json()[wrong[1]]) == (wrong[0], wrong[2])
    assert server.count('dragoman_rejected_total{reason="key_required"}') == 1
    assert server.count('dragoman_rejected_total{reason="invalid_key"}') == 1


def paths(routes: list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Method and path of every route, also of included routers."""
    for route in routes:
        if router := getattr(route, "original_router", None):
            yield from paths(router.routes)
        for method in getattr(route, "methods", None) or ():
            yield method, getattr(route, "path", "").replace("{", "").replace("}", "")


def test_nothing_but_what_is_meant_to_be_open_is_answered_without_a_key(serve: Serve) -> None:
    server = serve(api_keys="required")
    bodies: list[dict[str, Any]] = [{"json": {**FIELDS, **DEEPL}}, {"data": FIELDS}, {}]
    refused = 0
    for method, path in paths(server.app.routes):
        if PATHS.is_open(path):
            continue
        for body in bodies:
            answer = httpx.request(method, server.url + path, timeout=60, **body)
            assert answer.status_code in (401, 403, 415), (method, path, body, answer.text)
            refused += answer.status_code != 415
    assert refused > 40
    assert httpx.get(server.url + "/nowhere").status_code == 401
    for path in ("/", "/languages", "/frontend/settings", "/health", "/metrics"):
        assert httpx.get(server.url + path).status_code == 200


def test_the_settings_tell_pages_about_keys(serve: Serve) -> None:
    for mode in ("off", "optional", "required"):
        told = httpx.get(serve(api_keys=mode).url + "/frontend/settings").json()
        assert (told["apiKeys"], told["keyRequired"]) == (mode != "off", mode == "required")


def test_where_keys_are_off_any_key_is_ignored(serve: Serve) -> None:
    server = serve()
    for name, way in WAYS.items():
        assert post(server, *way("any key")).status_code == 200, name


def test_an_empty_key_is_none(serve: Serve) -> None:
    """LibreTranslate's page sends one."""
    server = serve(api_keys="optional")
    assert post(server, "/translate", {"json": {**FIELDS, "api_key": ""}}).status_code == 200
    assert post(server, "/translate", {"json": {**FIELDS, "api_key": "x"}}).status_code == 403


def test_a_revoked_key_ends_on_a_running_server_within_seconds(
    serve: Serve, make_key: MakeKey, store: KeyStore
) -> None:
    key = make_key()
    server = serve(api_keys="required")
    headers = {"Authorization": f"Bearer {key}"}
    url = server.url.replace("http", "ws") + "/translate/stream"
    with connect(url, additional_headers=headers) as socket:
        socket.send(json.dumps({"id": 1, **FIELDS}))
        while json.loads(socket.recv())["type"] != "final":
            pass
        (stored,) = store.read_keys()
        database = server.app.state.server.access.ring._store._connection
        path = database.execute("PRAGMA database_list").fetchone()[2]
        result = CliRunner().invoke(dragoman, ["keys", "revoke", stored, "--database", path])
        assert result.exit_code == 0, result.output
        until(lambda: used_or_none(server, key) is None)
        assert post(server, "/translate", {"json": FIELDS, "headers": headers}).status_code == 403
        socket.send(json.dumps({"id": 2, **FIELDS}))
        assert json.loads(socket.recv())["code"] == "invalid_key"


def test_an_expired_key_is_refused(serve: Serve, make_key: MakeKey) -> None:
    key = make_key(expires_seconds=1.0)
    server = serve(api_keys="optional")
    answer = post(server, "/translate", {"json": {**FIELDS, "api_key": key}})
    assert (answer.status_code, answer.json()["error"]) == (403, "Invalid API key")


def test_guesses_are_told_nothing_and_count_for_the_address(
    serve: Serve, make_key: MakeKey
) -> None:
    """A right id with a wrong secret is refused as an unknown id is."""
    key = make_key()
    revealed = read_key(key)
    assert revealed is not None
    server = serve(api_keys="optional", requests_per_minute=6)
    guesses = [WRONG, f"drg_{revealed.id}_{'0' * 48}", key[:-1], key + "0", key.upper(), "x" * 5000]
    answers = [post(server, "/translate", {"json": {**FIELDS, "api_key": g}}) for g in guesses]
    assert {(a.status_code, a.json()["error"]) for a in answers} == {(403, "Invalid API key")}
    answer = post(server, "/translate", {"json": {**FIELDS, "api_key": WRONG}})
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
    headers = {"Authorization": f"Bearer {key}"}
    assert post(server, "/translate", {"json": FIELDS, "headers": headers}).status_code == 200


def test_a_websocket_takes_its_key_from_the_head_or_the_first_message(
    serve: Serve, make_key: MakeKey
) -> None:
    key = make_key()
    server = serve(api_keys="required")
    url = server.url.replace("http", "ws") + "/translate/stream"

    def kinds(messages: list[dict[str, Any]], address: str = url) -> list[str]:
        ended = []
        with connect(address) as socket:
            for number, message in enumerate(messages):
                socket.send(json.dumps({"id": number, **FIELDS, **message}))
                while (answer := json.loads(socket.recv()))["type"] == "token":
                    pass
                ended.append(answer.get("code", answer["type"]))
        return ended

    assert kinds([{}, {"api_key": WRONG}]) == ["key_required", "invalid_key"]
    assert kinds([{"api_key": key}, {}]) == ["final", "final"]
    assert kinds([{}], f"{url}?api_key={key}") == ["final"]
    assert used(server, key) == 9
    with pytest.raises(InvalidStatus) as refused, connect(f"{url}?api_key={WRONG}"):
        pass
    assert refused.value.response.status_code == 403
    assert json.loads(refused.value.response.body)["code"] == "invalid_key"


def test_a_wrong_key_in_the_head_is_refused_before_the_body_is_read(serve: Serve) -> None:
    server = serve(api_keys="required")
    with server.connect() as client:
        client.sendall(
            b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
            b"Authorization: Bearer wrong\r\nContent-Type: application/json\r\n\r\n"
        )
        assert client.recv(65536).startswith(b"HTTP/1.1 403")
