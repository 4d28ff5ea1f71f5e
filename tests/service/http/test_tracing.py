"""Traces, received by a real OTLP endpoint."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from pydantic import SecretStr

from tests.service.fakes import until
from tests.service.http.clients import FIELDS, client_of

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(ThreadingHTTPServer):
    """Takes OTLP over HTTP, as a collector does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Span] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.keys.append(self.headers.get("x-key"))
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.server.spans += scope.spans
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def values(span: Span) -> dict[str, str | int]:
    return {a.key: a.value.string_value or a.value.int_value for a in span.attributes}


def send(url: str, q: str, headers: dict[str, str]) -> int:
    with client_of(otlp_endpoint=url, otlp_headers=SecretStr("x-key=sesame")) as client:
        client.get("/health/ready")
        return client.post("/translate", json={**FIELDS, "q": q}, headers=headers).status_code


def test_a_request_has_spans_of_its_phases_within_its_own_and_no_text(collector: Collector) -> None:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-ID": "r1"}
    assert send(collector.url, "sesame cd. efg", headers) == 200
    (request,) = [span for span in collector.spans if span.name == "POST /translate"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, PARENT)
    assert values(request)["dragoman.request_id"] == "r1"
    assert values(request)["http.response.status_code"] == 200
    phases = [span for span in collector.spans if span is not request]
    assert [span.name for span in phases] == ["queue", "encode", "decode"] * 2
    for span in phases:
        assert span.trace_id == request.trace_id
        assert span.parent_span_id == request.span_id
        assert request.start_time_unix_nano <= span.start_time_unix_nano
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= request.end_time_unix_nano
    assert values(phases[2])["dragoman.target_tokens"] == len("sesame cd.")
    assert set(collector.keys) == {"sesame"}
    assert "sesame" not in "".join(map(str, collector.spans)).lower()


@pytest.mark.parametrize("is_silent", [True, False])
def test_an_endpoint_that_does_not_answer_costs_no_request_and_the_end_no_time(
    monkeypatch: pytest.MonkeyPatch, *, is_silent: bool
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "60")  # for which it is tried again
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if is_silent else 9
        began, threads = time.monotonic(), {*threading.enumerate()}
        assert send(f"http://127.0.0.1:{port}/v1/traces", "ab", {}) == 200
        assert time.monotonic() - began < 30
        if not is_silent:
            until(lambda: not any(map(_sends, {*threading.enumerate()} - threads)), 15)


def _sends(thread: threading.Thread) -> bool:
    """Not the SDK's thread, which waits for spans."""
    return not thread.name.startswith("OtelBatchSpan")
