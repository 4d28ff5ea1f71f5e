"""Let the sentences of a job enter the stages that they need, on their way to the network."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from model.decoding.sentence import SourceSentence
from service.translation.checks.calendar_ranges import find_short_days
from service.translation.checks.number_words import HAS_NUMBERS
from service.translation.checks.spelled_out import has_spoken_numbers
from service.translation.glossary import GlossaryMatcher
from service.translation.job import ModelJob
from service.translation.language.chinese import SIMPLIFIED, to_traditional
from service.translation.language.segmentation import has_letters
from service.translation.markup.flow import MARK
from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.acronyms import find_acronyms
from service.translation.sentence.brackets import enter_brackets
from service.translation.sentence.capitals import Title, enter_capitals, enter_title, is_title
from service.translation.sentence.carriers import Carriers, enter_carriers
from service.translation.sentence.dashes import enter_dashes
from service.translation.sentence.emphasis import (
    NOUNS_IN_CAPITALS,
    CapitalWord,
    Emphasis,
    enter_emphasis,
)
from service.translation.sentence.gendered import enter_gendered
from service.translation.sentence.hard_spaces import HARD_SPACE, enter_hard_spaces
from service.translation.sentence.labels import Speaker, enter_labels
from service.translation.sentence.last_marks import SEVERAL, enter_last_marks
from service.translation.sentence.latin import LATIN, enter_latin, find_latin, keeps_latin, may_tear
from service.translation.sentence.named import find_named
from service.translation.sentence.notation import Notation, enter_notation
from service.translation.sentence.numbers.days_of_month import find_days_of_month
from service.translation.sentence.numbers.eras import find_english_eras
from service.translation.sentence.numbers.kitchen_units import find_kitchen_units
from service.translation.sentence.numbers.legal_sentences import find_legal_sentences
from service.translation.sentence.odd_words import has_odd_words
from service.translation.sentence.ordinals import enter_ordinals
from service.translation.sentence.parsed_text import Sentence
from service.translation.sentence.quotations import QUOTATION_MARK, enter_quotations
from service.translation.sentence.rare_capitals import RareCapitals, enter_rare_capitals
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.script import Script, enter_script
from service.translation.sentence.sentence_part import CLAUSE, SentencePart
from service.translation.sentence.shares import enter_shares
from service.translation.sentence.slashes import Slashes, enter_slashes
from service.translation.sentence.spelled import Spelled
from service.translation.sentence.stages import Stage
from service.translation.sentence.terms import Terms
from service.translation.sentence.umlauts import enter_umlauts
from service.translation.sentence_encoder import SentenceEncoder
from service.translation.text_work import raise_if_unwanted

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

LastStage = Emphasis | CapitalWord | Slashes | Spelled | Notation | RareCapitals | Script
"""What `Entrance.last_stages` gives."""

_CARRIED = (
    find_acronyms,
    find_kitchen_units,
    find_legal_sentences,
    find_days_of_month,
    find_english_eras,
    find_named,
)
"""What finds those parts that the target writes otherwise and the model carries."""


class Entry(msgspec.Struct, frozen=True):
    """A sentence on its way through the network: `text` as the network reads it, and the stages
    that it entered. `is_title`: it is translated once more, in small letters."""

    source: SourceSentence
    text: str
    stages: Sequence[Stage] = ()
    is_title: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the network's text is the translation, if the sentence does not enter again."""
        return not (self.stages or self.is_title)

    @property
    def is_in_small_letters(self) -> bool:
        """Whether it is a title that entered once more."""
        return any(isinstance(stage, Title) for stage in self.stages)

    @property
    def carriers(self) -> Carriers | None:
        """The carriers of the kept strings, if it has any."""
        return next((stage for stage in self.stages if isinstance(stage, Carriers)), None)

    @property
    def terms(self) -> Terms | None:
        """The terms of a glossary, if it has any."""
        return next((stage for stage in self.stages if isinstance(stage, Terms)), None)


class Entrance:
    """The stages and source ids of the sentences of one job."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        encoder: SentenceEncoder,
        matcher: GlossaryMatcher | None,
        work: ModelJob,
    ) -> None:
        self._tokenizer, self._encoder = tokenizer, encoder
        self._matcher, self._work = matcher, work
        self._pair = work.source, work.target
        self._changes_script = work.is_traditional or work.source == SIMPLIFIED
        self._is_aligned = work.job.is_aligned or work.job.is_checked
        self._has_capitals_for_nouns = work.source in NOUNS_IN_CAPITALS
        self._last_stages: dict[str, Sequence[LastStage]] = {}
        """By text, of those that were counted."""
        self._asks_titles_again = not (
            work.job.inspection
            or work.job.prefixes
            or work.options.sampling
            or self._has_capitals_for_nouns
        )

    @property
    def has_reserved(self) -> bool:
        """Whether the model has placeholders of its own for carriers."""
        return self._tokenizer.reserved > 0

    def enter(self, sentence: Sentence, prefix: tuple[int, ...]) -> Entry:
        """The sentence as the network reads it. Its translation begins with the ids of `prefix`."""
        raise_if_unwanted()
        stages: list[Stage] = []
        text = sentence.text
        is_ascii = text.isascii()
        if not is_ascii and HARD_SPACE.search(text) and (spaces := enter_hard_spaces(text)):
            stages.append(spaces)
        if QUOTATION_MARK.search(text) and (marks := enter_quotations(text, self._pair[1])):
            stages.append(marks)
        has_dash = "- " in text or "– " in text or "— " in text
        if has_dash and (dashes := enter_dashes(text)):
            stages.append(dashes)
        if ("(" in text or "（" in text) and (brackets := enter_brackets(text)):
            stages.append(brackets)
        has_latin = not is_ascii and LATIN.search(text) and keeps_latin(*self._pair)
        if has_latin and (latin := enter_latin(text)):
            stages.append(latin)
        if not sentence.is_plain and (ordinals := enter_ordinals(text, self._pair)):
            stages.append(ordinals)
        if not sentence.is_plain and (shares := enter_shares(text, self._pair)):
            stages.append(shares)
        if text.endswith("："):
            stages.append(Speaker(text))
        if not (sentence.begins and sentence.ends):
            begins = sentence.begins or sentence.is_in_capitals or bool(prefix)
            stages.append(SentencePart(text, begins, sentence.ends, self._work.target))
        elif text[:1].islower() and CLAUSE.match(text):
            ends = not text.endswith((",", ";"))
            stages.append(SentencePart(text, begins=False, ends=ends, target=self._work.target))
        has_marks = text.endswith(SEVERAL) or "..." in text or "…" in text
        if has_marks and (last_marks := enter_last_marks(text, self._pair[1])):
            stages.append(last_marks)
        if sentence.is_in_capitals:
            count_nouns = self.count_pieces if self._has_capitals_for_nouns else None
            stages.append(enter_capitals(text, count_nouns))
            text = stages[-1].text
        terms = self._terms(sentence, text, prefix) if self._matcher else None
        if terms is not None:
            stages.append(terms)
        if sentence.kept and (label := enter_labels(text, sentence.kept[0].text, self._pair[0])):
            stages.append(label)
            text = label.text
        if not sentence.is_plain and (carriers := self._carriers(sentence, text)):
            stages.append(carriers)
            text = carriers.text
        is_aligned = self._is_aligned or bool(sentence.tags or terms)
        if not sentence.is_plain and (last := self.last_stages(text)):
            stages += last
            text = last[-1].text
            is_aligned = is_aligned or any(isinstance(stage, Emphasis) for stage in stages)
        ids, options = self._encoder.ids(text), self._work.options
        is_streamed = self._work.job.ticket.is_streamed and not self._may_lose(sentence.text)
        source = SourceSentence(ids, options, is_streamed, prefix, is_aligned)
        is_title_again = self._asks_titles_again and is_title(sentence.text)
        is_title_again = is_title_again and not any(isinstance(s, CapitalWord) for s in stages)
        return Entry(source, text, stages, is_title_again)

    def _carriers(self, sentence: Sentence, text: str) -> Carriers | None:
        """The stage of the kept strings and the units, or without the units if with them the
        sentence has too many tokens."""
        units = self.units(text)
        carriers = self.carried(sentence, text, units=units) if units else None
        if carriers is not None and self.count(carriers.text) <= self._encoder.max_tokens:
            return carriers
        return self.carried(sentence, text) if sentence.kept else None

    def units(self, text: str) -> Sequence[Replacement]:
        """What the target writes otherwise and the model carries: units, names, acronyms, sentences
        of laws, days of a month without a name, years of an era, short names of days."""
        if not self.has_reserved:
            return []
        found = [one for find in _CARRIED for one in find(text, *self._pair)]
        found += (Replacement(*one[:3]) for one in find_short_days(text, *self._pair))
        if self._work.is_traditional:
            return [unit._replace(new=to_traditional(unit.new)) for unit in found]
        return found

    def _may_lose(self, text: str) -> bool:
        """Whether a plain sentence may lose a number, a Latin word or an acronym, and enter once
        more then."""
        if not (self.has_reserved and self._work.can_repeat):
            return False
        has_latin = keeps_latin(*self._pair) and any(find_latin(text))
        has_numbers = HAS_NUMBERS.search(text) or has_spoken_numbers(text, self._work.source)
        return has_latin or bool(has_numbers) or may_tear(text)

    def _terms(self, sentence: Sentence, text: str, prefix: tuple[int, ...]) -> Terms | None:
        """The stage of the terms, if there are any."""
        assert self._matcher is not None
        found = self._matcher.find(text, ignores_case=sentence.is_in_capitals)
        if not found:
            return None
        begin = len(self._tokenizer.decode(prefix)) if self._work.job.prefixes else 0
        return Terms(text, found, self._work.target, begin)

    def enter_title(self, entry: Entry) -> Entry:
        """A title in small letters."""
        title = enter_title(entry.text)
        ids = self._encoder.ids(title.text)
        source = dataclasses.replace(entry.source, ids=ids, is_streamed=False)
        return Entry(source, title.text, [*entry.stages, title])

    def carried(
        self,
        sentence: Sentence,
        text: str,
        amounts: Sequence[Replacement] = (),
        units: Sequence[Replacement] = (),
    ) -> Carriers | None:
        """The stage of the kept strings, amounts and units of a sentence, whose `text` it
        enters."""
        kept = [string.text for string in sentence.kept]
        return enter_carriers(text, self._pair, self._tokenizer.reserved, kept, amounts, units)

    def last_stages(self, text: str) -> Sequence[LastStage]:
        """The stages that a sentence enters last: of its script, its words and its letters."""
        known = self._last_stages.get(text)
        return self._find_last_stages(text) if known is None else known

    def _find_last_stages(self, text: str) -> Sequence[LastStage]:
        stages: list[LastStage] = []
        if self._changes_script:
            script = enter_script(
                text,
                is_traditional=self._work.is_traditional,
                reads_traditional=self._work.reads_traditional,
                count=self.count_pieces,
            )
            stages += [script] if script else []
            text = stages[-1].text if stages else text
        if umlauts := enter_umlauts(text, self._tokenizer, self._work.source):
            stages.append(umlauts)
            text = umlauts.text
        stages += self._word_stages(text) if has_odd_words(text, self._work.source) else []
        text = stages[-1].text if stages else text
        if rare := enter_rare_capitals(text, self._tokenizer, self._work.source):
            stages.append(rare)
        return stages

    def _word_stages(self, text: str) -> Iterator[LastStage]:
        """The stages of words in capitals, of words for any gender, of joined words and of
        abbreviations."""
        if emphasis := enter_emphasis(text, self._work.source, self.count_pieces):
            yield emphasis
            text = emphasis.text
        if gendered := enter_gendered(text, self._work.source):
            yield gendered
            text = gendered.text
        if slashes := enter_slashes(text):
            yield slashes
            text = slashes.text
        if spelled := enter_abbreviations(text, *self._pair):
            yield spelled
            text = spelled.text
        is_number = spelled is not None and not has_letters(text)
        if notation := enter_notation(text, self._pair, is_number=is_number):
            yield notation

    def count_pieces(self, text: str) -> int:
        """The source ids of a text as it is."""
        return len(self._encoder.ids(text))

    def count(self, text: str) -> int:
        """The source ids of a text with marks, as the network gets it."""
        carriers = (
            enter_carriers(text, self._pair, self._tokenizer.reserved) if MARK in text else None
        )
        text = text if carriers is None else carriers.text
        last = self.last_stages(text)
        count = len(self._encoder.ids(last[-1].text if last else text))
        if count <= self._encoder.max_tokens:
            self._last_stages[text] = last
        return count
