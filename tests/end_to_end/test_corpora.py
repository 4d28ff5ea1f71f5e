"""`dragoman translate` as a process, of corpora and large texts, with a bundled model."""

from __future__ import annotations

import contextlib
import gzip
import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.test_command_line import ENVIRONMENT, WAIT_SECONDS, command, run

TRANSLATE = ["translate", "--from", "en", "--to", "de", "--device", "cpu", "--beam-size", "1"]
_LINES = 640
SEVERAL = {**ENVIRONMENT, "OMP_NUM_THREADS": "8"}
"""The processes of eight cores, four engines and four for texts, whatever the machine has."""


def apples(num_lines: int) -> str:
    """Few of the lines are different, so that most come from the cache."""
    return "".join(f"I have {number % 301} apples.\n" for number in range(num_lines))


def run_counting(*arguments: str, text: str) -> tuple[int, str]:
    """Run with the processes of eight cores -> the most processes that it had, and its output. Who
    starts it ignores the ends of children, as some programs do."""
    given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "preexec_fn": _ignore_ends}
    with subprocess.Popen(command(*arguments), text=True, env=SEVERAL, **given) as process:
        found, most = psutil.Process(process.pid), 0
        with ThreadPoolExecutor(1) as beside:
            output = beside.submit(process.communicate, text, WAIT_SECONDS)
            while not output.done():
                with contextlib.suppress(psutil.NoSuchProcess):
                    most = max(most, len(found.children()))
                time.sleep(0.01)
        assert process.returncode == 0
        return most, output.result()[0]


def _ignore_ends() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@pytest.mark.parametrize("name", ["-", "a.txt", "a.md"])
def test_a_large_text_has_the_engines_of_the_machine_and_the_same_translation(
    name: str, tmp_path: Path
) -> None:
    text, file = apples(4000), tmp_path / name
    if name != "-":
        file.write_text(text)
    given = [] if name == "-" else [str(file)]
    arguments = ["translate", "--to", "de", "--device", "cpu", "--beam-size", "1", *given]
    most, translation = run_counting(*arguments, text=text)
    assert most == 8
    assert translation == run(*arguments, text=text, OMP_NUM_THREADS="2").stdout
    assert translation.count("Äpfel") >= 3900


def test_a_short_text_is_translated_in_one_process() -> None:
    most, translation = run_counting(*TRANSLATE, text="Good morning.\n")
    assert (most, translation) == (0, "Guten Morgen.\n")


def test_a_large_text_whose_engines_are_killed_keeps_what_was_done(tmp_path: Path) -> None:
    text, output = tmp_path / "text", tmp_path / "output"
    text.write_text(apples(20_000))
    arguments = command(*TRANSLATE, str(text), "-o", str(output))
    with subprocess.Popen(arguments, text=True, env=SEVERAL, stderr=subprocess.PIPE) as process:
        while not (output.exists() and output.stat().st_size):
            assert process.poll() is None
            time.sleep(0.01)
        for engine in engines_and_others(process.pid)[0]:
            engine.kill()
        _, said = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, said) == (2, f"dragoman: {text}: the engine has ended\n")
    assert run(*TRANSLATE, str(text)).stdout.startswith(output.read_text())


def engines_and_others(pid: int) -> tuple[list[psutil.Process], list[psutil.Process]]:
    """The processes that a command started."""
    children = sorted(psutil.Process(pid).children(), key=lambda child: child.pid)
    return children[:4], children[4:]


def test_a_record_that_fails_is_written_and_counted_and_the_others_are_translated() -> None:
    records = [{"text": "Good morning."}, {"id": 7}, {"text": "I have 3 cats."}]
    given = "".join(json.dumps(record) + "\n" for record in records)
    result = run(*TRANSLATE, "--format", "jsonl", "--score", "--checks", text=given)
    assert result.returncode == 3
    first, failed, last = (json.loads(line) for line in result.stdout.splitlines())
    assert first["translation"].startswith("Guten Morgen")
    assert -5 < first["translation_score"] < 0
    assert failed["translation"] is None
    assert failed["id"] == 7
    assert "3" in last["translation"]
    assert last["translation_checks"] == []
    said = result.stderr.splitlines()
    assert said[0].startswith("dragoman: record 2 is not translated: ")
    assert said[1].endswith("1 failed")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process_and_says_nothing(
    ending: signal.Signals, tmp_path: Path
) -> None:
    text, output = tmp_path / "text", tmp_path / "output"
    text.write_text(apples(100_000))
    arguments = command(*TRANSLATE, "--format", "text", str(text), "-o", str(output))
    with subprocess.Popen(arguments, text=True, env=SEVERAL, stderr=subprocess.PIPE) as process:
        while not (output.exists() and output.stat().st_size):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(ending)
        _, said = process.communicate(timeout=WAIT_SECONDS)  # all processes have standard error
    assert (process.returncode, said) == (-ending, "")


def test_lines_in_a_directory_have_the_name_of_their_file(tmp_path: Path) -> None:
    given, directory = tmp_path / "tea.txt.gz", tmp_path / "de"
    given.write_bytes(gzip.compress(b"Good morning.\n"))
    arguments = [*TRANSLATE, "--format", "text", "-o", f"{directory}/"]
    assert run(*arguments, str(given)).returncode == 0
    assert gzip.decompress((directory / given.name).read_bytes()) == b"Guten Morgen.\n"
    assert "de is a directory, which needs FILE" in run(*arguments, text="Tea.\n").stderr


def test_a_run_whose_engines_are_killed_ends_and_is_continued(tmp_path: Path) -> None:
    output, whole = tmp_path / "output", tmp_path / "whole"
    given = "".join(f"I have {number} apples.\n" for number in range(_LINES))
    few_ahead = ["--max-slots", "8"]
    arguments = [*TRANSLATE, *few_ahead, "--format", "text", "--resume", "-o", str(output)]
    streams = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(*arguments), text=True, env=SEVERAL, **streams) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()  # more may come
        while not (output.exists() and output.stat().st_size):
            assert process.poll() is None
            time.sleep(0.01)
        engines, others = engines_and_others(process.pid)
        for engine in engines:
            engine.kill()
        _, said = process.communicate(given, timeout=WAIT_SECONDS)
    assert process.returncode == 2
    assert said.splitlines()[-1] == (
        "dragoman: the engine has ended; --resume goes on with what is written"
    )
    assert len(others) == 4
    assert not any(other.is_running() for other in others)
    assert 0 < output.read_bytes().count(b"\n") < 2 * _LINES
    assert run(*arguments, text=2 * given).returncode == 0
    assert run(*TRANSLATE, "--format", "text", "-o", str(whole), text=2 * given).returncode == 0
    assert output.read_bytes() == whole.read_bytes()
