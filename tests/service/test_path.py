"""The way of a plain sentence: how many functions of the service it enters, and records it makes.

Python costs as much as the network there, so the counts are a budget that only shrinks.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

import service
from service.app import create_app
from service.http.head import CONNECTION_LOST
from service.observability.logs import configure_logs
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

SERVICE = str(Path(service.__file__).parent)
MOST_FUNCTIONS, MOST_RECORDS = 170, 9
ASKED = {"source": "en", "target": "de"}


class Trail:
    """The functions that were entered, and the classes of the records that were made."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str, int]] = set()
        self.records: set[str] = set()
        self.is_on = False

    def begin(self) -> None:
        """Follow from here, with what was followed before forgotten."""
        self.functions, self.records, self.is_on = set(), set(), True

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """As `sys.setprofile` calls it. Records are made by methods that have no file; those of
        msgspec, which take a tenth of the time, are not seen."""
        code = frame.f_code
        if not self.is_on or event != "call":
            return
        if code.co_filename.startswith(SERVICE) and not code.co_name.startswith("<"):
            self.functions.add((code.co_filename, code.co_name, code.co_firstlineno))
        elif code.co_filename == "<string>":
            made = frame.f_locals.get("self", frame.f_locals.get("_cls"))
            kind = made if isinstance(made, type) else type(made)
            if kind.__module__.startswith("service."):
                self.records.add(kind.__qualname__)


@contextmanager
def followed(trail: Trail) -> Iterator[None]:
    """All threads that begin in the block."""
    threading.setprofile(trail.note)
    try:
        yield
    finally:
        threading.setprofile(None)


def as_our_server(app: ASGIApp) -> ASGIApp:
    """The app with what our own server tells it beside every request."""

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["extensions"] = {CONNECTION_LOST: asyncio.get_running_loop().create_future()}
        await app(scope, receive, send)

    return called


def test_a_plain_sentence_goes_a_short_way() -> None:
    """What several enter all, because what the server does besides falls into some."""
    configure_logs("info", "json", sys.stderr)
    trail = Trail()
    functions, records = [], []
    app = as_our_server(create_app(Settings(), [fake_model(FakeRunner())]))
    with followed(trail), TestClient(app) as client:
        for number in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"):
            trail.begin()
            answer = client.post("/translate", json={**ASKED, "q": f"The {number} sentence."})
            trail.is_on = False
            assert answer.json() == {"translatedText": f"THE {number.upper()} SENTENCE."}
            functions.append(trail.functions)
            records.append(trail.records)
    assert len(set.intersection(*functions)) <= MOST_FUNCTIONS
    assert len(set.intersection(*records)) <= MOST_RECORDS
