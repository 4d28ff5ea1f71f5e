"""How `dragoman translate` reads and writes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from service.commands.text_files import Output, TextFileError, read_parts


def parts_of(path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)
    return list(read_parts(path))


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "no end", "one\r\ntwo\r\n", "a\n" * 100_000, "你好。\n" * 50_000, "a" * 16_384),
        *("a" * 16_383 + "\n", "word " * 200_000, "没有空格" * 100_000, "👍🏽" * 100_000),
        "第一句。" * 100_000 + "\n" + "x" * 600_000,
    ],
)
def test_parts_joined_are_the_text_and_none_is_large(tmp_path: Path, text: str) -> None:
    parts = parts_of(tmp_path / "text", text.encode())
    assert "".join(parts) == text
    assert all(parts)
    assert all(len(part.encode()) < 300_000 for part in parts)


def test_lines_that_are_joined_come_in_whole_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a line\nand its end\n\n" * 5000)
    *parts, _ = read_parts(path, joins_lines=True)
    assert len(parts) > 5
    assert all(part.endswith("end\n\n") for part in parts)


@pytest.mark.parametrize("encoding", ["gbk", "utf-16-le", "utf-16-be", "utf-16", "utf-8-sig"])
def test_older_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    for text in "今天天气很好，我们去公园散步。\n", "今天很好。\n他说这本书很有意思，值得一读。\n":
        assert "".join(parts_of(tmp_path / "text", text.encode(encoding))) == text


def test_a_byte_order_mark_is_no_text_at_the_beginning(tmp_path: Path) -> None:
    assert parts_of(tmp_path / "text", "\ufeff你好。\ufeff".encode()) == ["你好。\ufeff"]


@pytest.mark.parametrize(("before", "wrong"), [(0, 0), (10, 10), (40_000, 40_000)])
def test_the_first_wrong_byte_is_named_wherever_it_is(
    tmp_path: Path, before: int, wrong: int
) -> None:
    content = "é\n".encode() * (before // 3)
    content += b"-" * (before - len(content)) + b"\x81 rest\n"
    with pytest.raises(TextFileError, match=rf"text is not UTF-8: byte {wrong} is wrong"):
        parts_of(tmp_path / "text", content)


def test_an_old_file_is_kept_until_something_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old and long")
    with contextlib.suppress(KeyError), Output(path):
        raise KeyError
    assert path.read_text() == "old and long"
    with contextlib.suppress(KeyError), Output(path) as output:
        output.write_bytes(b"new")
        output.write_bytes(b"er")
        raise KeyError
    assert path.read_text() == "newer"
    with Output(path):
        pass
    assert path.read_text() == ""


@pytest.mark.parametrize("name", ["missing/out", ".", "n" * 300])
def test_an_output_that_cannot_be_opened_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(TextFileError, match="cannot write"):
        Output(tmp_path / name)


def test_the_file_that_is_read_is_no_output_under_any_name(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other"
    text.write_text("text")
    os.link(text, other)
    with pytest.raises(TextFileError, match="is the output too"), Output(other) as output:
        output.require_other_than(text)
    assert text.read_text() == "text"
    with Output(Path(os.devnull)) as output:
        output.require_other_than(Path(os.devnull))
