"""Prompts for language models that ask for a translation: the instruction, and the text.

Clients of language models put the instruction before the text, often in the same message:
"Translate the following text to German:" and the text, or `Translate "Good morning." into German`.
The text may stand between fences, rules or quotation marks, behind a label, or in an element.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from service.http.language_names import language_name
from service.translation.language.codes import primary

_MOST_ASKED = 4096
"""Characters of an instruction that are searched for languages."""
_MOST_BEFORE, _MOST_ENDS = 600, 16
"""Characters before a text in the same message, and places where the text may begin."""
_TRANSLATES = re.compile(r"translat|rewrite|(?:ü|ue)bersetz|[译譯]", re.I)
_INSTRUCTS = re.compile(
    r"\W{0,8}(?:(?:(?:hi|hello|hey|now|then|next|okay|task|instructions?|aufgabe|jetzt)\b"
    r"|任务|任務|现在|現在)\W{0,4}){0,2}"
    r"(?:(?:please|kindly|bitte|translate|(?:ü|ue)bersetzen?|help me|hilf mir|provide|give|act as"
    r"|(?:can|could|would|will) you|(?:kannst|könntest) du|(?:können|könnten) sie"
    r"|i (?:want|need|would like) you to|i'd like you to|your (?:task|job|role)|deine aufgabe"
    r"|you are an?|you will be (?:given|provided)|du bist|sie sind|below is"
    r"|(?:the )?following (?:is|text)|treat (?:the )?(?:next|following)"
    r"|this is an? \w+ to \w+ translation"
    r"|as an? (?:\w+ ){0,3}(?:translator|interpreter|expert)"
    r"|(?:source|target) lang(?:uage)?|only (?:reply|respond|return|output|give|provide)"
    r"|(?:reply|respond|return|output) only"
    r"|(?<=# )role)\b"
    r"|[请請把将將用]|[你您](?:是|的任)|[帮幫]我|[麻劳勞][烦煩驾駕]|作[为為]|[从從由]|以下|下面|[翻译譯])",
    re.I,
)
"""How an instruction begins. Texts, too, speak of translations into languages."""
_THE = (
    r"\W{0,3}(?:(?:the|an?|simplified|简体|簡體|(?:in)?formal|natural|fluent|idiomatic|colloquial"
    r"|native|standard|modern|plain|simple|easy|good|correct)\W{0,3}){0,3}$"
)
_IS = r"(?: language)?(?: is)?"
_FROM = re.compile(rf"(?:\bfrom|\bsource{_IS}|\baus(?:\W+dem)?|[从從由]){_THE}", re.I)
_TO = re.compile(rf"(?:\b(?:in)?to|\btarget{_IS}|\bins|[成为為到至]){_THE}", re.I)
_IN = re.compile(rf"\bin{_THE}", re.I)
_MOST_WORDS_BEFORE = 24
"""Characters before a language's name that say whether it is the source or the target."""
_OTHERS = """
    af ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is
    it ja ka kk km kn ko lo lt lv mk ml mn mr ms my nb ne nl no pa pl ps pt ro ru si sk sl sq sr
    sv sw ta te tg th tr uk ur uz vi zh zu
"""
"""Codes of languages that people name."""
_LETTER = r"[A-Za-zÀ-ɏ]"
_WORD = re.compile(rf"{_LETTER}+(?:-{_LETTER}+)*")
_CHINESE_END = re.compile(r"[语語文](?:[(（](?P<script>\w{1,4})[)）])?")
_CODE = re.compile(
    r"\b(?P<source>from)?(?(source)|(?:in)?to)\W{1,3}(?:(?:the|simplified)\W{1,3})?(?P<name>[\w-]{2,})",
    re.I,
)
_CHINESE_CODE = re.compile(
    r"(?:(?P<source>[从從由])|[成为為到至])\s?(?P<name>[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?)(?![\w-])"
)
_LOCALE = re.compile(r"([A-Za-z]{2,3})(?:[-_](?:[A-Za-z]{2}|[A-Za-z]{4}|\d{3})){1,2}")
_QUOTED = re.compile(
    r"\s*(?:please\s+)?(?:help me (?:to )?)?translate(?: \w{1,12}){0,4}[\s,:]{1,3}[\"“`'‘«„「]"
    r"(?P<text>.+)[\"”`'’»“」]\s+(?P<asks>[^\"“”`]{1,200})",
    re.I | re.S,
)
_QUOTED_CHINESE = re.compile(
    r"\s*[请請]?[把将將]\w{0,8}[“「『\"](?P<text>.+)[”」』\"](?P<asks>[翻译譯][^“「『\"]{1,100})",
    re.S,
)
_FENCED = re.compile(
    r"(?P<fence>\"{3}|`{3}|'{3}|🔤|(?<![^\n])-{3,}(?=\n))(?:(?<=```)\w+\n)?(?P<text>.+?)(?P=fence)",
    re.S,
)
_OWN_FENCE = "🔤"
"""It stands in no text."""
_ELEMENT = re.compile(r"<(\w{1,40})>")
_MARKED = re.compile(r"(?<!con)text(?!area)|input|content|source.", re.I)
"""What is in the name of an element that marks a text."""
_CONTEXT = re.compile(r"<(\w{0,40}context)>", re.I)
_MOST_ELEMENTS, _MOST_ORDERS = 16, 4
_RULES = re.compile(r"\W*(?:rules|requirements|要求|规则)\W*\n", re.I)
"""A line before rules, up to a label."""
_LABEL = re.compile(
    r"(?:^|\n)(?:#+ )?(?:(?:(?:source )?text|input)(?: to (?:be )?translated?)? *[:：]"
    r"|文本(?:内容)?[:：]|content *[:：](?=\s*\n))",
    re.I,
)
_SOURCE_LABEL = re.compile(r"^source text *[:：]", re.I | re.M)
_NEXT_LABEL = re.compile(
    r"\s*(?:(?:\w{1,20} )?translat(?:ed text|ion)|#+ response)\s*[:：]\s*", re.I
)
_NAME = re.compile(r"\s*([^\W\d_][^:：\n]{0,39})[:：]\s*")
"""A language's name before a text."""
_ORDER = re.compile(
    r"[\W\d_]*(?:(?:please|do not|don't|never|only|just|keep|preserve|maintain|return|output|reply"
    r"|respond|answer|provide|produce|translate|bitte|nur|keine?|gib|behalte|(?:ü|ue)bersetze)\b|[请請只仅僅不保输輸])"
    r"(?!.*[:：]\s*$)|\s*(?:(?:source )?text|input) *[:：]|\W*(?:rules|requirements|要求|规则)\W*$",
    re.I,
)
"""How a line begins that says how to translate, and introduces no text."""
_HOW = re.compile(r"translat|output|explanation|comment|übersetz|erklär|[译譯]|解[释釋]", re.I)
"""What orders speak of."""
_QUOTES, _ARROW = ('""', "“”", "「」"), "=>"
"""Around a text, and behind its second mark."""


class NamedLanguages(NamedTuple):
    """What an instruction names; `source` None: nothing. The target may be unknown."""

    source: str | None
    target: str


class Prompt(NamedTuple):
    languages: NamedLanguages
    text: str


def read_prompt(message: str, codes: Sequence[str]) -> Prompt | None:
    """The text and the languages of a message that asks for its translation; None: it does not.
    `codes`: of the known languages."""
    if found := _read_enclosed(message, codes) or _read_labelled(message, codes):
        return found
    if not instructs(message):
        return None
    message = _without_context(message)
    quoted = _QUOTED.fullmatch(message) or _QUOTED_CHINESE.fullmatch(message)
    if quoted and (languages := read_instruction("translate " + quoted["asks"], codes)):
        return Prompt(languages, quoted["text"])
    ends = list(itertools.islice(re.finditer(r"[:：\n]", message[:_MOST_BEFORE]), _MOST_ENDS))
    number, languages = _first_named(message, ends, codes)
    if languages is None:
        return None
    begin = ends[number].end()
    if ends[number][0] == "\n":  # behind a colon stands the text
        languages, begin = _after_repeated(message, begin, ends[number + 1 :], languages, codes)
    text = _unwrapped(message[begin:], _names(tuple(codes)))
    return Prompt(languages, text) if text else None


def _first_named(
    message: str, ends: Sequence[re.Match[str]], codes: Sequence[str]
) -> tuple[int, NamedLanguages | None]:
    """The first end before which languages are named, and they. A word that is no language's, as in
    "to ensure", counts only if nothing else is named."""
    languages, found = {*codes, *_names(tuple(codes)).values()}, None
    for number, end in enumerate(ends):
        if named := read_instruction(message[: end.start()], codes):
            found = found or (number, named)
            if named.target in languages or primary(named.target.lower()) in languages:
                return number, named
    return found or (0, None)


def _read_enclosed(message: str, codes: Sequence[str]) -> Prompt | None:
    """A text in an element that marks a text, or that the instruction around it names."""
    found = itertools.islice(_ELEMENT.finditer(message[:_MOST_ASKED]), _MOST_ELEMENTS)
    for name in dict.fromkeys(one[0] for one in found):
        before, _, rest = f"\n{message}".partition(f"\n{name}")
        text, _, after = rest.rpartition(f"</{name[1:]}")
        asked = f"{before}\n{after}"
        is_mark = name in asked or _MARKED.search(name)
        if text and is_mark and instructs(asked) and _has_only_orders(after):
            languages = read_instruction(asked, codes)
            return Prompt(languages, text.strip()) if languages else None
    return None


def _read_labelled(message: str, codes: Sequence[str]) -> Prompt | None:
    """A text between "Source text:" and a last line "Translated text:". Of the lines before it, the
    last that names a language to translate into counts: the first may tell of the text."""
    label = _SOURCE_LABEL.search(message[:_MOST_ASKED])
    text, _, last = message[label.end() :].strip().rpartition("\n") if label else ("", "", "")
    if not (label and text and _NEXT_LABEL.fullmatch(last)):
        return None
    asked = message[: label.start()].splitlines()
    languages = next(filter(None, (read_instruction(one, codes) for one in asked[::-1])), None)
    return Prompt(languages, text.strip()) if languages else None


def _without_context(message: str) -> str:
    """A message without an element that says what the text is about."""
    if found := _CONTEXT.search(message):
        _, end, after = message[found.end() :].partition(f"</{found[1]}>")
        return message[: found.start()].rstrip() + after if end else message
    return message


def _after_repeated(
    message: str,
    begin: int,
    ends: Iterable[re.Match[str]],
    languages: NamedLanguages,
    codes: Sequence[str],
) -> tuple[NamedLanguages, int]:
    """What a second order names and where the text behind it begins, or `languages` and `begin`.
    The first may only tell what language the text is in."""
    end = next(iter(ends), None)
    if end is None or end[0] == "\n" or not message[end.end() :].strip():
        return languages, begin
    order = message[begin : end.start()]
    again = read_instruction(order, codes) if _ORDER.match(order) or instructs(order) else None
    if again is None or again.target not in (languages.target, *codes):
        return languages, begin
    return languages if again.target == languages.target else again, end.end()


def instructs(message: str) -> bool:
    """Whether a user's message begins as an instruction."""
    return _INSTRUCTS.match(message) is not None


def read_instruction(
    asked: str, codes: Sequence[str], *, must_be_told: bool = False
) -> NamedLanguages | None:
    """The languages that an instruction names, by their English, German or Chinese names, or by
    codes; None: it asks for no translation into a language. `must_be_told`: a single name without
    a word such as "to", as in "an English translator", does not count."""
    asked = asked[:_MOST_ASKED]
    if not _TRANSLATES.search(asked):
        return None
    names = _names(tuple(codes))
    sources, targets, within, others = list[str](), list[str](), list[str](), list[str]()
    for begin, name in _mentions(asked, names):
        before = asked[max(0, begin - _MOST_WORDS_BEFORE) : begin]
        lists = ((_FROM, sources), (_TO, targets), (_IN, within))
        found = next((one for pattern, one in lists if pattern.search(before)), others)
        found.append(names[name])
    sources = [code for code in sources if code in codes]  # others are detected, or refused
    coded = [
        (one["source"], one["name"])
        for pattern in (_CODE, _CHINESE_CODE)
        for one in pattern.finditer(asked)
    ]
    sources += _known_codes((name for is_source, name in coded if is_source), codes)
    names_of_targets = [name for is_source, name in coded if not is_source]
    targets += _known_codes(names_of_targets, codes)
    if must_be_told and len(others) == 1 and not (sources or targets or within):
        return None
    targets += [*within, *others[::-1]]  # "the text is in English" may go before "into German"
    targets += names_of_targets  # "into a colloquial German" names no code first
    return NamedLanguages(next(iter(sources), None), targets[0]) if targets else None


def _known_codes(words: Iterable[str], codes: Sequence[str]) -> Iterator[str]:
    """Those of known languages among words; one with a region, such as de-DE, as it is spelled."""
    known = {code.lower(): code for code in codes}
    primaries = set(map(primary, known))
    for word in words:
        if word.lower() in known:
            yield known[word.lower()]
        elif (locale := _LOCALE.fullmatch(word)) and locale[1].lower() in primaries:
            yield word


def _mentions(asked: str, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Where a language's name begins, and the name; in order for each script."""
    words = [(one.start(), one[0].lower()) for one in _WORD.finditer(asked)]
    for (begin, word), (_, after) in itertools.pairwise([*words, (len(asked), "")]):
        spellings = (f"{word} {after}", word, word.replace("-", " "), word.rpartition("-")[2])
        for name in spellings:
            if name in names:
                yield begin, name
                break
    for one in _CHINESE_END.finditer(asked):
        end = one.start() + 1
        for begin in range(max(0, end - 6), one.start()):
            name = asked[begin:end]
            if name in names:
                scripted = f"{one['script']}{name}"
                yield begin, scripted if scripted in names else name
                break


@functools.lru_cache(8)
def _names(codes: tuple[str, ...]) -> Mapping[str, str]:
    """The code of each name in small letters; of several with a name, the shortest of `codes`. One
    that the server lacks is found, too: the other language beside it would be the target."""
    by_length = [*_OTHERS.split(), *sorted(codes, key=len, reverse=True)]
    return {name.lower(): code for code in by_length for name in _names_of(code)}


def _names_of(code: str) -> Iterator[str]:
    """In English, German and Chinese; what stands in brackets, such as the script, before it or
    behind it or left out."""
    if language_name(code) == code:
        return
    for display in ("en", "de"):
        name, _, script = language_name(code, display).rstrip(")").partition(" (")
        yield from (name, f"{name}e") if display == "de" else (name,)
        if script:
            yield from (f"{script} {name}", f"{name} {script}")
    for display in ("zh", "zh-Hant"):
        name, _, script = language_name(code, display).rstrip(")").partition(" (")
        yield name
        yield from (f"{script}{name[:-1]}{end}" for end in "语語文")


def _unwrapped(text: str, names: Mapping[str, str]) -> str:
    """A text without its fences, labels or quotation marks, and without the orders around them."""
    text = _without_orders(text.strip("\n"))
    fenced = _FENCED.search(text)
    if fenced and (
        fenced["fence"] == _OWN_FENCE
        or _has_only_orders(text[: fenced.start()], text[fenced.end() :])
    ):
        return fenced["text"].strip()
    label = _LABEL.search(text)
    if label and (_RULES.match(text) or _has_only_orders(text[: label.start()])):
        text = text[label.end() :]
    text = _without_next_label(text, names).strip()
    quoted = text.removesuffix(_ARROW).rstrip()
    is_whole = quoted != text or quoted[:1] not in quoted[1:-1]
    is_quoted = len(quoted) > 2 and quoted[0] + quoted[-1] in _QUOTES
    return quoted[1:-1] if is_quoted and is_whole else text


def _without_orders(text: str) -> str:
    """A text without the first and the last paragraphs that say how to translate it."""
    for _ in range(_MOST_ORDERS):
        first, _, rest = text.partition("\n\n")
        if rest and _says_how(first):
            text = rest
        rest, _, last = text.rstrip().rpartition("\n\n")
        if rest and _says_how(last):
            text = rest
    return text


def _says_how(paragraph: str) -> bool:
    return _has_only_orders(paragraph) and _HOW.search(paragraph) is not None


def _without_next_label(text: str, names: Mapping[str, str]) -> str:
    """A text without a last line "Translation:", or "German:" if it begins with "English:"."""
    before, _, last = text.strip().rpartition("\n")
    if before and _NEXT_LABEL.fullmatch(last):
        return before
    first, second = _NAME.match(before), _NAME.fullmatch(last)
    if first and second and {first[1].lower(), second[1].lower()} <= names.keys():
        return before[first.end() :]
    return text


def _has_only_orders(*parts: str) -> bool:
    """Whether no line around a text can be one of the text."""
    lines = (line for part in parts for line in part.splitlines())
    return all(_ORDER.match(line) or _NEXT_LABEL.fullmatch(line) for line in lines if line.strip())
