"""A server of several processes, some of which are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from service.models.store import ModelStore
from service.settings import BUNDLED
from tests.end_to_end.conftest import put_bundled
from tests.end_to_end.load import FIELDS, TO_ENGLISH, TO_GERMAN, Load, kill_at_random
from tests.end_to_end.process import TEXTS, Process, server
from tests.service.fakes import until

ENDS_SECONDS = 2
ONE_MODEL_FITS = (
    *("--max-slots", "4", "--max-rows", "16", "--max-beam-size", "4", "--cache-bytes", "0"),
    *("--memory-limit", "120000000"),
)
"""Into each of two engines."""
MORNING, RIGHT = {"q": "Good morning.", **FIELDS}, {"translatedText": "Guten Morgen."}


@pytest.fixture
def process() -> Iterator[Process]:
    with server("--engines", "2", "--front-ends", "2", "--threads", "2") as process:
        process.wait_until_ready()
        yield process


def pid_of(process: Process, name: str) -> int:
    """Of the child of this name, unless one has started again: they start in this order."""
    names = ["engine-0", "engine-1", "hub", "front-end-0", "front-end-1"]
    children = sorted(psutil.Process(process.popen.pid).children(), key=lambda one: one.pid)
    return dict(zip(names, (child.pid for child in children), strict=True))[name]


def is_running(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_the_parent_has_one_thread_and_its_children_share_its_weights(process: Process) -> None:
    """Only so may it fork at any time, and only so are weights in memory once."""
    parent = psutil.Process(process.popen.pid)
    assert parent.num_threads() == 1
    engine = psutil.Process(pid_of(process, "engine-0"))
    memory = engine.memory_full_info()
    assert memory.rss - memory.pss > 40 * 2**20
    priorities = {os.getpriority(os.PRIO_PROCESS, thread.id) for thread in engine.threads()}
    assert len(priorities) == 1
    scores = {pid: int(Path(f"/proc/{pid}/oom_score").read_text()) for pid in process.pids}
    assert min(scores, key=scores.__getitem__) == parent.pid


def test_an_engine_that_dies_fails_its_requests_only_and_comes_back(process: Process) -> None:
    others = [pid_of(process, name) for name in ("hub", "front-end-0", "front-end-1")]
    with Load(process) as load:
        until(lambda: load.outcomes.total() > 100)
        before = process.gauge("dragoman_finished_total")
        killed = pid_of(process, "engine-0")
        os.kill(killed, signal.SIGKILL)
        until(lambda: killed not in process.pids and len(process.pids) == 6)
        assert process.gauge("dragoman_finished_total") >= before
        until(lambda: process.gauge("dragoman_engine_restarts_total") == len(BUNDLED))
        until(lambda: load.outcomes.total() > 200)
        until(lambda: process.gauge("dragoman_ready") == 4)
    assert set(load.outcomes) <= {200, 503}
    assert load.outcomes[503] <= 16
    assert all(map(is_running, others))
    assert process.gauge("dragoman_running") == process.gauge("dragoman_waiting") == 0


def test_without_any_engine_the_server_is_not_ready_until_one_is_back(process: Process) -> None:
    for name in ("engine-0", "engine-1"):
        os.kill(pid_of(process, name), signal.SIGSTOP)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{process.url}/translate", json=MORNING, timeout=1)
    engines = [pid_of(process, name) for name in ("engine-0", "engine-1")]
    process.popen.send_signal(signal.SIGSTOP)  # it would start others at once
    for engine in engines:
        os.kill(engine, signal.SIGKILL)
    until(lambda: not process.is_ready)
    process.popen.send_signal(signal.SIGCONT)
    until(lambda: process.is_ready)
    until(lambda: process.translate(**MORNING).json() == RIGHT)  # of the other front end, too


def test_a_front_end_that_dies_leaves_nothing_running_and_comes_back(process: Process) -> None:
    with Load(process) as load:
        time.sleep(0.5)
        os.kill(pid_of(process, "front-end-0"), signal.SIGKILL)
        until(lambda: process.is_ready)
        until(lambda: load.outcomes[200] > 200)
    assert set(load.outcomes) <= {200, "broken"}
    until(lambda: process.gauge("dragoman_running") == process.gauge("dragoman_waiting") == 0)


def test_limits_and_files_hold_across_front_ends_and_a_hub_that_dies_comes_back() -> None:
    """Each request has a connection of its own, so that both front ends get some."""
    limit = ("--requests-per-minute", "20")
    with server("--front-ends", "2", "--threads", "2", *limit) as process:
        process.wait_until_ready()
        statuses = [process.translate(**MORNING).status_code for _ in range(17)]
        url = process.translate_file("a.txt", b"Good morning.").json()["translatedFileUrl"]
        statuses += [httpx.get(url).status_code for _ in range(2)]
        assert set(statuses) == {200}
        more = [process.translate(**MORNING).json() for _ in range(3)]  # a minute may begin
        assert more[-1].get("code") == "too_many_requests"
        counted = process.gauge("dragoman_requests_total")
        children = sorted(psutil.Process(process.popen.pid).children(), key=lambda one: one.pid)
        os.kill(children[1].pid, signal.SIGKILL)  # the hub starts after the engine
        until(lambda: process.translate(**MORNING).status_code == 200)
        assert process.gauge("dragoman_requests_total") > counted


def test_documents_are_seen_by_all_front_ends_fail_with_theirs_and_are_finished_at_sigterm(
    tmp_path: Path,
) -> None:
    """Each request has a connection of its own, so that both front ends get some."""
    content = "\n".join(TEXTS).encode()
    options = ("--engines", "2", "--front-ends", "2", "--threads", "2")
    with server(*options, "--documents-dir", str(tmp_path)) as process:
        process.wait_until_ready()
        names = [process.send_document("a.txt", content) for _ in range(4)]
        told = [process.get(f"/documents/{name}").json() for name in names for _ in range(4)]
        assert {one["status"] for one in told} <= {"queued", "translating"}
        os.kill(pid_of(process, "front-end-0"), signal.SIGKILL)
        until(lambda: process.is_ready)
        until(lambda: all(ended(process, name) for name in names))
        told = [process.get(f"/documents/{name}").json() for name in names]
        assert {(one["status"], one["code"]) for one in told} <= {
            ("done", None),
            ("error", "not_ready"),
        }
        late = [process.send_document("a.txt", content) for _ in range(2)]
        process.popen.send_signal(signal.SIGTERM)
        assert process.ended(within_seconds=120) == (0, "")
    records = [json.loads((tmp_path / f"{name}.json").read_text("utf-8")) for name in late]
    assert [record["state"] for record in records] == ["done", "done"]
    for name in late:
        translation = (tmp_path / f"{name}.translated").read_text("utf-8")
        assert len(translation.splitlines()) == len(TEXTS)


def ended(process: Process, name: str) -> bool:
    return process.get(f"/documents/{name}").json()["status"] in ("done", "error")


def test_what_was_taken_is_finished_at_sigterm_and_no_process_stays(process: Process) -> None:
    pids = process.pids
    with Load(process) as load:
        until(lambda: load.outcomes.total() > 50)
        for pid in pids:
            os.kill(pid, signal.SIGTERM)  # as systemd does
        assert process.ended() == (0, "")
        load.stop()
    assert set(load.outcomes) <= {200, 503, "refused", "broken"}
    num_closing = 2  # each front end has a socket, and breaks what comes just when it closes
    assert load.outcomes["broken"] <= num_closing * load.num_clients
    until(lambda: not any(map(is_running, pids)), ENDS_SECONDS)


def test_whatever_dies_no_answer_is_wrong_and_the_server_comes_back(process: Process) -> None:
    """A longer run is `python -m tests.soak.processes`."""
    kill_at_random(process, seconds=4, seed=58)


def test_whatever_dies_models_on_demand_answer_right(tmp_path: Path) -> None:
    """Two models of which one fits, so that each leaves for the other, and new versions of one."""
    store = ModelStore(tmp_path)
    for name in ("zh-en", "en-de"):
        put_bundled(store, name)
    options = ("--models-dir", str(tmp_path), "--engines", "2", "--front-ends", "2")
    with server(*options, "--threads", "2", *ONE_MODEL_FITS) as process:
        process.wait_until_ready()
        asked = [*TO_GERMAN[:20], *TO_ENGLISH[:20]]
        kill_at_random(process, 4, 58, asked, meanwhile=lambda: put_bundled(store, "en-de"))
        assert process.gauge("dragoman_model_evictions_total") > 0
        process.popen.terminate()
        assert process.ended(within_seconds=30)[0] == 0


def weights_of(pid: int) -> set[str]:
    """The shared files of weights that a process has in memory."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        lines = Path(f"/proc/{pid}/maps").read_text("utf-8").splitlines()
        return {line.split()[4] for line in lines if "dragoman-weights" in line}
    return set()


def num_shared(process: Process) -> int:
    """The shared files of weights that take memory."""
    files = Path(f"/proc/{process.popen.pid}/fd").iterdir()
    return sum(file.stat().st_blocks > 0 for file in files if "weights" in os.readlink(file))


def test_models_on_demand_have_weights_in_memory_once_and_leave_with_the_last_engine(
    tmp_path: Path,
) -> None:
    """Of two models one fits. An engine that comes back reads what the other has."""
    store = ModelStore(tmp_path)
    for name in ("zh-en", "en-de"):
        put_bundled(store, name)
    options = ("--models-dir", str(tmp_path), "--engines", "2", "--front-ends", "2")

    def are_shared() -> bool:
        told = [found for pid in process.pids if (found := weights_of(pid))]
        return len(told) == 2 and told[0] == told[1] and num_shared(process) == len(told[0]) == 1

    with server(*options, "--threads", "2", *ONE_MODEL_FITS) as process:
        process.wait_until_ready()
        engine = pid_of(process, "engine-0")
        for texts in (TO_GERMAN, TO_ENGLISH):
            for text in texts[:4]:
                assert process.translate(**text).status_code == 200
            until(are_shared)
        (before,) = weights_of(engine)
        os.kill(engine, signal.SIGKILL)
        until(lambda: not is_running(engine))
        until(are_shared)
        assert process.translate(**TO_ENGLISH[0]).status_code == 200
        assert {before} in map(weights_of, process.pids)


def test_no_process_stays_when_the_parent_is_killed(process: Process) -> None:
    """Not even one that is stopped: it would keep the port."""
    pids = process.pids
    os.kill(pid_of(process, "front-end-0"), signal.SIGSTOP)
    process.popen.kill()
    until(lambda: not any(map(is_running, pids)), ENDS_SECONDS)


def test_with_pytorch_the_engine_loads_what_it_needs_and_the_parent_nothing(
    tmp_path: Path,
) -> None:
    """A parent that has looked for a GPU, or has PyTorch's threads, cannot fork. Models on demand
    are the engine's, too."""
    put_bundled(ModelStore(tmp_path), "zh-en")
    options = ("--precision", "bfloat16", "--engines", "1", "--front-ends", "2", "--model", "en-de")
    own = ("--models-dir", str(tmp_path), "--device", "cpu", "--threads", "2")
    with server(*options, *own) as process:
        process.wait_until_ready()
        assert process.translate(**MORNING).json() == RIGHT
        assert process.translate(**TO_ENGLISH[0]).status_code == 200
        states = process.get("/models").json()
        assert [state["state"] for state in states] == ["loaded", "loaded"]
        assert all(state["bytes"] > 10**8 for state in states)
        maps = {line.path for line in psutil.Process(process.popen.pid).memory_maps()}
    assert not [path for path in maps if "torch" in path]


def test_an_engine_that_cannot_begin_ends_the_server_with_its_reason() -> None:
    with server("--device", "cuda", "--engines", "1") as process:
        code, said = process.ended(within_seconds=60)
    assert code == 2
    assert "no usable CUDA GPU" in said


def test_a_preloaded_model_that_cannot_be_loaded_ends_the_server(tmp_path: Path) -> None:
    put_bundled(ModelStore(tmp_path), "en-de")
    weights = tmp_path / "en-de" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with server("--models-dir", str(tmp_path), "--preload", "en-de", "--threads", "2") as process:
        assert process.ended(within_seconds=60) == (2, "")
