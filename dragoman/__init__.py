"""Translate within a program, with the server's code and without HTTP.

    from dragoman import Translator

    with Translator("zh-en") as translator:
        print(translator.translate("图书馆在哪里？", source="zh", target="en"))

What translates is imported when one of these names is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dragoman.neighbours import import_neighbours

if TYPE_CHECKING:
    from dragoman.__main__ import main
    from dragoman.async_translator import AsyncTranslator
    from dragoman.options import DetailOptions, Options
    from dragoman.translator import Translator
    from service import __version__
    from service.errors import (
        DeadlineExceeded,
        DocumentTooLarge,
        InvalidDocument,
        InvalidField,
        ServiceError,
        TranslationFailed,
        UnsupportedFile,
        UnsupportedLanguage,
    )
    from service.translation.glossary import GlossaryEntry
    from service.translation.language.detection import Detection
    from service.translation.results import TranslationResult

__all__ = [
    "AsyncTranslator",
    "DeadlineExceeded",
    "DetailOptions",
    "Detection",
    "DocumentTooLarge",
    "GlossaryEntry",
    "InvalidDocument",
    "InvalidField",
    "Options",
    "ServiceError",
    "TranslationFailed",
    "TranslationResult",
    "Translator",
    "UnsupportedFile",
    "UnsupportedLanguage",
    "__version__",
    "main",
]
_MODULES = {
    "AsyncTranslator": "dragoman.async_translator",
    "DetailOptions": "dragoman.options",
    "Detection": "service.translation.language.detection",
    "GlossaryEntry": "service.translation.glossary",
    "Options": "dragoman.options",
    "TranslationResult": "service.translation.results",
    "Translator": "dragoman.translator",
    "__version__": "service",
    "main": "dragoman.__main__",
}
"""Where the names are, but for those of errors."""

import_neighbours()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES.get(name, "service.errors")), name)


def __dir__() -> list[str]:
    return __all__
