"""TOML: strings are translated, and tomllib reads the translation, and all else, as it was."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.documents.segments import FileOptions
from service.errors import InvalidDocument
from tests.service.documents.samples import OPTIONS, parse_file, texts_of, translated

WRITTEN = {
    "# one\n[two] # three\nother = \"four five\" # six\n'seven' = 'eight'\n": (
        "# one\n[two] # three\nother = \"FOUR FIVE\" # six\n'seven' = 'EIGHT'\n"
    ),
    'one."two three" = "four"\n"five = six" = ["seven", {"eight" = "nine"}, "ten"]\n': (
        'one."two three" = "FOUR"\n"five = six" = ["SEVEN", {"eight" = "NINE"}, "TEN"]\n'
    ),
    "a = [\n  'one', # 'two'\n  [\"three\"],\n]\n[[four]]\nb = { c = 'five' }\n": (
        "a = [\n  'ONE', # 'two'\n  [\"THREE\"],\n]\n[[four]]\nb = { c = 'FIVE' }\n"
    ),
    'a = """\none \\\n   two\n"three"\n"""\nb = \'\'\'\n\\four\n\'\'\'\n': (
        'a = """\nONE TWO\n"THREE"\n"""\nb = \'\'\'\n\\FOUR\n\'\'\'\n'
    ),
    'a = "en-US"\nb = "a.png"\nc = 1\nd = true\ne = 2026-01-01\nf = "%d"\n': (
        'a = "en-US"\nb = "a.png"\nc = 1\nd = true\ne = 2026-01-01\nf = "%d"\n'
    ),
    'language = "en"\nlocale = "fr"\ntitle = "one"\r\n': (
        'language = "de"\nlocale = "fr"\ntitle = "ONE"\r\n'
    ),
}
STYLES = ['"one"', "'one'", '"""one"""', "'''one'''", '"""\none\n"""', "'''\r\none'''"]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inside in value.values():
            yield from strings(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from strings(inside)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("source", WRITTEN)
def test_strings_are_translated_and_all_else_stays(source: str) -> None:
    assert translated("a.toml", source.encode()).decode() == WRITTEN[source]


@given(st.text(), st.sampled_from(STYLES), st.sampled_from(["a = {}\n", "a = [1, {}]\r\n"]))
@example('one ""', '"""one"""', "a = {}")
def test_any_translation_is_read_again_as_it_is(text: str, style: str, around: str) -> None:
    parsed = parse_file(around.format(style).encode(), "a.toml", OPTIONS)
    written = parsed.write([text]).decode()
    assert [*strings(tomllib.loads(written))] == [text], written


KEYS = st.sampled_from(["a", "b.c", '"d e"', "'f'"])
VALUES = st.recursive(
    st.sampled_from([*STYLES, "1", "true", "1.5", "2026-01-01"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: f"[{', '.join(values)}]"),
        st.lists(inner, max_size=2).map(
            lambda values: f"{{{', '.join(f'k{n} = {v}' for n, v in enumerate(values))}}}"
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, VALUES))
def test_all_strings_and_no_keys_are_found(values: dict[str, str]) -> None:
    source = "".join(f"{key} = {value} # 'x' = \"y\"\n" for key, value in values.items())
    expected = [*strings(tomllib.loads(source))]
    assert sorted(texts_of("a.toml", source.encode(), FileOptions("en", "zh"))) == sorted(expected)


def test_what_is_no_toml_is_refused() -> None:
    for wrong in ("a = ", "a = 'b", "a", "a = 1\na = 2", f"a = {'9' * 5000}"):
        with pytest.raises(InvalidDocument, match="not valid TOML"):
            parse_file(wrong.encode(), "a.toml", OPTIONS)
    with pytest.raises(InvalidDocument, match="nested too deeply"):
        parse_file(f"a = {'[' * 5000}{']' * 5000}".encode(), "a.toml", OPTIONS)
