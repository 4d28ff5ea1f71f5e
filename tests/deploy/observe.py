"""The real Prometheus against the real server under load: `make observe-test`.

Checks configuration, rules and their unit tests with promtool, then lets Prometheus scrape the
server for half a minute and asks its API whether rules and dashboard give sensible numbers. Needs
Debian's package `prometheus`, or the programs `prometheus` and `promtool` from anywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from benchmarks.sentences import ROOT, real_sentences
from benchmarks.server import PORT, URL, running_server

_PROMETHEUS_PORT = 9191
_API = f"http://127.0.0.1:{_PROMETHEUS_PORT}"
_LOAD_SECONDS = 30
_CONFIGURATION = ROOT / "deploy" / "prometheus"
_EXPECTED: dict[str, tuple[float, float]] = {
    'up{job="dragoman"}': (1, 1),
    "dragoman_ready": (1, 1),
    'sum(dragoman:requests:rate5m{endpoint="/translate", outcome="ok"})': (0.5, 1000),
    "dragoman:errors:ratio5m": (0, 0),
    "dragoman:overloaded:ratio5m": (0, 0),
    "dragoman:request_seconds:p50": (0.0005, 1),
    "dragoman:request_seconds:p95 >= dragoman:request_seconds:p50": (0.0005, 2),
    "dragoman:request_seconds:p99 >= dragoman:request_seconds:p95": (0.0005, 5),
    'dragoman:target_tokens:rate5m{model="zh-en"}': (5, 1e6),
    'dragoman:source_tokens:rate5m{model="zh-en"}': (5, 1e6),
    'dragoman:busy:ratio5m{model="zh-en"}': (0.01, 1.1),
    'dragoman:rows_used:ratio{model="zh-en"}': (0, 1),
    'dragoman:loops:ratio5m{model="zh-en"}': (0, 0.2),
    'count(ALERTS{alertstate="firing"}) or vector(0)': (0, 0),
}


def main() -> None:
    for program in ("prometheus", "promtool"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not installed; Debian has it as package prometheus")
    check_files()
    with (
        tempfile.TemporaryDirectory() as directory,
        running_server(ROOT / "checkpoints" / "zh-en"),
        running_prometheus(Path(directory)),
    ):
        asyncio.run(load(_LOAD_SECONDS))
        failed = [query for query in _EXPECTED if not is_sensible(query)]
        failed += unknown_queries()
    if failed:
        raise SystemExit(f"{len(failed)} queries gave no sensible answer: {'; '.join(failed)}")


def check_files() -> None:
    rules = [str(_CONFIGURATION / name) for name in ("rules.yml", "alerts.yml")]
    unit_tests = str(ROOT / "tests" / "deploy" / "rules_test.yml")
    configuration = str(_CONFIGURATION / "prometheus.yml")
    for command in (
        ["check", "config", configuration],
        ["check", "rules", *rules],
        ["test", "rules", unit_tests],
    ):
        subprocess.run(["promtool", *command], check=True)


@contextlib.contextmanager
def running_prometheus(directory: Path) -> Iterator[None]:
    """With the committed configuration, but our server as its target and scraped each second."""
    for name in ("rules.yml", "alerts.yml"):
        shutil.copy(_CONFIGURATION / name, directory)
    configuration = yaml.safe_load((_CONFIGURATION / "prometheus.yml").read_text(encoding="utf-8"))
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{PORT}"]}]
    path = directory / "prometheus.yml"
    path.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    command = ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={directory / 'data'}"]
    command.append(f"--web.listen-address=127.0.0.1:{_PROMETHEUS_PORT}")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not _is_ready():
            if process.poll() is not None:
                raise SystemExit(f"prometheus ended with code {process.returncode}")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def _is_ready() -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{_API}/-/ready").status_code == 200
    return False


async def load(seconds: float) -> None:
    """Eight clients, a sentence at a time; one in ten streams."""
    ends = time.monotonic() + seconds
    numbered = enumerate(itertools.cycle(real_sentences(1000, seed=1)))

    async def work(client: httpx.AsyncClient) -> None:
        while time.monotonic() < ends:
            number, text = next(numbered)
            body = {"q": text, "source": "zh", "target": "en"}
            accept = {"Accept": "text/event-stream"} if number % 10 == 0 else {}
            (await client.post("/translate", json=body, headers=accept)).raise_for_status()

    async with httpx.AsyncClient(base_url=URL, timeout=60) as client:
        await asyncio.gather(*(work(client) for _ in range(8)))


def answers(query: str) -> list[float]:
    response = httpx.get(f"{_API}/api/v1/query", params={"query": query})
    data: dict[str, Any] = response.raise_for_status().json()
    return [float(result["value"][1]) for result in data["data"]["result"]]


def is_sensible(query: str) -> bool:
    """Whether there is an answer and all of it lies between the bounds."""
    low, high = _EXPECTED[query]
    values = answers(query)
    print(f"{query} = {', '.join(f'{value:.4g}' for value in values) or 'nothing'}")
    return bool(values) and all(low <= value <= high for value in values)


def unknown_queries() -> list[str]:
    """Queries of the dashboard that Prometheus refuses or has nothing for.

    Nothing was given up under this load, so that there is nothing to show for its causes.
    """
    dashboard = json.loads((ROOT / "deploy" / "grafana" / "dashboard.json").read_text("utf-8"))
    expressions = [t["expr"] for panel in dashboard["panels"] for t in panel["targets"]]
    concrete = [e.replace("$job", ".*").replace("$model", ".*") for e in expressions]
    return [e for e in concrete if "cancelled" not in e and not answers(e)]


if __name__ == "__main__":
    main()
