"""The server on the device: under load, with streams, and with every kind of request."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections import Counter
from importlib.util import find_spec
from typing import Any

from benchmarks.gpu.figures import note
from benchmarks.gpu.server import Client, running_server, zh_sentences

_PAIR = {"source": "zh", "target": "en"}
_NEEDED = ("fastapi", "uvicorn", "websockets", "pydantic_settings")


def service(device: str) -> None:
    """Requests a second and their times with few and many clients, then every kind of request."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        note("service", left_out=f"not installed: {', '.join(missing)}")
        return
    seconds, crowds = (6.0, (1, 16, 128)) if device != "cpu" else (0.5, (1, 2))
    started = time.perf_counter()
    with running_server(device, "--cache-bytes", "0") as port:
        note("service start", seconds=time.perf_counter() - started)
        for num_clients in crowds:
            note("service", clients=num_clients, **_load(port, num_clients, seconds))
        _try_kinds(port)
        client = Client(port)
        lines = client.get("/metrics").splitlines()
        watched = ("dragoman_slots{", "dragoman_rows{", "dragoman_refused_paths{")
        note("service metrics", found=[line for line in lines if line.startswith(watched)])
        client.close()


def _load(port: int, num_clients: int, seconds: float) -> dict[str, object]:
    """Each client sends one sentence after the other."""
    taken: list[float] = []
    statuses: Counter[str] = Counter()
    texts, ends = zh_sentences(100), time.monotonic() + seconds

    def work(first: int) -> None:
        client = Client(port)
        number = first
        while time.monotonic() < ends:
            began = time.perf_counter()
            try:
                answer = client.post("/translate", q=texts[number % len(texts)], **_PAIR)
                statuses[str(answer["status"])] += 1
            except (OSError, ValueError) as error:
                statuses[type(error).__name__] += 1
                return
            taken.append(time.perf_counter() - began)
            number += 1
        client.close()

    threads = [threading.Thread(target=work, args=(7 * place,)) for place in range(num_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken.sort()
    return {
        "requests_per_second": len(taken) / seconds,
        "p50_ms": 1000 * statistics.median(taken) if taken else None,
        "p95_ms": 1000 * taken[int(0.95 * len(taken))] if taken else None,
        "answers": dict(statuses),
    }


def _try_kinds(port: int) -> None:
    """Whether each kind of request is answered as it should be."""
    client, text = Client(port), "图书馆在哪里？"
    plain = client.post("/translate", q=text, **_PAIR)
    found: dict[str, object] = {"plain": plain.get("translatedText")}
    kinds: dict[str, dict[str, object]] = {
        "greedy": {"beam_size": 1},
        "beam of 8": {"beam_size": 8},
        "sampling": {"temperature": 1.0, "seed": 3},
        "repetition": {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3},
        "alternatives": {"alternatives": 3},
        "details": {"details": True},
    }
    for name, options in kinds.items():
        found[name] = client.post("/translate", q=text, **_PAIR, **options)["status"]
    begun = client.post("/translate", q=text, target_prefix="And where", **_PAIR)
    found["prefix"] = str(begun.get("translatedText", begun)).startswith("And where")
    terms = [{"source": "图书馆", "target": "reading house"}]
    named = client.post("/translate", q=text, glossary=terms, **_PAIR)
    found["term"] = "reading house" in str(named.get("translatedText", named)).lower()
    following = client.post("/translate/next", q=text, prefix="Where is", k=3, **_PAIR)
    found["next words"] = len(following.get("words", ())) == 3
    events = client.events("/translate", q=text, **_PAIR)
    found["server-sent events"] = _is_whole(events, plain)
    found["first event ms"] = 1000 * events[0]["after"] if events else None
    found["websocket"] = _is_whole(_socket_messages(port, text), plain)
    client.close()
    note("service kinds", **found)


def _is_whole(messages: list[dict[str, Any]], plain: dict[str, Any]) -> bool:
    """Whether the pieces of a stream join to its end, and that is the plain answer."""
    *pieces, last = messages or [{}]
    joined = "".join(piece.get("text", "") for piece in pieces)
    return joined == last.get("translatedText") == plain.get("translatedText")


def _socket_messages(port: int, text: str) -> list[dict[str, Any]]:
    from websockets.sync.client import connect

    with connect(f"ws://127.0.0.1:{port}/translate/stream") as socket:
        socket.send(json.dumps({"id": 1, "q": text, **_PAIR}))
        messages: list[dict[str, Any]] = [json.loads(socket.recv(timeout=30))]
        while messages[-1]["type"] == "token":
            messages.append(json.loads(socket.recv(timeout=30)))
    return messages
