"""Repeat an action while something runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable

from service.errors import StorageFailed

_logger = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def repeated(action: Callable[[], Awaitable[None]], seconds: float) -> AsyncGenerator[None]:
    """Await `action` every `seconds` inside the block, and once more at its end.

    An action that raises is logged and repeated as usual; the database logs a StorageFailed.
    """
    is_ending = asyncio.Event()

    async def repeat() -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await is_ending.wait()
                    return
            await _act(action)

    repeating = asyncio.create_task(repeat())
    try:
        yield
    finally:
        is_ending.set()
        await repeating
        await _act(action)


async def _act(action: Callable[[], Awaitable[None]]) -> None:
    try:
        await action()
    except StorageFailed:
        pass
    except Exception:
        _logger.exception("a repeated action failed")
