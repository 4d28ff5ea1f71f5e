"""What must not change however much is cancelled: memory, sockets, slots, translations.

1. 1,000 sentences sent at once in random order, with mixed options, give exactly the translations
   that they give one at a time.
2. After many cancelled requests memory and open files are where they were before.

    python -m benchmarks.cancelling --cancelled 100000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect

from benchmarks.sentences import ROOT, real_sentences
from benchmarks.server import URL, running_server

_OPTIONS: list[dict[str, Any]] = [
    {},
    {"beam_size": 1},
    {"beam_size": 2, "length_penalty": 0.6},
    {"temperature": 0.9, "top_p": 0.9, "seed": 7},
    {"beam_size": 3, "no_repeat_ngram_size": 3},
]
_ASKED_AT_ONCE = 50


async def ask(client: httpx.AsyncClient, fields: dict[str, Any]) -> str:
    """-> the translation."""
    response = await client.post("/translate", json=fields)
    response.raise_for_status()
    return str(response.json()["translatedText"])


async def same_alone_and_together(count: int) -> int:
    """-> how many of the translations differ."""
    rng = random.Random(5)
    requests = [
        {"q": text, "source": "zh", "target": "en", **rng.choice(_OPTIONS)}
        for text in real_sentences(count, seed=6)
    ]
    limits = httpx.Limits(max_connections=count)
    async with httpx.AsyncClient(base_url=URL, timeout=600, limits=limits) as client:
        together = await asyncio.gather(*(ask(client, fields) for fields in requests))
        alone = [await ask(client, fields) for fields in requests]
    return sum(a != b for a, b in zip(together, alone, strict=True))


async def cancel(count: int) -> None:
    """Ask and cancel over one websocket, some at once, some after their first piece."""
    texts = real_sentences(_ASKED_AT_ONCE, seed=8)
    async with connect(URL.replace("http", "ws") + "/translate/stream") as socket:
        for first in range(0, count, _ASKED_AT_ONCE):
            ids = range(first, min(first + _ASKED_AT_ONCE, count))
            for number, text in zip(ids, texts, strict=False):
                fields = {"id": number, "q": text, "source": "zh", "target": "en"}
                await socket.send(json.dumps(fields))
            for number in ids:
                await socket.send(json.dumps({"id": number, "cancel": True}))
            ended = 0
            while ended < len(ids):
                message = json.loads(await socket.recv())
                ended += message["type"] != "token" and message.get("code") != "unknown_id"


def resources(pid: int) -> tuple[float, int]:
    """Resident memory in MiB, and open files."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    kibibytes = next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
    return kibibytes / 1024, len(list(Path(f"/proc/{pid}/fd").iterdir()))


def busy() -> float:
    """Sentences that run or wait."""
    lines = httpx.get(f"{URL}/metrics").text.splitlines()
    names = ("dragoman_running{", "dragoman_waiting{")
    return sum(float(line.split()[-1]) for line in lines if line.startswith(names))


async def measure(pid: int, cancelled: int, concurrent: int) -> None:
    different = await same_alone_and_together(concurrent)
    print(f"{different} of {concurrent} translations differ alone and together", flush=True)
    await cancel(cancelled // 20)
    before = resources(pid)
    await cancel(cancelled)
    await asyncio.sleep(1)
    after = resources(pid)
    print(f"before {before[0]:.0f} MiB, {before[1]} files; after {cancelled} cancelled requests")
    print(f"       {after[0]:.0f} MiB, {after[1]} files; {busy():g} sentences run or wait")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--cancelled", type=int, default=100_000)
    parser.add_argument("--concurrent", type=int, default=1000)
    arguments = parser.parse_args()
    with running_server(arguments.model) as server:
        asyncio.run(measure(server.pid, arguments.cancelled, arguments.concurrent))


if __name__ == "__main__":
    main()
