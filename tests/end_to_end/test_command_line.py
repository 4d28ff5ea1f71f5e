"""Commands as processes: their streams, files and signals, and what they say when it goes wrong."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.checkpoint.bundled import bundled_checkpoint
from tests.service.fakes import until

ROOT = Path(__file__).parents[2]
START = "from service.commands import main; main()"
WAIT_SECONDS = 120
ZH_EN = str(bundled_checkpoint("zh-en"))
RECIPE = str(ROOT / "recipes" / "zh-en.toml")
TRANSLATE = ["translate", "--from", "en", "--to", "zh", "--device", "cpu"]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "HF_HUB_OFFLINE": "1",
}


def command(*arguments: str, prefix: str = "") -> list[str]:
    return [sys.executable, "-c", prefix + START, *arguments]


def run(
    *arguments: str, text: str = "", directory: Path = ROOT, prefix: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """`prefix` is Python that runs before the command."""
    return subprocess.run(
        command(*arguments, prefix=prefix),
        cwd=directory,
        input=text,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        env={**ENVIRONMENT, **more},
    )


def shell(line: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A line of shell in which $DRAGOMAN is the command."""
    dragoman = f"{sys.executable} -c '{START}'"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("$DRAGOMAN", dragoman)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        env={**ENVIRONMENT, **more},
    )


def assert_one_line(result: subprocess.CompletedProcess[str], *words: str, code: int = 2) -> None:
    """One line on stderr with the words, and this exit code."""
    assert result.returncode == code, result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("dragoman: ")
    assert all(word in result.stderr for word in words), result.stderr


@pytest.fixture
def coffee(tmp_path: Path) -> Path:
    """A file with a text."""
    path = tmp_path / "text"
    path.write_text("I like coffee.\n")
    return path


def test_a_fifo_is_a_text_like_any_other(tmp_path: Path) -> None:
    os.mkfifo(fifo := tmp_path / "fifo")
    line = f"echo 'I like coffee.' > {fifo} & $DRAGOMAN translate --to zh {fifo}"
    assert "咖啡" in shell(line).stdout


def test_a_dash_names_standard_input(coffee: Path, tmp_path: Path) -> None:
    text = coffee.read_text()
    for more in ([], ["--format", "text"]):
        both = [run(*TRANSLATE, *more, *dash, text=text) for dash in ([], ["-"])]
        assert "咖啡" in both[0].stdout
        assert both[0].stdout == both[1].stdout
        assert [one.returncode for one in both] == [0, 0]
    between = run(*TRANSLATE, str(coffee), "-", str(coffee), text=text)
    assert between.stdout.count("咖啡") == 3 * text.count("coffee")
    refused = run(*TRANSLATE, str(coffee), "-", "-o", str(tmp_path), text=text)
    assert_one_line(refused, "needs FILES, not standard input")


def test_an_output_that_takes_nothing_is_one_line_and_exit_code_2() -> None:
    """One that cannot be opened before a model is loaded."""
    result = run(*TRANSLATE, "-o", "/dev/full", text="I like coffee.\n")
    assert_one_line(result, "cannot write", "/dev/full")
    result = run(*TRANSLATE, "--model", "nowhere", "-o", "/missing/out")
    assert_one_line(result, "cannot write", "/missing/out")
    for redirected in ("> /dev/full", ">&-"):
        line = f"echo 'I like coffee.' | $DRAGOMAN translate --to zh {redirected}"
        assert_one_line(shell(line), "standard output")


def test_what_was_translated_before_an_error_is_kept(tmp_path: Path) -> None:
    text, output = tmp_path / "text", tmp_path / "out"
    text.write_bytes(b"I like coffee.\n" * 4000 + b"\xff\n")
    assert_one_line(run(*TRANSLATE, str(text), "-o", str(output)), "text is not UTF-8", "60000")
    assert output.read_text(encoding="utf-8").count("咖啡") > 1000


def test_a_reader_that_leaves_ends_the_command_without_a_word(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("I like coffee.\n" * 4000)
    result = shell(f"$DRAGOMAN translate --from en --to zh {text} | head -1")
    assert "咖啡" in result.stdout
    assert (result.returncode, result.stderr) == (141, "")


@pytest.mark.parametrize("arguments", ["--help", "serve --help", "evaluate --help"])
def test_help_may_be_cut_off(arguments: str) -> None:
    result = shell(f"$DRAGOMAN {arguments} | true")
    assert result.stderr == ""


@pytest.mark.parametrize("appended", [">>", "1<>"])
def test_a_file_is_not_translated_into_itself(coffee: Path, appended: str) -> None:
    for given in (coffee, f"< {coffee}"):
        line = f"$DRAGOMAN translate --to zh {given} {appended} {coffee}"
        assert_one_line(shell(line), "is the output too")
    assert_one_line(run(*TRANSLATE, str(coffee), "-o", str(coffee)), "is the output too")
    assert coffee.read_text() == "I like coffee.\n"


def test_closed_standard_streams_are_no_files_to_write_into(coffee: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    result = shell(f"$DRAGOMAN translate --to zh {coffee} -o {output} <&- >&- 2>&-")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert "咖啡" in output.read_text(encoding="utf-8")
    assert_one_line(shell("$DRAGOMAN translate --to zh <&-"), "standard input is closed")
    assert shell("$DRAGOMAN translate --to nowhere <&- >&- 2>&-").returncode == 2


@pytest.mark.parametrize("messages", ["2> /dev/full", "2>&-"])
@pytest.mark.parametrize(("given", "code"), [("[1]", 3), ('{"text": "Tea."}', 0), ("", 0)])
def test_messages_that_nobody_takes_change_no_result(given: str, code: int, messages: str) -> None:
    line = f"echo '{given}' | $DRAGOMAN translate --from en --to zh --format jsonl {messages}"
    result = shell(line)
    assert (result.returncode, result.stderr) == (code, "")
    assert len(result.stdout.splitlines()) == 1


START_A_THREAD = """
import threading
from service.commands.process import failing_in_one_line
with failing_in_one_line():
    threading.Thread().start()
"""


def test_a_machine_that_has_no_room_for_threads_is_said_in_one_line(coffee: Path) -> None:
    for given in (
        f"$DRAGOMAN translate --to zh {coffee}",
        f"{sys.executable} -c '{START_A_THREAD}'",
    ):
        result = shell(f"ulimit -s {2**36}; {given}")  # no stack is so large
        assert_one_line(result, "no more threads can be started", code=75)


INTERRUPT_AT_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""
INTERRUPT_AT_OPENING = """
import os, signal, sys
def interrupt(event, arguments):
    if event == "open" and str(arguments[0]).endswith({name!r}):
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
"""


@pytest.mark.parametrize("name", ["click", "pydantic", "safetensors", "numpy", "model.runner"])
def test_an_interrupt_while_importing_ends_a_command_without_a_word(name: str) -> None:
    result = run(*TRANSLATE, text="text", prefix=INTERRUPT_AT_IMPORT.format(name=name))
    assert (result.returncode, result.stderr) == (130, "")


@pytest.mark.parametrize(
    "arguments", [TRANSLATE, ["serve", "--port", "0"], ["average", ZH_EN, ZH_EN, "made"]]
)
def test_an_interrupt_while_loading_ends_a_command_without_a_word(
    arguments: list[str], tmp_path: Path
) -> None:
    prefix = INTERRUPT_AT_OPENING.format(name="sentencepiece.model")
    result = run(*arguments, text="text", prefix=prefix, directory=tmp_path)
    assert (result.returncode, result.stderr) == (130, "")
    assert not any(tmp_path.iterdir())


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Ended with the block if it has not ended."""
    with subprocess.Popen(
        command(*arguments),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupted(process: subprocess.Popen[str]) -> str:
    """What it says on standard error after Ctrl-C, with which it ends."""
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 130, said
    return said


def test_an_interrupt_while_translating_keeps_what_was_done(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with running(*TRANSLATE, "-o", str(output)) as process:
        assert process.stdin is not None
        process.stdin.write("I like coffee.\n" * 20_000)
        process.stdin.flush()  # and it waits for more
        until(lambda: output.exists() and output.stat().st_size > 0, WAIT_SECONDS)
        assert interrupted(process) == ""
    assert output.read_text(encoding="utf-8").count("咖啡") > 1000


TINY_RECIPE = """
[model]
d_model = 16
n_heads = 2
d_ff = 32
n_encoder_layers = 1
n_decoder_layers = 1
max_positions = 64
[tokenizer]
vocab_size = 450
[data]
languages = ["zh", "en"]
max_tokens = 60
[[data.corpora]]
name = "tiny"
train = "{corpus}"
[training]
max_steps = 100000
save_every = 20
"""


def test_an_interrupted_training_goes_on_from_what_it_saved(tmp_path: Path) -> None:
    recipe, corpus = tmp_path / "tiny.toml", ROOT / "tests" / "data" / "tiny.zh-en.tsv"
    recipe.write_text(TINY_RECIPE.format(corpus=corpus), encoding="utf-8")
    state, log = tmp_path / "run" / "state.pt", tmp_path / "run" / "log.csv"
    arguments = ["train", str(recipe), "--run", str(tmp_path / "run"), "--device", "cpu"]
    with running(*arguments) as process:
        until(state.exists, WAIT_SECONDS)
        said = interrupted(process)
    assert "Traceback" not in said
    assert "dragoman: interrupted; " in said.splitlines()[-1]  # the bar may stand before it
    num_lines, saved = len(log.read_text().splitlines()), state.stat().st_mtime_ns
    with running(*arguments) as process:
        until(lambda: state.stat().st_mtime_ns > saved, WAIT_SECONDS)
        interrupted(process)
    assert len(log.read_text().splitlines()) >= num_lines


def test_files_of_other_formats_are_known_by_their_names(tmp_path: Path) -> None:
    first, second = tmp_path / "a.md", tmp_path / "b.po"
    first.write_bytes(b"# I like coffee.\n\n```\nI like coffee.\n```\n")
    second.write_bytes(b'msgid "I like coffee."\nmsgstr ""\n')
    out = tmp_path / "out"
    out.mkdir()
    result = run(*TRANSLATE, str(first), str(second), "-o", str(out))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # a progress bar only on a terminal
    assert (out / "a.md").read_text() == "# 我喜欢咖啡。\n\n```\nI like coffee.\n```\n"
    assert (out / "b.po").read_text() == 'msgid "I like coffee."\nmsgstr "我喜欢咖啡。"\n'
    assert run(*TRANSLATE, str(second)).stdout == (out / "b.po").read_text()


def test_a_file_that_fails_is_named_and_the_others_are_translated(tmp_path: Path) -> None:
    text = "I like coffee.\n"
    contents = {"a.md": text, "b.rtf": "{}", "c.docx": "{}", "d.log": text, "e": "\0", "f": text}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    files, out = [str(tmp_path / name) for name in contents], tmp_path / "out"
    result = run(*TRANSLATE, *files, str(tmp_path / "g"), "-o", f"{out}/")
    assert result.returncode == 2
    named = re.findall(rf"(?m)^dragoman: {tmp_path}/([\w.]+)", result.stderr)
    assert named == ["b.rtf", "d.log", "g", "c.docx", "e"]
    assert "d.log: .log files are not read; --plain reads it as plain text; " in result.stderr
    assert sorted(path.name for path in out.iterdir()) == ["a.md", "f"]
    assert all("咖啡" in path.read_text() for path in out.iterdir())
    result = run("translate", "--to", "zh", "--plain", *files[3:])
    assert_one_line(result, "e is not UTF-8")
    assert result.stdout.count("咖啡") == 2


def test_a_command_with_documents_says_what_is_wrong(tmp_path: Path) -> None:
    document, text, out = tmp_path / "a.docx", tmp_path / "a.txt", tmp_path / "out"
    document.write_bytes(b"not a document")
    text.write_text("a")
    (out / "in").mkdir(parents=True)
    again = out / "in" / "a.docx"
    again.write_bytes(b"")
    assert_one_line(
        run(*TRANSLATE, str(document), "-o", str(out / "b")), "a.docx", "not a DOCX file"
    )
    assert not (out / "b").exists()
    assert_one_line(run(*TRANSLATE, str(document), str(text)), "need a directory for -o")
    assert_one_line(run(*TRANSLATE, str(document), "-o", str(tmp_path)), "is the output too")
    assert_one_line(run(*TRANSLATE, str(document), str(again), "-o", str(out)), "2 files")
    assert_one_line(run(*TRANSLATE, "-o", str(out)), "needs FILES")
    assert document.read_bytes() == b"not a document"


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx", ".odt", ".epub"])
def test_a_terminal_shows_no_archive(suffix: str, tmp_path: Path) -> None:
    """Before anything is read."""
    document = tmp_path / f"a{suffix}"
    document.write_bytes(b"PK")
    terminal, theirs = pty.openpty()
    with open(terminal, "rb", buffering=0), open(theirs, "wb", buffering=0) as shown:
        ended = subprocess.run(
            command(*TRANSLATE, str(document)),
            stdout=shown,
            stderr=subprocess.PIPE,
            text=True,
            timeout=WAIT_SECONDS,
            env=ENVIRONMENT,
        )
    assert_one_line(ended, f"a{suffix}", "name it with -o")
    assert_one_line(run(*TRANSLATE, str(document)), "ZIP archive")
