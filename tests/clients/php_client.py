"""jefs42/libretranslate, the PHP client of Nextcloud's integration, pointed at this server.

Run by `make clients-test`. Composer installs it from Packagist.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.clients.environments import BUILD, answers_of
from tests.service.served import Served

PACKAGE = "jefs42/libretranslate:1.1.2"
PHP = shutil.which("php")
_HAS_CURL = "exit(extension_loaded('curl') ? 0 : 1);"
REGISTRY = "repo.packagist.org"


def why_not() -> str:
    """What is missing to install and run the client; empty: nothing."""
    if PHP is None or shutil.which("composer") is None:
        return "needs PHP and Composer"
    if subprocess.run([PHP, "-r", _HAS_CURL]).returncode:
        return "needs PHP's curl extension"
    try:
        socket.getaddrinfo(REGISTRY, 443)
    except OSError:
        return f"{REGISTRY} cannot be reached"
    return ""


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def autoloader() -> Path:
    """The file that loads the client's class."""
    directory = BUILD / "php"
    directory.mkdir(parents=True, exist_ok=True)
    command = ["composer", "require", "--no-interaction", "--quiet", PACKAGE]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return directory / "vendor" / "autoload.php"


def test_nextclouds_client(server: Served, autoloader: Path, tmp_path: Path) -> None:
    assert PHP is not None
    answers = answers_of(Path(PHP), "client.php", server.url, str(autoloader), str(tmp_path))
    assert answers == {
        "languages": ["en", "de", "es", "zh"],
        "most characters": 20_000,
        "marked": "HI <b>YOU</b>.",
        "detected": "de",
        "automatic": "DAS IST EIN SATZ IN DEUTSCHER SPRACHE.",
        "file": "HI.\n",
        "suggestion": "Suggestions are disabled on this server.",
        "unknown language": "xx is not supported",
    }
