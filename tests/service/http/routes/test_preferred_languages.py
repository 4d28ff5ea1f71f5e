"""The languages that a caller expects, in /translate, /detect and on the websocket."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.http.routes.test_markup import by_events, by_form, by_json, by_websocket


@pytest.mark.parametrize("post", [by_json, by_form, by_events, by_websocket])
@pytest.mark.parametrize(
    ("preferred", "language"),
    [("de", "de"), (["de", "zh"], "de"), (["en"], "en"), (["fr-FR", "de-AT"], "de"), ("no", "en")],
)
def test_a_word_of_two_languages_is_of_the_preferred_one(
    client: TestClient, post: Any, preferred: str | list[str], language: str
) -> None:
    fields = {"q": "Pizza", "source": "auto", "target": "en", "preferred_languages": preferred}
    if language == "de":  # the fake model does not translate from German
        fields["target"] = "de"
    answer = post(client, **fields)
    assert answer["detectedLanguage"]["language"] == language


@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_detect_takes_them_in_every_way(client: TestClient, way: str) -> None:
    for preferred in ("de", ["de"]):
        fields: dict[str, Any] = {"q": "Pizza", "preferred_languages": preferred}
        (found,) = client.post("/detect", **{way: fields}).json()
        assert found["language"] == "de"
    (found,) = client.post("/detect", **{way: {"q": "Pizza"}}).json()
    assert found["language"] == "en"


def test_the_codes_do_not_matter_if_the_source_is_named(client: TestClient) -> None:
    answer = by_json(client, q="Pizza", preferred_languages=["zh"])
    assert answer == {"translatedText": "PIZZA"}
