"""Every field of every route with values of every kind: an answer, never a server error."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.http.request_model import RequestModel
from service.http.routes.deepl.fields import DocumentKey, TextRequest
from service.http.routes.deeplx import DeepLXRequest
from service.http.routes.detect import DetectRequest
from service.http.routes.google import fields as google
from service.http.routes.immersive import ImmersiveRequest
from service.http.schemas import TranslateRequest

GOOGLE = "/language/translate/v2"
ROUTES: dict[str, tuple[type[RequestModel], dict[str, Any]]] = {
    "/translate": (TranslateRequest, {"q": "a", "source": "en", "target": "de"}),
    "/detect": (DetectRequest, {"q": "a"}),
    "/v2/translate": (TextRequest, {"text": ["a"], "target_lang": "DE"}),
    "/v2/document/x": (DocumentKey, {"document_key": "x"}),
    "/v1/translate": (DeepLXRequest, {"text": "a", "target_lang": "DE"}),
    GOOGLE: (google.TextRequest, {"q": "a", "target": "de"}),
    GOOGLE + "/detect": (google.DetectRequest, {"q": "a"}),
    GOOGLE + "/languages": (google.LanguagesRequest, {}),
    "/immersive": (ImmersiveRequest, {"text_list": ["a"], "target_lang": "de"}),
}
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.5, 10**30, 1e300),
    *("", " ", "0", "1", "true", "null", "auto", "AUTO", "en", "\x00", "\u202e", "x" * 5000),
    *([], {}, [None], [[]], [{}], ["a", 5], ["en"], {"a": {"b": [1]}}, ["a"] * 6, [""]),
]
STATUSES = {200, 400, 404, 413, 415, 422}


@pytest.mark.parametrize("path", ROUTES)
def test_any_value_of_any_field_is_answered(client: TestClient, path: str) -> None:
    model, fields = ROUTES[path]
    for name in model.model_fields:
        for value in VALUES:
            answer = client.post(path, json={**fields, name: value})
            assert answer.status_code in STATUSES, (name, value, answer.text)
            if answer.status_code != 200:
                assert len(answer.content) < 1500, (name, value)


@pytest.mark.parametrize("path", ROUTES)
def test_any_string_in_a_form_or_a_query_is_answered(client: TestClient, path: str) -> None:
    model, fields = ROUTES[path]
    strings = [value for value in VALUES if isinstance(value, str)]
    for name in model.model_fields:
        for value in [*strings, ["a", "b"]]:
            for way in ("data", "params"):
                answer: Any = client.post(path, **{way: {**fields, name: value}})
                assert answer.status_code in STATUSES, (name, value, way, answer.text)


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "raw", [b"q=%ff", b"text=%ED%A0%80", b"%ff=a", b"q=a&" * 2000, b"q=" + b"%41" * 500_000]
)
def test_hostile_forms_are_refused(client: TestClient, path: str, raw: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post(path, content=raw, headers=headers)
    assert answer.status_code in {400, 413, 415}
    assert len(answer.content) < 1000
