"""The command line: every command explains itself, every mistake is one line and exit code 2, and
texts are read in parts of any encoding."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

import service.commands.serve as serving
from model.backends.native import kernel_names
from model.checkpoint.bundled import bundled_checkpoint
from service.commands.arguments import ReadableFile
from service.commands.group import dragoman
from service.commands.serve import _bind, _with_own_name
from service.commands.text_files import Output, TextFileError, TextReader
from service.documents.encodings import Encoding
from service.settings import Settings
from service.stores.keys import KeyStore
from service.stores.suggestions import SuggestionStore
from tests.service.fakes import FakeRunner, fake_model

RECIPE = str(Path(__file__).parents[2] / "recipes" / "zh-en.toml")
ZH_EN = str(bundled_checkpoint("zh-en"))
TRANSLATE = ["translate", "--from", "en", "--to", "zh", "--device", "cpu"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(dragoman, arguments)


def assert_one_line(said: str, *words: str) -> None:
    assert len(said.splitlines()) == 1, said
    assert said.startswith("dragoman: ")
    assert all(word in said for word in words), said


def assert_refused(arguments: list[str], *words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.stderr
    assert_one_line(result.stderr, *words)


def commands(group: click.Group, *before: str) -> Iterator[Sequence[str]]:
    """The names of all commands, and of those below them."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            yield *before, name
            if isinstance(command := group.get_command(context, name), click.Group):
                yield from commands(command, *before, name)


ADD = ["glossary", "add", "pets", "dog", "Köter"]
NUMBER = "9" * 20
GROUPS = [("models",), ("glossary",), ("keys",), ("suggestions",)]


@pytest.mark.parametrize("command", [*commands(dragoman)], ids=" ".join)
def test_every_command_explains_itself(command: Sequence[str]) -> None:
    """Also where nothing is set up yet."""
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert len(result.output) > 100


@pytest.mark.parametrize("command", [*commands(dragoman)], ids=" ".join)
def test_no_path_of_a_command_is_empty(command: Sequence[str]) -> None:
    """It would be the current directory."""
    found: click.Command | None = dragoman
    for name in command:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name)
    assert found is not None
    for parameter in found.params:
        if isinstance(parameter.type, click.Path | ReadableFile):
            with pytest.raises(click.BadParameter, match="empty|directory|such file"):
                parameter.type.convert("", parameter, None)


@pytest.mark.parametrize("group", [(), *GROUPS], ids=" ".join)
def test_a_list_of_commands_shows_whole_sentences(
    group: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """click cuts what is too long for a line of a terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    _, listed = run(*group, "--help").output.split("Commands:\n")
    assert "..." not in listed


def test_help_shows_the_defaults_of_settings_as_their_page() -> None:
    said = " ".join(run("serve", "--help").output.split())
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    rows = re.findall(r"^\| `--([a-z-]+)` \| `([^`]*)` \|", page, re.MULTILINE)
    assert len(rows) == len(Settings.model_fields)
    for flag, default in rows:
        assert f"default {default}; DRAGOMAN_{flag.upper().replace('-', '_')}]" in said


@pytest.mark.parametrize("command", ["check", "export"])
def test_a_bundled_checkpoint_is_known_by_its_name(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(command, "en-de", *(["out"] if command == "export" else []))
    assert result.exit_code == 0, result.output


def test_the_directory_of_models_is_named_before_or_after_the_command(tmp_path: Path) -> None:
    named = ("--models-dir", str(tmp_path / "models"))
    for arguments in (("prune", *named), (*named, "prune"), named):
        assert run("models", *arguments).exit_code == 0


def test_models_pulled_into_the_default_directory_are_served_beside_the_bundled_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert serving._with_pulled_models(Settings()).models_dir is None
    directory = tmp_path / "dragoman" / "models"
    assert run("models", "prune").exit_code == 0
    assert directory.is_dir()
    assert serving._with_pulled_models(Settings()).models_dir is None, "it is empty"
    (directory / "zh-en").symlink_to(ZH_EN)
    assert "zh-en" in run("models").stdout
    beside = serving._with_pulled_models(Settings())
    assert (beside.models_dir, beside.pinned_models) == (directory, Settings().model)
    named: list[dict[str, object]] = [{"model": ZH_EN}, {"models_dir": tmp_path}]
    for given in named:
        settings = Settings.model_validate(given)
        assert serving._with_pulled_models(settings) is settings


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
    install = f"{sys.executable} -m pip install 'dragoman[train]'"  # not the pip of the path
    assert_refused([*arguments, RECIPE], install)


def test_threads_of_a_training_sleep_while_they_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before PyTorch is imported."""
    monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setitem(sys.modules, "model.training.loop", None)
    assert run("train", RECIPE, "--run", str(tmp_path)).exit_code == 2
    assert os.environ["OMP_WAIT_POLICY"] == "passive"


def test_a_wrong_setting_is_one_line_and_exit_code_2() -> None:
    assert_refused(["serve", "--port", "99999"], "port")


@pytest.mark.parametrize("kept", ["", " \n"])
def test_an_empty_string_to_keep_is_refused(kept: str) -> None:
    assert_refused([*TRANSLATE, "--keep", kept], "must not be empty or only spaces, got")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--score"], "need --format"),
        (["--shard", "1/2"], "need --format"),
        (["--format", "text", "--shard", "1/2"], "needs a file"),
        (["--format", "text", "--resume"], "-o names"),
        (["--format", "text", "--checks"], "need --format jsonl"),
        (["--format", "text", "--field", "body"], "--field need --format jsonl or tsv or parquet"),
        (["--format", "text", "--into", "de", "--score"], "--into and --score need --format"),
        (["--format", "tsv", "--part-rows", "9"], "--part-rows need --format parquet, got tsv"),
        (["--format", "parquet"], "needs FILE and -o"),
        (["--format", "text", "--join-lines"], "no --plain"),
        (["--format", "text", __file__, RECIPE], "one FILE"),
    ],
)
def test_what_a_corpus_cannot_be_asked_is_refused(arguments: list[str], word: str) -> None:
    assert_refused([*TRANSLATE, *arguments], word)


def test_on_a_loopback_address_a_server_knows_its_own_name_only() -> None:
    for host, given, known in (
        ("127.0.0.1", (), ("127.0.0.1",)),
        ("localhost", (), ("localhost",)),
        ("127.0.0.1", ("a.example",), ("a.example",)),
        ("0.0.0.0", (), ()),
    ):
        with _bind(host, 0) as listener:
            settings = Settings(host=host, allowed_hosts=given)
            assert _with_own_name(settings, listener).allowed_hosts == known


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_host_with_both_kinds_of_addresses_is_listened_on_by_ipv4(
    monkeypatch: pytest.MonkeyPatch, order: tuple[int, int]
) -> None:
    """Clients that know localhost as ::1 try 127.0.0.1 next, those of 127.0.0.1 nothing else."""
    both = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
    ]
    found = [both[index] for index in order]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with _bind("localhost", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_an_address_that_cannot_be_listened_on_is_one_line_and_an_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for host in "x" * 64 + ".example", "\0", "127.0.0.1":
            with pytest.raises(SystemExit) as exit_:
                _bind(host, port)
            assert exit_.value.code == (75 if host == "127.0.0.1" else 2)
            said = capsys.readouterr().err
            assert_one_line(said, "cannot listen on")
        assert said.endswith(f"port {port}: Address already in use; --port takes another\n")
        with pytest.raises(SystemExit):
            _bind("127.0.0.1", port, "metrics-port")
        assert "; --metrics-port takes another" in capsys.readouterr().err


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


def test_every_instruction_set_of_the_machine_is_measured() -> None:
    result = run("check", "--machine")
    assert result.exit_code == 0
    assert run("check").exit_code == 2
    chosen, _, *lines = result.output.splitlines()
    assert chosen.startswith("instruction set: ")
    rows = [line.split() for line in lines]
    assert [name for name, *_ in rows] == kernel_names()
    assert all(float(speed) >= 0 for _, *speeds in rows for speed in speeds)


def test_a_server_and_a_check_without_a_compiler_say_that_they_are_slow(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("model.backends.native.library.load_library", lambda: None)
    result = run("check", "checkpoints/en-de")
    assert (result.exit_code, "warning: the native backend" in result.stderr) == (0, True)
    serving._warn_if_not_compiled([fake_model(FakeRunner())])
    assert "ten times as long" in caplog.text


def listed(path: Path) -> list[dict[str, object]]:
    result = run("keys", "list", "--json", "--database", str(path))
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_key_is_shown_once_and_its_life_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "server.db"
    expires = ["--expires", "2999-01-31T01:30+01:30"]
    options = ["--name", "Anna", "--requests-per-minute", "5", *expires]
    created = run("keys", "create", "--database", str(path), *options)
    written = created.stdout.strip()
    assert (created.exit_code, len(written)) == (0, 65)
    (key,) = listed(path)
    assert written not in json.dumps(key)
    assert key.items() >= {"name": "Anna", "state": "valid", "requests_per_minute": 5}.items()
    assert key["expires"] == "2999-01-31T00:00Z"
    key_id = str(key["id"])
    changes = ["--requests-per-minute", "default", "--expires", "never"]
    assert run("keys", "change", key_id, "--database", str(path), *changes).exit_code == 0
    (key,) = listed(path)
    assert (key["requests_per_minute"], key["expires"], key["name"]) == (None, None, "Anna")
    assert run("keys", "revoke", key_id, "--database", str(path)).exit_code == 0
    assert [key["state"] for key in listed(path)] == ["revoked"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["keys", "revoke", "x"], "there is no key with the id x"),
        (["keys", "create", "--expires", "soon"], "no time such as 2027-01-31"),
        (["keys", "create", "--characters-per-month", NUMBER], f"{NUMBER} is not in the range"),
        (["keys", "create", "--requests-per-minute", NUMBER], "of at most 15 digits nor default"),
        (["suggestions", "approve", "7"], "0 of 1 suggestions were found"),
        (["suggestions", "approve", NUMBER], f"{NUMBER} is not in the range"),
        ([*ADD, "--from", "auto", "--to", "de"], "'auto' is no language such as en"),
        ([*ADD, "--from", "e n", "--to", "de"], "'e n' is no language such as en"),
        ([*ADD, "--from", "de", "--to", "DE"], "must differ, got de twice"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    path = tmp_path / "server.db"
    for store in (KeyStore, SuggestionStore):
        store(path).close()
    assert_refused([*arguments, "--database", str(path)], words)


@pytest.mark.parametrize("command", ["keys", "suggestions", "glossary"])
def test_a_list_of_a_missing_database_does_not_create_it(tmp_path: Path, command: str) -> None:
    path = tmp_path / "server.db"
    assert_refused([command, "list", "--database", str(path)], f"there is no database {path}")
    assert not path.exists()
    if command != "glossary":
        assert_refused([command, "list"], "DRAGOMAN_DATABASE")


def commands_with(path: str) -> dict[str, list[str]]:
    """Every command, given the path where it wants a file or a checkpoint."""
    return {
        "serve": ["serve", "--model", path],
        "serve config": ["serve", "--config", path],
        "serve secrets": ["serve", "--secrets-dir", path],
        "translate": [*TRANSLATE, path],
        "translate model": [*TRANSLATE, "--model", path],
        "train": ["train", path, "--run", "never-made"],
        "evaluate": ["evaluate", path, "--recipe", RECIPE],
        "evaluate recipe": ["evaluate", ZH_EN, "--recipe", path],
        "average": ["average", path, path, "never-made"],
        "import": ["import", path, "never-made"],
        "export": ["export", path, "never-made", "--format", "pegasus"],
    }


@pytest.mark.parametrize("place", commands_with(""))
def test_a_path_that_is_no_file_is_refused(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is no UTF-8, a dangling link, and a FIFO, which is never waited for."""
    monkeypatch.chdir(tmp_path)
    Path("dangling").symlink_to("nowhere")
    os.mkfifo("fifo")
    assert_refused(commands_with("caf\udce9")[place])
    assert_refused(commands_with("dangling")[place], "dangling")
    if place != "translate":  # a FIFO is a text like any other
        assert_refused(commands_with("fifo")[place], "fifo")


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate"],
        ["translate", "--glossary"],
        ["train"],
        ["evaluate", "--recipe"],
        ["check"],
        ["glossary", "import", "pets"],
        ["suggestions", "import"],
    ],
)
def test_a_shell_completes_what_is_a_path(arguments: list[str]) -> None:
    (found,) = ShellComplete(dragoman, {}, "dragoman", "").get_completions(arguments, "x")
    assert (found.value, found.type in ("file", "dir")) == ("x", True)


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        *((f"a{ending}", ("--plain", ".txt, .md, ")) for ending in (".TTML", ".log", ".1")),
        *(("a.b.org", ("--plain",)), ("a.rtf", ("as .docx",))),
        *(("a.txt.gz", ("--format text",)), ("a.tsv.GZ", ("--format text",))),
    ],
)
def test_a_file_of_an_unknown_ending_is_refused_before_anything_is_written(
    name: str, hints: Sequence[str], tmp_path: Path
) -> None:
    path, out = tmp_path / name, tmp_path / "out"
    path.write_text("a: I like coffee.\n")
    assert_refused([*TRANSLATE, str(path), "-o", f"{out}/"], f"{path}: ", *hints)
    assert not out.exists()


def parts_of(path: Path, content: bytes) -> list[str]:
    path.write_bytes(content)
    return list(TextReader(path))


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
    *parts, _ = TextReader(path, joins_lines=True)
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


@pytest.mark.parametrize(
    ("encoding", "target"),
    [
        *(("utf-8-sig", "书"), ("utf-16", "书"), ("utf-16-be", "书"), ("utf-8", "书")),
        *(("gbk", "书"), ("cp1252", "Öl")),
    ],
)
def test_a_text_is_written_in_its_encoding(encoding: str, target: str, tmp_path: Path) -> None:
    source = "今天天气很好。" if target == "书" else "Das Öl ist für Jürgen."
    path, out = tmp_path / "text", tmp_path / "out"
    path.write_bytes(f"{source}\n".encode(encoding))
    reader = TextReader(path)
    assert "".join(reader) == f"{source}\n"
    with Output(out) as output:
        output.write_text(target, reader.encoding)
        output.write_text(target, reader.encoding)
    assert out.read_bytes() == (target * 2).encode(encoding)


def test_what_an_old_encoding_cannot_spell_makes_a_text_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with contextlib.suppress(KeyError), Output(path) as output:
        output.write_text("Öl", Encoding("cp1252"))
        output.write_text("书", Encoding("cp1252"))
        raise KeyError
    assert path.read_bytes() == "Öl书".encode("utf-8-sig")


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
    with pytest.raises(ValueError, match="cannot write"):
        Output(tmp_path / name)


def test_the_file_that_is_read_is_no_output_under_any_name(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other"
    text.write_text("text")
    os.link(text, other)
    with pytest.raises(ValueError, match="is the output too"), Output(other) as output:
        output.require_other_than(text)
    assert text.read_text() == "text"
    with Output(Path(os.devnull)) as output:
        output.require_other_than(Path(os.devnull))


def test_front_ends_get_as_many_connections_each_and_a_port_in_use_is_refused() -> None:
    """The system divides them by their addresses: of 400 each of four gets at least 50."""
    with contextlib.ExitStack() as stack:
        with socket.create_server(("127.0.0.1", 0)) as free:
            metrics_port = free.getsockname()[1]
        own = serving._listeners(Settings(port=0, metrics_port=metrics_port), 4)
        for listener in {one for sockets in own for one in sockets}:
            stack.enter_context(listener)
        address = own[0][0].getsockname()
        assert {sockets[0].getsockname() for sockets in own} == {address}
        assert len({id(metrics) for _, metrics in own}) == 1
        for _ in range(400):
            stack.enter_context(socket.create_connection(address))
        for sockets in own:
            sockets[0].setblocking(False)
            num_accepted = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    stack.enter_context(sockets[0].accept()[0])
                    num_accepted += 1
            assert num_accepted >= 50
        for count in (1, 2):
            with pytest.raises(SystemExit):
                serving._listeners(Settings(port=address[1]), count)
