"""Clients that never rest, for servers whose processes are killed meanwhile."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import httpx
import psutil

from tests.end_to_end.process import ROOT, TEXTS, Process
from tests.service.fakes import until

FIELDS = {"source": "en", "target": "de", "beam_size": 1}
TO_GERMAN = [{"q": text, **FIELDS} for text in TEXTS[:40]]
_CHINESE = (ROOT / "tests/data/sentences.zh.txt").read_text(encoding="utf-8").splitlines()
TO_ENGLISH = [{"q": text, **FIELDS, "source": "zh", "target": "en"} for text in _CHINESE[:40]]
Asked = Sequence[Mapping[str, object]]


class Load:
    """Clients that translate until the end of the block. `outcomes`: statuses, wrong answers, and
    connections that were refused or broke."""

    def __init__(self, process: Process, num_clients: int = 8, asked: Asked = TO_GERMAN) -> None:
        self.num_clients = num_clients
        self.outcomes: Counter[int | str] = Counter()
        self._url = f"{process.url}/translate"
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(num_clients)]
        self._right = [(one, self._translated(one).json()) for one in asked]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Ask no more."""
        self._is_over.set()

    def __exit__(self, *_: object) -> None:
        self.stop()
        for thread in self._threads:
            thread.join()

    def _translated(self, asked: Mapping[str, object]) -> httpx.Response:
        return httpx.post(self._url, json=asked, timeout=60)

    def _ask(self) -> None:
        while not self._is_over.is_set():
            asked, right = random.choice(self._right)
            try:
                answer = self._translated(asked)
            except httpx.ConnectError:
                self.outcomes["refused"] += 1
                continue
            except httpx.TransportError:
                self.outcomes["broken"] += 1
                continue
            is_wrong = answer.status_code == 200 and answer.json() != right
            self.outcomes["wrong" if is_wrong else answer.status_code] += 1


def kill_at_random(
    process: Process,
    seconds: float,
    seed: int,
    asked: Asked = TO_GERMAN,
    meanwhile: Callable[[], object] = tuple,
) -> Counter[int | str]:
    """Kill one of the server's processes after the other under load, and do something else before
    each -> the outcomes. At the end the server is ready and nothing runs. Raises AssertionError for
    a wrong answer, or one that no killed process explains."""
    rng, num_killed, ends = random.Random(seed), 0, time.monotonic() + seconds
    with Load(process, asked=asked) as load:
        while time.monotonic() < ends:
            time.sleep(rng.uniform(0.2, 1.5))
            meanwhile()
            children = psutil.Process(process.popen.pid).children()
            os.kill(rng.choice(children).pid, signal.SIGKILL)
            num_killed += 1
        until(lambda: process.is_ready)
        before = load.outcomes[200]
        until(lambda: load.outcomes[200] > before + 50)
    assert set(load.outcomes) <= {200, 503, "broken"}, load.outcomes
    until(lambda: process.gauge("dragoman_running") == process.gauge("dragoman_waiting") == 0)
    return load.outcomes
