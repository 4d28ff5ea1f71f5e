"""How `dragoman translate` reads and writes."""

from __future__ import annotations

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
        "",
        "one\r\ntwo\r\n",
        "a" * 16_384,
        "没有空格" * 100_000,
    ],
)
def test_parts_joined_are_the_text_and_none_is_large(tmp_path: Path, text: str) -> None:
    parts = parts_of(tmp_path / "text", text.encode())
    assert "".join(parts) == text
    assert all(parts)
    assert all(len(part.encode()) < 300_000 for part in parts)


@pytest.mark.parametrize("encoding", ["gbk", "utf-16-le", "utf-16-be", "utf-16", "utf-8-sig"])
def test_older_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    for text in "今天天气很好，我们去公园散步。\n", "今天很好。\n他说这本书很有意思，值得一读。\n":
        assert "".join(parts_of(tmp_path / "text", text.encode(encoding))) == text


@pytest.mark.parametrize(("before", "wrong"), [(0, 0), (10, 10), (40_000, 40_000)])
def test_the_first_wrong_byte_is_named_wherever_it_is(
    tmp_path: Path, before: int, wrong: int
) -> None:
    content = "é\n".encode() * (before // 3)
    content += b"-" * (before - len(content)) + b"\x81 rest\n"
    with pytest.raises(TextFileError, match=rf"text is not UTF-8: byte {wrong} is wrong"):
        parts_of(tmp_path / "text", content)


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Path, Path]:
    """Two names of one file."""
    text, other = tmp_path / "text", tmp_path / "other"
    text.write_text("text")
    os.link(text, other)
    return text, other


def test_the_file_that_is_read_is_no_output_under_any_name(linked: tuple[Path, Path]) -> None:
    text, other = linked
    with pytest.raises(TextFileError, match="is the output too"), Output(other) as output:
        output.require_other_than(text)
    assert text.read_text() == "text"
    with Output(Path(os.devnull)) as output:
        output.require_other_than(Path(os.devnull))
