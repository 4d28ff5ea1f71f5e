"""Examples of the READMEs and of /openapi.json are answered by a real server as they show."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.served import Served

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
FORM = "application/x-www-form-urlencoded"
CURL = re.compile(r"\$ (curl (?:'[^']*'|\\\n|[^'\n])*)\n(.*?)(?=\n\$ |\Z)", re.DOTALL)
"""A command, which quotes or a backslash may carry over a line's end, and what it shows."""


def blocks(readme: str, language: str) -> list[str]:
    text = (ROOT / readme).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def answer_to(command: str, server: Served) -> str:
    parser = argparse.ArgumentParser("curl")
    parser.add_argument("url")
    parser.add_argument("-N", action="store_true")
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-d", "--data", action="append", default=[])
    given = parser.parse_args(shlex.split(command.replace("\\\n", " "))[1:])
    headers = {"Content-Type": FORM, **dict(header.split(": ", 1) for header in given.H)}
    url = given.url.replace("localhost:8000", server.url)
    return httpx.post(url, content="&".join(given.data).encode(), headers=headers, timeout=60).text


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def assert_same_stream(got: list[dict[str, Any]], shown: list[dict[str, Any]]) -> None:
    """The end alike, and the pieces' text together: where it is cut depends on the machine."""
    assert got[-1] == shown[-1]
    joined, expected = ("".join(m["text"] for m in messages[:-1]) for messages in (got, shown))
    assert joined == expected
    assert {m["type"] for m in got[:-1]} == {m["type"] for m in shown[:-1]} == {"token"}


@pytest.mark.parametrize("readme", READMES)
def test_each_curl_command_is_answered_as_shown(server: Served, readme: str) -> None:
    examples = [found for block in blocks(readme, "console") for found in CURL.findall(block)]
    assert len(examples) >= 4
    for command, shown in examples:
        got = answer_to(command, server)
        if "event-stream" in command:
            assert_same_stream(events_of(got), events_of(shown))
        elif shown.startswith("{"):
            assert json.loads(got) == json.loads(shown)
        else:
            assert got == shown.strip()


@pytest.mark.parametrize("readme", READMES)
def test_the_python_example_prints_what_it_shows(server: Served, readme: str) -> None:
    (program,) = (block for block in blocks(readme, "python") if "websockets" in block)
    shown = [line[2:] for line in program.splitlines() if line.startswith("# ")]
    address = f"127.0.0.1:{server.port}"
    command = [sys.executable, "-c", program.replace("127.0.0.1:8000", address)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    got = ended.stdout.splitlines()
    assert_same_stream(*([read_message(line) for line in lines] for lines in (got, shown)))


def test_the_networks_example_prints_what_it_shows() -> None:
    (code,) = blocks("docs/architecture.md", "python")
    shown = re.findall(r"^# (.*)", code, re.MULTILINE)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert ended.stdout.splitlines() == shown


def test_the_notebook_prints_what_it_shows() -> None:
    """But for numbers, which differ a little between machines."""
    notebook = json.loads((ROOT / "docs" / "read-the-transformer.ipynb").read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code = "\n".join("".join(cell["source"]) for cell in cells)
    shown = "".join("".join(cell["outputs"][0]["text"]) for cell in cells)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert re.sub(r"\d", "0", ended.stdout) == re.sub(r"\d", "0", shown)


def read_message(line: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line.replace("'", '"'))
    return message


def test_the_schemas_example_is_answered_with_its_example(server: Served) -> None:
    schema = httpx.get(f"{server.url}/openapi.json").json()
    operation = schema["paths"]["/translate"]["post"]
    asked = operation["requestBody"]["content"]["application/json"]["example"]
    answered = operation["responses"]["200"]["content"]["application/json"]["example"]
    for sent in ({"json": asked}, {"data": asked}, {"params": asked}):
        answer = httpx.post(f"{server.url}/translate", timeout=60, **sent)
        assert answer.json() == answered
