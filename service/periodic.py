"""Repeat an action while something runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable


@contextlib.asynccontextmanager
async def repeated(action: Callable[[], Awaitable[None]], seconds: float) -> AsyncGenerator[None]:
    """Await `action` every `seconds` inside the block, and once more at its end.

    `action` must not raise.
    """
    is_ending = asyncio.Event()

    async def repeat() -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await is_ending.wait()
                    return
            await action()

    repeating = asyncio.create_task(repeat())
    try:
        yield
    finally:
        is_ending.set()
        await repeating
        await action()
