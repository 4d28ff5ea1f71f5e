"""Settings: the order of their sources, their bounds, secrets, and files that are refused."""

from __future__ import annotations

import itertools
import os
import traceback
from pathlib import Path

import pytest
from opentelemetry.util.re import parse_env_headers
from pydantic import SecretStr

from service.commons.local import make_windows
from service.settings import Settings
from service.settings.reading import read_settings
from service.settings.startup import StartupError


def test_flags_win_over_the_environment_over_secrets_over_the_file_over_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config, secrets = tmp_path / "dragoman.toml", tmp_path / "secrets"
    config.write_text(
        'model = ["a", "b"]\ntrusted_proxies = "::1, 10.0.0.0/8, "\nport = 1\n'
        'max_texts = 2\nmax_rows = 33\notlp_headers = "file"\n'
        'otlp_endpoint = "http://localhost:4318/v1/traces"\n'
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
    (tmp_path / "dragoman_otlp_header").write_text("sesame")
    with pytest.raises(ValueError, match="did you mean dragoman_otlp_headers") as refused:
        read_settings(Settings, {"secrets_dir": tmp_path})
    assert "sesame" not in str(refused.value)
    monkeypatch.setenv("DRAGOMAN_INSTRUCTION_SET", "auto")
    read_settings(Settings, {})
    monkeypatch.setenv("DRAGOMAN_API_KEY", "sesame")
    with pytest.raises(ValueError, match="DRAGOMAN_API_KEYS") as refused:
        read_settings(Settings, {})
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rows": 8, "max_beam_size": 9},
        {"max_bodies_bytes": 1024, "max_body_bytes": 2000},
        {"port": 9, "metrics_port": 9},
        {"one_process": True, "engines": 2},
        {"one_process": True, "front_ends": 1},
        {"metrics_host": "::1"},
        {"otlp_headers": "a=b"},
        {"preload": "a"},
        {"suggestions": True},
        {"api_keys": "optional"},
    ],
    ids=str,
)
def test_values_that_do_not_go_together_are_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(reversed(wrong))) as refused:
        read_settings(Settings, wrong)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", [n for n, f in Settings.model_fields.items() if "Path" in str(f)])
@pytest.mark.parametrize("empty", ["", " "])
def test_no_path_is_empty(name: str, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be the current directory."""
    with pytest.raises(ValueError, match=f"^setting {name}: "):
        read_settings(Settings, {name: empty})
    monkeypatch.setenv(f"DRAGOMAN_{name.upper()}", empty)
    with pytest.raises(ValueError, match=f"^setting {name}: "):
        read_settings(Settings, {})


HEADERS_TAKEN = ["", " a = b c , x-d=e=f/g==,", "authorization=Bearer%20x.y", "a="]
HEADERS_REFUSED = [
    *("x-key:sesame", "sesame", "=sesame", "a b=sesame", "a=b,sesame", "a=sesame\nb"),
    *("a=sesame%0A", "a=sésame", "a=sesame%C3%A9", 'a="sesame"', "a=sesame;b=c"),
]


@pytest.mark.parametrize("headers", [*HEADERS_TAKEN, *HEADERS_REFUSED])
def test_headers_are_refused_that_could_not_be_sent_and_are_not_shown(
    headers: str, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"otlp_headers": headers, "otlp_endpoint": "http://localhost"}
    if headers in HEADERS_TAKEN:
        read_settings(Settings, given)
        sent = parse_env_headers(headers, liberal=True)
        assert len(sent) == headers.strip(",").count(",") + bool(headers)
    else:
        with pytest.raises(ValueError, match="^setting otlp_headers: ") as refused:
            read_settings(Settings, given)
        assert "sesame" not in "".join(traceback.format_exception(refused.value))
    assert not caplog.records


@pytest.mark.parametrize(
    "wrong",
    [
        *({"otlp_endpoint": url} for url in ("foo", "localhost:4318", "http://", "ftp://a/b")),
        *({"otlp_endpoint": url} for url in ("http://[::1", "http://a:b", "http://a b", "/v1")),
        *({"device": device} for device in ("cuda:0,,1", "")),
    ],
    ids=str,
)
def test_malformed_values_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"^setting {next(iter(wrong))}: "):
        read_settings(Settings, wrong)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("device", "gpu", "must be auto, cpu, cuda, cuda:1 or cuda:0,1"),
        ("memory_limit", "lots", "must be a size, such as 500MB or 4GiB"),
        *(
            ("memory_limit", size, "must be a size, such as 500MB or 4GiB")
            for size in ("4 furlongs", "4,5GiB", "1,000", "1.5.5GiB", "4GiB or so", "-1", "inf")
        ),
        ("model", "", "must not be empty"),
        ("host", "", "must not be empty"),
        ("trusted_proxies", "*", "must be an address or a network such as 10.0.0.0/8"),
    ],
)
def test_a_refusal_says_what_is_allowed_in_words(name: str, value: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"^setting {name}: .*{allowed}") as refused:
        read_settings(Settings, {name: value})
    assert "(got " in str(refused.value)


def test_a_refusal_is_one_short_sentence_whatever_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = list[str]()
    for name, value in itertools.product(Settings.model_fields, (" ", "a\nb", "-1", "x" * 5000)):
        monkeypatch.setenv(variable := f"DRAGOMAN_{name.upper()}", value)
        try:
            read_settings(Settings, {})
        except ValueError as error:
            told.append(str(error))
        except OSError as error:  # a command tells it with its file
            told.append(error.strerror or "")
        monkeypatch.delenv(variable)
    assert len(told) > 3 * len(Settings.model_fields)
    assert all(len(one) < 300 and "\n" not in one for one in told)


@pytest.mark.parametrize(
    "url",
    [
        *("redis://:sesame/x@h", "redis://h:sesame", "http://:sesame@h", "redis://h?sesame=1"),
        *("rediss://h?ssl_cert_reqs=sesame", "unix:///r?retry=sesame", "redis://:a?sesame=b@h"),
    ],
)
def test_a_malformed_url_of_redis_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(StartupError, match="^setting limits_url: the URL ") as refused:
        make_windows(Settings(limits_url=SecretStr(url)))
    assert "sesame" not in str(refused.value)


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
