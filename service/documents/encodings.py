"""The encodings of texts: UTF-8, UTF-16, and the older ones of Chinese and of Western Europe.

An old encoding is the one that the text names, or else chosen by how few of the characters that it
reads are rare. A language that is named goes before.
"""

from __future__ import annotations

import codecs
import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import regex

from service.translation.language.segmentation import is_spaced

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHINESE, _WESTERN = ("gb18030", "big5"), ("cp1252",)
_OLD = (*_CHINESE, *_WESTERN)
_COMMON = regex.compile(r"[\s\p{P}]")
_SAMPLE_BYTES = 50_000
_MOST_RARE, _MOST_RARE_IF_NAMED = 0.3, 0.5
_SHORT_BYTES, _MOST_CHAOS = 200, 0.05
_PUNCTUATION = "，。！？、；：“”‘’（）《》【】…—·「」『』～％－＝＋／０１２３４５６７８９\u3000"
_HAN_IN_WORD = regex.compile(
    r"(?<=[a-zA-Z])[\p{Han}\p{Co}](?![\p{Han}\p{Co}])"
    r"|(?<![\p{Han}\p{Co}])[\p{Han}\p{Co}](?=[a-zA-Z])"
)
_RARE_LATIN = regex.compile(
    r"(?<=[\p{Ll}[^\x00-\x7f]])[À-ÖØ-ÞŠŽŒŸ]|(?<=[À-ÖØ-ÞŠŽŒŸ])[à-ÿšžœ]"
    r"|(?<=[^\x00-\x7f]{2})[ß-ÿšžœ]|(?<=\p{L})[¡-¦¨-ª¬-¯±-´¶¸-¿×÷†‡ˆ‰ƒ˜]"
    r"|[¢-¦¨ª¬®¯±-´¶¸-º¼-¾×÷†‡ˆ‰ƒ˜](?=\p{L})|[¡-¿×÷†‡ˆ‰ƒ˜](?=[À-ÿ])|[¤¦¨¬¯´¸ˆ˜ƒþÞðÐ¶]",
    regex.V1,
)
"""Letters and signs where words of Western languages seldom have them."""
_ASCII = rb"\x41" + bytes(range(0x20, 0x5B)) + bytes(range(0x5D, 0x7F))
_CONTROLS = regex.compile(r"[\x80-\x9f]")


class Encoding(NamedTuple):
    """`mark`: the byte order mark that texts begin with."""

    name: str
    mark: bytes = b""

    @property
    def is_unicode(self) -> bool:
        """Whether it can spell every text."""
        return self.name.startswith("utf")


def unicode_encoding(content: bytes) -> Encoding:
    """The encoding that a byte order mark names, or UTF-8."""
    found = (Encoding(name, mark) for mark, name in _MARKS if content.startswith(mark))
    return next(found, Encoding("utf-8"))


def named_encoding(content: bytes, charset: regex.Pattern[str]) -> str | None:
    """The old encoding whose name this expression finds in a text; None if the text is not in it,
    or is in UTF-8."""
    found = charset.search(content[:_SAMPLE_BYTES].decode("latin-1"))
    if found is None or any(content.startswith(mark) for mark, _ in _MARKS):
        return None
    try:
        name = codecs.lookup(found.group()).name
        if _ASCII.decode(name) != _ASCII.decode("ascii"):
            return None
        text = content.decode(name)
    except (LookupError, ValueError):
        return None
    is_other = name == "utf-8" or _CONTROLS.search(text) or text.encode(name) != content
    return None if is_other or (not content.isascii() and _is_utf_8(content)) else name


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def marked_utf_8(text: str) -> bytes:
    """UTF-8 with a mark, for a format that has no other way to say its encoding."""
    return text.encode("utf-8-sig")


def encode_old(
    encoding: str, text: str, encode_wide: Callable[[str], bytes] = marked_utf_8
) -> bytes:
    """The text in an old encoding, or as `encode_wide` spells what that cannot."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return encode_wide(text)


def guessed_encoding(content: bytes, language: str) -> str | None:
    """The old encoding of a text in a language, or UTF-16 without a mark; None if it is none of
    those known. `language` may be "auto"."""
    sample = content[:_SAMPLE_BYTES]
    if b"\0" in sample:
        return _wide_encoding(sample)
    if len(sample) < len(content):
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    read = {name: reading for name in _OLD if (reading := _Reading.of(sample, name))}
    own = () if language == "auto" else _WESTERN if is_spaced(language) else _CHINESE
    named = [name for name in own if name in read and read[name].share_rare <= _MOST_RARE_IF_NAMED]
    best = min(named or read, key=lambda name: read[name].num_rare, default=None)
    if best is None or (not named and read[best].share_rare > _MOST_RARE):
        return None
    return best if len(sample) < _SHORT_BYTES or _is_orderly(sample, best) else None


class _Reading(NamedTuple):
    """How many characters of a text are not ASCII if it is read in an encoding, and how many of
    them are rare; a character that is cut off at the end is rare, too."""

    num_characters: int
    num_rare: int

    @property
    def share_rare(self) -> float:
        return self.num_rare / max(1, self.num_characters)

    @classmethod
    def of(cls, sample: bytes, encoding: str) -> _Reading | None:
        """None if the text is not in the encoding."""
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            text = decoder.decode(sample)
        except UnicodeDecodeError:
            return None
        num_cut = len(decoder.getstate()[0])
        others = [char for char in text if not char.isascii()]
        num_rare = len(_RARE_LATIN.findall(text))
        if encoding not in _WESTERN:
            common = _common_chinese()
            num_rare = sum(char not in common for char in others) + len(_HAN_IN_WORD.findall(text))
        return cls(len(others) + num_cut, num_rare + num_cut)


@functools.cache
def _common_chinese() -> frozenset[str]:
    """Punctuation, and the first levels of GB 2312 and Big5: they have the common characters."""
    simplified = itertools.product(range(0xB0, 0xD8), range(0xA1, 0xFF))
    traditional = itertools.product(range(0xA4, 0xC7), range(0x40, 0xFF))
    written = (("gb2312", simplified), ("big5", traditional))
    texts = (bytes(itertools.chain(*pairs)).decode(name, "ignore") for name, pairs in written)
    return frozenset(itertools.chain(_PUNCTUATION, *texts))


def _is_orderly(sample: bytes, encoding: str) -> bool:
    """Whether a library of encodings finds that a long text is no other encoding's."""
    from charset_normalizer import from_bytes  # it takes longer to import than most files to read

    found = from_bytes(sample, cp_isolation=[encoding]).best()
    return found is not None and found.chaos <= _MOST_CHAOS


def _wide_encoding(sample: bytes) -> str | None:
    """The order of bytes in which all is text, with more spaces and punctuation."""
    found = {}
    for encoding in ("utf-16-le", "utf-16-be"):
        text = codecs.getincrementaldecoder(encoding)("replace").decode(sample)
        if all(char.isprintable() or char.isspace() for char in text.replace("\ufffd", "\0")):
            found[encoding] = len(_COMMON.findall(text))
    return max(found, key=lambda encoding: found[encoding], default=None)
