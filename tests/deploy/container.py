"""Laws of the image, tried on the real one: `make container-test`.

It is built as tests/deploy/image.py says and its own command is run with a read-only root, as its
own user, in namespaces of its own; the requests come from outside.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.sentences import real_sentences
from service import __version__
from service.offline import OfflineOptions, OfflineTranslator
from tests.deploy import image
from tests.deploy.image import IMAGE, ROOT, Container

CHECKPOINTS = sorted(path.parent.name for path in (ROOT / "checkpoints").glob("*/config.json"))


@pytest.fixture(scope="session", autouse=True)
def _built_image() -> None:
    try:
        image.build()
    except (OSError, RuntimeError) as error:
        pytest.exit(str(error), returncode=2)


@pytest.fixture(scope="session")
def config() -> dict[str, Any]:
    """What the image says about itself."""
    inspected: list[dict[str, Any]] = json.loads(image.checked("image", "inspect", IMAGE))
    return inspected[0]["Config"]


@pytest.fixture(scope="session")
def server() -> Iterator[Container]:
    with image.serving() as container:
        yield container


def translate(container: Container, **fields: Any) -> Any:
    answer = httpx.post(f"{container.url}/translate", json=fields, timeout=120)
    return answer.raise_for_status().json()["translatedText"]


@pytest.mark.parametrize(
    ("checkpoint", "source", "target", "text"),
    [
        ("zh-en", "zh", "en", "图书馆在哪里？\n\n我喜欢咖啡。"),
        ("en-de", "en", "de", "Where is the library? I like coffee."),
    ],
)
def test_a_text_sent_from_outside_is_translated_as_without_a_container(
    server: Container, checkpoint: str, source: str, target: str, text: str
) -> None:
    model = ROOT / "checkpoints" / checkpoint
    with OfflineTranslator([model], OfflineOptions("cpu", max_slots=8)) as outside:
        (expected,) = outside.translate_all([text], source, target)
    assert translate(server, q=text, source=source, target=target) == expected


def test_the_first_process_is_the_server_as_an_ordinary_user_without_capabilities(
    server: Container, config: dict[str, Any]
) -> None:
    command = server.run("cat", "/proc/1/cmdline").stdout.split("\0")
    assert [Path(command[1]).name, command[2]] == ["dragoman", "serve"]
    lines = server.run("cat", "/proc/1/status").stdout.splitlines()
    status = {name: value.split() for name, value in (line.split(":", 1) for line in lines)}
    assert set(status["Uid"]) == set(status["Gid"]) == {"10001"}
    assert config["User"] == "10001:10001"
    assert int(status["CapEff"][0], 16) == 0


def test_it_serves_with_nothing_writable_but_tmp(server: Container) -> None:
    for directory in ("/", "/cache", "/opt/dragoman", "/opt/venv", "/srv/dragoman", "/var/tmp"):
        attempt = server.run("touch", f"{directory}/file")
        assert attempt.returncode == 1
        assert "Read-only file system" in attempt.stderr, directory
    assert server.run("touch", "/tmp/file").returncode == 0


def test_nothing_of_the_building_machine_is_left(server: Container) -> None:
    found = server.run(
        "find", "/etc", "/opt", "-name", "pip.conf", "-o", "-name", "*.pem.key"
    ).stdout
    assert not found
    told = [word for value in image.pip_configuration().values() for word in value.split()]
    history = image.checked("history", "--no-trunc", "--format={{.CreatedBy}}", IMAGE)
    assert not [word for word in told if "/" in word and word in history]


def test_every_bundled_checkpoint_is_inside_and_whole(server: Container) -> None:
    for name in CHECKPOINTS:
        check = (
            f"cd /opt/dragoman/dragoman_checkpoints/{name} && sha256sum --check --strict SHA256SUMS"
        )
        result = server.run("sh", "-c", check)
        assert result.returncode == 0, result.stderr


def test_its_arguments_are_those_of_the_command_line() -> None:
    assert image.run_to_the_end("--version").stdout == f"dragoman, version {__version__}\n"
    wrong = image.run_to_the_end("serve", "--max-beam-size", "0")
    assert wrong.returncode == 2
    assert [line for line in wrong.stderr.splitlines() if "max_beam_size" in line]


def test_sigterm_turns_the_health_check_and_lets_running_work_finish() -> None:
    arguments = ("serve", "--drain-seconds", "300", "--max-characters", "200000")
    with image.serving(*arguments) as container:
        assert image.podman("healthcheck", "run", container.name).returncode == 0
        texts = real_sentences(500, seed=3)
        answers: list[Any] = []
        work = threading.Thread(
            target=lambda: answers.append(
                translate(container, q=texts, source="zh", target="en", beam_size=16)
            )
        )
        work.start()
        while _is_idle(container):
            assert work.is_alive(), "it ended before anybody saw it run"
            time.sleep(0.01)
        image.checked("kill", "--signal=TERM", container.name)
        assert httpx.get(f"{container.url}/health/ready").status_code == 503
        assert image.podman("healthcheck", "run", container.name).returncode == 1
        assert work.is_alive()
        work.join()
        assert len(answers[0]) == len(texts)
        assert container.exit_code() == 0


def _is_idle(container: Container) -> bool:
    metrics = httpx.get(f"{container.url}/metrics").text
    return re.search(r'^dragoman_running{model="zh-en".*} 0', metrics, re.MULTILINE) is not None


def test_compose_brings_up_the_server_and_a_prometheus_that_finds_it() -> None:
    with image.composed() as container:
        assert translate(container, q="谢谢！", source="zh", target="en")
        assert container.run("touch", "/cache/file").returncode == 0
        ends = time.monotonic() + 60
        while not (found := _answers('dragoman_ready{job="dragoman"}')) and time.monotonic() < ends:
            time.sleep(1)
        assert found == ["1"] * len(CHECKPOINTS)


def _answers(query: str) -> list[str]:
    """What the composed Prometheus finds; nothing as long as it is not there."""
    with contextlib.suppress(httpx.TransportError):
        answer = httpx.get("http://127.0.0.1:9090/api/v1/query", params={"query": query})
        results = answer.raise_for_status().json()["data"]["result"]
        return [result["value"][1] for result in results]
    return []
