"""The READMEs' examples are sent to a real server, and answered as the READMEs show."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.served import Served

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
FORM = "application/x-www-form-urlencoded"


@dataclass
class Example:
    """A curl command and what it shows."""

    url: str = ""
    data: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    shown: str = ""

    def send(self, server: Served) -> str:
        url = self.url.replace("localhost:8000", server.url)
        headers = {"Content-Type": FORM, **self.headers}
        body = "&".join(self.data)
        return httpx.post(url, content=body.encode(), headers=headers, timeout=60).text


def blocks(readme: str, language: str) -> list[str]:
    text = (ROOT / readme).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def curl_examples(readme: str) -> list[Example]:
    commands = [part for block in blocks(readme, "console") for part in block.split("$ curl ")[1:]]
    return [parse_curl(command) for command in commands]


def parse_curl(command: str) -> Example:
    """The command ends where its quotes are closed and no backslash continues it."""
    lines = command.splitlines()
    for count in range(1, len(lines) + 1):
        written = "\n".join(lines[:count])
        with contextlib.suppress(ValueError):
            words = shlex.split(written.replace("\\\n", " "))
            if not written.endswith("\\"):
                return example_of(words, "\n".join(lines[count:]).strip())
    raise AssertionError(f"the command has no end: {command}")


def example_of(words: list[str], shown: str) -> Example:
    example, rest = Example(shown=shown), iter(words)
    for word in rest:
        if word in ("-d", "--data"):
            example.data.append(next(rest))
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            example.headers[name] = value
        elif not word.startswith("-"):
            example.url = word
    return example


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
    examples = curl_examples(readme)
    assert len(examples) >= 4
    for example in examples:
        got = example.send(server)
        if "event-stream" in example.headers.get("Accept", ""):
            assert_same_stream(events_of(got), events_of(example.shown))
        elif example.shown.startswith("{"):
            assert json.loads(got) == json.loads(example.shown)
        else:
            assert got == example.shown


@pytest.mark.parametrize("readme", READMES)
def test_the_python_example_prints_what_it_shows(server: Served, readme: str) -> None:
    (program,) = (block for block in blocks(readme, "python") if "websockets" in block)
    shown = [line[2:] for line in program.splitlines() if line.startswith("# ")]
    address = f"127.0.0.1:{server.port}"
    command = [sys.executable, "-c", program.replace("127.0.0.1:8000", address)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    got = ended.stdout.splitlines()
    assert_same_stream(*([read_message(line) for line in lines] for lines in (got, shown)))


def read_message(line: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line.replace("'", '"'))
    return message
