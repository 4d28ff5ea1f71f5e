"""A server with the fake model, whose translations are their sources in capitals."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

PAIRS = (("en", "de"), ("de", "en"), ("en", "es"), ("es", "en"), ("zh", "en"), ("en", "zh"))


LIBRETRANSLATE = "libretranslate==1.9.6"


@pytest.fixture(scope="session")
def libretranslate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LibreTranslate's package, with its tests and its page, in a temporary directory.

    It is under the AGPL: downloaded for these tests only, and nothing of it is kept.
    """
    directory = tmp_path_factory.mktemp("libretranslate")
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", LIBRETRANSLATE]
    subprocess.run([*download, "--dest", str(directory)], check=True, timeout=300)
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory / "libretranslate"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    runner = FakeRunner(max_source_tokens=200)
    settings = Settings(database=tmp_path_factory.mktemp("database") / "glossaries.sqlite")
    with served(create_app(settings, [fake_model(runner, pairs=PAIRS)])) as server:
        yield server
