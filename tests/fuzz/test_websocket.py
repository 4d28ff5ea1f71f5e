"""Any order of valid, malformed, oversized, binary and cancelling messages is answered in full."""

from __future__ import annotations

import contextlib
import json
import socket
from collections import Counter
from typing import Any

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.fuzz.strings import any_text, texts
from tests.service.fakes import until
from tests.service.served import Served

PATH = "/translate/stream"
TIMEOUT_SECONDS = 30
FAILURES = {"internal_error", "translation_failed"}
ids = st.one_of(st.sampled_from(["a", "b", "", 0, -1]), st.integers(-(2**63) + 1, 2**63 - 1), texts)
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
fields = st.fixed_dictionaries(
    {"source": st.sampled_from(["auto", "en", "zh"]), "target": st.sampled_from(["en", "de"])},
    optional={
        "q": any_text,
        "format": st.sampled_from(["text", "html", "auto", "pdf"]),
        "beam_size": st.integers(-1, 5),
        "deadline_ms": st.sampled_from([1, 60_000]),
        "details": st.one_of(st.booleans(), st.sampled_from(["attention", "search"])),
        "target_prefix": texts,
        "glossary": values,
        "api_key": texts,
    },
)
junk = st.one_of(
    texts,
    st.sampled_from(["", "{", "[]", "null", "[" * 5000, '{"id":', '{"id": NaN}', "\ufeff", "{}"]),
    st.dictionaries(texts.filter(lambda name: name != "id"), values, max_size=3).map(json.dumps),
    st.fixed_dictionaries(
        {"id": st.one_of(st.none(), st.booleans(), st.floats(), st.just("x" * 129))}
    ).map(json.dumps),
)


class Client(RuleBasedStateMachine):
    """Counts what it asks for, so that it knows what must be answered."""

    server: Served

    def __init__(self) -> None:
        super().__init__()
        self._connect()

    def _connect(self) -> None:
        url = f"ws://127.0.0.1:{self.server.port}{PATH}"
        opened = connect(url, max_size=None, proxy=None, ping_interval=None, close_timeout=1)
        self.connections = contextlib.ExitStack()
        self.socket: ClientConnection = self.connections.enter_context(opened)
        self.asked: Counter[Any] = Counter()
        self.ended: Counter[Any] = Counter()
        self.num_junk = self.num_refused_junk = self.num_sentinels = 0

    @rule(request_id=ids, wanted=fields)
    def ask(self, request_id: str | int, wanted: dict[str, Any]) -> None:
        assume(not isinstance(request_id, str) or len(request_id) <= 128)
        self.asked[request_id] += 1
        self.socket.send(json.dumps({"id": request_id, **wanted}))

    @rule(request_id=ids)
    def cancel(self, request_id: str | int) -> None:
        assume(not isinstance(request_id, str) or len(request_id) <= 128)
        self.socket.send(json.dumps({"id": request_id, "cancel": True}))

    @rule(message=junk)
    def send_junk(self, message: str) -> None:
        self.num_junk += 1
        self.socket.send(message)

    @rule(content=st.binary(min_size=1, max_size=200))
    def send_binary(self, content: bytes) -> None:
        self.num_junk += 1
        self.socket.send(content)

    @rule()
    def read_all(self) -> None:
        """Everything that was asked for has ended exactly once, and the connection still works."""
        while self.ended != self.asked or self.num_refused_junk < self.num_junk:
            self._read()
        self.num_sentinels += 1
        sentinel = f"sentinel {self.num_sentinels}"
        self.socket.send(json.dumps({"id": sentinel, "cancel": True}))
        while self._read().get("id") != sentinel:
            pass
        assert self.ended == self.asked
        assert self.num_refused_junk == self.num_junk

    def _read(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=TIMEOUT_SECONDS))
        assert message["type"] in ("token", "final", "error")
        if message["type"] == "error":
            assert message["code"] not in FAILURES, message
            assert len(message["error"]) < 1000
        if message["type"] == "error" and message.get("id") is None:
            self.num_refused_junk += 1
        elif message["type"] != "token" and message.get("code") != "unknown_id":
            self.ended[message["id"]] += 1
        return message

    @rule()
    def leave_and_return(self) -> None:
        """Without a closing handshake: what is in progress is cancelled."""
        self.socket.socket.shutdown(socket.SHUT_RDWR)
        self.connections.close()
        self._connect()

    @rule()
    def send_too_much(self) -> None:
        """The connection is closed with 1009; the server serves the next one."""
        with contextlib.suppress(ConnectionClosed):
            self.socket.send("x" * (2**20 + 1))
            while True:
                self.socket.recv(timeout=TIMEOUT_SECONDS)
        assert self.socket.close_code in (1009, 1006)
        self.connections.close()
        self._connect()

    def teardown(self) -> None:
        with self.connections:
            self.read_all()


def test_every_request_ends_exactly_once_in_any_order_of_messages(
    server: Served, fuzz_profile: settings
) -> None:
    machine = type("ClientOfServer", (Client,), {"server": server})
    run_state_machine_as_test(machine, settings=settings(fuzz_profile, stateful_step_count=20))
    until(lambda: server.count("dragoman_open_streams") == 0)
    until(lambda: server.count('dragoman_running{model="zh-en"}') == 0)
    assert 'outcome="error"' not in server.metrics()
