"""The server on the device: under load, with streams, and with every kind of request."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from benchmarks.closed_loop import closed_loop
from benchmarks.gpu.figures import note
from benchmarks.gpu.server import Client, running_server
from benchmarks.sentences import real_sentences

_PAIR = {"source": "zh", "target": "en"}
_NEEDED = ("fastapi", "uvicorn", "websockets", "pydantic_settings")
_WATCHED = (
    *("dragoman_slots{", "dragoman_rows{", "dragoman_refused_paths{"),
    *("dragoman_step_rows_sum", "dragoman_step_rows_count"),
    *("dragoman_decode_step_seconds_sum", "dragoman_encode_seconds_sum"),
)


def service(device: str) -> None:
    """Requests a second and their times with few and many clients, then every kind of request."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        note("service", left_out=f"not installed: {', '.join(missing)}")
        return
    started = time.perf_counter()
    with running_server(device) as port:
        note("service start", seconds=time.perf_counter() - started)
        _try_kinds(port)
        _load(device, port)
        client = Client(port)
        lines = client.get("/metrics").splitlines()
        note("service metrics", found=[line for line in lines if line.startswith(_WATCHED)])
        client.close()


def _load(device: str, port: int) -> None:
    """One sentence after the other; crowds are for `processes`."""
    texts = real_sentences(300, seed=3)
    seconds, crowds = (2.0, (1,)) if device != "cpu" else (0.5, (2,))
    for beam in (1, 4):
        for clients in crowds:
            closed_loop(texts, clients, beam, seconds / 4, [port])
            run = closed_loop(texts, clients, beam, seconds, [port])
            note("service", clients=clients, beam=beam, **asdict(run))


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
