"""The page's files: what is served, as what, and under which policy."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

WEB = Path(__file__).parents[4] / "service" / "web"
MOST_BYTES = 100_000
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = Settings(max_characters=1000, max_beam_size=8)
    with TestClient(create_app(settings, [fake_model(FakeRunner())])) as client:
        yield client


def sources() -> list[Path]:
    return sorted(file for file in WEB.rglob("*.*") if file.suffix in (".html", *TYPES))


def first_loaded() -> set[Path]:
    """What a browser loads before anyone does anything: no part that is imported later."""
    found, left = set(), [WEB / "main.js"]
    while left:
        file = left.pop()
        found.add(file)
        imported = re.findall(r'^import .*?from "(.+?)";', file.read_text(encoding="utf-8"), re.M)
        left += [path for name in imported if (path := (file.parent / name).resolve()) not in found]
    others = {WEB / name for name in ("index.html", "style.css", "theme.js", "icon.svg")}
    return found | others


def test_what_a_browser_loads_first_is_small() -> None:
    """With one of the dictionaries, and not counting compression."""
    files = first_loaded()
    assert {WEB / "session.js", WEB / "connection.js"} <= files
    assert WEB / "messages.js" not in files  # only types
    assert not any(file.parent.name == "parts" for file in files)
    texts = [file.stat().st_size for file in (WEB / "texts").glob("*.js")]
    assert len(texts) == 3
    assert sum(file.stat().st_size for file in files) + max(texts) < MOST_BYTES


@pytest.mark.parametrize("file", sources(), ids=lambda file: str(file.relative_to(WEB)))
def test_every_file_has_its_type_and_the_policy(client: TestClient, file: Path) -> None:
    name = file.relative_to(WEB).as_posix()
    path = "/" if name == "index.html" else f"/page/{name}"
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.content == file.read_bytes()
    assert answer.headers["Content-Type"] == TYPES.get(file.suffix, "text/html; charset=utf-8")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert client.head(path).headers["ETag"] == answer.headers["ETag"]


def test_the_page_names_no_other_host_and_holds_no_script_or_style_of_its_own() -> None:
    for file in sources():
        text = file.read_text(encoding="utf-8")
        hosts = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text, re.IGNORECASE))
        assert hosts <= {"http://www.w3.org"}, file  # the name of SVG
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|eval\(", text), file
    html = (WEB / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\bsrc=)", html)


def test_a_file_that_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    etag = client.get("/").headers["ETag"]
    again = client.get("/", headers={"If-None-Match": f'"other", {etag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == etag
    assert client.get("/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_file_is_compressed_only_for_who_takes_it_so(client: TestClient) -> None:
    packed = client.get("/page/style.css", headers={"Accept-Encoding": "gzip"})
    plain = client.get("/page/style.css", headers={"Accept-Encoding": "identity"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"]) / 2
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    [
        "/page",
        "/page/",
        "/page/index.html",
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/app.py",
        "/page/..%5capp.py",
        "/page//etc/passwd",
        "/page/style.css/",
        "/page/style.css%00.js",
        "/page/STYLE.CSS",
    ],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_page_is_read_only(client: TestClient) -> None:
    answer = client.post("/", json={})
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD"}


def test_the_page_knows_the_limits_of_the_server(client: TestClient) -> None:
    limits = client.get("/page/limits.json").json()
    assert (limits["max_characters"], limits["max_beam_size"]) == (1000, 8)
    assert sorted(limits["direct"]) == [["en", "de"], ["en", "zh"], ["zh", "en"]]


def test_the_engines_numbers_are_few_and_without_texts(client: TestClient) -> None:
    client.post("/translate", json={"q": "Secret", "source": "en", "target": "de"})
    answer = client.get("/page/engine.txt")
    for name in ("running", "slots", "rows_used", "rows", "waiting", "target_tokens_total"):
        assert f'dragoman_{name}{{model="fake"}} ' in answer.text
    for name in ("time_to_first_token", "decode_step"):
        assert f"dragoman_{name}_seconds_bucket{{" in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert len(answer.content) < len(client.get("/metrics").content) / 2
    assert "requests_total" not in answer.text
    assert "ecret" not in answer.text


def test_the_batches_are_numbers_of_sentences_that_run_or_ran(client: TestClient) -> None:
    client.post("/translate", json={"q": "Secret once more", "source": "en", "target": "de"})
    time.sleep(0.3)  # an answer holds for 0.2 seconds
    answer = client.get("/page/engine.json")
    assert answer.headers["Cache-Control"] == "no-store"
    shown = answer.json()
    assert shown["waiting"] == {"fake": 0}
    ((*_, entry),) = shown["models"]["fake"]
    _, num_rows, num_tokens, num_steps, joined, left = entry
    assert (num_rows, num_tokens, num_steps) == (4, 18, 18)
    assert shown["now"] >= left >= joined > shown["now"] - 10_000
    assert "ecret" not in answer.text
    assert client.post("/page/engine.json").status_code == 405


def test_the_engines_numbers_can_be_switched_off() -> None:
    app = create_app(Settings(page_engine=False), [fake_model(FakeRunner())])
    with TestClient(app) as client:
        paths = ("/", "/page/engine.txt", "/page/engine.json")
        assert [client.get(path).status_code for path in paths] == [200, 404, 404]


def test_the_page_can_be_switched_off() -> None:
    app = create_app(Settings(page=False), [fake_model(FakeRunner())])
    with TestClient(app) as client:
        assert [client.get(path).status_code for path in ("/", "/page/style.css")] == [404, 404]
        assert client.get("/languages").status_code == 200
