"""Files of settings and of secrets: byte order marks, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.settings import Settings, read_settings


def test_a_byte_order_mark_before_the_file_is_dropped(tmp_path: Path) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_text("max_rows = 33\n", encoding="utf-8-sig")
    assert Settings(config=config).max_rows == 33


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"max_slots = \xff", "config: .* is not UTF-8: byte 12"),
        (b"#" * 2_000_000, "config: .* is too large"),
    ],
)
def test_odd_files_of_settings_are_refused_in_one_sentence(
    tmp_path: Path, content: bytes, words: str
) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_bytes(content)
    with pytest.raises(ValueError, match=f"^setting {words}"):
        read_settings(Settings, {"config": config})
