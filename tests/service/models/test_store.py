"""The store: one process changes it at a time, and a model is replaced by its own owner's."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from model.checkpoint.bundled import bundled_checkpoint
from model.checkpoint.files import CONFIG_FILE, SUMS_FILE, WEIGHTS_FILE, write_sums
from service.models.store import ModelStore, StoreError, size_of
from tests.service.fakes import until

KILLED = """
import os, signal, sys
from pathlib import Path
from service.models.store import ModelStore

with ModelStore(Path(sys.argv[1])).scratch() as scratch:
    (scratch / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def write_checkpoint(directory: Path, name: str, **architecture: int) -> Path:
    """What a store reads of a checkpoint. `architecture`: what differs from that of zh-en."""
    config = json.loads((bundled_checkpoint("zh-en") / CONFIG_FILE).read_text("utf-8"))
    config["name"] = name
    config["architecture"] |= architecture
    checkpoint = directory / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / CONFIG_FILE).write_text(json.dumps(config), encoding="utf-8")
    (checkpoint / config["tokenizer"]["source"]).touch()
    save_file({}, checkpoint / WEIGHTS_FILE)
    write_sums(checkpoint, {file.name: file for file in checkpoint.iterdir()})
    return checkpoint


def put(store: ModelStore, name: str, owner: str, is_replacing: bool) -> None:
    with store.scratch() as scratch:
        store.put(write_checkpoint(scratch, name), owner, is_replacing=is_replacing)


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
    root = Path(__file__).parents[3]
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


@pytest.mark.parametrize(("hidden", "told"), [("lost+found", ["lost+found"]), (".used", [])])
def test_a_directory_that_cannot_be_read_hides_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str, told: list[str]
) -> None:
    """Disks have a lost+found, where only root may look; a server of another user notes uses."""
    store, status = ModelStore(tmp_path), os.stat
    put(store, "a", "", is_replacing=False)
    store.note_use("a")
    (tmp_path / hidden).mkdir(exist_ok=True)

    def status_for_a_user(path: Path, **more: Any) -> os.stat_result:
        if f"{hidden}/" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return status(path, **more)

    monkeypatch.setattr(os, "stat", status_for_a_user)
    models, faults = store.contents()
    assert (list(models), list(faults)) == (["a"], told)


def test_where_uses_cannot_be_noted_models_are_served_all_the_same(tmp_path: Path) -> None:
    store = ModelStore(tmp_path)
    put(store, "a", "", is_replacing=False)
    (tmp_path / ".used").touch()  # a directory cannot be made there
    store.note_use("a")
    (model,) = store.models()
    assert model.used is None


def damage(model: Path) -> None:
    (model / WEIGHTS_FILE).unlink()


def break_sums(model: Path) -> None:
    (model / SUMS_FILE).write_text("?", encoding="utf-8")


@pytest.mark.parametrize("change", [lambda _: None, damage, break_sums])
@pytest.mark.parametrize("is_copied", [False, True])
def test_every_model_can_be_removed(
    tmp_path: Path, change: Callable[[Path], None], is_copied: bool
) -> None:
    store, model = ModelStore(tmp_path), tmp_path / "a"
    put(store, "a", "", is_replacing=False)
    if is_copied:
        version = model.resolve()
        model.unlink()
        version.rename(model)
    store.note_use("a")
    change(model)
    num_bytes = size_of(model.resolve())
    assert store.remove("a") == num_bytes
    assert [path for path in tmp_path.rglob("*") if "a" in path.name.split("--")] == []
    with pytest.raises(StoreError, match="there is no model a"):
        store.remove("a")


NAMES = st.sampled_from(["a", "b--a", "a--a", "-a"])
OWNERS = st.sampled_from(["", "a", "b", "b-", "b--a", "example.org"])


@settings(deadline=None)
@given(puts=st.lists(st.tuples(NAMES, OWNERS, st.booleans()), max_size=12))
def test_a_model_is_replaced_by_another_owners_only_if_asked(
    tmp_path_factory: pytest.TempPathFactory, puts: list[tuple[str, str, bool]]
) -> None:
    store = ModelStore(tmp_path_factory.mktemp("store"))
    owners: dict[str, str] = {}
    for name, owner, is_replacing in puts:
        if is_replacing or owners.get(name, owner) == owner:
            put(store, name, owner, is_replacing)
            owners[name] = owner
        else:
            with pytest.raises(StoreError, match="`dragoman models pull --replace` replaces it"):
                put(store, name, owner, is_replacing)
        assert [model.name for model in store.models()] == sorted(owners)
