"""DeepL's ignore_tags: elements of a page whose content stays."""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.errors import InvalidField, shown
from service.http.request_fields import listed

_NO_MARK = ' translate="no"'
_TAG_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_MAX_TAGS = 100


class IgnoredTags:
    """DeepL's ignore_tags: elements whose content stays, marked for the server as HTML marks them.
    With no names, texts stay as they are."""

    def __init__(self, names: Sequence[str], *, is_html: bool) -> None:
        """HTML's names have no case. Raises InvalidField for what is no name of an element, or too
        many names."""
        if len(names) > _MAX_TAGS:
            raise InvalidField(
                f"ignore_tags has {len(names)} tags, at most {_MAX_TAGS} are allowed"
            )
        for name in names:
            if not _TAG_NAME.fullmatch(name):
                raise InvalidField(f"ignore_tags must name elements, got {shown(name)}")
        self._names = "|".join(map(re.escape, names))
        self._flags = re.I if is_html else re.NOFLAG

    def mark(self, text: str) -> str:
        """Add the attribute translate="no" to the elements' start tags."""
        if not self._names:
            return text
        pattern = rf"(<(?:{self._names}))(?=[\s/>])"
        return re.sub(pattern, rf"\1{_NO_MARK}", text, flags=self._flags)

    def unmark(self, text: str) -> str:
        """Remove what `mark` added."""
        if not self._names:
            return text
        return re.sub(rf"(<(?:{self._names})){_NO_MARK}", r"\1", text, flags=self._flags)


def parse_tags(given: str | list[str]) -> list[str]:
    """The names in a list, or in a string that separates them by commas."""
    names = (name.strip() for string in listed(given) for name in string.split(","))
    return [name for name in names if name]
