"""DeepL's codes of the languages."""

from __future__ import annotations

from service.translation.language.chinese import TRADITIONAL
from service.translation.routing import Routes

_VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT"), "zh": ("ZH", "ZH-HANS")}
"""What DeepL's clients take as a target instead of the code."""


def language_codes(routes: Routes) -> tuple[list[str], list[str]]:
    """DeepL's codes of the source and of the target languages; Chinese is one source."""
    reachable = {code for reached in routes.targets.values() for code in reached}
    codes = [code for code in routes.languages if code in reachable]
    variants = [one for code in codes for one in _VARIANTS.get(code, (code.upper(),))]
    sources = (code for code, reached in routes.targets.items() if reached and code != TRADITIONAL)
    return [code.upper() for code in sources], variants
