"""What is stored for a key is there for that key alone, and for admins."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from websockets.sync.client import connect

from service.http.apis.deepl import DeepLRequest, DocumentRequest, TextRequest
from service.http.request_fields import RequestModel
from service.http.translate_request import TranslateRequest
from service.http.uploads import FileRequest
from service.stores.api_key import EVERYBODY, KeyOptions, Owner
from service.stores.glossaries import GlossaryStore
from service.stores.keys import KeyStore
from service.translation.glossary import GlossaryEntry
from tests.service.fakes import until
from tests.service.http.access.conftest import (
    MakeKey,
    Serve,
    bearer,
    last_of,
    stream_url,
    translate,
)
from tests.service.http.clients import EVENTS, FIELDS, routes_of
from tests.service.served import Served

Ask = Callable[[Served, str, str], tuple[int, str]]
TERMS = [{"source": "dog", "target": "Hund"}]
PETS = {"name": "pets", "source": "en", "target": "de", "entries": TERMS}
FILE = {"file": ("a.txt", b"A dog.")}
DEEPL = {"source_lang": "EN", "target_lang": "DE"}
OPEN = ("/page/", "/docs/", "/admin/models/", "/v1/models/")  # a model is no key's
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
VARYING = re.compile(
    r'"request_id":"\w+"|"id":"\w{48}"|"document_\w+":"\w+"'
    r'|"created":"[^"]+"|"creation_time":"[^"]+"'
)


def answer(method: str, url: str, key: str, **sent: Any) -> tuple[int, str]:
    headers = {**bearer(key), **sent.pop("headers", {})}
    found = httpx.request(method, url, headers=headers, timeout=60, **sent)
    return found.status_code, found.text


def of_route(method: str, path: str, body: dict[str, Any]) -> Ask:
    def ask(server: Served, key: str, name: str) -> tuple[int, str]:
        return answer(method, server.url + re.sub(r"{\w+}", name, path), key, **body)

    return ask


def of_field(path: str, **sent: Any) -> Ask:
    """`sent`: by httpx's name of the place, fields of which one is the name."""

    def ask(server: Served, key: str, name: str) -> tuple[int, str]:
        filled = json.loads(json.dumps(sent).replace("NAME", name))
        if path in ("/v2/document", "/translate_file", "/documents"):
            filled["files"] = FILE
        return answer("POST", server.url + path, key, **filled)

    return ask


def of_message(server: Served, key: str, name: str) -> tuple[int, str]:
    with connect(stream_url(server), additional_headers=bearer(key)) as socket:
        socket.send(json.dumps({"id": 1, **FIELDS, "glossary": name}))
        return 0, json.dumps(last_of(socket))


BY_FIELD: dict[str, Ask] = {
    "json": of_field("/translate", json={**FIELDS, "glossary": "NAME"}),
    "form": of_field("/translate", data={**FIELDS, "glossary": "NAME"}),
    "query": of_field("/translate", params={**FIELDS, "glossary": "NAME"}),
    "events": of_field("/translate", json={**FIELDS, "glossary": "NAME"}, headers=EVENTS),
    "websocket": of_message,
    "deepl": of_field("/v2/translate", json={**DEEPL, "text": "A.", "glossary_id": "NAME"}),
    "deepl document": of_field("/v2/document", data={**DEEPL, "glossary_id": "NAME"}),
    "document": of_field("/documents", data={"source": "en", "target": "de", "glossary": "NAME"}),
    "file": of_field("/translate_file", data={"source": "en", "target": "de", "glossary": "NAME"}),
}


def models(parent: type[RequestModel] = RequestModel) -> Iterator[type[RequestModel]]:
    for child in parent.__subclasses__():
        yield child
        yield from models(child)


def alike(found: tuple[int, str], name: str) -> tuple[int, str]:
    """The answer without what differs from request to request."""
    return found[0], UUID.sub("ID", VARYING.sub("", found[1].replace(name, "ID")))


def test_every_field_that_names_a_glossary_is_tried() -> None:
    naming = {m for m in models() if {"glossary", "glossary_id"} & set(m.model_fields)}
    own = {TranslateRequest, FileRequest}
    assert naming == {*own, DeepLRequest, TextRequest, DocumentRequest}


class Stored(NamedTuple):
    """What a key has stored, by id or name."""

    glossary: str
    document: str
    document_key: str
    file: str

    @classmethod
    def of(cls, server: Served, key: str) -> Stored:
        def post(path: str, **sent: Any) -> dict[str, str]:
            made: dict[str, str] = json.loads(answer("POST", server.url + path, key, **sent)[1])
            return made

        document = post("/v2/document", data=DEEPL, files=FILE)
        state = f"{server.url}/documents/{document['document_id']}"
        until(lambda: json.loads(answer("GET", state, key)[1])["status"] == "done")
        pair = {"source": "en", "target": "de"}
        url = post("/translate_file", data=pair, files=FILE)["translatedFileUrl"]
        return cls(post("/glossaries", json=PETS)["id"], *document.values(), url.rpartition("/")[2])

    def by_route(self, method: str, path: str) -> tuple[Ask, str]:
        """How the route is asked, and for what."""
        if path.startswith("/v2/document"):
            body = {"json": {"document_key": self.document_key}}
            return of_route(method, path, body), self.document
        if path.startswith("/documents"):
            return of_route(method, path, {}), self.document
        if path.startswith("/download_file"):
            return of_route(method, path, {}), self.file
        return of_route(method, path, {"json": PETS} if method == "PUT" else {}), self.glossary


def test_what_another_key_stored_is_as_if_it_were_not_there(
    serve: Serve, make_key: MakeKey
) -> None:
    """By every route and field that takes a name or an id. Each is asked with a key of its own, so
    that what one stores is not there for the next."""
    owner, keys = make_key(), iter([make_key() for _ in range(80)])
    server = serve(api_keys="required")
    stored = Stored.of(server, owner)
    tried = {name: (ask, stored.glossary) for name, ask in BY_FIELD.items()}
    for method, path in routes_of(server.app):
        if "{" in path and not path.startswith(OPEN):
            tried[f"{method} {path}"] = stored.by_route(method, path)
    missing = {}
    for where, (ask, name) in tried.items():
        key, none = next(keys), str(uuid.uuid4())
        missing[where] = alike(ask(server, key, none), none)
        assert alike(ask(server, key, name), name) == missing[where], where
        if name == stored.glossary:
            key = next(keys)
            by_name = alike(ask(server, key, "none"), "none")
            assert alike(ask(server, key, "pets"), "pets") == by_name, where
    assert len(tried) == len(BY_FIELD) + 26
    for where, (ask, name) in tried.items():
        if not where.startswith("DELETE"):
            assert alike(ask(server, owner, name), name) != missing[where], where
    assert answer("DELETE", f"{server.url}/glossaries/{stored.glossary}", owner)[0] == 204


@pytest.mark.parametrize("path", ["/glossaries", "/v2/glossaries"])
def test_a_list_has_ones_own_and_nobodys_and_for_an_admin_all(
    serve: Serve, make_key: MakeKey, store: KeyStore, path: str
) -> None:
    one, other, admin = make_key(), make_key(), store.create(KeyOptions(), is_admin=True)[0]
    server = serve(api_keys="optional")
    stored: GlossaryStore = server.app.state.server.glossaries
    stored.add("shared", "en", "de", [GlossaryEntry("dog", "Hund")], EVERYBODY)
    for key in (one, other):
        assert answer("POST", f"{server.url}/glossaries", key, json=PETS)[0] == 201

    def names(headers: dict[str, str]) -> list[str]:
        found = httpx.get(server.url + path, headers=headers).json()["glossaries"]
        return sorted(one["name"] for one in found)

    assert names(bearer(one)) == names(bearer(other)) == ["pets", "shared"]
    assert names(bearer(admin)) == ["pets", "pets", "shared"]
    assert names({}) == ["shared"]
    for found in stored.all(EVERYBODY):  # as a command names it, by its owner too
        assert stored.get(Owner(found.owner).qualified(found.name), EVERYBODY) == found


def test_nobodys_glossary_is_used_by_all_and_changed_by_admins(
    serve: Serve, make_key: MakeKey, store: KeyStore
) -> None:
    """Such are those of before there were owners, and those of `dragoman glossary`."""
    key, admin = make_key(), store.create(KeyOptions(), is_admin=True)[0]
    server = serve(api_keys="optional")
    stored: GlossaryStore = server.app.state.server.glossaries
    stored.add("pets", "en", "de", [GlossaryEntry("dog", "Köter")], EVERYBODY)
    url = f"{server.url}/glossaries/pets"

    def translation(key: str | None = None) -> str:
        found = translate(server, key, q="A dog.", glossary="pets")
        return str(found.json()["translatedText"])

    assert httpx.put(url, json=PETS).json()["code"] == "key_required"
    assert httpx.delete(url).status_code == answer("DELETE", url, key)[0] == 404
    assert translation() == translation(key) == translation(admin) == "A Köter."
    assert answer("PUT", url, key, json=PETS)[0] == 201
    assert translation(key) == "A Hund."
    assert translation(admin) == "A Köter."
    assert answer("DELETE", url, admin)[0] == 204
    (own,) = stored.all(EVERYBODY)
    assert answer("DELETE", f"{server.url}/glossaries/{own.id}", admin)[0] == 204


def test_an_owner_has_room_for_so_many_glossaries_and_terms(
    serve: Serve, make_key: MakeKey
) -> None:
    one, other = make_key(), make_key()
    server = serve(api_keys="required", max_glossaries=2, max_glossary_terms=5)

    def put(key: str, name: str, num_terms: int) -> tuple[int, str]:
        entries = [{"source": f"dog {n}", "target": "Hund"} for n in range(num_terms)]
        given = {**PETS, "entries": entries}
        return answer("PUT", f"{server.url}/glossaries/{name}", key, json=given)

    assert [put(one, name, 2)[0] for name in "ab"] == [201, 201]
    status, text = put(one, "c", 1)
    assert (status, "3 glossaries, at most 2" in text) == (422, True)
    status, text = put(one, "b", 4)
    assert (status, "6 terms in glossaries, at most 5" in text) == (422, True)
    assert put(one, "b", 3)[0] == 200
    assert put(other, "c", 5)[0] == 201
    assert answer("DELETE", f"{server.url}/glossaries/a", one)[0] == 204
    assert put(one, "c", 2)[0] == 201
