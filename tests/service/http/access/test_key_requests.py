"""Requests with keys, on every surface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from service.commands.group import dragoman
from service.http.route_table import PATHS
from service.stores.api_key import read_key
from service.stores.keys import KeyStore
from tests.service.fakes import until
from tests.service.http.access.conftest import (
    DEEPL,
    WAYS,
    WRONG,
    MakeKey,
    Serve,
    bearer,
    last_of,
    post,
    stream_url,
    translate,
    used,
)
from tests.service.http.clients import FIELDS, routes_of
from tests.service.http.wire_client import head


def test_a_key_is_understood_in_every_way_that_clients_send_it(
    serve: Serve, make_key: MakeKey
) -> None:
    server = serve(api_keys="required")
    keys = [make_key() for _ in WAYS]
    until(lambda: used(server, keys[-1]) == 0)
    for key, (name, way) in zip(keys, WAYS.items(), strict=True):
        answer = post(server, *way(key))
        assert (answer.status_code, name) == (200, name), answer.text
        until(lambda key=key: used(server, key) == 3)  # a stream counts when it has ended
        assert post(server, *way(WRONG)).status_code in (400, 403), name


_SEGMENT = "input=Hi.&srcLangCode=en&trgLangCode=de"
CAT_TOOLS = (
    "/translate?q=Hi.&langpair=en|de&key={}",
    f"/MTRestService/TranslateJson?tokenCode={{}}&{_SEGMENT}",
    f"/MtRestService/TranslateStream?tokenCode=0&{_SEGMENT}&api_key={{}}",
)


def test_a_cat_tools_key_is_in_the_address(serve: Serve, make_key: MakeKey) -> None:
    server = serve(api_keys="required")
    keys = [make_key() for _ in CAT_TOOLS]
    until(lambda: used(server, keys[-1]) == 0)
    for key, way in zip(keys, CAT_TOOLS, strict=True):
        assert httpx.get(server.url + way.format(key)).status_code == 200
        until(lambda key=key: used(server, key) == 3)
        assert httpx.get(server.url + way.format(WRONG)).status_code == 403
        assert httpx.get(server.url + way.format("")).status_code == 401
    assert httpx.get(server.url + CAT_TOOLS[1].format("0")).status_code == 401
    refused = httpx.get(server.url + CAT_TOOLS[0].format(WRONG)).json()
    assert refused["explanation"] == "Invalid API key"
    pairs = [httpx.get(f"{server.url}/listPairs?key={key}") for key in (keys[0], WRONG, "")]
    assert [answer.status_code for answer in pairs] == [200, 403, 401]
    assert httpx.post(server.url + f"/detect?key={keys[0]}", json=FIELDS).status_code == 401


@pytest.mark.parametrize("path", ["/{}/translate", "/{}/v1/translate", "//{}/v2/translate"])
def test_a_key_before_deeplxs_path_is_one(serve: Serve, make_key: MakeKey, path: str) -> None:
    """As in https://api.deeplx.org/KEY/translate, with the path's limits, metrics and errors."""
    server, key = serve(api_keys="required"), make_key()
    until(lambda: used(server, key) == 0)
    asked = {"json": {**DEEPL, "text": "Hi."}}
    answer = post(server, path.format(key), asked)
    assert (answer.status_code, "HI." in answer.text) == (200, True)
    assert "X-Ignored-Fields" not in answer.headers
    until(lambda: used(server, key) == 3)
    plain = path.format("")[1:].replace("//", "/")
    refused = post(server, path.format(WRONG), asked)
    assert refused.status_code == 403
    told = post(server, plain, {**asked, "headers": bearer(WRONG)}).json()
    assert refused.json() | {"request_id": ""} == told | {"request_id": ""}
    assert "HI." in post(serve(), path.format(WRONG), asked).text  # keys are off
    page = httpx.get(f"{server.url}/metrics").text
    assert f'dragoman_requests_total{{endpoint="{plain}",' in page
    assert key not in page


def test_what_stands_in_place_of_a_key_but_is_none_counts_as_none(serve: Serve) -> None:
    """Zotero's plugin and calibre's send "None" to DeepLX, and a path need not hold a key."""
    deeplx = {**DEEPL, "text": "Hi."}
    for keys, status in (("required", 401), ("optional", 200)):
        server = serve(api_keys=keys)
        for given in ("None", "Bearer", "Basic YTpi", "drg_1", ""):
            asked = {"json": deeplx, "headers": {"Authorization": given}}
            assert post(server, "/translate", asked).status_code == status, given
    for path in ("/drg_1/translate", "/key/translate", f"/{WRONG}/translate/next", f"/{WRONG}"):
        assert post(server, path, {"json": deeplx}).status_code == 404


def test_a_missing_and_a_wrong_key_are_refused_in_libretranslates_words(serve: Serve) -> None:
    server = serve(api_keys="required")
    missing, wrong = translate(server), translate(server, WRONG)
    words = "Please contact the server operator to get an API key"
    assert (missing.status_code, missing.json()["error"]) == (401, words)
    assert (wrong.status_code, wrong.json()["error"]) == (403, "Invalid API key")
    assert server.count('dragoman_rejected_total{reason="key_required"}') == 1
    assert server.count('dragoman_rejected_total{reason="invalid_key"}') == 1


def test_nothing_but_what_is_meant_to_be_open_is_answered_without_a_key(serve: Serve) -> None:
    server = serve(api_keys="required")
    bodies: list[dict[str, Any]] = [{"json": {**FIELDS, **DEEPL}}, {"data": FIELDS}, {}]
    refused = 0
    for method, path in routes_of(server.app):
        if PATHS.is_open(path) or method == "WS":
            continue
        for body in bodies:
            answer = httpx.request(method, server.url + path, timeout=60, **body)
            assert answer.status_code in (401, 403, 415), (method, path, body, answer.text)
            refused += answer.status_code != 415
    assert refused > 40
    assert httpx.get(server.url + "/nowhere").status_code == 401
    for path in ("/", "/languages", "/frontend/settings", "/health", "/metrics", "/docs"):
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
    answer = translate(server, api_key="")
    assert (answer.status_code, answer.headers.get("X-Ignored-Fields")) == (200, None)
    asked = {"q": "Hi.", "source": "en", "target": "de"}
    url = f"{server.url}/translate?api_key="
    answer = httpx.post(url, json=asked, headers={"Prefer": "handling=strict"})
    assert (answer.status_code, answer.headers.get("X-Ignored-Fields")) == (200, None)
    assert translate(server, api_key="x").status_code == 403


def test_a_revoked_key_ends_on_a_running_server_within_seconds(
    serve: Serve, make_key: MakeKey, store: KeyStore, tmp_path: Path
) -> None:
    key = make_key()
    server = serve(api_keys="required")
    with connect(stream_url(server), additional_headers=bearer(key)) as socket:
        socket.send(json.dumps({"id": 1, **FIELDS}))
        assert last_of(socket)["type"] == "final"
        (stored,) = store.read_keys()
        arguments = ["keys", "revoke", stored, "--database", str(tmp_path / "server.db")]
        result = CliRunner().invoke(dragoman, arguments)
        assert result.exit_code == 0, result.output
        until(lambda: used(server, key) is None)
        assert translate(server, key).status_code == 403
        socket.send(json.dumps({"id": 2, **FIELDS}))
        assert last_of(socket)["code"] == "invalid_key"


def test_guesses_are_told_nothing_and_count_for_the_address(
    serve: Serve, make_key: MakeKey
) -> None:
    """A right id with a wrong secret is refused as an unknown id is."""
    key = make_key()
    revealed = read_key(key)
    assert revealed is not None
    server = serve(api_keys="optional", requests_per_minute=6)
    guesses = [WRONG, f"drg_{revealed.id}_{'0' * 48}", key[:-1], key + "0", key.upper(), "x" * 5000]
    answers = [translate(server, api_key=guess) for guess in guesses]
    assert {(a.status_code, a.json()["error"]) for a in answers} == {(403, "Invalid API key")}
    answer = translate(server, api_key=WRONG)
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
    assert translate(server, key).status_code == 200


def test_a_websocket_takes_its_key_from_the_head_or_the_first_message(
    serve: Serve, make_key: MakeKey
) -> None:
    key = make_key()
    server = serve(api_keys="required")
    url = stream_url(server)

    def kinds(messages: list[dict[str, Any]], address: str = url) -> list[str]:
        ended = []
        with connect(address) as socket:
            for number, message in enumerate(messages):
                socket.send(json.dumps({"id": number, **FIELDS, **message}))
                answer = last_of(socket)
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
        kind = "Content-Type: application/json"
        sent = head("/translate", "Content-Length: 1000", "Authorization: Bearer wrong", kind)
        client.sendall(sent)
        assert client.recv(65536).startswith(b"HTTP/1.1 403")
