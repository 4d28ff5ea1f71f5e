"""Neither keys nor addresses appear in anything that the server writes."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import httpx
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.service.http.access.conftest import FIELDS
from tests.service.http.access.test_key_requests import DEEPL, WAYS
from tests.service.http.wire_client import ServerProcess

ADDRESSES = ("198.51.100.77", "2001:db8:77:88::99")


def test_keys_and_addresses_are_in_no_log_metric_answer_or_file(tmp_path: Path) -> None:
    with closing(KeyStore(tmp_path / "server.db")) as store:
        valid, _ = store.create(KeyOptions(requests_per_minute=30, characters_per_month=20))
    wrong = valid[:-8] + "deadbeef"
    settings = {
        "database": str(tmp_path / "server.db"),
        "api_keys": "required",
        "trusted_proxies": "127.0.0.1",
        "requests_per_minute": 40,
        "log_level": "debug",
    }
    server = ServerProcess(tmp_path / "log", is_debugged=True, settings=settings)
    written = [*_requests(server, valid), *_requests(server, wrong)]
    written.append(httpx.get(server.url + "/metrics").text)
    assert server.terminate() == 0
    log = (tmp_path / "log").read_text()
    assert log.count('"event":"request"') > 40
    refusals = "".join(written)
    for code in ("invalid_key", "quota_exceeded", "too_many_requests"):
        assert code in refusals
    database = b"".join(path.read_bytes() for path in tmp_path.glob("server.db*"))
    for secret in (valid, wrong, valid[-48:], wrong[-48:], *ADDRESSES):
        assert secret not in log
        assert secret not in refusals
        assert secret.encode() not in database


def _requests(server: ServerProcess, key: str) -> list[str]:
    """What is answered to requests with the key in every place."""
    texts, traced = [], {"X-Request-ID": f"job-{key}", "traceparent": key}
    for number, way in enumerate(WAYS.values()):
        path, given = way(key)
        headers = {**given.pop("headers", {}), "X-Forwarded-For": ADDRESSES[number % 2], **traced}
        answer = httpx.post(server.url + path, headers=headers, timeout=60, **given)
        texts.append(f"{answer.headers}{answer.text}")
    for name in ("api_key", "auth_key", "secret"):
        for value in ([key], {"key": key}, 5, key * 9):
            for body in ({**FIELDS, name: value}, {**DEEPL, name: value}, {name: key, "q": 5}):
                for path in ("/translate", "/v2/translate"):
                    texts.append(httpx.post(server.url + path, json=body, timeout=60).text)
    url = server.url.replace("http", "ws") + "/translate/stream"
    for address, message in ((f"{url}?api_key={key}", {}), (url, {"api_key": key})):
        try:
            with connect(address, additional_headers=traced) as socket:
                socket.send(json.dumps({"id": 1, **FIELDS, **message}))
                texts.append(str(socket.recv()))
        except InvalidStatus as refused:
            texts.append(str(refused.response.body))
    return texts
