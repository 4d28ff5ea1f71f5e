"""GET /docs: the API reference, which shows /openapi.json with Swagger UI.

Swagger UI's files come from the package fastapi-offline, so a browser asks no other host.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files

from fastapi import APIRouter

from service.http.browser_files import BrowserFile

PATH, FOLDER = "/docs", "/docs/"
_OURS = ("start.js", "style.css")
_SWAGGER_UI = ("swagger-ui-bundle.js", "swagger-ui.css")
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # the pictures in Swagger UI's styles
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def make_router() -> APIRouter:
    """Make the routes of the reference and its files."""
    router = APIRouter()
    for path, file in _read_files().items():
        endpoint = file.answer_with(_POLICY)
        router.add_route(path, endpoint, ["GET", "HEAD"], include_in_schema=False)
    return router


@functools.cache
def _read_files() -> Mapping[str, BrowserFile]:
    """The files by their paths; cached because compressing them takes a tenth of a second."""
    ours, swagger_ui = files("service") / "api_reference", files("fastapi_offline") / "static"
    found = {
        PATH: ours / "index.html",
        FOLDER + "icon.svg": files("service") / "web" / "icon.svg",
        **{FOLDER + name: ours / name for name in _OURS},
        **{FOLDER + name: swagger_ui / name for name in _SWAGGER_UI},
    }
    return {
        path: BrowserFile.of(file.read_bytes(), file.name.rpartition(".")[2])
        for path, file in found.items()
    }
