"""How far a run is: records, their rate, failures, and the time that is left, on standard error."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TextIO

from service.corpora.translations import Translation

_TERMINAL_SECONDS, _LOG_SECONDS = 0.5, 60.0
_MOST_REPORTED = 20
_CLEARED = "\r\x1b[K"


class CorpusProgress:
    """Shows a line that changes on a terminal, and a line a minute elsewhere. What cannot be shown,
    as on a terminal that is closed, ends no run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()
        self._num_done = 0
        self._num_before = self._num_failed_before = self._num_failed = 0
        self._started = self._shown = time.monotonic()
        self._first_fraction: float | None = None

    @property
    def num_failed(self) -> int:
        """Of all records."""
        return self._num_failed_before + self._num_failed

    def set_before(self, num_done: int, num_failed: int) -> None:
        """So many records an earlier run wrote, and so many of these failed."""
        self._num_before, self._num_failed_before = num_done, num_failed

    def add(self, translations: Sequence[Translation], fraction: float | None) -> None:
        """More records are written, at this part of the input."""
        for place, translation in enumerate(translations, self._num_before + self._num_done + 1):
            if translation.error:
                self._report(f"record {place} is not translated: {translation.error}")
        self._num_done += len(translations)
        if self._first_fraction is None:
            self._first_fraction = fraction
        now = time.monotonic()
        if now - self._shown >= (_TERMINAL_SECONDS if self._is_terminal else _LOG_SECONDS):
            self._shown = now
            self._show(self._line(now - self._started, fraction))

    def _report(self, message: str) -> None:
        self._num_failed += 1
        if self._num_failed <= _MOST_REPORTED:
            self._print(message)
        elif self._num_failed == _MOST_REPORTED + 1:
            self._print("further records that are not translated are only counted")

    def end(self) -> None:
        """Show what was done in all."""
        self._print(self._line(time.monotonic() - self._started, None))

    def _line(self, seconds: float, fraction: float | None) -> str:
        rate = self._num_done / seconds if seconds else 0.0
        parts = [f"{self._num_before + self._num_done:,} records", f"{rate:,.0f}/s"]
        if self.num_failed:
            parts.append(f"{self.num_failed:,} failed")
        begun = self._first_fraction
        if fraction is not None and begun is not None and fraction > begun:
            left = seconds * (1 - fraction) / (fraction - begun)
            parts.append(f"{fraction:.0%}, {timedelta(seconds=round(left))} left")
        return ", ".join(parts)

    def _show(self, line: str) -> None:
        if self._is_terminal:
            self._write(f"{_CLEARED}{line}")
        else:
            self._print(line)

    def _print(self, line: str) -> None:
        cleared = _CLEARED if self._is_terminal else ""
        self._write(f"{cleared}dragoman: {line}\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
