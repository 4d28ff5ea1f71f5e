"""A client's request as a translation job, and the part of it that one model does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from model.decoding.options import DecodingOptions
from service.engine.ticket import NO_TICKET, Ticket
from service.translation.glossary import Glossary
from service.translation.markup.coded_text import Text

AUTO = "auto"
TextFormat = Literal["text", "html", "auto"]
"""How texts are written: plain, as HTML or XML, or each as it seems to be."""
SplitSentences = bool | Literal["nonewlines"]
"""Where sentences end: True, at their marks and at line breaks; "nonewlines", a single line break
of a plain text is a space; False, as "nonewlines", and a paragraph is one sentence."""
Inspection = Literal["attention", "search"]
"""What to show of the network's work on one sentence."""


@dataclass(frozen=True)
class TranslationJob:
    """What to translate and how. Absent options are the model's defaults.

    `texts`: strings, or the texts with codes of a document, whatever the `format`; `source`: a
    language code, or "auto" to detect it; `beam_size` None: the model's, or as many as
    the alternatives need; `options`: fields of `DecodingOptions` to override, of which a sampling
    option selects sampling; `prefixes`: required beginnings of the first sentences' translations;
    `model`: the only model allowed, None is any; `is_aligned`: whether sentences get their word
    alignment; `inspection`: what its only sentence shows of the network; `is_checked`: whether
    sentences are compared with their translations; `keep`: strings that are not translated;
    `preferred_languages`: those to expect if the source is "auto"; `glossary`: terms that
    translations must have.
    """

    texts: Sequence[Text]
    source: str
    target: str
    beam_size: int | None = None
    alternatives: int = 0
    options: Mapping[str, float] = field(default_factory=dict)
    prefixes: Sequence[str] = ()
    model: str | None = None
    is_aligned: bool = False
    inspection: Inspection | None = None
    is_checked: bool = False
    format: TextFormat = "text"
    keep: Sequence[str] = ()
    preferred_languages: Sequence[str] = ()
    split_sentences: SplitSentences = True
    glossary: Glossary | None = None
    ticket: Ticket = NO_TICKET


@dataclass(frozen=True)
class ModelJob:
    """The texts of a job that share a route, as the work of one model in its network's language
    codes. `is_traditional`: the network writes simplified Chinese, and the translation is to be
    traditional; `reads_traditional`: it reads simplified Chinese, and the texts are traditional.

    `texts` are those at `places` of the job, or their translations into a pivot language.
    """

    job: TranslationJob
    texts: Sequence[Text]
    places: Sequence[int]
    source: str
    target: str
    options: DecodingOptions
    is_traditional: bool = False
    reads_traditional: bool = False

    @property
    def can_repeat(self) -> bool:
        """Whether a sentence may be translated once more, for its numbers or terms."""
        return not self.job.inspection
