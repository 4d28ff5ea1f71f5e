"""Files for browsers: read once, at the start, and sent with an ETag, compressed if asked for.

No request reaches the file system.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
"""By the suffix of a file's name."""
_HEADERS = {
    "Cache-Control": "no-cache",  # a browser asks again, and mostly gets 304
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class BrowserFile:
    """A file as it is sent: plain, and compressed for the browsers that take it so."""

    content: bytes
    compressed: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, suffix: str) -> BrowserFile:
        """`suffix`: one of MEDIA_TYPES."""
        etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(content, gzip.compress(content, mtime=0), MEDIA_TYPES[suffix], etag)

    def answer_with(self, policy: str) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint that sends the file under a content policy."""
        common = {**_HEADERS, "Content-Security-Policy": policy, "ETag": self.etag}

        async def answer(request: Request) -> Response:
            headers = dict(common)
            known = request.headers.get("if-none-match", "")
            if self.etag in (tag.strip() for tag in known.split(",")):
                return Response(status_code=304, headers=headers)
            content = self.content
            if "gzip" in request.headers.get("accept-encoding", ""):
                content = self.compressed
                headers["Content-Encoding"] = "gzip"
            return Response(content, headers=headers, media_type=self.media_type)

        return answer
