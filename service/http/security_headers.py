"""Response headers that tell browsers what they may not do with an answer."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


class SecurityHeadersMiddleware:
    """Adds SECURITY_HEADERS to every HTTP answer that does not have its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                own = {name.lower() for name, _ in headers}
                added = [header for header in SECURITY_HEADERS if header[0] not in own]
                message = {**message, "headers": [*headers, *added]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
