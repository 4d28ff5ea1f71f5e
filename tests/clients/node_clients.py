"""Real JavaScript clients of LibreTranslate, DeepL and Google, pointed at this server.

Run by `make clients-test`, which installs them into build/clients.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.service.served import Served

HERE, BUILD = Path(__file__).parent, Path(__file__).parents[2] / "build" / "clients"
GERMAN = "Das ist ein Satz in deutscher Sprache."
pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="needs node and npm")


@pytest.fixture(scope="module")
def node_project() -> Path:
    """A directory with the clients installed."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "clients.mjs"):
        shutil.copy(HERE / name, BUILD / name)
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts"]
    command = ["npm", "install", *quiet, "--legacy-peer-deps"]  # without all of Strapi
    subprocess.run(command, cwd=BUILD, check=True, capture_output=True, timeout=300)
    return BUILD


def call(node_project: Path, client: str, server: Served) -> dict[str, Any]:
    finished = subprocess.run(
        ["node", "clients.mjs", client, server.url],
        cwd=node_project,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer


def test_deepl_node(node_project: Path, server: Served) -> None:
    answer = call(node_project, "deepl-node", server)
    assert (answer["text"], answer["source"]) == (GERMAN.upper(), "de")
    assert {"de", "en-GB"} <= set(answer["languages"])
    assert answer["isLimited"] is False
    assert "Value for 'target_lang' not supported" in answer["refusal"]


def test_libretranslate_ts(node_project: Path, server: Served) -> None:
    answer = call(node_project, "libretranslate-ts", server)
    assert answer["text"] == GERMAN.upper()
    assert "de" in json.dumps(answer["detected"])


def test_google_cloud_translate(node_project: Path, server: Served) -> None:
    answer = call(node_project, "@google-cloud/translate", server)
    assert (answer["text"], answer["detected"]) == (GERMAN.upper(), "de")
    assert {"code": "de", "name": "German"} in answer["languages"]


def test_libretranslates_mcp_server(node_project: Path, server: Served) -> None:
    """It asks for three alternatives with every translation."""
    answer = call(node_project, "@libretranslate/mcp", server)
    assert answer["detected"] == "de"
    assert answer["translated"]["translatedText"] == "HI."
    assert len(answer["translated"]["alternatives"]) == 3
    assert answer["languages"] == ["en", "de", "es", "zh"]
    assert answer["refusal"] == "xx is not supported"


def test_strapis_provider(node_project: Path, server: Served) -> None:
    answer = call(node_project, "strapi-provider-translate-libretranslate", server)
    assert answer["texts"] == ["HI.", "BYE."]
    assert answer["marked"] == ["<p>HI <b>YOU</b>.</p>", "BYE."]


def test_translate(node_project: Path, server: Served) -> None:
    assert call(node_project, "translate", server)["text"] == GERMAN.upper()
