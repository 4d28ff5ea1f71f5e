"""What is common to all front ends, counted and kept in this process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from service.commons.commons import Commons
from service.commons.file_store import FileBounds, FileStore
from service.commons.spool import Spool
from service.commons.usage import UsageLedger
from service.settings import Settings
from service.settings.startup import StartupError
from service.stores.api_key import ClientLimits
from service.stores.keys import KeyStore

if TYPE_CHECKING:
    from service.commons.windows import MinuteWindows


def local_commons(settings: Settings, keys: KeyStore | None) -> Commons:
    """Raises StartupError and StorageFailed."""
    windows = make_windows(settings) if has_minute_limits(settings) else None
    usage = None if keys is None else UsageLedger(keys)
    spool = _spool_of(settings)
    half = settings.max_documents_bytes // 2
    bounds = FileBounds(settings.max_documents, half, settings.documents_seconds)
    return Commons(windows, CountedPlaces(), usage, FileStore(spool, bounds), spool)


def spool_directory(settings: Settings) -> Path:
    """The directory of files. Raises StartupError."""
    try:
        return settings.documents_dir or Spool.temporary()
    except OSError:
        raise StartupError(
            "setting documents_dir: must be given, there is no directory for temporary files"
        ) from None


def _spool_of(settings: Settings) -> Spool:
    """Raises StartupError."""
    spool = Spool(spool_directory(settings))
    if settings.documents_dir is None:
        return spool
    try:
        spool.check()
    except BlockingIOError as error:
        raise StartupError(
            f"setting documents_dir: another server has {settings.documents_dir}"
        ) from error
    except OSError as error:
        raise StartupError(
            f"setting documents_dir: cannot write to {settings.documents_dir}: {error.strerror}"
        ) from None
    return spool


def open_keys(settings: Settings) -> KeyStore | None:
    """The keys of a server; None if it has none. Raises DatabaseError."""
    if settings.api_keys == "off":
        return None
    assert settings.database is not None  # the settings say so
    return KeyStore(settings.database)


def has_minute_limits(settings: Settings) -> bool:
    """Whether anybody may have a limit of a minute."""
    is_limited = limits_of_all(settings) != ClientLimits()
    return is_limited or settings.api_keys != "off" or settings.limits_url is not None


def limits_of_all(settings: Settings) -> ClientLimits:
    """Those of who has no key, and of keys without limits of their own."""
    return ClientLimits(
        settings.requests_per_minute, settings.characters_per_minute, settings.concurrent_requests
    )


def make_windows(settings: Settings) -> MinuteWindows:
    """Raises StartupError."""
    from service.commons.windows import MinuteWindows  # 30 ms and 3 MiB that most never need

    try:
        return MinuteWindows(
            settings.limits_url.get_secret_value() if settings.limits_url else None
        )
    except ValueError as error:
        raise StartupError(f"setting limits_url: {error}") from None


class CountedPlaces:
    """Places of clients, counted in this process."""

    def __init__(self) -> None:
        self._num_taken: Counter[str] = Counter()

    async def take(self, client: str, limit: int) -> bool:
        if self._num_taken[client] >= limit:
            return False
        self._num_taken[client] += 1
        return True

    def leave(self, client: str) -> None:
        self._num_taken[client] -= 1
        if not self._num_taken[client]:
            del self._num_taken[client]
