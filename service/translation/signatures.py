"""Who writes a letter, and to whom: the name below its last greeting, and those in its head.
Networks translate Julia Koch as Julia cook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import regex

from model.text.spans import Span

_Find = Callable[[str], Sequence[Span]]
_GREETING = (
    r"(?:[^\n.!?]{0,30}\bGr(?:uß|(?:ü|ue)(?:ß|ss)en?)\b[^\n.!?]{0,20}|Hochachtungsvoll|MfG|[LV]G"
    r"|(?:[^\n.!?]{0,30}\b)?(?:[Rr]egards|[Ww]ishes|[Ss]incerely|[Ff]aithfully|[Tt]ruly)\b"
    r"(?: yours)?"
    r"|(?:Best|Cheers|Love|Many thanks|Thanks|Thank you)(?=,))"
)
_MARGIN = r"(?:>|[^\S\n])*+"
_NO_NAME = r"(?:D(?:ein|as|er|ie)|Eue?r|Ihr|Our|The|Uns|You)\p{L}*+ "
_PART = r"\p{Lu}(?:\.|[\p{L}'’-]++)"
_FIRST = rf"(?:(?:Dr|Prof)\. )*+{_PART}"
_OTHER = rf"(?: (?:v[ao]n |de[rn]? |zu )*+{_PART})"
_SIGNED = regex.compile(
    rf"^{_MARGIN}{_GREETING},?!?(?:[^\S\n]*+\n{_MARGIN}){{1,2}}"
    r"(?:(?P<for>(?:i\. ?[AV]|ppa|gez)\.) )?"
    rf"(?P<name>(?!{_NO_NAME}){_FIRST}{_OTHER}{{0,3}}+)(?=[^\S\n]*+$)",
    regex.MULTILINE,
)
_LAST_LINE = regex.compile(rf"\s*+{_GREETING}[,!\s]*+")
_SUBJECT = regex.compile(rf"^{_MARGIN}(?:Betreff|Subject):", regex.MULTILINE)
_OF_MAIL = regex.compile(
    rf"^{_MARGIN}(?P<for>)(?:Von|An|Kopie|From|To|[CB]?[Cc]{{2}}): "
    rf"(?P<name>{_FIRST}{_OTHER}{{1,3}}+)"
    r"(?=[^\S\n]*+(?:$|[<\[(,;]))",
    regex.MULTILINE,
)


def find_signers(text: str) -> Iterator[Span]:
    """The names in lines below greetings, with i. A. and the like before them, and in the head of
    a mail. Linear time."""
    patterns = [_SIGNED, _OF_MAIL] if _SUBJECT.search(text) else [_SIGNED]
    for found in (one for pattern in patterns for one in pattern.finditer(text)):
        yield from (Span(*found.span(part)) for part in ("for", "name") if found[part])


def found_below(text: str, find: _Find) -> _Find:
    """What finds the strings to keep below a text: also who signs, if that is a greeting."""
    if _LAST_LINE.fullmatch(text) is None:
        return find
    before = f"{text.strip()}\n"
    return lambda below: [
        *find(below),
        *(
            Span(start - len(before), end - len(before))
            for start, end in find_signers(before + below)
        ),
    ]
