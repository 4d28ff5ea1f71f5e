"""`dragoman translate --format` as a process, with a bundled model."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import psutil

from tests.end_to_end.test_command_line import ENVIRONMENT, WAIT_SECONDS, command, run

TRANSLATE = ["translate", "--from", "en", "--to", "de", "--device", "cpu", "--beam-size", "1"]
_LINES = 640


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


def test_a_run_whose_engines_are_killed_ends_and_is_continued(tmp_path: Path) -> None:
    """With the processes of eight cores, whatever the machine has."""
    output, whole = tmp_path / "output", tmp_path / "whole"
    given = "".join(f"I have {number} apples.\n" for number in range(_LINES))
    several = {**ENVIRONMENT, "OMP_NUM_THREADS": "8"}
    arguments = [*TRANSLATE, "--format", "text", "--resume", "-o", str(output)]
    streams = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(*arguments), text=True, env=several, **streams) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()  # more may come
        while not (output.exists() and output.stat().st_size):
            assert process.poll() is None
            time.sleep(0.01)
        children = sorted(psutil.Process(process.pid).children(), key=lambda child: child.pid)
        engines, others = children[:4], children[4:]
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
