"""What a client with a key waits while another key, over its limit, floods the server.

The flood comes from one process on this machine, which takes a part of its cores too.

    python -m benchmarks.flood --rounds 9
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from benchmarks.sentences import ROOT
from benchmarks.server import HOST, PORT, running_server
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore

_SENTENCES = 1_000
_CONNECTIONS = 8
_BODY = {"source": "zh", "target": "en"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "server.db"
        with contextlib.closing(KeyStore(database)) as store:
            honest = store.create(KeyOptions())[0]
            flooding = store.create(KeyOptions(requests_per_minute=1))[0]
        keys = ["--api-keys", "required", "--database", str(database)]
        with running_server(options.model, keys):
            rounds = [_round(honest, flooding) for _ in range(options.rounds)]
    alone, flooded = (statistics.median(p99s) for p99s in zip(*rounds, strict=True))
    print(f"median p99 {alone:.1f} ms alone, {flooded:.1f} flooded: {flooded / alone:.2f} times")


def _round(honest: str, flooding: str) -> tuple[float, float]:
    """Milliseconds that 99 of 100 requests of the honest key do not exceed: alone, flooded."""
    times = _honest_times(honest)
    print(f"alone:   {_shown(times)}")
    with _flood(flooding) as count:
        began, before = time.perf_counter(), count.value
        flooded_times = _honest_times(honest)
        rate = (count.value - before) / (time.perf_counter() - began)
    print(f"flooded: {_shown(flooded_times)}, {rate:.0f} refusals a second")
    return _p99(times), _p99(flooded_times)


def _honest_times(key: str) -> list[float]:
    """Milliseconds of requests, one after the other."""
    connection, times = http.client.HTTPConnection(HOST, PORT), []
    for number in range(_SENTENCES):
        began = time.perf_counter()
        if _ask(connection, key, f"图书馆在第{number}层。") != 200:
            raise RuntimeError("an honest request was refused")
        times.append((time.perf_counter() - began) * 1000)
    return times


@contextlib.contextmanager
def _flood(key: str) -> Iterator[Synchronized[int]]:
    """Ask as fast as the server refuses; counts the refusals."""
    count: Synchronized[int] = multiprocessing.Value("q", 0)
    process = multiprocessing.Process(target=_ask_for_ever, args=(key, count))
    process.start()
    try:
        time.sleep(1)
        yield count
    finally:
        process.terminate()
        process.join()


def _ask_for_ever(key: str, count: Synchronized[int]) -> None:
    def ask() -> None:
        connection = http.client.HTTPConnection(HOST, PORT)
        while True:
            if _ask(connection, key, "你好") == 429:
                with count.get_lock():
                    count.value += 1

    for _ in range(_CONNECTIONS):
        threading.Thread(target=ask, daemon=True).start()
    threading.Event().wait()


def _ask(connection: http.client.HTTPConnection, key: str, text: str) -> int:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    connection.request("POST", "/translate", json.dumps({**_BODY, "q": text}), headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _shown(times: list[float]) -> str:
    return f"p50 {statistics.median(times):.1f} ms, p99 {_p99(times):.1f} ms"


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


if __name__ == "__main__":
    main()
