"""Dialect's provider, pointed at this server. Run by `make clients-test`.

Dialect comes from Debian (`apt-get download dialect`). Debian's Python runs it, with python3-gi and
gir1.2-soup-3.0.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.app import create_app
from service.settings import Settings
from tests.clients.conftest import PAIRS
from tests.clients.environments import answers_of
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

PYTHON = Path("/usr/bin/python3")
_SOUP = "import gi; gi.require_version('Soup', '3.0'); from gi.repository import Soup"


def has_soup() -> bool:
    if not PYTHON.exists() or shutil.which("apt-get") is None:
        return False
    return subprocess.run([PYTHON, "-c", _SOUP], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(
    not has_soup(), reason="needs Debian's python3-gi and gir1.2-soup-3.0"
)


@pytest.fixture(scope="module")
def dialect(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of Dialect's modules, unpacked from its package and not installed."""
    directory = tmp_path_factory.mktemp("dialect")
    download = ["apt-get", "download", "dialect"]
    subprocess.run(download, cwd=directory, check=True, capture_output=True, timeout=120)
    (package,) = directory.glob("dialect_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, directory], check=True, timeout=60)
    modules = directory / "usr" / "share" / "dialect"
    if not (modules / "dialect" / "translators" / "libretrans.py").exists():
        pytest.skip(f"{package.name} is arranged otherwise than Dialect 2.1")
    return modules


@pytest.fixture
def suggesting(tmp_path: Path) -> Iterator[Served]:
    settings = Settings(database=tmp_path / "server.db", suggestions=True)
    runner = FakeRunner(max_source_tokens=200)
    with served(create_app(settings, [fake_model(runner, pairs=PAIRS)])) as server:
        yield server


def test_dialect_starts_and_translates(suggesting: Served, dialect: Path) -> None:
    """It takes plain HTTP only from a host that is written localhost."""
    url = f"http://localhost:{suggesting.port}"
    assert answers_of(PYTHON, "dialect_provider.py", url, str(dialect)) == {
        "started": [True, "", False],
        "is_valid": True,
        "languages": ["en", "de", "es", "zh"],
        "most_characters": 20_000,
        "text": "HI.",
        "detected": "DAS IST EIN SATZ IN DEUTSCHER SPRACHE.",
        "unknown language": "InvalidLangCode",
        "too long": "BatchSizeExceeded",
        "suggested": True,
    }
