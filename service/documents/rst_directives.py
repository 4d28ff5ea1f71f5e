"""What is text in the directives of reStructuredText: those of docutils, Sphinx and its usual
extensions."""

from __future__ import annotations

from typing import Literal

import regex

Argument = Literal["text", "terms", "title", "version", "name"]
"""An argument is a part of the text, a term that links name, a title, a title after a number, or a
name that stays."""

_TEXT = regex.compile(
    r"""attention|aside|caution|card-(?:body|footer|header)|compound|danger|details?|epigraph|error
    |exercise|footer|header|highlights|hint|hlist|important|margin|note
    |pull-quote|seealso|solution|tab-set|tabs|tip|todo|warning""",
    regex.X,
)
_TITLED = regex.compile(
    r"""admonition|button-(?:link|ref)|card|centered|collapse|contents|csv-table|dropdown
    |(?:flat-|list-)?table|grid-item-card|replace|rubric|sidebar|(?:group-)?tab
    |tab-item|topic""",
    regex.X,
)
_VERSIONED = regex.compile(
    r"deprecated(?:-removed)?|soft-deprecated|version(?:added|changed|removed)"
)
_NAMED = regex.compile(
    r"""(?!std:|\w++:(?:current)?module)\w++(?::[\w-]++)++
    |attribute|class|(?:class|static)method|cmdoption|confval|container|data|decorator(?:method)?
    |describe|django-admin|envvar|exception|fieldlookup|figure|function|grid(?:-item)?|macro|member
    |method|object|only|opcode|option|pdbcommand|property|setting|templatefilter|templatetag|type""",
    regex.X,
)
_NO_CONTENT = frozenset({"contents", "csv-table", "centered", "replace", "rubric"})
SHOWN = frozenset({"alt", "caption", "footer", "header", "title"})
"""Options that a reader sees."""
_TERMS = "glossary"


def argument_of(name: str) -> Argument | None:
    """What the argument of a directive is; None for one whose content is not text, or unknown."""
    if _TEXT.fullmatch(name):
        return "text"
    if _TITLED.fullmatch(name):
        return "title"
    if _VERSIONED.fullmatch(name):
        return "version"
    if name == _TERMS:
        return "terms"
    return "name" if _NAMED.fullmatch(name) else None


def has_text(name: str) -> bool:
    """Whether the content of a directive is reStructuredText."""
    return argument_of(name) not in (None, "terms") and name not in _NO_CONTENT
