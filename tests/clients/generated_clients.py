"""Clients that are generated from the OpenAPI document: they generate, type-check and call.

Run by `make clients-test`, because it installs the generators.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.environments import answers_of, environment
from tests.service.served import Served

HERE, BUILD = Path(__file__).parent, Path(__file__).parents[2] / "build" / "clients"
GENERATOR = "openapi-python-client==0.29.1"
ANSWERS = {
    "texts": ["HI.", "BYE."],
    "target": "DIES",
    "sentence": 1,
    "refusal": "xx is not supported",
}


def run(*command: str | Path, cwd: Path) -> str:
    finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


@pytest.fixture
def document(server: Served, tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(httpx.get(f"{server.url}/openapi.json").text, encoding="utf-8")
    return path


def test_openapi_python_client(server: Served, document: Path, tmp_path: Path) -> None:
    python = environment(GENERATOR)
    generator, generated = python.with_name("openapi-python-client"), tmp_path / "generated"
    told = run(generator, "generate", "--path", document, "--output-path", generated, cwd=tmp_path)
    assert "will not be generated" not in told
    modules = [
        ".".join(file.relative_to(generated).with_suffix("").parts)
        for file in sorted(generated.rglob("dragoman_client/**/*.py"))
    ]
    run(python, "-c", "".join(f"import {name}\n" for name in modules), cwd=generated)
    assert answers_of(python, "generated_client.py", server.url, str(generated)) == ANSWERS


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs node and npm")
def test_openapi_typescript(server: Served, document: Path) -> None:
    directory = BUILD / "typescript"
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "tsconfig.json", "client.ts"):
        shutil.copy(HERE / "typescript" / name, directory / name)
    run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", cwd=directory)
    run("npx", "openapi-typescript", document, "-o", "schema.d.ts", cwd=directory)
    run("npx", "tsc", "--project", ".", cwd=directory)
    answers: dict[str, Any] = json.loads(run("node", "client.js", server.url, cwd=directory))
    assert answers == ANSWERS
