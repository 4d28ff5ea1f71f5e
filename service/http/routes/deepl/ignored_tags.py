"""DeepL's ignore_tags: elements whose content stays, marked for the server as HTML marks them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.errors import InvalidField, shown

_MARK = ' translate="no"'
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_MAX_TAGS = 100


class IgnoredTags:
    """The names of the elements. With none, texts stay as they are."""

    def __init__(self, names: Sequence[str]) -> None:
        """Raises InvalidField for what is no name of an element, or too many names."""
        if len(names) > _MAX_TAGS:
            raise InvalidField(
                f"ignore_tags has {len(names)} tags, at most {_MAX_TAGS} are allowed"
            )
        for name in names:
            if not _NAME.fullmatch(name):
                raise InvalidField(f"ignore_tags must name elements, got {shown(name)}")
        self._names = "|".join(map(re.escape, names))

    def mark(self, text: str) -> str:
        """Add the attribute translate="no" to the elements' start tags."""
        if not self._names:
            return text
        return re.sub(rf"(<(?:{self._names}))(?=[\s/>])", rf"\1{_MARK}", text)

    def unmark(self, text: str) -> str:
        """Remove what `mark` added."""
        if not self._names:
            return text
        return re.sub(rf"(<(?:{self._names})){_MARK}", r"\1", text)


def parse_tags(given: str | Sequence[str]) -> list[str]:
    """The names in a list, or in a string that separates them by commas."""
    strings = [given] if isinstance(given, str) else given
    names = (name.strip() for string in strings for name in string.split(","))
    return [name for name in names if name]
