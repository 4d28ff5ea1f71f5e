"""Make extra training pairs from a corpus for cases it rarely shows: other casing, copied strings,
several sentences, single words, placeholders and tags.

The result depends only on the table, its seed and the aligned words.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from model.training.anchors import Anchor, Pair
from model.training.markup import with_capitals, with_placeholders, with_signs, with_tags
from model.training.recipe import AugmentationTable
from model.training.substitution import (
    name_gaps,
    number_gaps,
    with_another_name,
    with_another_number,
)

MarkUp = Callable[[Pair, Sequence[Anchor], int, random.Random], Pair]
_ENDS = ".!?。！？…"
_SYLLABLES = [c + v for c in "bcdfghjklmnprstvwz" for v in "aeiou"]
_WORDS = ["report", "index", "main", "data", "user", "config", "backup", "image", "server"]
_DOMAINS = ["com", "org", "net", "io", "de", "cn", "dev", "info"]
_EMOJI = "😀😂😍🤔👍🙏🎉🔥🚀🐱🍎⚽🎵✅🌍💡"
_NUMBER = re.compile(r"(?<![\w.,:])\d+(?![\w.,:%])")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_IS_CJK = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_COMMA = re.compile(r"[,，]\s*")
_SHORT_WORDS, _SHORT_IDEOGRAPHS = 3, 6


class MadePair(NamedTuple):
    """A pair, and the sides that may be the source."""

    pair: Pair
    source_sides: tuple[int, ...]


def augment(
    pairs: Sequence[Pair],
    table: AugmentationTable,
    reserved: int = 0,
    anchors: Callable[[Pair], Sequence[Anchor]] = lambda _: (),
    languages: tuple[str, str] = ("", ""),
) -> list[MadePair]:
    """Make pairs of each kind, as many as the table's share of `pairs` or of the short ones; none
    without pairs. Placeholder and tag numbers are below `reserved`; `anchors` finds the words that
    they may replace or wrap; numbers and names need to know the languages of the sides."""
    rng = random.Random(table.seed)
    short = _short_pairs(pairs) if table.short else []
    numbered = number_gaps(pairs, languages) if table.numbers else []
    listed = name_gaps(pairs, languages) if table.cldr else []

    def marked_up(make: MarkUp) -> MadePair:
        pair = rng.choice(pairs)
        made = make(pair, anchors(pair), reserved, rng)
        changed = tuple(side for side in (0, 1) if made[side] != pair[side])
        return MadePair(made, changed or (0, 1))

    kinds: tuple[tuple[float, Callable[[], MadePair]], ...] = (
        (table.cased * len(pairs), lambda: _cased(rng.choice(pairs), rng)),
        (table.copied * len(pairs), lambda: _copied(rng.choice(pairs), rng)),
        (table.joined * len(pairs), lambda: _joined(rng.choices(pairs, k=rng.choice((2, 2, 3))))),
        (table.kept * len(pairs), lambda: _kept(rng)),
        (table.short * len(short), lambda: _short(rng.choice(short), rng)),
        (table.unmarked * len(pairs), lambda: MadePair(_without_marks(rng.choice(pairs)), (0, 1))),
        (table.listed * len(pairs), lambda: _listed(rng.choice(pairs), rng)),
        (table.placeholders * len(pairs), lambda: marked_up(with_placeholders)),
        (table.tags * len(pairs), lambda: marked_up(with_tags)),
        (table.signs * len(pairs), lambda: marked_up(with_signs)),
        (table.capitals * len(pairs), lambda: marked_up(with_capitals)),
        (
            table.numbers * len(numbered),
            lambda: MadePair(*with_another_number(rng.choice(numbered), rng)),
        ),
        (
            table.cldr * len(listed),
            lambda: MadePair(with_another_name(rng.choice(listed), rng), (0, 1)),
        ),
    )
    return [make() for count, make in kinds for _ in range(round(count))]


def _cased(pair: Pair, rng: random.Random) -> MadePair:
    """Upper case on both sides if both have cases, or a careless source: all lower or upper case,
    often without its final mark."""
    if rng.random() < 0.4 and all(_has_cases(side) for side in pair):
        return MadePair((pair[0].upper(), pair[1].upper()), (0, 1))
    side = rng.randrange(2)
    careless = pair[side].upper() if rng.random() < 0.2 else pair[side].lower()
    if rng.random() < 0.6:
        careless = careless.rstrip(_ENDS) or careless
    made = (careless, pair[1]) if side == 0 else (pair[0], careless)
    return MadePair(made, (side,))


def _copied(pair: Pair, rng: random.Random) -> MadePair:
    """The same string on both sides: replacing a shared name or number, or before, after or
    inside the final mark."""
    if rng.random() < 0.5 and (swapped := _swapped(pair, rng)):
        return MadePair(swapped, (0, 1))
    string, place = _string(rng), rng.choice(("front", "label", "end", "inside"))
    return MadePair((_put(pair[0], string, place), _put(pair[1], string, place)), (0, 1))


def _joined(pairs: Sequence[Pair]) -> MadePair:
    first, second = zip(*pairs, strict=True)
    return MadePair((_join(first), _join(second)), (0, 1))


def _kept(rng: random.Random) -> MadePair:
    """A line without translatable words."""
    line = " ".join(_string(rng) for _ in range(rng.choice((1, 1, 2, 3))))
    return MadePair((line, line), (0, 1))


def _listed(pair: Pair, rng: random.Random) -> MadePair:
    """The pair as a list item, often without its final marks."""
    number, letter = rng.randrange(1, 30), rng.choice("abcdefgh")
    form = rng.choice(("- {0}", "- {0}", "* {0}", "• {0}", f"{number}. {{0}}", f"{letter}) {{0}}"))
    first, second = _without_marks(pair) if rng.random() < 0.5 else pair
    return MadePair((form.replace("{0}", first), form.replace("{0}", second)), (0, 1))


def _short(pair: Pair, rng: random.Random) -> MadePair:
    """The pair unchanged, or without final marks and sometimes with a lower-case source."""
    if rng.random() < 1 / 3:
        return MadePair(pair, (0, 1))
    first, second = _without_marks(pair)
    if rng.random() < 1 / 2:
        return MadePair((first, second), (0, 1))
    if rng.random() < 1 / 2:
        return MadePair((first.lower(), second), (0,))
    return MadePair((first, second.lower()), (1,))


def _short_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Greetings, answers and words, which users try first. Some are sentences of the corpus; others
    precede a comma ("Yes, ..." and "Ja, ..."). The latter count if they occur at least twice, and
    once each, because frequent openings ("Well, ...") would outnumber greetings."""
    short = [pair for pair in pairs if all(map(_is_short, pair))]
    openings = [opening for pair in pairs if (opening := _opening(pair))]
    frequency = Counter(openings + [_without_marks(pair) for pair in short])
    return short + [opening for opening in dict.fromkeys(openings) if frequency[opening] > 1]


def _without_marks(pair: Pair) -> Pair:
    first, second = (side.rstrip(_ENDS) or side for side in pair)
    return first, second


def _opening(pair: Pair) -> Pair | None:
    """The text before the comma, if both sides have one after a few words."""
    first, second = (_COMMA.split(side) for side in pair)
    if len(first) != 2 or len(second) != 2:
        return None
    opening = first[0], second[0]
    return opening if all(_is_short(side) and side[:1].isalpha() for side in opening) else None


def _is_short(text: str) -> bool:
    if ideographs := _IDEOGRAPH.findall(text):
        return len(ideographs) <= _SHORT_IDEOGRAPHS
    return len(text.split()) <= _SHORT_WORDS


def _has_cases(text: str) -> bool:
    return text.upper() != text.lower() and not _IS_CJK.search(text)


def _swapped(pair: Pair, rng: random.Random) -> Pair | None:
    """Replace a number or name that both sides share; None if they share none."""
    for pattern, new in ((_NUMBER, _integer(rng)), (_NAME, _name(rng))):
        shared = sorted(set(pattern.findall(pair[0])) & set(pattern.findall(pair[1])))
        if shared:
            old = rng.choice(shared)
            return _replaced(pair[0], old, new), _replaced(pair[1], old, new)
    return None


def _replaced(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)


def _put(text: str, string: str, place: str) -> str:
    body = text.rstrip(_ENDS)
    match place:
        case "front":
            return f"{string} {text}"
        case "label":
            return f"{string}: {text}"
        case "inside" if body:
            return f"{body} {string}{text[len(body) :]}"
        case _:
            return f"{text} {string}"


def _join(sentences: Sequence[str]) -> str:
    """Join with a space, except after Chinese."""
    text = sentences[0]
    for sentence in sentences[1:]:
        text += sentence if _IS_CJK.match(text[-1:]) else f" {sentence}"
    return text


def _string(rng: random.Random) -> str:
    """A string that translation does not change."""
    return rng.choice(_STRINGS)(rng)


def _name(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(1, 3))).capitalize() + rng.choice("nrlsk")


def _word(rng: random.Random) -> str:
    return rng.choice(_WORDS) if rng.random() < 0.5 else _name(rng).lower()


def _integer(rng: random.Random) -> str:
    return str(rng.randrange(10 ** rng.randint(1, 5)))


def _host(rng: random.Random) -> str:
    return f"{_word(rng)}.{rng.choice(_DOMAINS)}"


def _path(rng: random.Random) -> str:
    return "/".join(_word(rng) for _ in range(rng.randint(1, 2)))


def _url(rng: random.Random) -> str:
    start = rng.choice(("https://", "http://", "https://www.", "www."))
    return f"{start}{_host(rng)}" + (f"/{_path(rng)}" if rng.random() < 0.5 else "")


def _code(rng: random.Random) -> str:
    a, b = _word(rng), _word(rng)
    form = rng.choice(("{a}()", "{a}.{b}", "--{a}", "{a}_{b}", "{a} = {n}", "{a} -{c} {b}"))
    return "`" + form.format(a=a, b=b, n=_integer(rng), c=rng.choice("abcdrvx")) + "`"


_STRINGS: tuple[Callable[[random.Random], str], ...] = (
    _url,
    lambda rng: f"{_word(rng)}@{_host(rng)}",
    _integer,
    _code,
    lambda rng: rng.choice(_EMOJI) * rng.choice((1, 1, 2)),
    lambda rng: f"@{_word(rng)}",
    lambda rng: f"#{_word(rng)}",
    lambda rng: f"v{rng.randrange(20)}.{rng.randrange(20)}.{rng.randrange(20)}",
    lambda rng: f"20{rng.randrange(10, 30)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
    lambda rng: f"{rng.randrange(24)}:{rng.randrange(60):02}",
    lambda rng: f"/{_path(rng)}/{_word(rng)}.{rng.choice(('py', 'txt', 'md', 'json', 'csv'))}",
    lambda rng: f"{_word(rng)}_{_word(rng)}",
    lambda rng: f"{rng.choice('ABCDEKXZ')}{_integer(rng)}",
)
