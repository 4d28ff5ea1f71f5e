"""Models of the Hub and of archives: only what is needed is fetched, once, checked, and there at
once; a failure leaves none.

A local server stands in for the Hub, whose own library reads HF_ENDPOINT when it is imported, so
that commands run in processes of their own.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from model.checkpoint import read_info
from model.checkpoint.bundled import bundled_checkpoint
from service.commands.group import dragoman
from service.models.pull import Source, pull
from service.models.store import ModelStore, StoreError
from tests.model.importers.forked_commands import ForkedCommands, forked_commands

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB_ID = "someone/opus-mt-en-zh"
NEW_ID = "someone/opus-mt-en-zh-renamed"
WEIGHTS = "model.safetensors"
EOLE = Path(__file__).parents[2] / "data" / "eole"
EOLE_WEIGHTS = "model.00.safetensors"
NOWHERE = "http://127.0.0.1:9"
MOST = 2**30


class Hub(ThreadingHTTPServer):
    """Serves one model's directory, compressed to whom takes that.

    `requested`: the files that were asked for, with the first byte of each request. `fault`: gated,
    asks (files need terms to be accepted), renamed, cut (weights end after their first half) or no
    commit. `hostile`: names that are listed too, and answered whatever address they come to.
    `sizes`: announced instead of the true ones. `commands`: what asks it.
    """

    def __init__(self, directory: Path, commands: ForkedCommands) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.directory, self.commands = directory, commands
        self.requested: list[tuple[str, int]] = []
        self.fault = ""
        self.hostile: list[str] = []
        self.sizes: dict[str, object] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        fault, path = self.server.fault, self.path.split("?")[0]
        name = path.partition("/resolve/")[2].partition("/")[2] or path.rsplit("/", 1)[1]
        if fault == "gated":
            self._end(401, {"X-Error-Code": "GatedRepo"})
        elif fault == "renamed" and HUB_ID in path and NEW_ID not in path:
            self._end(307, {"Location": self.path.replace(HUB_ID, NEW_ID)})
        elif path.startswith("/api/models/") and name == "absent":
            self._end(404, {"X-Error-Code": "RevisionNotFound"})
        elif fault == "asks" and path.endswith("/auth-check"):
            self._end(403, {"X-Error-Code": "GatedRepo"})
        elif path.startswith("/api/models/"):
            files = [self._described(name, b"") for name in self.server.hostile]
            for file in sorted(filter(Path.is_file, self.server.directory.rglob("*"))):
                name = file.relative_to(self.server.directory).as_posix()
                files.append(self._described(name, file.read_bytes()))
            commit = "../" * 5 + COMMIT if fault == "no commit" else COMMIT
            body = {"id": HUB_ID, "sha": commit, "siblings": files, "gated": fault == "asks"}
            self._answer(json.dumps(files if "/tree/" in path else body).encode(), "listing")
        elif (self.server.directory / name).is_file():
            content = (self.server.directory / name).read_bytes()
            self._answer(content, hashlib.sha256(content).hexdigest(), name)
        elif self.server.hostile:
            self._answer(b"hostile", "0" * 64, name)
        else:
            self._end(404, {"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def _described(self, name: str, content: bytes) -> dict[str, object]:
        oid = hashlib.sha256(content).hexdigest()[:40]
        size = self.server.sizes.get(name, len(content))
        return {"type": "file", "size": size, "oid": oid, "path": name, "rfilename": name}

    def _answer(self, body: bytes, etag: str, name: str = "") -> None:
        encoding = {}
        if name and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, encoding = gzip.compress(body), {"Content-Encoding": "gzip"}
        start = int(self.headers.get("Range", "bytes=0-")[len("bytes=") :].split("-")[0])
        length = {"Content-Length": str(len(body) - start)}
        part = {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        self._end(
            206 if start else 200,
            {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, **length, **part, **encoding},
        )
        if self.command == "GET":
            self.server.requested.append((name, start))
            is_cut = self.server.fault == "cut" and name == WEIGHTS
            self.wfile.write(body[start : len(body) // 2 if is_cut else len(body)])
            self.close_connection = True

    def _end(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for header in {"Content-Length": "0", **headers}.items():
            self.send_header(*header)
        self.end_headers()


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCommands]:
    with forked_commands(tmp_path_factory.mktemp("commands")) as commands:
        yield commands


@pytest.fixture
def hub(tmp_path: Path, untrained: dict[str, Path], commands: ForkedCommands) -> Iterator[Hub]:
    """A model with a card, and with a file that no import needs."""
    directory = shutil.copytree(untrained["marian"], tmp_path / "model")
    (directory / "README.md").write_text("---\nlanguage: en\nlicense: cc-by-4.0\n---\n# A model\n")
    (directory / "unneeded.bin").write_bytes(b"x" * 100)
    server = Hub(directory, commands)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "store")


def in_process(
    home: Path, hub: Hub, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with caches of its own."""
    own = {"HF_HOME": str(home / "hub"), "XDG_CACHE_HOME": str(home / "cache")}
    environment = {"HF_ENDPOINT": hub.url, **own, **environment}
    return hub.commands.run(arguments, environment, "Where is the library?\n")


def pulled(
    store: ModelStore, hub: Hub, *more: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    options = ("--models-dir", str(store.directory), "pull", HUB_ID, *more)
    return in_process(store.directory.parent, hub, "models", *options, **environment)


def files_of(directory: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def run(store: ModelStore, *arguments: str) -> Result:
    return CliRunner().invoke(
        dragoman, ["models", "--models-dir", str(store.directory), *arguments]
    )


def test_a_hub_model_is_downloaded_once_and_its_commit_kept(tmp_path: Path, hub: Hub) -> None:
    """The first use imports it into the cache; without a network it goes on being served."""
    arguments = ("translate", "--from", "en", "--to", "zh", "--model", HUB_ID, "--device", "cpu")
    first = in_process(tmp_path, hub, *arguments)
    assert (first.returncode, first.stdout.count("\n")) == (0, 1), first.stderr
    needed = {"config.json", "generation_config.json", WEIGHTS, "source.spm"}
    needed |= {"target.spm", "tokenizer_config.json", "vocab.json", "README.md"}
    assert {name for name, _ in hub.requested if name} == needed
    info = read_info(tmp_path / "cache" / "dragoman" / f"someone--opus-mt-en-zh--{COMMIT}")
    assert info.name == "opus-mt-en-zh"
    assert info.origin == {"source": HUB_ID, "revision": COMMIT}
    offline = in_process(tmp_path, hub, *arguments, HF_ENDPOINT=NOWHERE, HF_HUB_OFFLINE="1")
    assert (offline.returncode, offline.stdout) == (0, first.stdout), offline.stderr
    imported = in_process(tmp_path, hub, "import", HUB_ID, str(tmp_path / "ours"))
    assert imported.returncode == 0, imported.stderr
    assert read_info(tmp_path / "ours").origin == info.origin


def test_a_quickmt_repository_is_read_from_its_folder_of_eole(tmp_path: Path, hub: Hub) -> None:
    """The conversion for CTranslate2 at its root stays there."""
    shutil.rmtree(hub.directory)
    shutil.copytree(EOLE, hub.directory / "eole-model")
    (hub.directory / "config.json").write_text('{"add_source_eos": false}')
    for name in ("model.bin", "src.spm.model", "source_vocabulary.json"):
        (hub.directory / name).write_bytes(b"x")
    directory = ("--models-dir", str(tmp_path / "store"))
    arguments = (("models", *directory, "pull", HUB_ID), ("import", HUB_ID, str(tmp_path / "ours")))
    for command in arguments:
        hub.requested.clear()
        result = in_process(tmp_path, hub, *command)
        assert result.returncode == 0, result.stderr
        needed = {"config.json", "vocab.json", "en.spm.model", "zh.spm.model", EOLE_WEIGHTS}
        expected = {"config.json", *(f"eole-model/{name}" for name in needed)}
        assert {name for name, _ in hub.requested if name} == expected
    assert read_info(tmp_path / "ours").pairs == (("en", "zh"),)


@pytest.mark.parametrize("fault", ["", "renamed"])
def test_a_hub_model_is_pulled_listed_and_removed(store: ModelStore, hub: Hub, fault: str) -> None:
    """Under its old name too."""
    hub.fault = fault
    result = pulled(store, hub)
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


def test_an_interrupted_download_goes_on_where_it_ended(store: ModelStore, hub: Hub) -> None:
    hub.fault = "cut"
    failed = pulled(store, hub)
    assert (failed.returncode, store.models()) == (2, [])
    assert "the same command goes on" in failed.stderr.splitlines()[-1]
    hub.fault = ""
    hub.requested.clear()
    result = pulled(store, hub)
    assert result.returncode == 0, result.stderr
    half = (hub.directory / WEIGHTS).stat().st_size // 2
    assert [start for name, start in hub.requested if name == WEIGHTS] == [half]


@pytest.mark.parametrize(
    ("fault", "arguments", "said"),
    [
        ("gated", (), f"the Hub's model {HUB_ID} asks for its terms to be accepted first"),
        ("asks", (), f"the Hub's model {HUB_ID} asks for its terms to be accepted first"),
        ("no commit", (), f"the Hub does not describe its model {HUB_ID}: '../"),
        ("lacks weights", (), "holds no weights"),
        ("unreachable", (), "the Hub cannot be reached"),
        ("", ("--revision", "absent"), f"has no model {HUB_ID} at revision absent"),
    ],
)
def test_what_cannot_be_pulled_is_one_sentence_and_leaves_no_model(
    store: ModelStore, hub: Hub, fault: str, arguments: tuple[str, ...], said: str
) -> None:
    hub.fault = fault
    if fault == "lacks weights":
        (hub.directory / WEIGHTS).unlink()
    endpoint = NOWHERE if fault == "unreachable" else hub.url
    result = pulled(store, hub, *arguments, HF_ENDPOINT=endpoint)
    assert result.returncode == 2
    assert said in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert store.models() == []


def hostile_names(chance: random.Random) -> list[str]:
    """Names that match the weights' if a `*` does, and lead to each directory above."""
    chosen = [
        chance.choice(("model-", "pytorch_model-", "model-00001-of-", "config.json", "/", ""))
        + "".join(chance.choices(("../", "/", ".", "a/", "\\", "%2e%2e/", "\0", "\n"), k=5))
        + chance.choice(("-of-2", "-of-00002", ""))
        + chance.choice((".safetensors", ".bin", "/config.json"))
        for _ in range(200)
    ]
    upwards = [f"model--of-/{'../' * k}model-{k}-of-x.safetensors" for k in range(10)]
    return [*upwards, *chosen]


@pytest.mark.parametrize("seed", range(3))
def test_no_name_of_a_hub_leaves_the_download(store: ModelStore, hub: Hub, seed: int) -> None:
    """Neither another model nor a file outside the store changes."""
    other = store.directory / ".versions" / "other--model--12345678"
    other.mkdir(parents=True)
    (other / WEIGHTS).write_bytes(b"weights")
    hub.hostile = hostile_names(random.Random(seed))
    home = store.directory.parent
    before = files_of(home)
    result = pulled(store, hub)
    assert result.returncode == 0, result.stderr
    (model,) = store.models()
    changed = {
        file
        for file, content in files_of(home).items()
        if before.get(file) != content and not file.is_relative_to(model.path)
    }
    caches = (home / "hub", home / "cache")
    strange = {file for file in changed if not any(map(file.is_relative_to, caches))}
    assert strange <= {store.directory / ".lock"}
    assert not any(store.downloads.iterdir())


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (10, "sends more than 10 B"),
        (10**9, "of 1000000000 bytes; the same command goes on"),
        (10**15, "at most 32.0 GiB is allowed (--max-size)"),
        (-1, f"the Hub does not describe its model {HUB_ID}: {WEIGHTS} has the size -1"),
        ("1", f"the Hub does not describe its model {HUB_ID}: {WEIGHTS} has the size '1'"),
    ],
)
def test_no_more_is_downloaded_than_announced_and_allowed(
    store: ModelStore, hub: Hub, size: object, said: str
) -> None:
    hub.sizes[WEIGHTS] = size
    result = pulled(store, hub)
    assert (result.returncode, store.models()) == (2, [])
    assert said in result.stderr.splitlines()[-1]
    kept = {file.name for file in store.downloads.rglob("*") if file.is_file()}
    assert (WEIGHTS in kept) == (size == 10**9)
    assert bool(kept) == (size in (10, 10**9))


def test_what_the_disk_cannot_hold_is_not_begun(store: ModelStore, hub: Hub) -> None:
    hub.sizes[WEIGHTS] = 10**15
    result = pulled(store, hub, "--max-size", "2PB")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].endswith(" free")
    assert not any(name for name, _ in hub.requested if name)


def test_a_model_of_another_account_is_replaced_only_if_asked(store: ModelStore, hub: Hub) -> None:
    assert pulled(store, hub).returncode == 0
    hub.requested.clear()
    base = ("models", "--models-dir", str(store.directory), "pull", "other/opus-mt-en-zh")
    refused = in_process(store.directory.parent, hub, *base)
    assert (refused.returncode, refused.stdout, hub.requested) == (2, "", [])
    assert "is from someone, not from other" in refused.stderr
    assert "`dragoman models pull --replace`" in refused.stderr
    replaced = in_process(store.directory.parent, hub, *base, "--replace")
    assert replaced.returncode == 0, replaced.stderr
    (model,) = store.models()
    assert model.info.origin["source"] == "other/opus-mt-en-zh"


def test_two_pulls_at_once_both_end_well(store: ModelStore, hub: Hub) -> None:
    threads = ThreadPoolExecutor(2)
    results = list(threads.map(lambda _: pulled(store, hub), range(2)))
    threads.shutdown()
    assert [result.returncode for result in results] == [0, 0], [one.stderr for one in results]
    assert [model.name for model in store.models()] == ["opus-mt-en-zh"]
    assert not any(store.downloads.iterdir())


def test_a_damaged_archive_leaves_no_download(store: ModelStore, hub: Hub) -> None:
    (hub.directory / "model.zip").write_bytes(b"PK\3\4" + bytes(1000))
    digest = hashlib.sha256((hub.directory / "model.zip").read_bytes()).hexdigest()
    with pytest.raises(StoreError, match="model.zip cannot be unpacked: File is not a zip file"):
        pull(store, Source(f"{hub.url}/model.zip", MOST, digest))
    with pytest.raises(StoreError, match="at most 100 B is allowed"):
        pull(store, Source(f"{hub.url}/model.zip", 100, digest))
    assert files_of(store.directory).keys() == {store.directory / ".lock"}


@pytest.mark.parametrize("is_remote", [False, True])
def test_an_archive_is_taken_only_with_its_sum(
    store: ModelStore, hub: Hub, untrained: dict[str, Path], is_remote: bool
) -> None:
    base, root = hub.directory / "nllb-small", untrained["nllb"].parent
    archive = Path(shutil.make_archive(str(base), "gztar", root, "nllb"))
    address = f"{hub.url}/{archive.name}" if is_remote else archive.as_uri()
    for wrong in (None, "0" * 64, "../" * 21 + "x"):
        with pytest.raises(StoreError, match="SHA-256"):
            pull(store, Source(address, MOST, wrong))
    assert store.models() == []
    model = pull(store, Source(address, MOST, hashlib.sha256(archive.read_bytes()).hexdigest()))
    assert (model.name, model.info.origin["address"]) == ("nllb-small", address)
    assert archive.exists()
    assert not list(store.downloads.glob("*"))


def test_no_secret_of_an_address_is_kept(
    store: ModelStore, hub: Hub, untrained: dict[str, Path]
) -> None:
    base, root = hub.directory / "nllb-small", untrained["nllb"].parent
    archive = Path(shutil.make_archive(str(base), "gztar", root, "nllb"))
    address = f"{hub.url}/{archive.name}"
    given = address.replace("//", "//name:secret@") + "?signature=secret#secret"
    model = pull(store, Source(given, MOST, hashlib.sha256(archive.read_bytes()).hexdigest()))
    assert model.info.origin["address"] == address
    assert not any(b"secret" in content for content in files_of(store.directory).values())


def test_a_new_version_takes_the_name_and_the_old_one_stays_until_it_is_pruned(
    store: ModelStore,
) -> None:
    first = pull(store, Source("zh-en", MOST))
    second = pull(store, Source(str(bundled_checkpoint("zh-en")), MOST))
    assert first.version != second.version
    assert first.path.is_dir()
    assert [model.path for model in store.models()] == [second.path]
    assert store.prune() > 10**6
    assert not first.path.exists()
    assert store.models() == [second]


def test_only_the_link_to_a_model_elsewhere_is_removed(store: ModelStore, tmp_path: Path) -> None:
    store.directory.mkdir()
    elsewhere = shutil.copytree(bundled_checkpoint("zh-en"), tmp_path / "elsewhere")
    (store.directory / "zh-en").symlink_to(elsewhere)
    store.remove("zh-en")
    assert (store.models(), elsewhere.is_dir()) == ([], True)
    version = pull(store, Source("zh-en", MOST)).path
    store.remove("zh-en")
    assert not version.exists()


def test_a_damaged_checkpoint_does_not_enter(store: ModelStore, tmp_path: Path) -> None:
    damaged = shutil.copytree(bundled_checkpoint("zh-en"), tmp_path / "damaged")
    with (damaged / WEIGHTS).open("r+b") as file:
        file.seek(1000)
        file.write(b"12345678")
    with pytest.raises(ValueError, match="truncated or was changed"):
        pull(store, Source(str(damaged), MOST))
    assert store.models() == []
    assert store.prune() == 0


@pytest.mark.parametrize("name", ["checkpoint/", "./checkpoint", "./no"])
def test_a_directory_that_is_called_as_a_word_of_its_error_leaves_the_word(
    store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir(exist_ok=True)
    told = f"{name} holds no config.json, so it is no checkpoint"
    with pytest.raises(StoreError, match=f"^{re.escape(told)}$"):
        pull(store, Source(name, MOST))
