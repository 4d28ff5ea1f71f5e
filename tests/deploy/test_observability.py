"""Whatever the rules, the alerts and the dashboard ask for exists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.http.route_table import PATHS
from service.http.routes import websocket
from service.observability.metrics import Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES: dict[str, Any] = {
    name: yaml.safe_load((DEPLOY / "prometheus" / name).read_text(encoding="utf-8"))
    for name in ("rules.yml", "alerts.yml")
}
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
