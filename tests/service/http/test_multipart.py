"""Multipart forms: read as they arrive, within bounds, wherever they are cut."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st

from service.errors import BodyTooLarge, ClientGone, InvalidText
from service.http.bodies import BodyBudget, MultipartForm, SentFile, read_multipart
from service.http.limits import Limits

LIMITS = Limits(2**20, 20_000, 500, 16, 64, 300.0, None)
KIND = b"multipart/form-data; boundary=B"
END = b"--B--\r\n"


def part(name: str, content: bytes, *, file_name: str | None = None) -> bytes:
    file = "" if file_name is None else f'; filename="{file_name}"'
    head = f'--B\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def request_with(chunks: Sequence[bytes], kind: bytes = KIND) -> Request:
    messages: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        + [{"type": "http.request", "body": b"", "more_body": False}]
    )

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-type", kind)]}
    bodies = SimpleNamespace(bodies=BodyBudget(LIMITS.max_body_bytes))
    app = SimpleNamespace(state=SimpleNamespace(server=bodies))
    return Request({**scope, "app": app}, receive)


def read(*chunks: bytes, kind: bytes = KIND, limits: Limits = LIMITS) -> MultipartForm:
    return asyncio.run(read_multipart(request_with(chunks, kind), limits, limits.max_body_bytes))


def test_fields_are_strings_repeated_ones_lists_and_files_apart() -> None:
    form = read(
        part("q", "日本".encode()),
        part("q", b"b\r\n--"),
        part("", b""),
        part("file", b"\xff\x00", file_name="a.txt"),
        END,
    )
    assert form.fields == {"q": ["日本", "b\r\n--"], "": ""}
    assert form.files == {"file": SentFile("a.txt", b"\xff\x00")}


@given(
    contents=st.lists(st.text("aB-\r\né", max_size=30), max_size=5),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_a_form_may_be_cut_anywhere(contents: list[str], cuts: list[int]) -> None:
    whole = b"".join(part(f"f{i}", text.encode()) for i, text in enumerate(contents)) + END
    edges = [0, *sorted(cuts), len(whole)]
    chunks = [whole[a:b] for a, b in itertools.pairwise(edges)]
    try:
        expected: Any = read(whole).fields
    except InvalidText:
        expected = InvalidText
    if expected is InvalidText:  # the text held a boundary
        with pytest.raises(InvalidText):
            read(*chunks)
    else:
        assert read(*chunks).fields == expected


def test_an_empty_form_has_no_fields_whether_it_ends_or_not() -> None:
    assert read(END) == read() == MultipartForm()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"garbage", "cannot be parsed"),
        (part("q", b"a"), "ends before its last boundary"),
        (part("q", b"a")[:30], "ends before its last boundary"),
        (b"--B\r\n\r\na\r\n" + END, "Field name not found"),
        (b"--B\r\nContent-Disposition: form-data\r\n\r\na\r\n" + END, "Field name not found"),
        (b"--B\r\nbad header\xff: x\r\n\r\na\r\n" + END, "cannot be parsed"),
        (b"--B\r\n" + b"X-Y: z\r\n" * 9 + b"\r\na\r\n" + END, "cannot be parsed"),
        (b"--B\r\nX-Y: " + b"z" * 2000 + b"\r\n\r\na\r\n" + END, "cannot be parsed"),
        (part("q", b"caf\xe9") + END, "not UTF-8"),
        (part("q", b"a").replace(b'"q"', b'"caf\xe9"') + END, "not UTF-8"),
    ],
)
def test_what_is_no_form_is_refused_with_the_reason(body: bytes, message: str) -> None:
    with pytest.raises(InvalidText, match=message):
        read(body)


@pytest.mark.parametrize(
    "kind",
    [
        b"multipart/form-data",
        b"multipart/form-data; boundary=",
        b'multipart/form-data; boundary=""',
        b"multipart/form-data; boundary=" + b"b" * 5000,
    ],
)
def test_a_form_without_a_sane_boundary_is_refused(kind: bytes) -> None:
    with pytest.raises(InvalidText):
        read(b"--B\r\n", kind=kind)


def test_bytes_and_fields_are_bounded() -> None:
    with pytest.raises(BodyTooLarge, match="1048576 bytes"):
        read(*[part("q", b"a" * 65_000)] * 17)
    with pytest.raises(BodyTooLarge, match="1500 fields"):
        read(part("q", b"") * 1501, END)
    assert len(read(part("q", b"") * 1500, END).fields["q"]) == 1500


def test_a_client_that_leaves_in_the_middle_is_gone() -> None:
    request = request_with([part("q", b"a")])

    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    request = Request(request.scope, leave)
    with pytest.raises(ClientGone):
        asyncio.run(read_multipart(request, LIMITS, LIMITS.max_body_bytes))


def test_the_parser_logs_nothing_of_a_body(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    with pytest.raises(InvalidText):
        read(b"--B\r\nsecret\xff\r\n")
    with pytest.raises(InvalidText):
        read(b"secret")
    assert [record for record in caplog.records if record.name != "asyncio"] == []
