"""BCP 47 tags: the short codes of a model family's own, and the tag that is nearest to a user's.

langcodes knows them; only what needs it imports this module, since that takes 25 ms.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langcodes import Language, closest_supported_match, language_distance
from langcodes.tag_parser import LanguageTagError

_NEAREST = 5
"""The largest CLDR matching distance at which a region or spelling is the same language."""
_NO_REGION = "XX"
_MAX_CACHED = 4096
_langcodes_lock = threading.Lock()


def nearest(code: str, codes: Sequence[str]) -> str | None:
    """The code whose language is that of another tag; None if there is none."""
    with _bounded_caches():
        if _parse(code) is None:
            return None
        tags = [known for known in codes if _parse(known) is not None]
        return closest_supported_match(code, tags, max_distance=_NEAREST)


def public_codes(own_codes: Sequence[str]) -> dict[str, str]:
    """A short BCP-47 tag for each of a model family's codes -> {own: public}.

    Default subtags are omitted ("eng_Latn" is "en", "zho_Hant" is "zh-Hant"), unless two codes
    would become equal.
    """
    public: dict[str, str] = {}
    left = list(dict.fromkeys(own_codes))
    levels: list[Callable[[str], str]] = [_bare, _short_macro, _short, _standard, str]
    for shorten in levels:
        shortened = {own: shorten(own) for own in left}
        taken = Counter([*shortened.values(), *public.values()])
        public |= {own: code for own, code in shortened.items() if taken[code] == 1}
        left = [own for own in left if own not in public]
    return {own: public[own] for own in own_codes}


@contextlib.contextmanager
def _bounded_caches() -> Iterator[None]:
    """Trim langcodes' caches to the bound; langcodes keeps every tag it ever parsed.

    The lock prevents removing an entry while another thread reads it.
    """
    caches: list[dict[Any, Any]] = [
        Language._PARSE_CACHE,
        Language._INSTANCES,
        language_distance._DISTANCE_CACHE,
    ]
    with _langcodes_lock:
        try:
            yield
        finally:
            for cache in caches:
                while len(cache) > _MAX_CACHED:
                    cache.popitem()


def _parse(code: str) -> Language | None:
    try:
        return Language.get(code)
    except LanguageTagError:
        return None


def _bare(code: str) -> str:
    """The language subtag alone; the macrolanguage's, so that "arb" becomes "ar"."""
    first = code.replace("_", "-").lower().split("-")[0]
    tag = _parse(code)
    return first if len(first) == 2 or tag is None else tag.prefer_macrolanguage().language or first


def _short_macro(code: str) -> str:
    tag = _parse(code)
    return code if tag is None else _minimal(tag.prefer_macrolanguage())


def _short(code: str) -> str:
    tag = _parse(code)
    return code if tag is None else _minimal(tag)


def _standard(code: str) -> str:
    tag = _parse(code)
    return code if tag is None else tag.to_tag()


def _minimal(tag: Language) -> str:
    """The tag without the language's default script and region."""
    likely = Language.make(language=tag.language).maximize()
    script = None if tag.script == likely.script else tag.script
    region = None if tag.territory in (likely.territory, _NO_REGION) else tag.territory
    return Language.make(language=tag.language, script=script, territory=region).to_tag()
