"""Acronyms that the target has others for: networks copy DDR and MEZ, or tear them."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement

_ENGLISH = {
    "BIP": "GDP",
    "BRD": "FRG",
    "DDR": "GDR",
    "DSGVO": "GDPR",
    "EKG": "ECG",
    "EuGH": "ECJ",
    "EZB": "ECB",
    "IWF": "IMF",
    "MESZ": "CEST",
    "MEZ": "CET",
    "MRT": "MRI",
}
"""By the German one."""
_GERMAN = {english: german for german, english in _ENGLISH.items() if english != "ECB"}
_OTHERS = {("de", "en"): _ENGLISH, ("en", "de"): _GERMAN}
_KNOWN = frozenset({*_ENGLISH, *_ENGLISH.values(), "AI", "KI"})
"""Also those that networks translate themselves, and ECB, which is a mode of ciphers too."""
_ACRONYM = regex.compile(
    r"(?<![\p{L}\p{N}_.'’&/@#-]|[\p{L}\p{N}_]:)\p{Lu}[\p{L}]{1,4}+(?![\p{L}\p{N}_&/(]|[-.'’]\p{L}|://)"
)


def find_acronyms(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The acronyms. Not in a text without small letters, which may be a row of codes."""
    others = _OTHERS.get((source, target))
    if others is None or text.isupper():
        return
    for found in _ACRONYM.finditer(text):
        if found[0] in others:
            yield Replacement(*found.span(), others[found[0]])


def has_other(word: str) -> bool:
    """Whether the target may have another acronym."""
    return word in _KNOWN


def other_zone(kept: str, source: str, target: str) -> str:
    """A kept string; the target's name if it is that of a time zone."""
    return _OTHERS.get((source, target), {}).get(kept, kept)
