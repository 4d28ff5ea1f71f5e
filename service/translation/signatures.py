"""Who writes a letter: the name below its last greeting. Networks translate Julia Koch as Julia
cook."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from model.text.spans import Span

_GREETING = (
    r"(?:[^\n.!?]{0,30}\bGr(?:uß|(?:ü|ue)(?:ß|ss)en?)\b[^\n.!?]{0,20}|Hochachtungsvoll|MfG|[LV]G"
    r"|(?:[^\n.!?]{0,30}\b)?(?:[Rr]egards|[Ww]ishes|[Ss]incerely|[Ff]aithfully|[Tt]ruly)\b"
    r"(?: yours)?"
    r"|(?:Best|Cheers|Love|Many thanks|Thanks|Thank you)(?=,))"
)
_MARGIN = r"(?:>|[^\S\n])*+"
_NO_NAME = r"(?:D(?:ein|as|er|ie)|Eue?r|Ihr|Our|The|Uns|You)\p{L}*+ "
_PART = r"\p{Lu}(?:\.|[\p{L}'’-]++)"
_SIGNED = regex.compile(
    rf"^{_MARGIN}{_GREETING},?!?(?:[^\S\n]*+\n{_MARGIN}){{1,2}}\K"
    rf"(?!{_NO_NAME})(?:(?:Dr|Prof)\. )*+{_PART}(?: (?:v[ao]n |de[rn]? |zu )*+{_PART}){{0,3}}+"
    r"(?=[^\S\n]*+$)",
    regex.MULTILINE,
)


def find_signers(text: str) -> Iterator[Span]:
    """The names in lines below greetings. Linear time."""
    return (Span(*one.span()) for one in _SIGNED.finditer(text) if one.end() > one.start())
