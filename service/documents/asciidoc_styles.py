"""What stands in brackets above AsciiDoc's blocks, and which styles are text."""

from __future__ import annotations

from dataclasses import dataclass

import regex

_TEXT = regex.compile(
    r"""NOTE|TIP|IMPORTANT|WARNING|CAUTION
    |normal|abstract|partintro|quote|verse|example|sidebar|open|discrete|float|preface|appendix
    |glossary|bibliography|index|dedication|colophon|acknowledgments|lead|sect\d|horizontal|qanda
    |arabic|(?:lower|upper)(?:alpha|roman|greek)|decimal|square|circle|disc|none|unstyled
    |unordered|ordered|no-bullet|calloutlist|checklist
    """,
    regex.X,
)
CODE_STYLES = frozenset(
    {"source", "listing", "literal", "pass", "stem", "latexmath", "asciimath", "comment"}
)


@dataclass
class Metadata:
    """What lines in brackets say of the next block."""

    style: str = ""
    written: str = ""
    anchor: str = ""


def is_text_style(style: str) -> bool:
    """Whether what has this style, or none, is text."""
    return not style or _TEXT.fullmatch(style) is not None
