"""Clients that are installed beside this project: generated ones, Weblate, wagtail-localize, npm's.

Those whose requirements contradict ours get virtual environments in build/clients. Run by
`make clients-test`. What needs node skips itself where there is none.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.served import Served

HERE, BUILD = Path(__file__).parent, Path(__file__).parents[2] / "build" / "clients"
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary")
_REQUIREMENTS = """
import importlib.metadata, sys
left_out = set(sys.argv[2:])
for line in importlib.metadata.requires(sys.argv[1]):
    name = line.split("[")[0].split("<")[0].split(">")[0].split("=")[0].split(";")[0].strip()
    if "extra ==" not in line and name.lower() not in left_out:
        print(line)
"""
GENERATOR = "openapi-python-client==0.29.1"
ANSWERS = {
    "texts": ["HI.", "BYE."],
    "target": "DIES",
    "sentence": 1,
    "refusal": "xx is not supported",
}
WEBLATE, WAGTAIL = "weblate==5.14.3", "wagtail-localize==1.14.5"
UNBUILT = frozenset({"borgbackup", "pycairo", "pygobject", "tesserocr"})
"""Weblate's backups, drawing and reading of pictures: they need libraries of the system."""
NPM_INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
GERMAN = "Das ist ein Satz in deutscher Sprache."
Call = Callable[[str], dict[str, Any]]


def environment(package: str, left_out: frozenset[str] = frozenset()) -> Path:
    """The Python of an environment with `package`, written as name==version, made once.

    `left_out`: its requirements that are not installed, in small letters.
    """
    directory = BUILD / package
    python = directory / "bin" / "python"
    if not (directory / "complete").exists():
        run(sys.executable, "-m", "venv", "--clear", directory)
        run(python, *_PIP, "--no-deps", package)
        name = package.partition("==")[0]
        needed = run(python, "-c", _REQUIREMENTS, name, *left_out).stdout.splitlines()
        run(python, *_PIP, *needed)
        (directory / "complete").touch()
    return python


def answers_of(program: Path, script: str, url: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this directory against the server at `url` -> the JSON that it writes."""
    found: dict[str, Any] = json.loads(run(program, HERE / script, url, *arguments).stdout)
    return found


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, which is a good one."""
    finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=500)
    assert finished.returncode == 0, (finished.stdout + finished.stderr)[-3000:]
    return finished


@pytest.fixture
def document(server: Served, tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(httpx.get(f"{server.url}/openapi.json").text, encoding="utf-8")
    return path


def test_openapi_python_client(server: Served, document: Path, tmp_path: Path) -> None:
    python = environment(GENERATOR)
    generator, generated = python.with_name("openapi-python-client"), tmp_path / "generated"
    command = (generator, "generate", "--path", document, "--output-path", generated)
    told = run(*command, cwd=tmp_path)
    assert "will not be generated" not in told.stdout + told.stderr
    modules = [
        ".".join(file.relative_to(generated).with_suffix("").parts)
        for file in sorted(generated.rglob("dragoman_client/**/*.py"))
    ]
    run(python, "-c", "".join(f"import {name}\n" for name in modules), cwd=generated)
    assert answers_of(python, "generated_client.py", server.url, str(generated)) == ANSWERS


@pytest.mark.timeout(600)
def test_weblates_machinery(server: Served) -> None:
    answers = answers_of(environment(WEBLATE, UNBUILT), "weblate_machinery.py", server.url)
    capitals = ["HELLO, %s!"]
    expected = {"de": capitals, "zh_Hans": capitals, "zh_CN": capitals, "de_AT": capitals, "xx": []}
    for name in ("LibreTranslate", "DeepL"):
        assert answers[name]["texts"] == expected, name
        assert answers[name]["batch"] == [capitals, ["%d <b>FILES</b>"]], name
    assert answers["LibreTranslate"]["languages"] == ["de", "en", "es", "zh", "zh-Hant"]


@pytest.mark.timeout(600)
def test_wagtail_localizes_translators(server: Served) -> None:
    answers = answers_of(environment(WAGTAIL), "wagtail_translators.py", server.url)
    translated = ["HI <b>YOU</b>.", 'BYE <a id="a1">NOW</a> &amp; THEN.']
    assert answers == {"LibreTranslate": translated, "DeepL": translated}


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs node and npm")
def test_openapi_typescript(server: Served, document: Path) -> None:
    directory = BUILD / "typescript"
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "tsconfig.json", "client.ts"):
        shutil.copy(HERE / "typescript" / name, directory / name)
    run(*NPM_INSTALL, cwd=directory)
    run("npx", "openapi-typescript", document, "-o", "schema.d.ts", cwd=directory)
    run("npx", "tsc", "--project", ".", cwd=directory)
    answers: dict[str, Any] = json.loads(run("node", "client.js", server.url, cwd=directory).stdout)
    assert answers == ANSWERS


@pytest.fixture(scope="module")
def call(server: Served) -> Call:
    """Runs a client of npm -> what it was answered."""
    if shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "clients.mjs"):
        shutil.copy(HERE / name, BUILD / name)
    run(*NPM_INSTALL, "--legacy-peer-deps", cwd=BUILD)  # without all of Strapi
    command = ("node", "clients.mjs")
    return lambda client: json.loads(run(*command, client, server.url, cwd=BUILD).stdout)


def test_deepl_node(call: Call) -> None:
    answer = call("deepl-node")
    assert (answer["text"], answer["source"]) == (GERMAN.upper(), "de")
    assert {"de", "en-GB"} <= set(answer["languages"])
    assert answer["isLimited"] is False
    assert "Value for 'target_lang' not supported" in answer["refusal"]


def test_libretranslate_ts(call: Call) -> None:
    answer = call("libretranslate-ts")
    assert answer["text"] == GERMAN.upper()
    assert "de" in json.dumps(answer["detected"])


def test_google_cloud_translate(call: Call) -> None:
    answer = call("@google-cloud/translate")
    assert (answer["text"], answer["detected"]) == (GERMAN.upper(), "de")
    assert {"code": "de", "name": "German"} in answer["languages"]


def test_libretranslates_mcp_server(call: Call) -> None:
    """It asks for three alternatives with every translation."""
    answer = call("@libretranslate/mcp")
    assert answer["detected"] == "de"
    assert answer["translated"]["translatedText"] == "HI."
    assert len(answer["translated"]["alternatives"]) == 3
    assert answer["languages"] == ["en", "de", "es", "zh", "zh-Hant"]
    assert answer["refusal"] == "xx is not supported"


def test_strapis_provider(call: Call) -> None:
    answer = call("strapi-provider-translate-libretranslate")
    assert answer["texts"] == ["HI.", "BYE."]
    assert answer["marked"] == ["<p>HI <b>YOU</b>.</p>", "BYE."]


def test_translate(call: Call) -> None:
    assert call("translate")["text"] == GERMAN.upper()
