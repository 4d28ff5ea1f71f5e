"""The page at / and the reference at /docs: what is served, as what, and under which policy."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.service.http.clients import FIELDS, client_of

SERVICE = Path(__file__).parents[4] / "service"
WEB, REFERENCE = SERVICE / "web", SERVICE / "api_reference"
MOST_BYTES = 100_000
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def sources(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.*") if file.suffix in TYPES)


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


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with client_of(max_characters=1000, max_beam_size=8) as client:
        yield client


def test_what_a_browser_loads_first_is_small() -> None:
    """With one of the dictionaries, and not counting compression."""
    files = first_loaded()
    assert {WEB / "session.js", WEB / "connection.js"} <= files
    assert WEB / "messages.js" not in files  # only types
    assert not any(file.parent.name == "parts" for file in files)
    texts = [file.stat().st_size for file in (WEB / "texts").glob("*.js")]
    assert len(texts) == 3
    assert sum(file.stat().st_size for file in files) + max(texts) < MOST_BYTES


def test_every_file_has_its_type_and_the_policy(client: TestClient) -> None:
    served = {f"/page/{file.relative_to(WEB).as_posix()}": file for file in sources(WEB)}
    served["/"] = served.pop("/page/index.html")
    loaded = re.findall(r'(?:src|href)="([^"]+)"', client.get("/docs").text)
    assert {"docs/swagger-ui-bundle.js", "docs/start.js", "docs/style.css"} <= set(loaded)
    assert {path for path in loaded if not path.startswith("docs/")} == {"openapi.json"}
    loaded.remove("openapi.json")
    for path in ("/docs", *served, *(f"/{path}" for path in loaded)):
        answer = client.get(path)
        assert (path, answer.status_code) == (path, 200)
        if path in served:
            assert answer.content == served[path].read_bytes()
        kind = TYPES[Path(path).suffix or ".html"]
        assert (path, answer.headers["Content-Type"]) == (path, kind)
        policy = answer.headers["Content-Security-Policy"]
        for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'"):
            assert rule in policy
        assert "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert client.head(path).headers["ETag"] == answer.headers["ETag"]


def test_the_pages_name_no_other_host_and_hold_no_script_or_style_of_their_own(
    client: TestClient,
) -> None:
    for file in (*sources(WEB), *sources(REFERENCE)):
        text = file.read_text(encoding="utf-8")
        hosts = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text, re.IGNORECASE))
        assert hosts <= {"http://www.w3.org"}, file  # the name of SVG
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|eval\(", text), file
    for path in ("/", "/docs"):
        html = client.get(path).text
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
        *("/page", "/page/", "/page/index.html", "/page/STYLE.CSS", "/page/style.css/"),
        *("/page/../app.py", "/page/..%2fapp.py", "/page/%2e%2e/app.py", "/page/..%5capp.py"),
        *("/page//etc/passwd", "/page/style.css%00.js", "/redoc", "/docs/", "/docs/index.html"),
        *("/docs/oauth2-redirect", "/docs/redoc.standalone.js"),
    ],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_page_knows_the_limits_of_the_server(client: TestClient) -> None:
    limits = client.get("/page/limits.json").json()
    assert (limits["max_characters"], limits["max_beam_size"]) == (1000, 8)
    own = [["en", "de"], ["en", "zh"], ["zh", "en"]]
    assert [pair for pair in sorted(limits["direct"]) if "zh-Hant" not in pair] == own
    assert ["en", "zh-Hant"] in limits["direct"]


def test_the_engines_numbers_are_few_and_without_texts(client: TestClient) -> None:
    client.post("/translate", json={**FIELDS, "q": "Secret"})
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
    client.post("/translate", json={**FIELDS, "q": "Secret once more"})
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


@pytest.mark.parametrize(
    ("setting", "missing", "served"),
    [
        ("page_engine", ["/page/engine.txt", "/page/engine.json"], ["/", "/docs"]),
        ("page", ["/", "/page/style.css"], ["/docs", "/docs/start.js", "/languages"]),
        ("api_docs", ["/docs", "/docs/start.js", "/openapi.json", "/spec"], ["/", "/languages"]),
    ],
)
def test_a_part_can_be_switched_off(setting: str, missing: list[str], served: list[str]) -> None:
    with client_of(**{setting: False}) as client:
        statuses = {path: client.get(path).status_code for path in (*missing, *served)}
    assert statuses == dict.fromkeys(missing, 404) | dict.fromkeys(served, 200)
