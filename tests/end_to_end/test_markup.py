"""HTML, placeholders, capitals and unknown scripts with the bundled models."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from service.offline import OfflineOptions, OfflineTranslator
from tests.service.translation.code_tokens import CODE

ROOT = Path(__file__).parents[2]
MODELS = [ROOT / "checkpoints" / name for name in ("zh-en", "en-de")]


@pytest.fixture(scope="module")
def translator() -> Iterator[OfflineTranslator]:
    with OfflineTranslator(MODELS, OfflineOptions("cpu", "int8", max_slots=16)) as translator:
        yield translator


def test_every_placeholder_survives(translator: OfflineTranslator) -> None:
    lines = (ROOT / "tests" / "data" / "placeholders.tsv").read_text(encoding="utf-8")
    for line in lines.splitlines():
        source, target, text, kept = line.split("\t")
        found = translator.translate(text, source, target)
        for string in set(kept.split(" ¦ ")):
            assert found.count(string) == text.count(string), (line, found)
        assert "\N{REPLACEMENT CHARACTER}" not in found
        assert "\N{OBJECT REPLACEMENT CHARACTER}" not in found


@pytest.mark.parametrize("source", ["en", "de"])
@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_code_survives_with_space_beside_it(
    translator: OfflineTranslator, source: str, data: st.DataObject
) -> None:
    first, second = data.draw(CODE), data.draw(CODE)
    assume(first not in second and second not in first)
    text = {"en": f"Use {first} {second} here.", "de": f"Benutze hier {first} {second}."}[source]
    for target in {"en", "de", "zh"} - {source}:
        found = translator.translate(text, source, target)
        for code in (first, second):
            assert found.count(code) == text.count(code), found
            before, _, after = found.partition(code)
            assert not before[-1:].isalnum(), found
            assert not after[:1].isalnum(), found


PAGES = [
    ("en", "de", "The <a href='/h'>old house</a> is <b>very big</b>.", "<b>sehr groß</b>"),
    ("en", "de", "<b>Two young girls</b> are playing <i>in the garden</i>.", "<i>im Garten</i>"),
    ("en", "de", "I do not like <a href=x><i>cold</i> water</a>.", None),
    ("en", "de", "My <b><i>little</i> brother</b> has a &quot;dog&quot;.", "<i>kleines</i>"),
    ("de", "en", "Das <b>kleine Mädchen</b> spielt mit <i>dem Hund</i>.", "<b>little girl</b>"),
    ("de", "en", "Ich habe <a href='b'>das Buch</a> gestern <u>gelesen</u>.", "<u>read</u>"),
    ("en", "zh", "The <a href='/h'>old house</a> is <b>very big</b>.", "<a href='/h'>老房子</a>"),
    ("en", "zh", "I love <b>you</b> and <i>your sister</i>.", None),
    ("en", "zh", "I love <b>her</b> and <i>her sister</i>.", "<b>她</b>和<i>她妹妹</i>"),
    ("en", "zh", "Please bring me <b>water</b> and <i>bread</i>.", "<b>水</b>"),
    ("zh", "en", "我喜欢<b>红色</b>的<a href='c'>汽车</a>。", "<b>red</b>"),
    ("zh", "en", "谢谢你的<b>帮助</b>。今天<em>天气</em>很好。", "<b>help</b>"),
]


@pytest.mark.parametrize(("source", "target", "page", "expected"), PAGES)
def test_without_its_tags_the_answer_is_the_plain_translation(
    translator: OfflineTranslator, source: str, target: str, page: str, expected: str | None
) -> None:
    found = translator.translate(page, source, target, "html")
    assert plain(found) == translator.translate(plain(page), source, target)
    assert sorted(re.findall("<[^>]+>", found)) == sorted(re.findall("<[^>]+>", page))
    if expected is not None:
        assert expected in found


def plain(page: str) -> str:
    return html.unescape(re.sub("<[^>]+>", "", page))


def test_a_sentence_that_the_model_cannot_spell_stays_as_it_is(
    translator: OfflineTranslator,
) -> None:
    russian = "Привет, как дела сегодня?"
    for source, target in (("zh", "en"), ("en", "zh"), ("en", "de"), ("de", "en")):
        assert translator.translate(russian, source, target) == russian
    assert translator.translate("今天天气很好。", "de", "en") == "今天天气很好。"
    found = translator.translate(f"{russian} Thank you.", "en", "de")
    assert found.startswith(russian)
    assert "Dank" in found


def test_capitals_are_translated_as_small_letters(translator: OfflineTranslator) -> None:
    for text in ("The house is very big.", "I do not like cold water."):
        small = translator.translate(text, "en", "de")
        assert translator.translate(text.upper(), "en", "de") == small.upper()


def test_a_page_keeps_its_tags_through_the_pivot(translator: OfflineTranslator) -> None:
    page = "<p>Das <b>Haus</b> von {name} ist <a href='x'>sehr groß</a>.</p>"
    found = translator.translate(page, "de", "zh", "html")
    assert sorted(re.findall("<[^>]+>", found)) == sorted(re.findall("<[^>]+>", page))
    assert found.count("{name}") == 1
