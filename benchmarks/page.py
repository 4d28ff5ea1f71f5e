"""The page in Chromium: first paint and size, a keystroke to its first new word at half load, and
what watching the batches costs the server. Server, load and browser share the machine, so it must
be quiet: the load averages are printed.

    python -m benchmarks.page                    # two minutes
    python -m benchmarks.page --only keystrokes  # one minute
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import uvloop
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.client import connected
from benchmarks.cpu import CpuSeconds
from benchmarks.keystrokes import INSTRUMENT, Wait, timeline, waits_of
from benchmarks.load import concurrent, offer
from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import URL, running_server
from tests.browser.conftest import CHROMIUM

_PAINT = """() => new Promise((resolve) => setTimeout(() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
  const all = [...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource')];
  const sum = (name) => all.reduce((total, entry) => total + entry[name], 0);
  resolve([paint, sum('transferSize'), sum('decodedBodySize'), all.length]);
}, 500))"""
_PACE_MILLISECONDS = 120.0, 400.0  # between two keys
_NUM_WATCHERS = 10  # because one is lost in the noise
_BATCHES_SECONDS, _NUMBERS_SECONDS = 0.25, 2.0  # as service/web/parts has them


def first_paints(browser: Browser, count: int) -> list[tuple[float, ...]]:
    """For each of so many new profiles: milliseconds, bytes sent, bytes decoded, requests."""
    found = []
    for _ in range(count):
        context = browser.new_context(locale="en-GB")
        page = context.new_page()
        page.goto(f"{URL}/")
        found.append(tuple(page.evaluate(_PAINT)))
        context.close()
    return found


async def throughput(texts: list[str]) -> float:
    """Sentences a second that 32 clients get together."""
    async with connected() as client:
        await concurrent(client, texts[:100], 32)
        return await concurrent(client, texts, 32)


@contextlib.contextmanager
def loaded(rate: float, seconds: float, seed: int) -> Iterator[None]:
    """So many requests a second from another thread meanwhile."""

    async def send() -> None:
        async with connected() as client:
            await offer(client, rate, seconds, seed)

    thread = threading.Thread(target=lambda: uvloop.run(send()))
    thread.start()
    time.sleep(0.5)
    yield
    thread.join()


def keystrokes(browser: Browser, texts: list[str], seconds: float) -> tuple[list[Wait], int]:
    """The waits of keys that are typed at a person's pace, and how many keys were typed; some
    change nothing."""
    page = browser.new_page(locale="en-GB")
    page.add_init_script(INSTRUMENT)
    page.goto(f"{URL}/?source=zh&target=en")
    page.locator("#source").fill("你好。")
    page.locator("#target .w").first.wait_for()
    page.evaluate("trace.length = 0")
    _type(page, texts, seconds)
    trace = page.evaluate("trace.filter(({kind}) => kind !== 'cancelled')")
    page.close()
    return waits_of(trace), sum(event["kind"] == "key" for event in trace)


def _type(page: Page, texts: list[str], seconds: float) -> None:
    rng, ends = random.Random(11), time.monotonic() + seconds
    for text in texts:
        page.locator("#source").fill("")
        page.wait_for_timeout(300)
        for character in text[:24]:
            if time.monotonic() > ends:
                return
            page.keyboard.type(character)
            page.wait_for_timeout(rng.uniform(*_PACE_MILLISECONDS))
    raise AssertionError("more texts are needed")


def watch(seconds: float) -> None:
    """Read the batches and numbers as often as so many open pages do."""
    with httpx.Client(base_url=URL) as client:
        ends = time.monotonic() + seconds
        next_numbers = 0.0
        while (now := time.monotonic()) < ends:
            client.get("/page/engine.json")
            if now >= next_numbers:
                client.get("/page/engine.txt")
                next_numbers = now + _NUMBERS_SECONDS / _NUM_WATCHERS
            time.sleep(_BATCHES_SECONDS / _NUM_WATCHERS)


def cost_of_watching(pid: int, rate: float, seconds: float, repeats: int) -> list[float]:
    """Cores that the server takes at this rate: unwatched, and watched by many, in turn."""
    shares: list[list[float]] = [[], []]
    for repeat in range(repeats):
        for is_watched in (False, True):
            with loaded(rate, seconds + 2, repeat):
                before, started = CpuSeconds.now(pid), time.monotonic()
                watch(seconds) if is_watched else time.sleep(seconds)
                took = time.monotonic() - started
                shares[is_watched].append(CpuSeconds.now(pid).since(before).server / took)
    return [statistics.median(some) for some in shares]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--only", choices=["paint", "keystrokes", "watching"])
    parser.add_argument("--seconds", type=float, default=40.0, help="of typing")
    parser.add_argument("--watch-seconds", type=float, default=8.0)
    arguments = parser.parse_args()
    parts = [arguments.only] if arguments.only else ["paint", "keystrokes", "watching"]
    print(f"load average {os.getloadavg()[0]:.1f} before", flush=True)
    with running_server(arguments.model) as server, _chromium() as browser:
        if "paint" in parts:
            print_paints(browser)
        if "keystrokes" in parts:
            print_keystrokes(browser, _half_of_most(), arguments.seconds)
        if "watching" in parts:
            print_watching(server.pid, _half_of_most(), arguments.watch_seconds)
    print(f"load average {os.getloadavg()[0]:.1f} after")


@contextlib.contextmanager
def _chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _half_of_most() -> float:
    """Half of the sentences a second that the server can do."""
    with ThreadPoolExecutor(1) as pool:  # playwright has an event loop in this thread
        return pool.submit(uvloop.run, throughput(real_sentences(600, 3))).result() / 2


def print_paints(browser: Browser) -> None:
    paints = zip(*first_paints(browser, 7), strict=True)
    paint, sent, decoded, requests = (statistics.median(values) for values in paints)
    print(f"first paint {paint:.0f} ms; {sent:.0f} bytes sent, {decoded:.0f} decoded,", end=" ")
    print(f"{requests:.0f} requests", flush=True)


def print_keystrokes(browser: Browser, rate: float, seconds: float) -> None:
    for name, own_rate in (("idle", 0.1), (f"{rate:.0f} sentences/s, half load", rate)):
        with loaded(own_rate, seconds + 8, 5):
            waits, count = keystrokes(browser, real_sentences(50, 7), seconds)
        totals = [wait.total for wait in waits]
        middle, high = percentile(totals, 50), percentile(totals, 95)
        print(f"keystroke to its first new word, {name}: p50 {middle:.0f} ms, p95", end=" ")
        print(f"{high:.0f} ms ({len(waits)} of {count} keys)")
        print(timeline(waits), flush=True)


def print_watching(pid: int, rate: float, seconds: float) -> None:
    alone, watched = cost_of_watching(pid, rate, seconds, 5)
    cost = (watched - alone) / _NUM_WATCHERS
    print(f"server at half load: {alone:.3f} cores, watched by {_NUM_WATCHERS} {watched:.3f}:")
    print(f"    {cost:.2%} of a core for each", flush=True)


if __name__ == "__main__":
    main()
