"""Signals to a real server: what is promised of its end, and how it ends."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from tests.end_to_end.process import ROOT, START_SECONDS, TEXTS, Process, server
from tests.service.fakes import until


@contextlib.contextmanager
def busy_workers(process: Process, streams: int = 0) -> Iterator[None]:
    """A request runs, and as many streams, when the block begins."""
    process.wait_until_ready()
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
        pool.submit(process.translate)
        for _ in range(streams):
            stream = stack.enter_context(process.open_stream())
            fields = {"id": 1, "q": TEXTS, "source": "en", "target": "zh", "beam_size": 16}
            stream.send(json.dumps(fields))
        until(lambda: process.gauge("dragoman_running{") > 0)
        yield


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (signal.SIGTERM, signal.SIGTERM),
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGTERM, signal.SIGINT),
    ],
)
def test_a_second_signal_ends_a_working_server_at_once_and_by_that_signal(
    first: signal.Signals, second: signal.Signals
) -> None:
    with server() as process, busy_workers(process):
        process.popen.send_signal(first)
        until(lambda: process.get("/health/ready").status_code == 503)
        process.popen.send_signal(second)
        assert process.ended() == (-second, "")


def test_a_second_signal_ends_a_server_with_open_streams_at_once() -> None:
    with server() as process, busy_workers(process, streams=3), process.open_stream():
        process.popen.send_signal(signal.SIGTERM)
        until(lambda: process.get("/health/ready").status_code == 503)
        process.popen.send_signal(signal.SIGTERM)
        assert process.ended() == (-signal.SIGTERM, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_streams_are_finished_before_a_server_ends_and_idle_ones_do_not_hold_it(
    number: signal.Signals,
) -> None:
    with server() as process:
        process.wait_until_ready()
        with process.open_stream() as idle, process.open_stream() as stream:
            fields = {"id": 1, "q": TEXTS[:40], "source": "en", "target": "zh"}
            stream.send(json.dumps(fields))
            stream.recv(timeout=30)
            process.popen.send_signal(number)
            messages = []
            with contextlib.suppress(ConnectionClosed):
                while True:
                    messages.append(json.loads(stream.recv(timeout=60)))
            assert messages[-1]["type"] == "final"
            with pytest.raises(ConnectionClosed):
                idle.recv(timeout=30)
        assert process.ended() == (0, "")


@pytest.mark.parametrize("mapped", ["", "libtorch", "model.safetensors"])
def test_sigterm_during_start_up_ends_the_server_at_once(mapped: str) -> None:
    """As soon as it catches signals, imports torch, and reads a model."""
    with server() as process:
        maps = Path(f"/proc/{process.popen.pid}/maps")
        until(lambda: _catches(process.popen.pid, signal.SIGTERM), START_SECONDS)
        until(lambda: mapped in maps.read_text() or process.is_ready, START_SECONDS)
        process.popen.send_signal(signal.SIGTERM)
        ended = process.ended()
        assert ended == (0 if process.has_drained else -signal.SIGTERM, "")


def _catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(mask, 16) >> (number - 1) & 1)


OFFLINE = """
import threading
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from tests.model.network.reference import EOS, tiny_model, tiny_runner

model = tiny_model(d_model=256, n_heads=8, d_ff=512, vocab_size=20000)
runner = tiny_runner(model, backend="native")
is_at_work = threading.Event()


def translate_for_ever() -> None:
    sentence = SourceSentence([5, 6, 7, EOS], DecodingOptions(beam_size=4))
    while True:
        if not runner.num_running:
            runner.admit([sentence] * 16)
        runner.step()
        is_at_work.set()


threading.Thread(target=translate_for_ever, daemon=True).start()
is_at_work.wait()
"""


def test_the_interpreter_ends_while_a_daemon_thread_steps() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", OFFLINE], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
