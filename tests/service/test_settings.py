from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from service.settings import Settings


def test_the_environment_is_read_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_PORT", "81")
    monkeypatch.setenv("DRAGOMAN_MODEL", "/models/x")
    assert Settings().port == 81
    assert Settings().model == (Path("/models/x"),)
    assert Settings(port=82).port == 82


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]


def test_every_setting_says_what_it_is() -> None:
    assert all(field.description for field in Settings.model_fields.values())


@pytest.mark.parametrize(
    "wrong",
    [{"port": 65536}, {"device": "tpu"}, {"max_slots": 0}, {"max_rows": 8, "max_beam_size": 9}],
)
def test_values_out_of_bounds_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(wrong)
