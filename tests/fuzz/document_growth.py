"""Which files take more than their share of time when they are longer.

    python -m tests.fuzz.document_growth

Files of every text format that repeat one or two of its marks, of 25,000 and 100,000 characters.
What takes more than ten times as long at four times the length is shown, and fails.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterator, Sequence

from tests.fuzz.document_mutations import try_document

SMALL, LARGE = 25_000, 100_000
_MOST_GROWTH, _LEAST_SECONDS = 10.0, 0.5
_SHOWN = str.maketrans({"⏎": "\n", "␍": "\r", "⇥": "\t", "·": " "})
UNITS = {
    suffix: tuple(unit.translate(_SHOWN) for unit in units.split())
    for suffix, units in {
        ".md": r"""
            [ ] ]( ](a) [a]:·b⏎ ![ * ** _a a_· ~~ ` ``a` <a> </a> <!-- --> & &amp; \ >· -·
            1.· #· | a|b⏎ -|-⏎ ⏎ ⏎⏎ · ····a⏎ ```⏎ ~~~⏎ a· <b· ( ) " ··⏎ ⇥ =⏎ ***⏎ [^a]
            <a@b.c> <http: {a} %s ---⏎ [a][ <p>⏎ *·a⏎· $ $a$ :·a⏎ !!!·note⏎ ===·"a"⏎ :::⏎
            >·[!NOTE]⏎
            """,
        ".html": r"""
            <a> </a> < > <!-- --> & &amp; <p> <b>a </b> <script> </script> <a·b= ' "
            <![CDATA[ ]]> a· ⏎ <img·alt='a'> {a} <br> <ul><li> <table><tr> <pre> <svg> &#x
            http://a.b· <a/> <?
            """,
        ".srt": r"""
            1⏎ 00:00:01,000·-->·00:00:02,000⏎ a⏎ ⏎ <i> </i> -·a⏎ { } < > & a· --> ␍⏎
            1⏎00:00:01,000·-->·00:00:02,000⏎a⏎⏎ {\an8}
            """,
        ".vtt": r"""
            WEBVTT⏎⏎ 00:01.000·-->·00:02.000⏎ a⏎ ⏎ <v·a> </v> <c. NOTE·a⏎ STYLE⏎ <00:01.000>
            &amp; --> 00:01.000·-->·00:02.000⏎a⏎⏎ -·a⏎
            """,
        ".po": r"""
            msgid·"a"⏎ msgstr·""⏎ "a\n"⏎ ⏎ #·a⏎ #,·fuzzy⏎ #~· msgctxt·"a"⏎ msgid_plural·"a"⏎
            msgstr[0]·""⏎ " \ msgid·"a"⏎msgstr·""⏎⏎ %s {a}
            """,
        ".properties": r"""
            a=b⏎ a = : \⏎ \u0041 #·a⏎ ⏎ · \ a\=b=c⏎ {0} ''
            """,
        ".json": r"""
            {"a": [ ] } "a", " \ \u0041 , 1, · ⏎ null, "{a}",
            """,
        ".txt": r"""
            a · ⏎ a⏎ < & {a} http://a.b· ́ ​ %s 。 ␍
            """,
        ".csv": r"""
            a " "" , ; ⏎ "a" =a "a,b"⏎ a,b⏎ ⇥ ·
            """,
    }.items()
}
_XML = ("<a>", "</a>", "<a b='c'>", "<!--", "-->", "&amp;", "<![CDATA[a]]>", "a ", "<?a b?>", "\n")
_XML_FRAMES = {
    ".xlf": (
        "<xliff version='1.2'><file source-language='en'><body><trans-unit id='1'><source>",
        "</source></trans-unit></body></file></xliff>",
        (*_XML, "<g id='1'>a</g>", "<x id='1'/>", "<bpt id='1'>b</bpt>", "<mrk>a</mrk>"),
    ),
    ".ts": (
        "<TS version='2.1'><context><message><source>",
        "</source><translation/></message></context></TS>",
        (*_XML, "<byte value='x9'/>", "%n", "&#10;"),
    ),
}


def growing() -> Iterator[tuple[str, str, str]]:
    """An ending, a name, and a text to repeat; of two marks: one after the other, and all of one
    before all of the other."""
    for suffix, units in UNITS.items():
        pairs = itertools.product(units, units)
        for first, second in pairs:
            yield suffix, f"{first!r} then {second!r}", f"{first}\0{second}"
            if first != second:
                yield suffix, f"{first + second!r}", first + second


def filled(suffix: str, unit: str, size: int) -> bytes:
    """A file of about `size` characters. Each mark stands there an even number of times, so that
    both sizes leave the same marks open."""
    first, _, second = unit.partition("\0")
    half = size // 2 if second else size
    counts = (half // max(1, len(mark)) // 2 * 2 for mark in (first, second))
    return "".join(
        mark * count for mark, count in zip((first, second), counts, strict=True)
    ).encode()


def framed() -> Iterator[tuple[str, str, tuple[bytes, bytes]]]:
    """XML, whose repeated elements stand in a frame that makes the file what its name says."""
    for suffix, (head, tail, units) in _XML_FRAMES.items():
        for unit in units:
            files = [(head + unit * (size // len(unit)) + tail).encode() for size in (SMALL, LARGE)]
            yield suffix, repr(unit), (files[0], files[1])


def seconds_of(name: str, content: bytes) -> float:
    started = time.process_time()
    try_document(name, content)
    return time.process_time() - started


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if nothing grew too fast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1500, help="of those with two marks, at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    cases = list(growing())
    random.Random(options.seed).shuffle(cases)
    files = [
        (suffix, name, (filled(suffix, unit, SMALL), filled(suffix, unit, LARGE)))
        for suffix, name, unit in cases[: options.files]
    ]
    found, slowest = 0, (0.0, "")
    for suffix, name, (small, large) in [*framed(), *files]:
        try:
            after = seconds_of(f"a{suffix}", large)
            slowest = max(slowest, (after, f"{suffix} {name}"))
            before = seconds_of(f"a{suffix}", small) if after > _LEAST_SECONDS else after
        except BaseException as error:  # Hang is one
            if isinstance(error, KeyboardInterrupt):
                raise
            before, after = 0.0, 60.0
            print(f"{error!r:.200}")
        if after > _MOST_GROWTH * before:
            found += 1
            print(f"{suffix} {name}: {before:.2f} s, then {after:.2f} s", flush=True)
    print(f"{len(files)} files of two marks, {found} grew too fast; slowest {slowest}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
