"""`dragoman models`: what is pulled is whole, checked and there at once; a failure leaves none."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from model.bundled import bundled_checkpoint
from model.checkpoint import read_info
from service.commands.group import dragoman
from service.model_pull import Source, pull
from service.model_store import ModelStore, StoreError
from tests.model.importers.test_hub import COMMIT, HUB_ID, Hub, _Handler
from tests.model.importers.test_hub import dragoman as in_process

NEW_ID = "someone/opus-mt-en-zh-renamed"
WEIGHTS = "model.safetensors"


class _Faults(_Handler):
    """`fault` of the server: gated, renamed, or cut (files end after their first half)."""

    server: FaultyHub

    def do_GET(self) -> None:
        fault, path = self.server.fault, self.path
        if fault == "gated":
            self.send_response(401)
            self.send_header("X-Error-Code", "GatedRepo")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif fault == "renamed" and HUB_ID in path and NEW_ID not in path:
            self.send_response(307)
            self.send_header("Location", path.replace(HUB_ID, NEW_ID))
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.path = path.replace(NEW_ID, HUB_ID)
            super().do_GET()

    do_HEAD = do_GET

    def _answer(self, body: bytes, etag: str) -> None:
        if not self.path.split("?")[0].endswith(WEIGHTS) or self.command != "GET":
            super()._answer(body, etag)
            return
        start = int(self.headers.get("Range", "bytes=0-")[len("bytes=") :].split("-")[0])
        self.server.starts.append(start)
        end = len(body) // 2 if self.server.fault == "cut" else len(body)
        self.send_response(206 if start else 200)
        self.send_header("ETag", f'"{etag}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(body) - start))
        self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        self.wfile.write(body[start:end])
        self.close_connection = True


class FaultyHub(Hub):
    """`starts`: the first byte of each request for the weights."""

    def __init__(self, directory: Path) -> None:
        ThreadingHTTPServer.__init__(self, ("127.0.0.1", 0), _Faults)
        self.directory = directory
        self.requested: list[str] = []
        self.starts: list[int] = []
        self.fault = ""


@pytest.fixture
def hub(tmp_path: Path, untrained: dict[str, Path]) -> Iterator[FaultyHub]:
    directory = shutil.copytree(untrained["marian"], tmp_path / "model")
    (directory / "README.md").write_text("---\nlanguage: en\nlicense: cc-by-4.0\n---\n# A model\n")
    with serving(FaultyHub(directory)) as server:
        yield server


@contextmanager
def serving(server: FaultyHub) -> Iterator[FaultyHub]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "store")


def pulled(
    store: ModelStore, endpoint: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The Hub's library reads its address when it is imported, so it runs in its own process."""
    options = ("--models-dir", str(store.directory), "pull")
    return in_process(
        store.directory.parent, endpoint, "models", *options, *arguments, **environment
    )


def run(store: ModelStore, *arguments: str) -> Result:
    return CliRunner().invoke(
        dragoman, ["models", "--models-dir", str(store.directory), *arguments]
    )


def test_a_hub_model_is_pulled_listed_and_removed(store: ModelStore, hub: FaultyHub) -> None:
    result = pulled(store, hub.url, HUB_ID)
    assert result.returncode == 0, result.stderr
    assert "pulled: opus-mt-en-zh (en to zh)" in result.stdout
    assert "of memory" in result.stdout
    info = read_info(store.directory / "opus-mt-en-zh")
    assert info.origin == {"source": HUB_ID, "revision": COMMIT, "licence": "cc-by-4.0"}
    listed = run(store).output.splitlines()
    assert listed[0].split()[:3] == ["name", "disk", "memory"]
    assert all(word in listed[1] for word in ("opus-mt-en-zh", "cc-by-4.0", "never", "en to zh"))
    assert not any(store.downloads.iterdir())
    assert run(store, "rm", "opus-mt-en-zh").exit_code == 0
    assert store.models() == []
    assert run(store, "rm", "opus-mt-en-zh").exit_code == 2


def test_an_interrupted_download_goes_on_where_it_ended(store: ModelStore, hub: FaultyHub) -> None:
    hub.fault = "cut"
    failed = pulled(store, hub.url, HUB_ID)
    assert failed.returncode == 2
    assert store.models() == []
    hub.fault = ""
    before = len(hub.starts)
    result = pulled(store, hub.url, HUB_ID)
    assert result.returncode == 0, result.stderr
    size = (hub.directory / WEIGHTS).stat().st_size
    assert hub.starts[before:] == [size // 2]


@pytest.mark.parametrize(
    ("fault", "environment", "said"),
    [
        ("gated", {}, f"the Hub's model {HUB_ID} asks for its terms to be accepted first"),
        ("lacks weights", {}, "holds no weights"),
        ("cut", {}, "the same command goes on"),
        ("", {"HF_ENDPOINT": "http://127.0.0.1:9"}, "the Hub cannot be reached"),
    ],
)
def test_what_cannot_be_pulled_is_one_sentence_and_leaves_no_model(
    store: ModelStore, hub: FaultyHub, fault: str, environment: dict[str, str], said: str
) -> None:
    hub.fault = fault
    if fault == "lacks weights":
        (hub.directory / WEIGHTS).unlink()
    result = pulled(store, hub.url, HUB_ID, **environment)
    assert result.returncode == 2
    assert said in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert store.models() == []


def test_a_renamed_hub_model_is_found_under_its_old_name(store: ModelStore, hub: FaultyHub) -> None:
    hub.fault = "renamed"
    result = pulled(store, hub.url, HUB_ID)
    assert result.returncode == 0, result.stderr
    assert [model.name for model in store.models()] == ["opus-mt-en-zh"]


@pytest.fixture
def archive(tmp_path: Path, untrained: dict[str, Path]) -> Path:
    name = shutil.make_archive(
        str(tmp_path / "nllb-small"), "gztar", untrained["nllb"].parent, "nllb"
    )
    return Path(name)


def sum_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_archive_is_taken_only_with_its_sum(store: ModelStore, archive: Path) -> None:
    for wrong in (None, "0" * 64):
        with pytest.raises(StoreError, match="SHA-256"):
            pull(store, Source(archive.as_uri(), wrong))
    assert store.models() == []
    model = pull(store, Source(archive.as_uri(), sum_of(archive)))
    assert (model.name, model.info.origin["address"]) == ("nllb-small", archive.as_uri())
    assert archive.exists()


class _Files(BaseHTTPRequestHandler):
    """One file; of a request for all of it only the first half arrives."""

    server: FileServer

    def do_GET(self) -> None:
        body = self.server.path.read_bytes()
        start = int(self.headers.get("Range", "bytes=0-")[len("bytes=") :].split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:] if start else body[: len(body) // 2])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class FileServer(ThreadingHTTPServer):
    def __init__(self, path: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Files)
        self.path = path


def test_an_archive_of_an_address_goes_on_where_it_ended(store: ModelStore, archive: Path) -> None:
    server = FileServer(archive)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/{archive.name}"
    try:
        with pytest.raises(StoreError, match="the same command goes on"):
            pull(store, Source(address, sum_of(archive)))
        assert store.models() == []
        assert pull(store, Source(address, sum_of(archive))).name == "nllb-small"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert not any(store.downloads.iterdir())


def test_a_new_version_takes_the_name_and_the_old_one_stays_until_it_is_pruned(
    store: ModelStore,
) -> None:
    first = pull(store, Source("zh-en"))
    second = pull(store, Source(str(bundled_checkpoint("zh-en"))))
    assert first.version != second.version
    assert first.path.is_dir()
    assert [model.path for model in store.models()] == [second.path]
    assert store.prune() > 10**6
    assert not first.path.exists()
    assert store.models() == [second]


def test_a_damaged_checkpoint_does_not_enter(store: ModelStore, tmp_path: Path) -> None:
    damaged = shutil.copytree(bundled_checkpoint("zh-en"), tmp_path / "damaged")
    with (damaged / WEIGHTS).open("r+b") as file:
        file.seek(1000)
        file.write(b"12345678")
    with pytest.raises(ValueError, match="truncated or was changed"):
        pull(store, Source(str(damaged)))
    assert store.models() == []
    assert store.prune() == 0
