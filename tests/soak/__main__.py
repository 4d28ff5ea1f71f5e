"""An hour of mixed load over every API: is anything lost, wrong or leaked?

Answers are compared with those of the idle server. Needs Linux.

    python -m tests.soak --minutes 60
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import operator
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.provenance import commit
from benchmarks.sentences import ROOT, percentile
from benchmarks.server import BIN, HOST, PORT, URL, memory_mib, running
from tests.service.documents.samples import SAMPLES, pdf

RIGHT, REFUSED, LEFT = "right", "refused with 503", "left on purpose"
FAILURES = LOST, WRONG, UNEXPECTED = "lost", "wrong", "unexpected"
Fields = dict[str, Any]
PAIRS: list[Fields] = [{"source": c, "target": "en"} for c in ("zh", "de")]
PAIRS += [{"source": "en", "target": c} for c in ("zh", "de")] + [{"source": "zh", "target": "de"}]
OPTIONS: list[Fields] = [{"beam_size": 8, "alternatives": 3}, {"temperature": 0.9, "seed": 7}]
OPTIONS += [{"beam_size": 3, "no_repeat_ngram_size": 3, "repetition_penalty": 1.1}]
TERMS = [{"source": "library", "target": "Bücherei"}, {"source": "dog", "target": "Köter"}]
BAD: dict[int, Fields] = {400: {"target": "xx"}, 422: {"beam_size": 1000}, 504: {"deadline_ms": 1}}
BAD |= {404: {"glossary": "none-such"}, 413: {"q": "a" * 30_000}}
FILES = {**SAMPLES, "a.pdf": pdf("Where is the library?")}
SERVER = ["dragoman", "serve", "--port", str(PORT), "--api-keys", "required"]
SERVER += ["--log-format", "json", "--log-level", "warning"]
SERVER += ["--cache-bytes", "4000000", "--max-waiting-sentences", "512"]
ENGINES = ("running", "rows_used", "set_aside", "waiting", "open_streams", "engine_restarts_total")
SHARES: Fields = {"short": 30, "json": 30, "counted": 4, "events": 8, "websocket": 4, "leave": 4}
SHARES |= {"other_api": 14, "look_around": 3, "bad_input": 2, "file": 1, "glossary": 0.5}
CLIENTS, SPIKE_CLIENTS, PAUSE_SECONDS = 48, 480, 0.25
PATIENCE_SECONDS, SAMPLE_SECONDS, QUIET_SECONDS = 120.0, 5.0, 60.0
CONNECT = functools.partial(httpx.AsyncClient, base_url=URL, limits=httpx.Limits(), timeout=None)
Case = tuple[Fields, Any, list[str]]  # what is asked, the answer expected, and the stream's texts
Promise = tuple[str, str, bool]  # what must hold, what was seen, whether it holds


def make_fields(count: int) -> dict[str, list[Fields]]:
    """What is asked, by kind; always the same."""
    rng, data = random.Random(1), ROOT / "tests" / "data"
    texts = {c: (data / f"sentences.{c}.txt").read_text("utf-8").splitlines() for c in ("zh", "en")}
    rows = [line.split("\t") for line in (data / "first_words.tsv").read_text("utf-8").splitlines()]
    texts["de"] = [text for language, _, text, *_ in rows if language == "de"]

    def some(code: str, most: int = 2) -> str:
        return " ".join(rng.choices(texts[code], k=most))

    makers: dict[str, Callable[[str], Fields]] = {
        "short": lambda code: {"q": rng.choice(texts[code])[:40]},
        "text": lambda code: {"q": f"{some(code)}\n\n{some(code, rng.randint(1, 6))}"},
        "list": lambda code: {"q": [some(code) for _ in range(rng.randint(3, 10))]},
        "options": lambda code: {"q": some(code), **rng.choice(OPTIONS)},
        "html": lambda code: {"q": f"<p>{some(code)}<b>{some(code)}</b></p>", "format": "html"},
        "auto": lambda code: {"q": some(code, 6), "source": "auto"},
        "terms": lambda _: {"q": "My dog!", "source": "en", "target": "de", "glossary": TERMS},
    }
    pairs = rng.choices(PAIRS, k=count)
    return {kind: [{**p, **make(p["source"])} for p in pairs] for kind, make in makers.items()}


def other_apis(q: str, source: str, target: str) -> list[tuple[Fields, Sequence[str | int]]]:
    """How a text is asked, and where its translation is in the answer."""
    languages = {"source": source, "target": target}
    codes, plain = {f"{k}_lang": v for k, v in languages.items()}, {"Content-Type": "text/plain"}
    google = {"url": "/language/translate/v2", "json": {"q": q, **languages, "format": "text"}}
    return [
        ({"url": "/translate", "data": {"q": q, **languages}}, ["translatedText"]),
        ({"url": "/translate", "params": languages, "content": q.encode(), "headers": plain}, []),
        ({"url": "/v2/translate", "json": {"text": [q], **codes}}, ["translations", 0, "text"]),
        (google, ["data", "translations", 0, "translatedText"]),
        ({"url": "/immersive", "json": {"text_list": [q], **codes}}, ["translations", 0, "text"]),
    ]


class Refused(Exception):
    """A full server said so."""


def streamed(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of the last message, or what those before it join to. Raises Refused."""
    if messages[-1].get("code") == "overloaded":
        raise Refused
    found = messages[-1]["translatedText"]
    texts = [found] if isinstance(found, str) else found
    joined = [""] * len(texts)
    for message in messages[:-1]:
        joined[message.get("index") or 0] += message["text"]
    return texts if joined == texts else joined


class Server:
    """A server with both bundled models, keys and a database in a directory."""

    def __init__(self, directory: Path) -> None:
        self.database, self.log = directory / "server.db", directory / "log"
        self.key, self.counted_key = (self._keys("create") for _ in range(2))
        self._stack = contextlib.ExitStack()
        log = self._stack.enter_context(self.log.open("ab"))
        command = [*SERVER, "--database", str(self.database)]
        self.popen = self._stack.enter_context(running(command, "/health/ready", log=log))
        self.process = psutil.Process(self.popen.pid)

    def stop(self) -> int:
        """SIGTERM -> the exit code."""
        self._stack.close()
        return self.popen.wait()

    def _keys(self, what: str) -> str:
        command = [str(BIN / "dragoman"), "keys", what, "--database", str(self.database)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def num_counted(self) -> int:
        """Requests of the counted key in the database."""
        lines = self._keys("list").splitlines()
        line = next(line for line in lines if self.counted_key.split("_")[1] in line)
        return int(line.partition("requests_this_month=")[2].split()[0])

    def sample(self) -> dict[str, float]:
        """What the processes hold, and their engines."""
        lines = httpx.get(f"{URL}/metrics", timeout=PATIENCE_SECONDS).text.splitlines()
        engines = {
            name: sum(float(one.split()[-1]) for one in lines if one.startswith(f"dragoman_{name}"))
            for name in ENGINES
        }
        processes = [self.process, *self.process.children()]
        held = {
            "descriptors": sum(process.num_fds() for process in processes),
            "threads": sum(process.num_threads() for process in processes),
        }
        return {"mib": memory_mib(self.popen.pid)[0], **held, **engines}


class Clients:
    """What clients ask a server, and how their visits ended."""

    def __init__(self, server: Server) -> None:
        self.server, self.rng = server, random.Random(2)
        self._http, self.files = CONNECT(), dict[str, bytes]()
        self.cases: dict[str, list[Case]] = {}
        self.counts, self.problems = Counter[str](), list[str]()
        self.short_ms, self.number = list[float](), 0

    async def prepare(self, count: int) -> None:
        """Ask for everything once, one after the other: later answers must equal these. A stream
        has its own, since what it has sent stays where an answer is mended."""
        for kind, asked in make_fields(count).items():
            answers = [(await self.send(url="/translate", json=one)).json() for one in asked]
            streams = [await self.stream(one) for one in asked]
            self.cases[kind] = list(zip(asked, answers, streams, strict=True))
        self.files = {name: await self.translated_file(name) for name in FILES}

    async def send(
        self, method: str = "POST", key: str = "", status: int = 200, **given: Any
    ) -> httpx.Response:
        """An answer with this status. Raises Refused, ValueError, httpx.TransportError."""
        bearer = {"Authorization": f"Bearer {key or self.server.key}"}
        given["headers"] = given.get("headers", {}) | bearer
        answer = await self._http.request(method, **given)
        if answer.status_code != status:
            raise Refused if answer.status_code == 503 else ValueError(f"{answer} {answer.text}")
        return answer

    async def stream(self, fields: Fields) -> list[str]:
        """The texts of server-sent events."""
        accept = {"Accept": "text/event-stream"}
        answer = await self.send(url="/translate", json=fields, headers=accept)
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
        return streamed(list(map(json.loads, lines)))

    def case(self, *kinds: str) -> Case:
        return self.rng.choice(self.cases[self.rng.choice(kinds or list(self.cases))])

    def compare(self, what: object, got: object, expected: object) -> str:
        if got != expected:
            self.problems.append(f"{what!r} gave {got!r}, not {expected!r}"[:800])
        return RIGHT if got == expected else WRONG

    async def visit(self, name: str) -> str:
        """Do what the method of that name does -> how it ended, which is counted."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                result: str = await getattr(self, name)()
        except Refused:
            result = REFUSED
        except Exception as error:
            is_lost = isinstance(error, OSError | httpx.TransportError | WebSocketException)
            result = LOST if is_lost else UNEXPECTED
            self.problems.append(f"{name}: {error!r}")
        self.counts[f"{name}: {result}"] += 1
        if (name, result) == ("short", RIGHT):
            self.short_ms.append(round((time.perf_counter() - started) * 1000, 1))
        return result

    def total(self, result: str) -> int:
        return sum(n for name, n in self.counts.items() if name.endswith(f": {result}"))

    async def come(self, shares: Fields, number: int, pause: float, seconds: float) -> None:
        """So many clients; each waits for its answer, and then for `pause` seconds on average."""
        self.number, ends = number, time.monotonic() + seconds

        async def keep_coming() -> None:
            while time.monotonic() < ends:
                await asyncio.sleep(self.rng.uniform(0, 2 * pause))
                await self.visit(self.rng.choices(list(shares), list(shares.values()))[0])

        await asyncio.gather(*(keep_coming() for _ in range(number)))

    async def gone(self, most_descriptors: float = 1e9) -> dict[str, float]:
        """What the server holds without clients, once it is empty, or after a minute."""
        await self._http.aclose()
        self._http = CONNECT()
        for _ in range(int(2 * QUIET_SECONDS)):
            await asyncio.sleep(0.5)
            held = self.server.sample()
            if held["descriptors"] <= most_descriptors and not any(held[name] for name in ENGINES):
                break
        return held

    async def json(self, *kinds: str, key: str = "") -> str:
        fields, expected, _ = self.case(*kinds)
        got = (await self.send(url="/translate", json=fields, key=key)).json()
        return self.compare(fields, got, expected)

    async def short(self) -> str:
        return await self.json("short")

    async def counted(self) -> str:
        return await self.json("short", key=self.server.counted_key)

    async def other_api(self) -> str:
        fields, expected, _ = self.case("short", "text")
        given, path = self.rng.choice(other_apis(**fields))
        answer = await self.send(**given)
        got = functools.reduce(operator.getitem, path, answer.json()) if path else answer.text
        return self.compare(given, got, expected["translatedText"])

    async def events(self) -> str:
        fields, _, expected = self.case()
        return self.compare(fields, await self.stream(fields), expected)

    async def websocket(self) -> str:
        """Three requests at once; a fourth is cancelled."""
        cases, messages = [self.case() for _ in range(4)], [list[Fields]() for _ in range(4)]
        headers = {"Authorization": f"Bearer {self.server.key}"}
        url = f"ws://{HOST}:{PORT}/translate/stream"
        async with connect(url, additional_headers=headers, compression=None) as opened:
            for number, (fields, *_) in enumerate(cases):
                await opened.send(json.dumps({"id": number, **fields}))
            await opened.send('{"id": 3, "cancel": true}')
            while any(not some or some[-1]["type"] == "token" for some in messages):
                message = json.loads(await opened.recv())
                messages[message["id"]].append(message)
        got = [streamed(some) for some in messages[:3]]
        return self.compare("websocket", got, [expected for *_, expected in cases[:3]])

    async def leave(self) -> str:
        """Hang up at any moment."""
        visit = self.rng.choice((self.json, self.events, self.file))()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(visit, self.rng.uniform(0, 0.05))
        return LEFT

    async def translated_file(self, name: str) -> bytes:
        """As LibreTranslate's clients do."""
        data, files = {"source": "en", "target": "de"}, {"file": (name, FILES[name])}
        made = (await self.send(url="/translate_file", data=data, files=files)).json()
        return (await self.send("GET", url=made["translatedFileUrl"])).content

    async def file(self) -> str:
        """As LibreTranslate's clients do, or as DeepL's."""
        name = self.rng.choice(list(SAMPLES))
        if self.rng.random() < 0.5:
            return self.compare(name, await self.translated_file(name), self.files[name])
        data, files = {"source_lang": "EN", "target_lang": "DE"}, {"file": (name, FILES[name])}
        made = (await self.send(url="/v2/document", data=data, files=files)).json()
        url = f"/v2/document/{made['document_id']}"
        while (told := (await self.send(url=url, json=made)).json())["status"] != "done":
            assert told["status"] in ("queued", "translating"), told
            await asyncio.sleep(0.1)
        found = (await self.send(url=f"{url}/result", json=made)).content
        return self.compare(name, found, self.files[name])

    async def glossary(self) -> str:
        """Make one and remove it."""
        entries = [{"source": f"term {n}", "target": "x" * 100} for n in range(500)]
        url, fields = f"/glossaries/{self.rng.randrange(10**9)}", {"source": "en", "target": "de"}
        await self.send("PUT", url=url, json={**fields, "entries": entries}, status=201)
        await self.send("DELETE", url=url, status=204)
        return RIGHT

    async def look_around(self) -> str:
        """What pages read, a detection, and next words."""
        paths = ("/", "/languages", "/frontend/settings", "/page/engine.json", "/v2/usage")
        await self.send("GET", url=self.rng.choice(paths))
        found = (await self.send(url="/detect", json={"q": "Wo ist die Bibliothek?"})).json()
        fields = {"q": "The house is big.", "source": "en", "target": "de", "prefix": "Das"}
        words = (await self.send(url="/translate/next", json=fields)).json()["words"]
        return self.compare("look", (found[0]["language"], words[0]["text"]), ("de", " Haus"))

    async def bad_input(self) -> str:
        """What no server can answer."""
        q = f"It is far to house {self.rng.randrange(10**9)}. " * 200
        status, bad = self.rng.choice(list(BAD.items()))
        await self.send(url="/translate", json={**PAIRS[0], "q": q, **bad}, status=status)
        return RIGHT


def checks(clients: Clients, first: Fields, last: Fields) -> Iterator[Promise]:
    """What must hold after any load; `first` and `last`: samples without clients."""
    totals = {end: clients.total(end) for end in (RIGHT, REFUSED, LEFT, *FAILURES)}
    seen = ", ".join(f"{number:,} {end}" for end, number in totals.items() if number)
    is_well = not any(totals[end] for end in FAILURES)
    print(*clients.problems[:9], sep="\n", file=sys.stderr)
    yield "no request is lost, answered wrongly, or with a status that was not meant", seen, is_well
    for name, spare in (("descriptors", 0), ("threads", 8)):  # pools start threads when needed
        seen = f"{first[name]}, after the last client {last[name]}"
        yield f"no more {name}", seen, last[name] <= first[name] + spare
    left = {name: last[name] for name in ENGINES if last[name]}
    yield "nothing is left in the engines, and none died", f"{left or 'nothing'}", not left


def trends(records: Sequence[Fields]) -> Iterator[Promise]:
    """The second sixth of the load beside the last; the first warms up."""
    loaded = [one for one in records if one["clients"] == CLIENTS]
    sixth = len(loaded) // 6
    parts = loaded[sixth : 2 * sixth], loaded[-sixth:]
    early, late = (statistics.median(one["mib"] for one in part) for part in parts)
    seen = f"{early:.0f} MiB, at the end {late:.0f} MiB: {late / early - 1:+.1%}"
    yield "resident memory grows by 5 % at most", seen, late <= 1.05 * early
    early, late = (percentile([ms for one in part for ms in one["short_ms"]], 99) for part in parts)
    seen = f"{early:.0f} ms, at the end {late:.0f} ms"
    yield "p99 of short texts grows by half at most", seen, late <= 1.5 * early


async def keep_sampling(clients: Clients, records: list[Fields]) -> None:
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        held = await asyncio.to_thread(clients.server.sample)
        records.append({**held, "clients": clients.number, "short_ms": clients.short_ms})
        clients.short_ms = []


async def soak(minutes: float, directory: Path) -> list[Promise]:
    """Load, in the middle a spike of half a minute, and what is left after the last client."""
    server, records = Server(directory), list[Fields]()
    clients = Clients(server)
    await clients.prepare(200)
    first, sampling = await clients.gone(), asyncio.create_task(keep_sampling(clients, records))
    await clients.come(SHARES, CLIENTS, PAUSE_SECONDS, 30 * minutes)
    await clients.come(SHARES, SPIKE_CLIENTS, 0, min(30, 6 * minutes))
    await clients.come(SHARES, CLIENTS, PAUSE_SECONDS, 30 * minutes)
    sampling.cancel()
    last = await clients.gone(first["descriptors"])
    code, counted = server.stop(), server.num_counted()
    lines, answered = server.log.read_text().splitlines(), clients.counts[f"counted: {RIGHT}"]
    errors = [line for line in lines if '"level":"warning"' not in line]
    seen = f"{answered} answers, {counted} in the database"
    usage = ("usage counts each answer once", seen, answered == counted)
    end = ("the end is clean", f"exit code {code}, errors {errors[:1]}", not code and not errors)
    return [*checks(clients, first, last), *trends(records), usage, end]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        promises = asyncio.run(soak(given.minutes, Path(root)))
    print(f"commit {commit()}\n\n| promise | seen | holds |\n|---|---|---|")
    for words, seen, holds in promises:
        print(f"| {words} | {seen} | {'yes' if holds else 'NO'} |")
    sys.exit(not all(holds for *_, holds in promises))


if __name__ == "__main__":
    main()
