"""Dockerfile, compose files, rules and dashboard agree with the project and with each other.

The image itself is tested by `make container-test`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.http.route_table import PATHS
from service.http.routes import websocket
from service.observability.metrics import Metrics
from service.server import _SHUTDOWN_SECONDS
from service.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COPIED = [
    source
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    for source in line.split()[:-1]
]


@pytest.fixture(scope="module", params=["compose.yaml", "compose.gpu.yaml"])
def compose(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The services as Docker Compose itself reads them, alone and with the GPU's file over them."""
    command = [str(Path(sys.executable).parent / "docker-compose")]
    for name in dict.fromkeys(["compose.yaml", request.param]):
        command += ["--file", str(DEPLOY / name)]
    result = subprocess.run([*command, "config", "--format=json"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    services: dict[str, Any] = json.loads(result.stdout)["services"]
    return services


@pytest.mark.parametrize("path", COPIED)
def test_whatever_is_copied_exists_and_is_not_ignored(path: str) -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert (ROOT / path).exists()
    assert f"!{path}" in lines


def test_every_variable_of_the_server_is_a_setting(compose: dict[str, Any]) -> None:
    named = set(re.findall(r"DRAGOMAN_(\w+)", DOCKERFILE + json.dumps(compose)))
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_a_server_that_is_given_a_gpu_does_not_serve_without_it(compose: dict[str, Any]) -> None:
    """Where PyTorch cannot use the GPU, auto would serve on the CPU."""
    server = compose["dragoman"]
    reserved = server.get("deploy", {}).get("resources", {}).get("reservations", {})
    device = server.get("environment", {}).get("DRAGOMAN_DEVICE")
    assert device == ("cuda" if "devices" in reserved else None)


def test_stopping_waits_until_the_server_has_drained(compose: dict[str, Any]) -> None:
    server = compose["dragoman"]
    drain = float(server["environment"]["DRAGOMAN_DRAIN_SECONDS"])
    assert float(server["stop_grace_period"].rstrip("s")) > drain + _SHUTDOWN_SECONDS


def test_the_unit_waits_longer_than_the_server_drains() -> None:
    unit = (DEPLOY / "dragoman.service").read_text(encoding="utf-8")
    found = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert found
    assert int(found[1]) > Settings().drain_seconds
    assert re.search(r"^ExecStart=\S+ serve$", unit, re.MULTILINE), "a flag wins over the settings"
    assert {"CacheDirectory=dragoman", "RestartPreventExitStatus=2"} <= set(unit.splitlines())


def test_the_proxy_takes_a_form_with_the_largest_document() -> None:
    found = re.search(r"client_max_body_size (\d+)m;", (DEPLOY / "nginx.conf").read_text("utf-8"))
    assert found
    assert int(found[1]) * 2**20 > Settings().max_document_bytes + 2**16


def test_prometheus_and_grafana_find_whom_they_ask(compose: dict[str, Any]) -> None:
    scraped = _yaml("prometheus/prometheus.yml")["scrape_configs"][0]["static_configs"]
    asked = _yaml("grafana/provisioning/datasources/prometheus.yml")["datasources"][0]["url"]
    for address in (scraped[0]["targets"][0], asked.removeprefix("http://")):
        service, port = address.split(":")
        assert int(port) in [published["target"] for published in compose[service]["ports"]]


def _yaml(path: str) -> Any:
    return yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))


def names(lines: list[str]) -> set[str]:
    """The normalised names of the packages in requirements."""
    found = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in found if name}


def test_the_image_gets_every_package_that_the_server_needs() -> None:
    """It installs them without their dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = names([*project["dependencies"], *extras["otel"], *extras["redis"]])
    locked = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert needed <= names([line for line in locked if "==" in line])


def test_the_image_is_built_with_locked_packages() -> None:
    """pip would get the newest ones for an isolated build."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    locked = (ROOT / "deploy" / "build-requirements.txt").read_text(encoding="utf-8").splitlines()
    assert names(build["requires"]) == names([line for line in locked if "==" in line])
    commands = re.findall(r"bin/pip [^&;\n]*", DOCKERFILE.replace("\\\n", ""))
    options = ("--require-hashes", "--no-build-isolation", "--no-index", "/torch.txt")
    assert commands
    assert [one for one in commands if not any(option in one for option in options)] == []


RULES: dict[str, Any] = {name: _yaml(f"prometheus/{name}") for name in ("rules.yml", "alerts.yml")}
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text("utf-8"))
NAME = re.compile(r"(?<![\w:$\"])(?:(?:dragoman|process)[_:][a-z0-9_:]+|up\b)")


def rules(name: str) -> Iterator[dict[str, Any]]:
    for group in RULES[name]["groups"]:
        yield from group["rules"]


def queries() -> Iterator[tuple[str, str]]:
    for name in RULES:
        for rule in rules(name):
            yield rule.get("record") or rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        yield variable["name"], variable.get("definition", "dragoman_ready")


def existing() -> set[str]:
    """Series of every metric that the server has or Prometheus records."""
    families = [f for f in Metrics().registry.collect() if f.name.startswith("dragoman_")]
    endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}
    exported = {f.name + end for f in families for end in endings[f.type]}
    recorded = {rule["record"] for rule in rules("rules.yml")}
    return exported | recorded | {"process_resident_memory_bytes", "up"}


@pytest.mark.parametrize(("where", "expression"), list(queries()))
def test_every_query_names_what_exists(where: str, expression: str) -> None:
    named = set(NAME.findall(expression))
    assert named
    assert named <= existing()


@pytest.mark.parametrize(("where", "expression"), list(queries()))
def test_a_query_about_translating_covers_every_api_and_nothing_else(
    where: str, expression: str
) -> None:
    translating = {*PATHS.work, websocket.PATH}
    for pattern in re.findall(r'endpoint=~"([^"]*)"', expression):
        matched = {path for path in PATHS.named | translating if re.fullmatch(pattern, path)}
        assert matched == translating


RECORDED: dict[str, str] = {rule["record"]: rule["expr"] for rule in rules("rules.yml")}


def differing(expression: str) -> set[str]:
    """The labels in which the series of an expression differ, besides the job that is chosen."""
    expression = RECORDED.get(expression.partition("{")[0], expression)
    grouped = re.findall(r"(?:sum|avg|min|max)(?: by \(([^)]*)\))? ?\(", expression)
    labels = grouped[0].split(", ") if grouped else ["instance", "process"]
    return {label for label in labels if label} - {"job", "le"}


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_no_two_series_of_a_panel_have_one_name(panel: dict[str, Any]) -> None:
    """A server has several processes, each with its gauges, and several servers may be asked."""
    for target in panel["targets"]:
        named = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert differing(target["expr"]) <= named


class _Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health/ready" else 404)
        self.end_headers()


@pytest.mark.parametrize(
    ("variable", "command"),
    [
        ("PORT", "dragoman serve"),
        ("1", "dragoman serve --max-slots 2 --port PORT --metrics-port 1"),
        ("1", "init -- dragoman serve --port=PORT --metrics-port=1"),
    ],
)
def test_the_health_check_asks_where_the_server_listens(
    variable: str, command: str, tmp_path: Path
) -> None:
    (checks,) = re.findall(r"(?m)^HEALTHCHECK.*CMD (.*)$", DOCKERFILE.replace("\\\n", ""))
    arguments = tmp_path / "cmdline"
    program = [*json.loads(checks.replace("/proc/1/cmdline", str(arguments)))]
    with HTTPServer(("127.0.0.1", 0), _Ready) as server:
        port = str(server.server_port)
        arguments.write_text(command.replace("PORT", port).replace(" ", "\0"))
        environment = os.environ | {"DRAGOMAN_PORT": variable.replace("PORT", port)}
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        check = subprocess.run([sys.executable, *program[1:]], env=environment)
        server.shutdown()
        thread.join()
    assert check.returncode == 0
