"""Cut a text into sentences to translate and stretches to keep, and join the translations.

Joining the untranslated sentences gives the original text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex
from sentencex import segment  # type: ignore[import-untyped]

from service.translation.splitting import CountTokens, split_to_fit

_UNSPACED_LANGUAGES = frozenset({"zh", "zt", "yue", "wuu", "ja", "th", "lo", "km", "my", "bo"})
_SEPARATOR = r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+|\s{4,}"
_EMOJI = (
    r"\p{Regional_Indicator}{2}"
    r"|[0-9#*]\uFE0F?\u20E3"
    r"|(?:[\p{Extended_Pictographic}--[©®™\u2139‼⁉〰〽㊗㊙\u2190-\u21FF]]|\p{Extended_Pictographic}\uFE0F)"
    r"[\p{Emoji_Modifier}\p{Extended_Pictographic}\uFE0F\u200D\U000E0020-\U000E007F]*"
)
_KEPT = regex.compile(rf"(?V1)(?:{_SEPARATOR}|{_EMOJI})+")
_LETTER = regex.compile(r"(?V1)[\p{L}--\p{Default_Ignorable_Code_Point}]")
_WINDOW_CHARACTERS = 2000


@dataclass(frozen=True)
class Piece:
    """A sentence to translate, or the text between two sentences."""

    text: str
    is_sentence: bool


class Document:
    """One text as sentences to translate and text to keep. Without sentences its joined
    translation is the text itself."""

    def __init__(self, pieces: Sequence[Piece], language: str) -> None:
        """`language`: the code of the text's language."""
        self.pieces, self.language = pieces, language
        self.sentences = [piece.text for piece in pieces if piece.is_sentence]
        """The sentences to translate, in order."""

    def join(self, translations: Sequence[str], target: str) -> str:
        """Replace each sentence by its translation, with the spacing of `target`.

        Raises ValueError unless there is one translation per sentence.
        """
        gaps = self.gaps(target)
        if len(translations) != len(gaps) - 1:
            raise ValueError(f"{len(translations)} translations for {len(gaps) - 1} sentences")
        pairs = zip(gaps, [*translations, ""], strict=True)
        return "".join(part for pair in pairs for part in pair)

    def gaps(self, target: str) -> list[str]:
        """The text before each sentence's translation, and after the last."""
        gaps = [""]
        for piece in self.pieces:
            if piece.is_sentence:
                gaps.append("")
            else:
                gaps[-1] += piece.text
        between = [self._spaced(gap, target) for gap in gaps[1:-1]]
        return [gaps[0], *between, *gaps[-1:]] if len(gaps) > 1 else gaps

    def _spaced(self, gap: str, target: str) -> str:
        is_source_spaced, is_target_spaced = is_spaced(self.language), is_spaced(target)
        if gap == "" and is_target_spaced and not is_source_spaced:
            return " "
        if gap == " " and not is_target_spaced:
            return "" if is_source_spaced else gap
        return gap


def cut_text(text: str, language: str, max_tokens: int, count_tokens: CountTokens) -> Document:
    """Cut one text. A sentence has letters, no white space around it, and at most `max_tokens`.

    A single character of more tokens is kept untranslated.
    """
    return Document(list(_merge(_cut(text, language, max_tokens, count_tokens))), language)


def is_spaced(language: str) -> bool:
    """Whether the language writes a space between two sentences."""
    return language.split("-")[0].lower() not in _UNSPACED_LANGUAGES


def has_letters(text: str) -> bool:
    return _LETTER.search(text) is not None


def _merge(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Drop empty stretches and join neighbouring kept ones."""
    kept: list[str] = []
    for piece in pieces:
        if not piece.is_sentence:
            kept.append(piece.text)
            continue
        if gap := "".join(kept):
            yield Piece(gap, is_sentence=False)
        kept.clear()
        yield piece
    if gap := "".join(kept):
        yield Piece(gap, is_sentence=False)


def _cut(text: str, language: str, max_tokens: int, count_tokens: CountTokens) -> Iterator[Piece]:
    position = 0
    for kept in _KEPT.finditer(text):
        yield from _cut_stretch(text[position : kept.start()], language, max_tokens, count_tokens)
        yield Piece(kept.group(), is_sentence=False)
        position = kept.end()
    yield from _cut_stretch(text[position:], language, max_tokens, count_tokens)


def _cut_stretch(
    stretch: str, language: str, max_tokens: int, count_tokens: CountTokens
) -> Iterator[Piece]:
    """Cut text of one line without emoji into sentences and the white space around them."""
    if not has_letters(stretch):
        yield Piece(stretch, is_sentence=False)
        return
    for sentence in _segment(stretch, language):
        if not has_letters(sentence) or count_tokens(sentence.strip()) <= max_tokens:
            yield from _trim(sentence)
            continue
        for part in split_to_fit(sentence, max_tokens, count_tokens):
            if len(part) == 1 and count_tokens(part) > max_tokens:
                yield Piece(part, is_sentence=False)
            else:
                yield from _trim(part)


def _segment(stretch: str, language: str) -> Iterator[str]:
    """Segment one line in windows, because sentencex is quadratic outside ASCII."""
    start = 0
    while start < len(stretch):
        window = stretch[start : start + _WINDOW_CHARACTERS]
        sentences: list[str] = segment(language, window)
        if "".join(sentences) != window:
            sentences = [window]
        is_last = start + len(window) == len(stretch)
        settled = sentences if is_last or len(sentences) == 1 else sentences[:-1]
        yield from settled
        start += sum(map(len, settled))


def _trim(sentence: str) -> Iterator[Piece]:
    if not has_letters(sentence):
        yield Piece(sentence, is_sentence=False)
        return
    body = sentence.strip()
    start = sentence.index(body)
    yield Piece(sentence[:start], is_sentence=False)
    yield Piece(body, is_sentence=True)
    yield Piece(sentence[start + len(body) :], is_sentence=False)
