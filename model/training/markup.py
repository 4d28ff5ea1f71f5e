"""Make pairs with placeholders, inline tags, signs and capitals from plain pairs: strings that both
sides share verbatim, or reliable word pairs, are replaced or wrapped on both sides."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence

from model.text.reserved import closing_tag, empty_tag, opening_tag, placeholder
from model.text.spans import Span
from model.training.anchors import Anchor, Pair

Spell = Callable[[str], str]
_LETTER = r"A-Za-z0-9_\u00c0-\u024f"
_VERBATIM = re.compile(
    rf"""
      https?://[^\s，。；）)]+                        # addresses
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | `[^`\n]+`                                      # code
    | <[^<>\n]{{1,40}}>
    | \$?\{{[^{{}}\n]{{0,40}}\}}                     # format strings
    | %(?:\(\w+\))?[sdif]
    | "[^"\n]+" | “[^”\n]+”                          # quoted strings
    | (?<![{_LETTER}])(?:
          \d+(?:[.,:/-]\d+)*                         # numbers
        | [A-Za-z_][A-Za-z0-9_]*(?:[._/-][A-Za-z0-9_]+)+(?:\(\))?
        | [A-Z\u00c0-\u00de][A-Za-z\u00c0-\u024f]+   # names
      )(?![{_LETTER}])
    """,
    re.VERBOSE | re.ASCII,
)


_AROUND_WORDS = (
    "({0})", "[{0}]", '"{0}"', "“{0}”", "'{0}'", "*{0}*", "…{0}", "({0}):", "&{0}", "-{0}",
    "{0}…", "{0}:",
)  # fmt: skip
_AROUND_SENTENCES = ("-{0}", "- {0}", "– {0}", "…{0}", "({0})", "[{0}]", "“{0}”", "{0} …", ">{0}")
_BETWEEN = ("/", "/", " / ", "&", " & ", ": ", "|", " + ", "-", "–", " … ")


def with_placeholders(
    pair: Pair, anchors: Sequence[Anchor], reserved: int, rng: random.Random
) -> Pair:
    """Replace up to four strings, or add one placeholder before or after the sentence."""
    chosen = _chosen(pair, anchors, rng.choice((1, 1, 1, 2, 2, 3, 4)), rng)
    numbers = _numbers(len(chosen) + 1, reserved, rng)
    edited = _edited(pair, chosen, [_replaced_by(n) for n in numbers[:-1]])
    if chosen and rng.random() < 0.8:
        return edited
    form = rng.choice(("{0} {1}", "{0}: {1}", "{0}{1}", "{1} {0}", "{1} ({0})", "{1}{0}"))
    return _both(edited, lambda text: form.format(placeholder(numbers[-1]), text))


def with_tags(pair: Pair, anchors: Sequence[Anchor], reserved: int, rng: random.Random) -> Pair:
    """Wrap words, phrases or the whole sentence, or put empty tags beside words."""
    spans = _with_phrases(anchors)
    chosen = _chosen(pair, spans, rng.choice((1, 1, 1, 2, 2, 3)), rng)
    numbers = _numbers(len(chosen) + 1, reserved, rng)
    edited = _edited(pair, chosen, [_tagged(n, rng) for n in numbers[:-1]])
    if chosen and rng.random() < 0.8:
        return edited
    return _both(edited, _tagged(numbers[-1], rng))


def with_signs(pair: Pair, anchors: Sequence[Anchor], _: int, rng: random.Random) -> Pair:
    """Join two words, alone or in the sentence, or put signs around a word or the sentence."""
    draw = rng.random()
    if len(anchors) >= 2 and draw < 0.5:
        place, other = rng.sample(anchors, 2)
        return _joined(pair, place, other, rng.choice(_BETWEEN), is_alone=draw < 0.2)
    if anchors and draw < 0.8:
        form = rng.choice(_AROUND_WORDS)
        return _edited(pair, [rng.choice(anchors)], [form.format])
    return _both(pair, rng.choice(_AROUND_SENTENCES).format)


def with_capitals(pair: Pair, anchors: Sequence[Anchor], _: int, rng: random.Random) -> Pair:
    """One or two words in capitals, or one more before the sentence, as a label."""
    if not anchors:
        return pair
    if rng.random() < 0.2:
        label = rng.choice(anchors)
        words = [
            text[span.start : span.end].upper() for text, span in zip(pair, label, strict=True)
        ]
        return f"{words[0]}: {pair[0]}", f"{words[1]}: {pair[1]}"
    chosen = rng.sample(anchors, min(len(anchors), rng.choice((1, 1, 2))))
    return _edited(pair, chosen, [str.upper for _ in chosen])


def verbatim(pair: Pair) -> list[Anchor]:
    """Numbers, names, addresses, code and quotations that occur once, and equal, on each side."""
    first, second = (_strings(side) for side in pair)
    return [Anchor(first[string], second[string]) for string in first if string in second]


def _strings(text: str) -> dict[str, Span]:
    found = {match.group(): Span(*match.span()) for match in _VERBATIM.finditer(text)}
    return {string: span for string, span in found.items() if text.count(string) == 1}


def _replaced_by(number: int) -> Spell:
    return lambda _: placeholder(number)


def _tagged(number: int, rng: random.Random) -> Spell:
    """The tagging of one span."""
    draw = rng.random()
    if draw < 0.7:
        return lambda text: f"{opening_tag(number)}{text}{closing_tag(number)}"
    if draw < 0.85:
        return lambda text: f"{empty_tag(number)}{text}"
    return lambda text: f"{text}{empty_tag(number)}"


def _numbers(count: int, reserved: int, rng: random.Random) -> list[int]:
    """Distinct numbers: half the time the lowest in order, otherwise random."""
    return list(range(count)) if rng.random() < 0.5 else rng.sample(range(reserved), count)


def _chosen(pair: Pair, anchors: Sequence[Anchor], count: int, rng: random.Random) -> list[Anchor]:
    """At most `count` of the anchors and the verbatim strings, in the order of one side, without
    overlaps."""
    candidates = [*verbatim(pair), *anchors]
    rng.shuffle(candidates)
    chosen: list[Anchor] = []
    for anchor in candidates:
        if len(chosen) < count and not any(anchor.overlaps(other) for other in chosen):
            chosen.append(anchor)
    side = rng.randrange(2)
    return sorted(chosen, key=lambda anchor: anchor[side])


def _with_phrases(anchors: Sequence[Anchor]) -> list[Anchor]:
    """The anchors, and phrases of two anchors that are close on both sides."""
    phrases = []
    for one, other in itertools.pairwise(anchors):
        phrase = Anchor(*(_cover(a, b) for a, b in zip(one, other, strict=True)))
        are_near = all(_is_dense(*spans) for spans in zip(one, other, phrase, strict=True))
        if are_near and all(_is_inside(anchor, phrase) is not None for anchor in anchors):
            phrases.append(phrase)
    return [*anchors, *phrases]


def _is_dense(one: Span, other: Span, phrase: Span) -> bool:
    """Whether the two spans cover at least half of the phrase."""
    return sum(s.end - s.start for s in (one, other)) * 2 >= phrase.end - phrase.start


def _cover(a: Span, b: Span) -> Span:
    return Span(min(a.start, b.start), max(a.end, b.end))


def _is_inside(anchor: Anchor, phrase: Anchor) -> bool | None:
    """Whether both sides are within the phrase; None if only one is."""
    first, second = (
        p.start <= a.start and a.end <= p.end for a, p in zip(anchor, phrase, strict=True)
    )
    return first if first == second else None


def _edited(pair: Pair, anchors: Sequence[Anchor], spellings: Sequence[Spell]) -> Pair:
    """The pair with each anchor's text respelled on each side."""
    first, second = (
        _replaced(text, [anchor[side] for anchor in anchors], spellings)
        for side, text in enumerate(pair)
    )
    return first, second


def _replaced(text: str, spans: Sequence[Span], spellings: Sequence[Spell]) -> str:
    for span, spell in sorted(zip(spans, spellings, strict=True), key=lambda e: -e[0].start):
        text = text[: span.start] + spell(text[span.start : span.end]) + text[span.end :]
    return text


def _joined(pair: Pair, place: Anchor, other: Anchor, sign: str, is_alone: bool) -> Pair:
    """The words of one anchor, with a sign and those of another: alone, or where the first are."""
    words = [
        sign.join(text[anchor[side].start : anchor[side].end] for anchor in (place, other))
        for side, text in enumerate(pair)
    ]
    if is_alone:
        return words[0], words[1]
    first, second = (
        text[: span.start] + joined + text[span.end :]
        for text, span, joined in zip(pair, place, words, strict=True)
    )
    return first, second


def _both(pair: Pair, spell: Spell) -> Pair:
    return spell(pair[0]), spell(pair[1])
