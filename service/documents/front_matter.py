"""The front matter of Markdown, in YAML or TOML: titles and descriptions, which pages show."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import regex
import yaml

from service.documents.segments import Edit, Place, Segment, is_worded
from service.documents.yaml_catalogues import YamlReader
from service.documents.yaml_spelling import double

_FRONT_MATTER = regex.compile(
    r"""(?:(?P<mark>---)[ \t]*+(?:\r\n|\n|\r)(?P<text>[\s\S]*?(?<=[\n\r]))(?:---|\.\.\.)
    |(?P<mark>\+\+\+)[ \t]*+(?:\r\n|\n|\r)(?P<text>[\s\S]*?(?<=[\n\r]))\+\+\+)
    [ \t]*+(?=[\n\r]|\Z)""",
    regex.X,
)
_SHOWN = regex.compile(
    r"""abstract|caption|description|details|excerpt|lead|link_?title|nav_title|page_?title
    |short_?title|sidebar_?(?:label|title)|subtitle|summary|tagline|text|title""",
    regex.X | regex.IGNORECASE,
)
"""The keys of texts that readers see."""
_LANGUAGE = regex.compile(
    r"""(?m)^lang[ \t]*+[:=][ \t]*+(["']?+)(?P<code>[A-Za-z]{2,3}(?:[-_][A-Za-z\d]++)*+)\1(?=\s)"""
)
_TOML = regex.compile(
    r"""(?m)^[ \t]*+(?P<key>[\w-]++)[ \t]*+=[ \t]*+(?P<value>
    \"{3}(?:[^"\\]++|\\[\s\S]|"(?!""))*+\"{3,5}|'{3}(?:[^']++|'(?!''))*+'{3,5}
    |"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')""",
    regex.X,
)


def front_matter_end(text: str) -> int:
    """Where the front matter ends, 0 without any."""
    found = _FRONT_MATTER.match(text)
    return found.end() if found else 0


def front_matter_places(text: str) -> Iterator[Place]:
    """The values of keys that are shown; none of what is not valid."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        return
    text, begin = found["text"], found.start("text")
    is_yaml = found["mark"] == "---"
    for place in yaml_places(text, _SHOWN) if is_yaml else _toml_places(text):
        yield place._replace(start=begin + place.start, end=begin + place.end)


def language_mark(text: str, target: str) -> Iterator[Edit]:
    """The language of the page, which becomes the target."""
    if found := _LANGUAGE.search(text, 0, front_matter_end(text)):
        yield Edit(*found.span("code"), target)


def yaml_places(text: str, keys: regex.Pattern[str]) -> list[Place]:
    """The values of these keys, whose lines are broken anywhere; none of what is not valid."""
    try:
        places = list(YamlReader(text, keys).places())
    except yaml.YAMLError:
        return []
    return [
        place._replace(segment=place.segment._replace(split_sentences="nonewlines"))
        for place in places
    ]


def _toml_places(text: str) -> Iterator[Place]:
    for value in _TOML.finditer(text):
        read = _toml_value(value["value"]) if _SHOWN.fullmatch(value["key"]) else ""
        if is_worded(read):
            yield Place(*value.span("value"), Segment(read, "text", "nonewlines"), double)


def _toml_value(written: str) -> str:
    """The string that is written so; none of what is not valid."""
    try:
        read = tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        return ""
    return read if isinstance(read, str) else ""
