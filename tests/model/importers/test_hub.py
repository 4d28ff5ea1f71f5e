"""Hub models by their id: only the files that are needed, at a commit that is kept.

A local server stands in for the Hub; its own library reads HF_ENDPOINT when it is imported, so the
command runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from model.checkpoint import read_info

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB_ID = "someone/opus-mt-en-zh"


class Hub(ThreadingHTTPServer):
    """Serves one model's directory; `requested` are the files that were asked for."""

    def __init__(self, directory: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.directory = directory
        self.requested: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path.startswith(f"/api/models/{HUB_ID}/tree/"):
            self._answer(json.dumps([self._described(f) for f in self._files()]).encode(), "tree")
        elif path.startswith(f"/api/models/{HUB_ID}"):
            if path.endswith("/absent"):
                return self._refuse("RevisionNotFound")
            siblings = [{"rfilename": file.name} for file in self._files()]
            body = {"id": HUB_ID, "sha": COMMIT, "siblings": siblings}
            self._answer(json.dumps(body).encode(), "info")
        elif path.startswith(f"/{HUB_ID}/resolve/"):
            name = path.rsplit("/", 1)[1]
            if not (self.server.directory / name).is_file():
                return self._refuse("EntryNotFound")
            if self.command == "GET":
                self.server.requested.append(name)
            content = (self.server.directory / name).read_bytes()
            self._answer(content, sha256(content).hexdigest())
        else:
            self._refuse("RepoNotFound")

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def _files(self) -> list[Path]:
        return sorted(self.server.directory.iterdir())

    def _described(self, file: Path) -> dict[str, object]:
        oid = sha256(file.read_bytes()).hexdigest()[:40]
        return {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": oid}

    def _answer(self, body: bytes, etag: str) -> None:
        self.send_response(200)
        self.send_header("ETag", f'"{etag}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _refuse(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def hub(tmp_path: Path, untrained: dict[str, Path]) -> Iterator[Hub]:
    """A model with a file that no import needs."""
    directory = shutil.copytree(untrained["marian"], tmp_path / "model")
    (directory / "unneeded.bin").write_bytes(b"x" * 100)
    server = Hub(directory)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def dragoman(
    home: Path, endpoint: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with caches of its own."""
    own = {"HF_HOME": str(home / "hub"), "XDG_CACHE_HOME": str(home / "cache")}
    return subprocess.run(
        [sys.executable, "-c", "from service.commands import main; main()", *arguments],
        env={**os.environ, "HF_ENDPOINT": endpoint, **own, **environment},
        cwd=Path(__file__).parents[3],
        input="Where is the library?\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_hub_model_is_downloaded_once_and_its_commit_kept(tmp_path: Path, hub: Hub) -> None:
    """The first use imports it into the cache; without a network it goes on being served."""
    arguments = ("translate", "--from", "en", "--to", "zh", "--model", HUB_ID, "--device", "cpu")
    first = dragoman(tmp_path, hub.url, *arguments)
    assert (first.returncode, first.stdout.count("\n")) == (0, 1), first.stderr
    needed = {"config.json", "generation_config.json", "model.safetensors", "source.spm"}
    assert set(hub.requested) == needed | {"target.spm", "tokenizer_config.json", "vocab.json"}
    info = read_info(tmp_path / "cache" / "dragoman" / f"someone--opus-mt-en-zh--{COMMIT}")
    assert info.name == "opus-mt-en-zh"
    assert info.origin == {"source": HUB_ID, "revision": COMMIT}
    offline = dragoman(tmp_path, "http://127.0.0.1:9", *arguments, HF_HUB_OFFLINE="1")
    assert (offline.returncode, offline.stdout) == (0, first.stdout), offline.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        ((HUB_ID, "--revision", "absent"), {}, f"has no model {HUB_ID} at revision absent"),
        ((HUB_ID,), {"HF_ENDPOINT": "http://127.0.0.1:9"}, "the Hub cannot be reached for model"),
    ],
)
def test_what_the_hub_does_not_give_is_one_line_and_exit_code_2(
    tmp_path: Path, hub: Hub, arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    source, *options = arguments
    destination = tmp_path / "ours"
    result = dragoman(
        tmp_path, hub.url, "import", source, str(destination), *options, **environment
    )
    assert result.returncode == 2
    assert said in result.stderr.splitlines()[-1]
    assert not destination.exists()
