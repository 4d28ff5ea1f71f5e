"""Files of settings and of secrets: byte order marks, and what is refused in one sentence."""

from __future__ import annotations

import os
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
        (b"a = " + b"[" * 100_000, "config: .* is nested too deeply"),
        (b"#" * 2_000_000, "config: .* is too large"),
        (b"max_slots = 1e400", "max_slots"),
    ],
)
def test_odd_files_of_settings_are_refused_in_one_sentence(
    tmp_path: Path, content: bytes, words: str
) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_bytes(content)
    with pytest.raises(ValueError, match=f"^setting {words}"):
        read_settings(Settings, {"config": config})


def test_secrets_that_cannot_be_read_are_refused_in_one_sentence(tmp_path: Path) -> None:
    """Not left out with a warning: the server would then send traces without their key."""
    secret = tmp_path / "dragoman_otlp_headers"

    def refusal() -> str:
        with pytest.raises(ValueError, match="^setting secrets_dir: ") as refused:
            read_settings(Settings, {"secrets_dir": tmp_path})
        return str(refused.value)

    secret.mkdir()
    assert "found a directory instead" in refusal()
    secret.rmdir()
    os.mkfifo(secret)
    assert "found a FIFO instead" in refusal()
    secret.unlink()
    secret.symlink_to("/etc/hostname")
    assert "resolves outside" in refusal()
    secret.unlink()
    secret.write_bytes(b"key=\xff")
    assert "not UTF-8: byte 4" in refusal()
    secret.write_bytes(b"k" * 2_000_000)
    assert "too large" in refusal()
