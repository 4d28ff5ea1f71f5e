"""Language codes: user input, a checkpoint's own codes, and the supported pairs.

A checkpoint's public codes are short BCP-47 tags ("en", "zh", "zh-Hant"). Its own codes, such as
"eng_Latn" or "zh_CN", and every equivalent tag are also accepted.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from model.values import shown

Pairs = tuple[tuple[str, str], ...]
MAX_CODE_CHARACTERS = 64
"""The longest code that is looked up; practical BCP 47 tags have at most 35 characters."""
_MAX_FOUND = 1024
_CODE = re.compile(r"[A-Za-z0-9]{1,16}([-_@+.][A-Za-z0-9]{1,16}){0,5}", re.ASCII)
_MOST_PAIRS = 1_000_000
DETECTED = "auto"


class LanguageError(ValueError):
    """The model does not know the language; the message lists those it does."""


class Languages:
    """The public codes of one checkpoint and their equivalents."""

    def __init__(self, codes: Iterable[str], own_codes: Mapping[str, str] | None = None) -> None:
        """`own_codes` maps the model family's codes to public ones."""
        self.codes = tuple(dict.fromkeys(codes))
        spelled = {**(own_codes or {}), **{code: code for code in self.codes}}
        self._exact = {_folded(name): code for name, code in spelled.items()}

    def find(self, code: str) -> str | None:
        """The public code for user input; None if the model lacks the language."""
        if len(code) > MAX_CODE_CHARACTERS:
            return None
        return self._exact.get(_folded(code)) or _nearest(code, self.codes)

    def resolve(self, code: str) -> str:
        """Like `find`, but raises LanguageError with the allowed codes."""
        if found := self.find(code):
            return found
        raise LanguageError(
            f"language {code!r} is not supported; supported: {', '.join(self.codes)}"
        )


@functools.lru_cache(_MAX_FOUND)
def _nearest(code: str, codes: tuple[str, ...]) -> str | None:
    from model.text.tags import nearest  # takes 25 ms, and most servers never need it

    return nearest(code, codes)


def is_code(value: object) -> TypeGuard[str]:
    """Whether the value can be a language code: letters and digits, in parts."""
    return isinstance(value, str) and _CODE.fullmatch(value) is not None


def parse_pairs(raw: Any) -> Pairs:
    """Parse the pairs of config.json: a list of [source, target], or {"sources", "targets"} for
    every source with every other target. Raises ValueError or KeyError."""
    if isinstance(raw, dict):
        sources, targets = _parse_codes(raw["sources"]), _parse_codes(raw["targets"])
        if len(sources) * len(targets) > _MOST_PAIRS:
            raise ValueError(
                f"pairs must be at most {_MOST_PAIRS}, "
                f"got {len(sources)} sources and {len(targets)} targets"
            )
        pairs = every_pair(sources, targets)
    elif isinstance(raw, list | tuple):
        pairs = tuple(_parse_pair(pair) for pair in raw)
    else:
        raise ValueError(f"pairs must be a list of [source, target], got {shown(raw)}")
    if not pairs:
        raise ValueError("pairs must name at least one [source, target]")
    _require_different(pairs)
    return pairs


def _require_different(pairs: Pairs) -> None:
    """Raises ValueError for a pair of one language, and for one that is there twice."""
    seen = set[tuple[str, str]]()
    for source, target in pairs:
        pair = _folded(source), _folded(target)
        if pair[0] == pair[1]:
            raise ValueError(f"a pair must have two languages, got {shown([source, target])}")
        if pair in seen:
            raise ValueError(f"pairs must be different, got {shown([source, target])} twice")
        seen.add(pair)


def _parse_pair(raw: Any) -> tuple[str, str]:
    codes = _parse_codes(raw)
    if len(codes) != 2:
        raise ValueError(f"a pair must be [source, target], got {shown(raw)}")
    return codes[0], codes[1]


def _parse_codes(raw: Any) -> list[str]:
    if not isinstance(raw, list | tuple):
        raise ValueError(f"languages must be a list of codes, got {shown(raw)}")
    if wrong := [code for code in raw if not is_code(code)]:
        said = shown(wrong[0])
        raise ValueError(f"a language must be a code such as 'en' or 'zh-Hant', got {said}")
    if any(_folded(code) == DETECTED for code in raw):
        raise ValueError(f"a language must not be {DETECTED}, which asks to detect it")
    return list(raw)


def render_pairs(pairs: Pairs) -> Any:
    """The shorter of the two forms of pairs in config.json."""
    sources = list(dict.fromkeys(source for source, _ in pairs))
    targets = list(dict.fromkeys(target for _, target in pairs))
    is_product = set(every_pair(sources, targets)) == set(pairs)
    if is_product and len(sources) + len(targets) < len(pairs):
        return {"sources": sources, "targets": targets}
    return pairs


def every_pair(sources: Iterable[str], targets: Iterable[str]) -> Pairs:
    """Every source with every target except itself."""
    all_targets = list(targets)
    return tuple((a, b) for a in sources for b in all_targets if a != b)


def shown_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """The pairs as text for messages: each pair, or their sources and targets."""
    compact = render_pairs(tuple(pairs))
    if isinstance(compact, dict):
        sources, targets = ", ".join(compact["sources"]), ", ".join(compact["targets"])
        return f"any of {sources} to any other of {targets}"
    return ", ".join(f"{source} to {target}" for source, target in compact)


def _folded(code: str) -> str:
    return code.replace("_", "-").lower()
