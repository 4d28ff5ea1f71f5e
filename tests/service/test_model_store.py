"""The store: one process changes it at a time, and nothing but files enters."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from model.bundled import bundled_checkpoint
from model.checkpoint.files import CONFIG_FILE, SUMS_FILE, WEIGHTS_FILE
from service.model_store import ModelStore, StoreError
from tests.service.fakes import until

KILLED = """
import os, signal, sys
from pathlib import Path
from service.model_store import ModelStore

with ModelStore(Path(sys.argv[1])).scratch() as scratch:
    (scratch / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def write_checkpoint(directory: Path, name: str) -> Path:
    """What a store reads of a checkpoint."""
    config = json.loads((bundled_checkpoint("zh-en") / CONFIG_FILE).read_text("utf-8"))
    checkpoint = directory / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / CONFIG_FILE).write_text(json.dumps({**config, "name": name}), encoding="utf-8")
    for file in (SUMS_FILE, WEIGHTS_FILE):
        (checkpoint / file).touch()
    return checkpoint


def test_who_changes_the_store_waits_for_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    events: list[str] = []

    def change() -> None:
        with ModelStore(tmp_path).scratch():
            events.append("second")

    with ModelStore(tmp_path).scratch():
        thread = threading.Thread(target=change)
        thread.start()
        until(lambda: "waiting for another process" in caplog.text)
        events.append("first")
    thread.join()
    assert events == ["first", "second"]


def test_a_killed_process_leaves_no_lock_and_what_it_left_is_removed(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=root, check=False)
    assert killed.returncode == -9
    assert list(tmp_path.glob(".versions/.new-*/half"))
    with ModelStore(tmp_path).scratch() as scratch:
        assert list((tmp_path / ".versions").iterdir()) == [scratch]


def test_a_link_does_not_enter(tmp_path: Path) -> None:
    store = ModelStore(tmp_path)
    with store.scratch() as scratch:
        checkpoint = write_checkpoint(scratch, "a")
        (checkpoint / "README").symlink_to("/etc/passwd")
        with pytest.raises(StoreError, match="may hold regular files only"):
            store.put(checkpoint)
    assert store.models() == []
