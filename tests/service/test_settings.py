"""Settings: the order of their sources, their bounds, secrets, and files that are refused."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError

from service.settings import Settings
from service.settings.reading import read_settings


def test_flags_win_over_the_environment_over_secrets_over_the_file_over_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config, secrets = tmp_path / "dragoman.toml", tmp_path / "secrets"
    config.write_text(
        'model = ["a", "b"]\ntrusted_proxies = "::1, 10.0.0.0/8, "\nport = 1\n'
        'max_texts = 2\nmax_rows = 33\notlp_headers = "file"\n'
    )
    secrets.mkdir()
    (secrets / "dragoman_otlp_headers").write_text("key=sesame\n")
    monkeypatch.setenv("DRAGOMAN_CONFIG", str(config))
    monkeypatch.setenv("DRAGOMAN_MAX_TEXTS", "3")
    monkeypatch.setenv("DRAGOMAN_PORT", "4")
    settings = Settings(port=5, secrets_dir=secrets)
    assert settings.port == 5
    assert settings.max_texts == 3
    assert settings.max_rows == 33
    assert settings.model == (Path("a"), Path("b"))
    assert settings.trusted_proxies == ("::1", "10.0.0.0/8")
    assert settings.otlp_headers is not None
    assert settings.otlp_headers.get_secret_value() == "key=sesame"
    assert settings.max_slots == 0


@pytest.mark.parametrize("line", ['otlp_headers = ["sesame"]', 'otlp_header = "sesame"'])
def test_a_secret_is_not_shown_where_it_is_refused(line: str, tmp_path: Path) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_text(line)
    with pytest.raises(ValueError, match=line.split()[0]) as refused:
        read_settings(Settings, {"config": config})
    shown = "".join(traceback.format_exception(refused.value))
    assert "sesame" not in shown


def test_what_is_no_setting_is_refused_with_the_nearest_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_text("max_slot = 3")
    with pytest.raises(ValueError, match="^max_slot is no setting; did you mean max_slots\\?$"):
        read_settings(Settings, {"config": config})
    monkeypatch.setenv("DRAGOMAN_INSTRUCTION_SET", "auto")
    read_settings(Settings, {})
    monkeypatch.setenv("DRAGOMAN_API_KEY", "sesame")
    with pytest.raises(ValueError, match="DRAGOMAN_API_KEYS") as refused:
        read_settings(Settings, {})
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("wrong", [{"device": "cuda:0,,1"}, {"max_rows": 8, "max_beam_size": 9}])
def test_values_that_do_not_go_together_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(wrong)


def test_a_file_may_have_a_byte_order_mark_and_must_be_utf_8(tmp_path: Path) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_text("max_rows = 33\n", encoding="utf-8-sig")
    assert Settings(config=config).max_rows == 33
    config.write_bytes(b"max_slots = \xff")
    with pytest.raises(ValueError, match=r"^setting config: .* is not UTF-8: byte 12$"):
        read_settings(Settings, {"config": config})


@pytest.mark.parametrize("name", ["config", "secrets_dir"])
def test_a_file_cannot_name_other_files(name: str, tmp_path: Path) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_text(f'{name} = "{tmp_path}"')
    with pytest.raises(ValueError, match=f"^setting {name}: only a flag or a variable"):
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
