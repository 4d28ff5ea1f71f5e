"""Reads and writes documents in threads of this process.

A program that uses the library trusts its files, and cannot be started again as the processes of
documents would: a script without `if __name__ == "__main__"` would run once more in each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.documents.processes import ReadDocument, SentDocument, read_parts, write_document
from service.translation.markup.coded_text import Text


class DocumentThreads:
    """Documents without bounds of time and memory."""

    async def read(self, client: str, document: SentDocument) -> ReadDocument:
        """Raises InvalidDocument or DocumentTooLarge."""
        return ReadDocument(await asyncio.to_thread(read_parts, document), 0.0)

    async def write(
        self, client: str, document: SentDocument, translations: Sequence[Text]
    ) -> bytes:
        """Raises InvalidDocument or DocumentTooLarge."""
        return await asyncio.to_thread(write_document, document, translations)
