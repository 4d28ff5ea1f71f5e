"""The command line: every command explains itself, every mistake is one line and exit code 2."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import service.commands.serve as serving
from service.commands.group import dragoman
from service.commands.serve import _bind, _with_own_name
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

RECIPE = Path(__file__).parents[2] / "recipes" / "zh-en.toml"


@pytest.mark.parametrize(
    "command",
    [
        *("serve", "translate", "train", "evaluate", "average", "check", "import", "export"),
        *("keys", "suggestions"),
    ],
)
def test_every_command_explains_itself(command: str) -> None:
    result = CliRunner().invoke(dragoman, [command, "--help"])
    assert result.exit_code == 0
    assert len(result.output) > 200


@pytest.mark.parametrize(
    "arguments", [["train", "--run", "never-made"], ["evaluate", "nowhere", "--recipe"]]
)
def test_a_command_says_what_must_be_installed_for_it(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("model.training.loop", "model.training.evaluation"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    result = CliRunner().invoke(dragoman, [*arguments, str(RECIPE)])
    assert result.exit_code == 2
    assert "dragoman[train]" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_every_setting_has_a_flag() -> None:
    output = CliRunner().invoke(dragoman, ["serve", "--help"]).output
    for name in Settings.model_fields:
        assert f"--{name.replace('_', '-')} " in output


@pytest.mark.parametrize(
    ("flags", "word"),
    [(["--port", "99999"], "port"), (["--max-slots", "many"], "max_slots")],
)
def test_a_wrong_setting_is_one_line_and_exit_code_2(flags: list[str], word: str) -> None:
    result = CliRunner().invoke(dragoman, ["serve", *flags])
    assert result.exit_code == 2
    assert word in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("host", "given", "known"),
    [
        ("127.0.0.1", (), ("127.0.0.1",)),
        ("localhost", (), ("localhost",)),
        ("127.0.0.1", ("a.example",), ("a.example",)),
        ("0.0.0.0", (), ()),
    ],
)
def test_on_a_loopback_address_a_server_knows_its_own_name_only(
    host: str, given: tuple[str, ...], known: tuple[str, ...]
) -> None:
    with _bind(host, 0) as listener:
        settings = Settings(host=host, allowed_hosts=given)
        assert _with_own_name(settings, listener).allowed_hosts == known


def test_a_port_in_use_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as exit_:
            _bind("127.0.0.1", port)
    assert exit_.value.code == 2
    stderr = capsys.readouterr().err
    assert str(port) in stderr
    assert len(stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "host",
    [
        "x" * 64 + ".example",
        "\0",
    ],
)
def test_a_host_that_is_none_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], host: str
) -> None:
    with pytest.raises(SystemExit) as exit_:
        _bind(host, 0)
    assert exit_.value.code == 2
    stderr = capsys.readouterr().err
    assert "cannot listen on" in stderr
    assert len(stderr.splitlines()) == 1


def test_a_checkpoint_in_order_is_checked_and_the_instruction_set_shown() -> None:
    result = CliRunner().invoke(
        dragoman, ["check", "checkpoints/en-de"], env={"DRAGOMAN_INSTRUCTION_SET": "baseline"}
    )
    assert result.exit_code == 0
    checked, instruction_set = result.output.splitlines()
    assert checked.startswith(
        "checked: checkpoints/en-de: en-de, 4 files, 12287744 parameters, 2 translations with "
    )
    assert re.fullmatch(r"instruction set: baseline \(this CPU has .*baseline\)", instruction_set)


def test_a_server_and_a_check_without_a_compiler_say_that_they_are_slow(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("model.backends.native.library.load_library", lambda: None)
    result = CliRunner().invoke(dragoman, ["check", "checkpoints/en-de"])
    assert (result.exit_code, "warning: the native backend" in result.stderr) == (0, True)
    serving._warn_if_not_compiled([fake_model(FakeRunner())])
    assert "ten times as long" in caplog.text
