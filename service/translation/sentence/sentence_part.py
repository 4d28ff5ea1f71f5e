"""Parts of a sentence that is too long for the network: it takes each for a whole one, and gives it
a capital and a full stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from service.translation.language.segmentation import is_spaced
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

_SMALL_WORDS = {
    "de": """
        aber alle als am an auch auf aus bei beim bevor bis da daher damit dann das dass dem den
        denn der des die dies diese diesem diesen dieser dieses durch ein eine einem einen einer
        eines einige er es für gegen haben hat hatte ihm ihn im in indem ist jede jedem jeden jeder
        jedes jedoch kann können man mit muss müssen nach nachdem nicht noch nur ob obwohl oder ohne
        seit sich sind so sobald sodass soll sollen sondern sowie sowohl über um und unter viele vom
        von vor während war waren wenn werden weil welche welcher welches wenn wie wir wird wo wobei
        wodurch wurde wurden zu zum zur zwischen
        """,
    "en": """
        a about after all along also although among an and any are as at because been before being
        between both but by can could despite did do does due during each either even every few for
        from had has have he her here his how however if in including instead into is it its just
        many more most my neither no nor not of on only or other our over rather she should since so
        some such than that the their then there therefore these they this those though through thus
        to under unless until upon was we were what when where whereas whether which while who whose
        with within without would yet you your
        """,
}
"""By language, words of grammar; no names and no months, as May, and no polite Sie."""
_KNOWN = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}
CLAUSE = regex.compile(
    r"(?:as|because|before|if|once|since|so that|that|unless|until|when|where|whether|which|while"
    r"|whose?|als|bevor|bis|damit|dass|falls|nachdem|ob|obwohl|sobald|sofern|soweit|während|weil"
    r"|wenn|wobei)\b"
)
"""What begins a text as a clause begins in a sentence, as in (b) if it rains: networks write a
comma first."""
_FIRST_WORD = regex.compile(r"(\p{Lu})\p{Ll}*+(?![\p{L}\p{M}\p{N}])")
_FULL_STOP = regex.compile(r"(?<=\p{Ll}{2}|[\p{Lo}\p{N}\p{Pe}\p{Pf}\"])[.。]\Z")
_FIRST_PAUSE = regex.compile(r"[,，;；:：]\s*+")
_PAUSE = regex.compile(r"[,，、;；:：]\Z")
_BARE_END = regex.compile(r"[\p{L}\p{M}\p{N}\p{Pe}%]\Z")
_END = regex.compile(r"[.。!！?？…][\p{Pf}\p{Pe}\"']{0,4}\Z")
_WIDE = {",": "，", ";": "；", ":": "："}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()} | {"、": ","}


@dataclass(frozen=True)
class SentencePart:
    """The stage of a part that does not begin its sentence, or does not end it, and of a clause."""

    text: str
    begins: bool
    ends: bool
    target: str

    def leave(self, draft: Draft) -> Draft:
        """The translation without a mark before its first word, without the capital of a word of
        grammar that the part does not begin with, and with the part's own mark in place of a full
        stop or of none, since a number would run into the next part's."""
        return draft.changed([*self._changes(draft.text)])

    def _changes(self, translation: str) -> Iterator[Replacement]:
        is_own = self.begins or _FIRST_PAUSE.match(self.text)
        pause = None if is_own else _FIRST_PAUSE.match(translation)
        if pause:
            yield Replacement(*pause.span(), "")
        word = None if self.begins else _FIRST_WORD.match(translation)
        if word and word[0].lower() in _KNOWN.get(self.target, ()) and word[0] != self._first:
            yield Replacement(*word.span(1), word[1].lower())
        stop = None if self.ends else _FULL_STOP.search(translation)
        if stop and not _END.search(self.text):
            yield Replacement(*stop.span(), self._pause)
        elif not self.ends and _PAUSE.search(self.text) and _BARE_END.search(translation):
            yield Replacement(len(translation), len(translation), self._pause)

    @property
    def _first(self) -> str:
        """The word with a capital that the part begins with."""
        found = _FIRST_WORD.match(self.text)
        return found[0] if found else ""

    @property
    def _pause(self) -> str:
        """The mark that the part ends with, as the target writes it; without, a comma where no
        space parts words."""
        pause = _PAUSE.search(self.text)
        if pause is None:
            return "" if is_spaced(self.target) else "，"
        marks = _NARROW if is_spaced(self.target) else _WIDE
        return marks.get(pause[0], pause[0])
