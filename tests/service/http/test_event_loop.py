"""The event loop hands long texts on and does not read them, whatever way they come (law 13).

Counted in characters, not seconds: a function that gets a long text there is one of those that read
a body, count characters or look at a few of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from fastapi.testclient import TestClient

import service
from service.translation.text_work import _MOST_INLINE
from tests.service.http.clients import EVENTS, FIELDS, client_of

SERVICE = str(Path(service.__file__).parent)
LONG = _MOST_INLINE + 100
TEXT = "The <b>house</b> is <x/> and {0} old. " * 20
MOST_CHARACTERS = 1500
READ_A_BODY = {
    "read_body",
    "parse_json",
    "parse_form",
    "decode_text",
    "_decode_field",
    "_is_object",
}
COUNT = {"count_values", "check_length", "check_texts", "num_characters", "listed"}
HAND_ON = {"detect", "_handle", "_parse", "in_answer"}
PAIR = {"source": "en", "target": "de"}
DEEPL = {"Authorization": "DeepL-Auth-Key any"}
TAGS = {"tag_handling": "xml", "ignore_tags": ["x", "b"], "show_billed_characters": True}
ASKED: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "text": ("/translate", {"q": TEXT, **PAIR}, {}),
    "html": ("/translate", {"q": TEXT, **PAIR, "format": "html", "details": True}, {}),
    "auto": ("/translate", {"q": TEXT, **PAIR, "source": "auto", "format": "auto"}, {}),
    "terms": (
        "/translate",
        {"q": TEXT, **PAIR, "glossary": [{"source": "house", "target": "x"}], "keep": ["old"]},
        {},
    ),
    "events": ("/translate", {"q": TEXT, **PAIR}, EVENTS),
    "next words": ("/translate/next", {"q": TEXT, **PAIR, "prefix": "The"}, {}),
    "detect": ("/detect", {"q": TEXT}, {}),
    "deepl": ("/v2/translate", {"text": [TEXT], "target_lang": "DE", **TAGS}, DEEPL),
    "google": ("/language/translate/v2", {"q": TEXT, **PAIR}, {}),
    "google detect": ("/language/translate/v2/detect", {"q": TEXT}, {}),
    "deeplx": ("/v1/translate", {"text": TEXT, "source_lang": "EN", "target_lang": "DE"}, {}),
    "immersive": (
        "/immersive",
        {"source_lang": "en", "target_lang": "de", "text_list": [TEXT]},
        {},
    ),
    "openai": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": f"Translate to German:\n{TEXT}"}]},
        {},
    ),
    "ollama": ("/api/generate", {"model": "x", "prompt": f"Translate to German:\n{TEXT}"}, {}),
}
FORMS = {
    "form": ("/translate", {"q": TEXT, **PAIR}),
    "opus-cat": (
        "/MTRestService/TranslateJson",
        {"input": TEXT, "srcLangCode": "en", "trgLangCode": "de"},
    ),
}


class Reads:
    """The functions of the service that got a long text on the event loop."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """As `sys.setprofile` calls it."""
        code = frame.f_code
        is_ours = event == "call" and code.co_filename.startswith(SERVICE)
        if is_ours and asyncio._get_running_loop() is not None:
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if any(_size(frame.f_locals.get(name)) > LONG for name in names):
                self.names.add(code.co_name)


def _size(value: object) -> int:
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    return sum(map(_size, value)) if type(value) in (list, tuple) else 0


@pytest.fixture(scope="module")
def watched() -> Iterator[tuple[TestClient, Reads]]:
    reads = Reads()
    with _profiled(reads), client_of(max_characters=MOST_CHARACTERS) as client:
        yield client, reads


@contextmanager
def _profiled(reads: Reads) -> Iterator[None]:
    """All threads that begin in the block."""
    threading.setprofile(reads.note)
    try:
        yield
    finally:
        threading.setprofile(None)


def _require_handed_on(reads: Reads) -> None:
    names, reads.names = reads.names, set()
    assert names  # the body at least
    assert names <= READ_A_BODY | COUNT | HAND_ON


@pytest.mark.parametrize("name", [*ASKED, *FORMS])
@pytest.mark.parametrize("times", [1, 4])
def test_long_texts_are_read_in_threads(
    watched: tuple[TestClient, Reads], name: str, times: int
) -> None:
    """Also those that are refused, since they are too long."""
    client, reads = watched
    reads.names = set()
    longer = TEXT * times
    if name in FORMS:
        path, fields = FORMS[name]
        answer = client.post(path, data=_longer(fields, longer))
    else:
        path, fields, headers = ASKED[name]
        answer = client.post(path, json=_longer(fields, longer), headers=headers)
    assert answer.status_code == (200 if times == 1 else 413), answer.text
    _require_handed_on(reads)


def _longer(value: Any, text: str) -> Any:
    """The fields with another text."""
    if isinstance(value, dict):
        return {name: _longer(one, text) for name, one in value.items()}
    if isinstance(value, list):
        return [_longer(one, text) for one in value]
    return value.replace(TEXT, text) if isinstance(value, str) else value


def test_a_long_text_in_a_message_is_read_in_a_thread(watched: tuple[TestClient, Reads]) -> None:
    client, reads = watched
    reads.names = set()
    with client.websocket_connect("/translate/stream") as socket:
        socket.send_json({**FIELDS, "q": TEXT})
        while socket.receive_json()["type"] == "token":
            pass
    _require_handed_on(reads)
