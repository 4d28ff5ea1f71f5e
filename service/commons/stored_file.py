"""A sent file as all front ends see it: waiting, in work, translated or failed."""

from __future__ import annotations

import math
import secrets
import string
from dataclasses import dataclass, field
from typing import Literal

_NAME_BYTES = 24
FileState = Literal["queued", "translating", "done", "error"]


def _secret() -> str:
    return secrets.token_hex(_NAME_BYTES)


def is_secret(text: str) -> bool:
    """Whether it may be the name of a file."""
    return len(text) == 2 * _NAME_BYTES and set(text) <= set(string.hexdigits.lower())


@dataclass(frozen=True)
class StoredFile:
    """A file and its translation. Times are monotonic seconds, in its record since the epoch.

    `download_name`: what the client may call the translation; `owner`: the id of the API key that
    sent it, "" without one; `client`: that key or the address; `num_sent_bytes`: of the file;
    `num_bytes`: of its translation; `num_characters`: of the file's texts, once they are counted;
    `source`: their language, once it is known; `error`: the code and the message of a failure;
    `name` and `key`: two secrets; `began_seconds`: when the translation of its texts began;
    `changed_seconds`: when one of these last changed.
    """

    download_name: str
    media_type: str
    owner: str
    client: str
    num_sent_bytes: int
    num_bytes: int = 0
    num_characters: int = 0
    num_done: int = 0
    source: str = ""
    state: FileState = "queued"
    error: tuple[str, str] | None = None
    name: str = field(default_factory=_secret)
    key: str = field(default_factory=_secret)
    began_seconds: float = 0.0
    changed_seconds: float = 0.0

    @property
    def has_ended(self) -> bool:
        return self.state in ("done", "error")

    def seconds_left(self, now: float) -> int | None:
        """Until the translation is done, by the rate of the characters so far; None: unknown."""
        if self.has_ended:
            return 0
        if not self.num_done:
            return None
        seconds = self.changed_seconds - self.began_seconds
        whole = seconds * self.num_characters / self.num_done
        return max(1, math.ceil(whole - (now - self.began_seconds)))
