"""The server on the device in one process and in several: front ends beside one engine.

The other processes of the machine are what loads it: with sixteen cores, four load generators.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.closed_loop import closed_loops
from benchmarks.gpu.figures import note
from benchmarks.gpu.server import Client, ServerFailed, running_server
from benchmarks.sentences import real_sentences

_SECONDS = 2.0
_ONE = ("--one-process", "true")
_WATCHED = (
    *("dragoman_slots{", "dragoman_step_rows_sum", "dragoman_step_rows_count"),
    *("dragoman_decode_step_seconds_sum", "dragoman_encode_seconds_sum"),
)


def processes(device: str) -> None:
    """Requests a second by engines + front ends, clients and beam; the most telling first."""
    cases: dict[str, Sequence[str]] = {}
    for engines, front_ends in ((1, 8), (1, 4), (2, 8), (1, 2)) if device != "cpu" else ((1, 2),):
        counts = ("--engines", str(engines), "--front-ends", str(front_ends))
        cases[f"{engines} + {front_ends}"] = counts
    cases["one process"] = _ONE
    for name, arguments in cases.items():
        started = time.perf_counter()
        try:
            with running_server(device, *arguments) as port:
                note("processes start", case=name, seconds=time.perf_counter() - started)
                _load(name, device, port)
        except ServerFailed as error:
            note("processes", case=name, failed=str(error)[-1500:])


def _load(name: str, device: str, port: int) -> None:
    texts = real_sentences(300, seed=3)
    crowds = ((64, 1), (1024, 1), (256, 4), (256, 1)) if device != "cpu" else ((8, 1),)
    generators = max(1, len(os.sched_getaffinity(0)) // 4)
    for clients, beam in crowds:
        run = closed_loops(texts, clients, beam, _SECONDS, port, generators)
        note("processes", case=name, clients=clients, beam=beam, **asdict(run))
    client = Client(port)
    lines = client.get("/metrics").splitlines()
    client.close()
    note("processes metrics", case=name, found=[x for x in lines if x.startswith(_WATCHED)])
