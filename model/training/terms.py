"""Find terms in parallel text, phrases of one to four words, and make training pairs of them.

Phrases are consistent with the word links (Och and Ney 2004). One counts as a translation if it is
the likeliest by relative frequency (Koehn et al. 2003).
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from model.text.tokenizer import Tokenizer
from model.training.anchors import Pair
from model.training.augmentation import MadePair
from model.training.recipe import TermsTable
from model.training.word_links import Ints, link_words

_RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\d_\u3400-\u9fff]+(?:['’-][^\W\d_\u3400-\u9fff]+)*")
_GAPS = ("", " ")
_MOST_WORDS = 30
"""Per side; longer pairs are left out, because their links cost much and are less sure."""
_LONGEST = 4
_COMMONEST = 40
"""The words that a longer phrase may not begin or end with ("of the", "and then"). Chinese pieces
may: they also spell longer words."""
_LEAST_COUNT = 3
_LEAST_SHARE, _LEAST_BACK = 0.3, 0.1
"""Of a phrase's occurrences, those with this translation; and the same in the other direction."""
_Key = tuple[str, str]


class Term(NamedTuple):
    """A phrase pair; the sides that may be the source, because the other side is their likeliest
    translation; the indices of the sentence pairs that contain it, ascending."""

    pair: Pair
    source_sides: tuple[int, ...]
    places: tuple[int, ...]


class _Side(NamedTuple):
    """The words of one side of a pair, and for each the number of breaks (punctuation, digits)
    before it."""

    words: list[str]
    breaks: list[int]


def find_terms(pairs: Sequence[Pair], tokenizer: Tokenizer) -> list[Term]:
    """The terms of the corpus, in the order of their first places."""
    split = [(_side(first, tokenizer), _side(second, tokenizer)) for first, second in pairs]
    usable = [n for n, two in enumerate(split) if all(len(s.words) <= _MOST_WORDS for s in two)]
    firsts, seconds = ([split[n][side] for n in usable] for side in (0, 1))
    links = link_words(list(zip(_ids(firsts), _ids(seconds), strict=True)))
    common = _commonest(firsts), _commonest(seconds)
    places: dict[_Key, list[int]] = defaultdict(list)
    for n, first, second, linked in zip(usable, firsts, seconds, links, strict=True):
        for key in dict.fromkeys(_phrases((first, second), linked, common)):
            places[key].append(n)
    chosen = _likeliest(places)
    cased = _usual_case(firsts), _usual_case(seconds)
    return [
        Term((_spelled(a, cased[0]), _spelled(b, cased[1])), sides, tuple(places[a, b]))
        for (a, b), sides in chosen.items()
    ]


def _side(text: str, tokenizer: Tokenizer) -> _Side:
    """A word is a run of letters; in Chinese, one piece of the tokenizer."""
    words: list[str] = []
    breaks: list[int] = []
    end, broken = 0, 0
    for run in _RUN.finditer(text):
        broken += text[end : run.start()] not in _GAPS
        for word in _words(run.group(), tokenizer):
            words.append(word)
            breaks.append(broken)
        end = run.end()
    return _Side(words, breaks)


def _words(run: str, tokenizer: Tokenizer) -> list[str]:
    if not _is_chinese(run):
        return [run]
    (ids,) = tokenizer.encode_target_batch([run])
    pieces = [piece for p in tokenizer.pieces(ids) if (piece := p.lstrip("▁"))]
    return pieces if "".join(pieces) == run else [run]


def _is_chinese(text: str) -> bool:
    return "\u3400" <= text[:1] <= "\u9fff"


def _ids(sides: Iterable[_Side]) -> list[list[int]]:
    """The words as numbers, equal for all spellings of a word."""
    known: dict[str, int] = {}
    return [[known.setdefault(w.lower(), len(known)) for w in side.words] for side in sides]


def _commonest(sides: Iterable[_Side]) -> frozenset[str]:
    count = Counter(word.lower() for side in sides for word in side.words)
    return frozenset(w for w, _ in count.most_common(_COMMONEST) if not _is_chinese(w))


def _usual_case(sides: Iterable[_Side]) -> dict[str, str]:
    """The usual spelling of each word inside sentences, by its lower case."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for word in itertools.chain.from_iterable(side.words[1:] for side in sides):
        seen[word.lower()][word] += 1
    return {word: spellings.most_common(1)[0][0] for word, spellings in seen.items()}


def _spelled(phrase: str, cased: dict[str, str]) -> str:
    return " ".join(cased.get(word, word) for word in phrase.split(" "))


def _phrases(
    sides: tuple[_Side, _Side], links: Ints, common: tuple[frozenset[str], frozenset[str]]
) -> Iterator[_Key]:
    """The phrase pairs, lower-cased, that no link leaves and whose outer words are linked."""
    columns: dict[int, list[int]] = defaultdict(list)
    rows: dict[int, list[int]] = defaultdict(list)
    for row, column in links.tolist():
        columns[row].append(column)
        rows[column].append(row)
    for start, end in ((a, a + more) for a in list(columns) for more in range(_LONGEST)):
        if end not in columns:
            continue
        linked = [c for row in range(start, end + 1) for c in columns.get(row, ())]
        left, right = min(linked), max(linked)
        back = [r for column in range(left, right + 1) for r in rows.get(column, ())]
        if start <= min(back) and max(back) <= end and right < left + _LONGEST:
            first = _text(sides[0], start, end, common[0])
            second = _text(sides[1], left, right, common[1])
            if first and second:
                yield first, second


def _text(side: _Side, start: int, end: int, common: frozenset[str]) -> str:
    """The words from start to end, lower-cased; empty if there is a break between them, or if
    several begin or end with a common word."""
    words = [word.lower() for word in side.words[start : end + 1]]
    if side.breaks[start] != side.breaks[end]:
        return ""
    if len(words) > 1 and (words[0] in common or words[-1] in common):
        return ""
    return words[0] + "".join(
        b if _is_chinese(a) and _is_chinese(b) else f" {b}" for a, b in itertools.pairwise(words)
    )


def _likeliest(places: dict[_Key, list[int]]) -> dict[_Key, tuple[int, ...]]:
    """Phrase pairs that occur often enough, with the sides whose likeliest translation is the
    other side."""
    total = Counter[tuple[int, str]]()
    for key, found in places.items():
        total.update({(0, key[0]): len(found), (1, key[1]): len(found)})
    often = sorted(
        (key for key, found in places.items() if len(found) >= _LEAST_COUNT),
        key=lambda key: len(places[key]),
    )
    best = {(side, key[side]): key for key in often for side in (0, 1)}
    chosen: dict[_Key, tuple[int, ...]] = {}
    for key in often:
        share = [len(places[key]) / total[side, key[side]] for side in (0, 1)]
        sides = tuple(
            s
            for s in (0, 1)
            if best[s, key[s]] == key and share[s] >= _LEAST_SHARE and share[1 - s] >= _LEAST_BACK
        )
        if sides and key[0] != key[1]:
            chosen[key] = sides
    return chosen


def term_pairs(
    corpora: Sequence[Sequence[Pair]], table: TermsTable, tokenizer: Tokenizer
) -> list[MadePair]:
    """Pairs made for the terms of `table.pairs` random pairs of each corpus.

    The result depends only on the corpora, the table and the tokenizer.
    """
    rng = random.Random(table.seed)
    drawn = [rng.sample(corpus, min(len(corpus), table.pairs)) for corpus in corpora]
    pairs = [pair for corpus in drawn for pair in corpus]
    origin = [number for number, corpus in enumerate(drawn) for _ in corpus]
    terms = [
        term
        for term in find_terms(pairs, tokenizer)
        if len({origin[place] for place in term.places}) >= table.corpora
    ]
    made = [
        MadePair(spelled, term.source_sides)
        for term in terms
        for spelled in dict.fromkeys((term.pair, _capitalised(term.pair)))
    ]
    shown = _contexts(terms, table.contexts, rng)
    return [*made, *(MadePair(pairs[place], (0, 1)) for place in shown)]


def _capitalised(pair: Pair) -> Pair:
    """Both sides with an upper-case first letter, as people type a heading or a search."""
    first, second = (side[:1].upper() + side[1:] for side in pair)
    return first, second


def _contexts(terms: Sequence[Term], wanted: int, rng: random.Random) -> list[int]:
    """Places such that each term is in at least `wanted` of them, or in all that it has; the
    rarest terms choose first, and a place counts for all its terms."""
    inside = Counter[int]()
    held: dict[int, list[int]] = {}
    for number, term in enumerate(terms):
        for place in term.places:
            held.setdefault(place, []).append(number)
    chosen: dict[int, None] = {}
    for number in sorted(range(len(terms)), key=lambda n: len(terms[n].places)):
        others = [place for place in terms[number].places if place not in chosen]
        missing = max(0, wanted - inside[number])
        for place in rng.sample(others, min(missing, len(others))):
            chosen[place] = None
            inside.update(held[place])
    return list(chosen)
