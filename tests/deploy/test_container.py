"""Dockerfile and compose files agree with the project and with each other.

The image itself is tested by `make container-test`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from service import __version__
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


def test_the_label_has_the_version() -> None:
    assert f'org.opencontainers.image.version="{__version__}"' in DOCKERFILE


@pytest.mark.parametrize("path", COPIED)
def test_whatever_is_copied_exists_and_is_not_ignored(path: str) -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert (ROOT / path).exists()
    assert f"!{path}" in lines


def test_dependencies_are_installed_before_the_source_is_copied() -> None:
    assert DOCKERFILE.index("--requirement") < min(
        DOCKERFILE.index(f"COPY {directory}") for directory in ("model", "service", "checkpoints")
    )


def test_commands_are_in_exec_form() -> None:
    commands = re.findall(r"^ *(?:ENTRYPOINT|CMD) (.+)$", DOCKERFILE, re.MULTILINE)
    assert len(commands) == 3
    assert all(isinstance(json.loads(command), list) for command in commands)


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


def test_the_server_may_write_nothing_but_its_cache_and_tmp(compose: dict[str, Any]) -> None:
    server = compose["dragoman"]
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert [volume["target"] for volume in server["volumes"]] == ["/cache"]
    assert server["tmpfs"] == ["/tmp"]
    assert "user" not in server  # the image's own


def test_files_that_are_mounted_exist(compose: dict[str, Any]) -> None:
    mounts = [v for service in compose.values() for v in service.get("volumes", ())]
    sources = [Path(mount["source"]) for mount in mounts if mount["type"] == "bind"]
    assert len(sources) == 3
    assert all(source.exists() for source in sources)


def test_prometheus_and_grafana_find_whom_they_ask(compose: dict[str, Any]) -> None:
    scraped = _yaml("prometheus/prometheus.yml")["scrape_configs"][0]["static_configs"]
    asked = _yaml("grafana/provisioning/datasources/prometheus.yml")["datasources"][0]["url"]
    for address in (scraped[0]["targets"][0], asked.removeprefix("http://")):
        service, port = address.split(":")
        assert int(port) in [published["target"] for published in compose[service]["ports"]]


def test_grafana_finds_the_dashboard(compose: dict[str, Any]) -> None:
    provider = _yaml("grafana/provisioning/dashboards/dragoman.yml")["providers"][0]
    targets = [Path(volume["target"]) for volume in compose["grafana"]["volumes"]]
    assert Path(provider["options"]["path"]) in [target.parent for target in targets]


def _yaml(path: str) -> Any:
    return yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))
