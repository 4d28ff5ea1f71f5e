"""YAML: another reader finds the same keys and translated strings, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from service.documents.formats import parse_file
from service.documents.segments import FileOptions
from service.errors import InvalidDocument
from tests.service.documents.samples import OPTIONS, YAML, texts_of, translated

LINES = st.text(st.sampled_from("ab é'\"\\:#-&*!|>%@`{}[],?~1=<\t😀\x85\u2028\x07"), min_size=1)
TEXTS = st.lists(LINES.map(str.strip), min_size=1, max_size=4).map("\n".join).map(str.strip)
STYLES = {
    "plain": "a: text here\n",
    "flow": "{a: text here, b: [c]}\n",
    "single": "a: 'text here' # comment\n",
    "double": 'a: &x !!str "text\n  here"\n',
    "literal": "b:\n  a: |\n\n    text\n    here\n\n",
    "folded": "a: >-  # comment\n  text\n  here\nb: 1\n",
    "list": "- |+\n here\n\n- 2\n",
}


@pytest.mark.parametrize("style", STYLES)
@settings(deadline=None, max_examples=40)
@given(text=TEXTS)
def test_any_translation_is_read_as_it_was_meant(style: str, text: str) -> None:
    """A block has no escapes: what it cannot have becomes a space."""
    parsed = parse_file(STYLES[style].encode(), "a.yml", OPTIONS)
    count = len(parsed.segments)
    done = parsed.write([text] * count).decode()
    found = _strings(yaml.safe_load(done))
    assert len(found) == count
    for one in found:
        if style in ("literal", "folded", "list"):
            visible = text.translate(dict.fromkeys((0x85, 0x2028, 0x07), " "))
            assert one.strip() == visible.strip()
        else:
            assert one == text


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_another_reader_finds_the_same_keys(line_end: str) -> None:
    text = YAML.decode().replace("!own ", "")
    before = yaml.safe_load(text)
    done = translated("a.yml", text.replace("\n", line_end).encode()).decode()
    assert done.count(line_end) == done.count("\n")
    after = yaml.safe_load(done)
    (values,), (expected,) = after.values(), before.values()
    assert list(after) == ["de"]
    assert list(values) == list(expected)
    for key in ("number", "symbol", True, "date"):
        assert values.get(key) == expected.get(key)
    assert values["folded"] == expected["folded"].upper()
    assert values["literal"] == expected["literal"].upper()


@pytest.mark.parametrize(
    "value",
    [
        "true", "No", "~", "0x1F", "2024-01-02", "12:30", ".inf", ":symbol", "!ruby/symbol a",
        "!!binary aGk=", "*a", "42", '"%d.%m.%Y"', "", '"42"',
    ],
)  # fmt: skip
def test_values_of_programs_stay(value: str) -> None:
    assert texts_of("a.yaml", f"a: &a\nb: {value}\n".encode()) == []


def test_symbols_in_brackets_stay() -> None:
    text = "a: one\nb: [ :year, :month ]\nc:\n  d: [:e]\n  f: [two]\n"
    expected = text.replace("one", "ONE").replace("two", "TWO")
    assert translated("a.yml", text.encode()).decode() == expected


def test_translations_that_would_be_no_strings_are_quoted() -> None:
    parsed = parse_file(b"a: One\nb: {c: Two}\nd: Three\n", "a.yml", OPTIONS)
    done = parsed.write(["Nein", "Eins, zwei", "42"])
    assert done == b'a: Nein\nb: {c: "Eins, zwei"}\nd: "42"\n'


@pytest.mark.parametrize(
    ("content", "source", "key"),
    [
        ("en:\n  a: b\n", "en", "de"),
        ("en-US:\n  a: b\n", "en", "de"),
        ("'en':\n  a: b\n", "en", "de"),
        ("en:\n  a: b\n", "auto", "de"),
        ("app:\n  a: b\n", "auto", "app"),
        ("fr:\n  a: b\n", "en", "fr"),
        ("en:\n  a: b\nfr:\n  a: b\n", "en", "en"),
        ("x:\n  en: b\n", "en", "x"),
    ],
)
def test_the_only_key_at_the_top_names_the_language(content: str, source: str, key: str) -> None:
    done = translated("a.yml", content.encode(), replace(OPTIONS, source=source))
    assert next(iter(yaml.safe_load(done))) == key


def test_a_code_that_reads_as_a_boolean_is_quoted() -> None:
    done = translated("a.yml", b"en:\n  a: b\n", FileOptions("en", "no"))
    assert list(yaml.safe_load(done)) == ["no"]


LAUGHS = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c]\n" % (one + 1, one + 1, one, one) for one in range(ord("a"), ord("y"))
)


def test_aliases_are_not_expanded() -> None:
    assert len(texts_of("a.yml", LAUGHS)) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: b\n\tc: d\n", "line 2"),
        (b"a: 'b\n", "YAML: line 2"),
        (b"a:\n  b: [c, :d, e]\n", "line 2, at ':d, e]'"),
        (b"a: \x07\n", "YAML"),
        (b"[" * 100_000, "YAML"),
        (b"- " * 100_000, "YAML"),
        (b"a: b\xff\n", "save it as UTF-8"),
    ],
)
def test_what_is_no_yaml_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(InvalidDocument, match=words):
        parse_file(content, "a.yml", OPTIONS)
