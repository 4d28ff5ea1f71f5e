"""Real Python clients with API keys: right ones, wrong ones, and a quota that ends.

Run by `make clients-test`, because it installs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError

import pytest

from service.app import create_app
from service.settings import Settings
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.clients.conftest import PAIRS
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

pytestmark = pytest.mark.filterwarnings("ignore")  # the clients' own


@pytest.fixture
def key(tmp_path: Path) -> str:
    with closing(KeyStore(tmp_path / "server.db")) as store:
        return store.create(KeyOptions(characters_per_month=10))[0]


@pytest.fixture
def keyed(tmp_path: Path, key: str) -> Iterator[Served]:
    settings = Settings(database=tmp_path / "server.db", api_keys="required")
    with served(create_app(settings, [fake_model(FakeRunner(), pairs=PAIRS)])) as server:
        yield server


def test_libretranslatepy(keyed: Served, key: str) -> None:
    from libretranslatepy import LibreTranslateAPI

    assert LibreTranslateAPI(keyed.url + "/", key).translate("Hi.", "en", "de") == "HI."
    for wrong in (None, "wrong"):
        with pytest.raises(HTTPError) as refused:
            LibreTranslateAPI(keyed.url + "/", wrong).translate("Hi.", "en", "de")
        assert refused.value.code in (401, 403)


def test_deepl(keyed: Served, key: str) -> None:
    import deepl

    client = deepl.DeepLClient(key, server_url=keyed.url)
    assert client.translate_text("Hello.", source_lang="EN", target_lang="DE").text == "HELLO."
    usage = client.get_usage().character
    assert (usage.count, usage.limit) == (6, 10)
    with pytest.raises(deepl.QuotaExceededException):
        client.translate_text("Hello.", source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=keyed.url).get_usage()


def test_google_cloud_translate(keyed: Served, key: str) -> None:
    from google.api_core.exceptions import BadRequest, Forbidden
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import translate_v2

    def translate(**options: str) -> str:
        client = translate_v2.Client(
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": keyed.url},
        )
        client._connection._EXTRA_HEADERS = options  # type: ignore[attr-defined]
        answer = client.translate("Hi.", target_language="de", source_language="en")
        return str(answer["translatedText"])

    assert translate(**{"X-Goog-Api-Key": key}) == "HI."
    with pytest.raises(BadRequest, match="API key not valid"):
        translate(**{"X-Goog-Api-Key": "wrong"})
    with pytest.raises(Forbidden, match="missing a valid API key"):
        translate()
