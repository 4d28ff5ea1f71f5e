"""Serving and translating on the CPU do without PyTorch, whatever is asked for."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.end_to_end.process import ROOT, server

PAIRS = [("en", "de", "Where is the library?"), ("zh", "en", "图书馆在哪里？")]
WISHES: list[dict[str, Any]] = [
    {},
    {"beam_size": 1, "details": True},
    {"alternatives": 3, "length_penalty": 0.6, "max_length": 30},
    {"temperature": 0.9, "top_k": 20, "top_p": 0.9, "seed": 7},
    {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3},
    {"target_prefix": "W"},
    {"keep": ["library"]},
    {"glossary": [{"source": "library", "target": "Bücherei"}], "details": True},
    {"format": "html", "details": True},
    {"details": "attention"},
    {"details": "search"},
    {"details": "search", "beam_size": 1, "temperature": 0.8, "seed": 3},
]


def test_no_request_loads_pytorch() -> None:
    languages = {"source": "en", "target": "de"}
    words = {"q": "Where is the library?", **languages, "prefix": "Wo"}
    document, events = {"file": ("a.md", b"# Where is it?")}, {"Accept": "text/event-stream"}
    asked: list[dict[str, Any]] = [
        {"url": "/translate", "json": {"q": text, "source": source, "target": target, **wishes}}
        for source, target, text in PAIRS
        for wishes in WISHES
    ]
    asked.append({"url": "/translate/next", "json": words})
    asked.append({"url": "/translate", "json": {**words, "source": "auto"}, "headers": events})
    asked.append({"url": "/translate_file", "data": languages, "files": document})
    with server("--device", "cpu") as process:
        process.wait_until_ready()
        with httpx.Client(base_url=process.url, timeout=60) as client:
            for one in asked:
                answer = client.post(**one)
                assert answer.status_code == 200, (one, answer.text)
        loaded = "".join(map(maps_of, process.pids))
    assert "_library." in loaded, "the native backend was not loaded"
    assert "torch" not in loaded


def maps_of(pid: int) -> str:
    """The files in the memory of a process; none if it has ended, as that of a file may."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    return ""


TRANSLATE = """
import sys
from click.testing import CliRunner
from service.commands.group import dragoman

command = ["translate", "--device", "cpu", "--from", "auto", "--to", "de", *sys.argv[1:]]
result = CliRunner().invoke(dragoman, command, input="Where is the library?")
assert result.exit_code == 0, result.output
sys.exit("PyTorch was imported" if "torch" in sys.modules else 0)
"""


def test_the_command_line_translates_text_and_documents_without_pytorch(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("# Where is *it*?", encoding="utf-8")
    for arguments in ([], ["--output", str(tmp_path / "out"), str(document)]):
        command = [sys.executable, "-c", TRANSLATE, *arguments]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
        assert (ended.returncode, ended.stderr) == (0, "")


WITHOUT_PYTORCH = "import sys; sys.modules['torch'] = None; from dragoman import main; main()"


def without_pytorch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_PYTORCH, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("source", ["zh-en", "checkpoints/en-de"])
def test_a_checkpoint_is_pulled_without_pytorch_unless_its_sums_are_wrong(
    source: str, tmp_path: Path
) -> None:
    ended = without_pytorch("models", "--models-dir", str(tmp_path), "pull", source)
    assert ended.returncode == 0, ended.stderr
    name = Path(source).name
    assert ended.stdout.startswith(f"pulled: {name} ")
    stored = tmp_path / name
    (stored / "self_test.json").write_text("changed")
    ended = without_pytorch("models", "--models-dir", str(tmp_path / "new"), "pull", str(stored))
    assert ended.returncode == 2
    assert "self_test.json" in ended.stderr


@pytest.mark.parametrize(
    "command",
    [
        "serve --port 0 --backend eager --precision float32",
        "serve --port 0 --device cuda",
        "check checkpoints/zh-en",
        "average checkpoints/zh-en checkpoints/zh-en {out}",
        "import checkpoints/zh-en {out}",
        "export checkpoints/zh-en {out}",
        "train recipes/zh-en.toml --run {out}",
        "models --models-dir {out} pull Helsinki-NLP/opus-mt-de-fr",
        "models --models-dir {out} pull {foreign}",
    ],
)
def test_what_needs_pytorch_says_so_in_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/config.json").write_text('{"model_type": "marian"}')
    written = command.format(out=tmp_path / "out", foreign=tmp_path / "foreign")
    ended = without_pytorch(*written.split())
    assert ended.returncode == 2
    assert "torch" in ended.stderr
    assert ended.stderr.count("\n") == 1
