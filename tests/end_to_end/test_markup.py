"""HTML, placeholders, capitals and unknown scripts with the bundled models."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from service.offline import OfflineTranslator
from tests.service.translation.code_tokens import CODE, MARKS, NAMED_MARKS

ROOT = Path(__file__).parents[2]


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


AROUND = {
    "en": "Read {}our terms{} before you sign.",
    "de": "Lesen Sie {}unsere Bedingungen{} genau.",
    "zh": "请先阅读{}我们的条款{}。",
}


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("de", "en"), ("zh", "en")])
@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_marks_around_words_are_tags(
    translator: OfflineTranslator, source: str, target: str, data: st.DataObject
) -> None:
    """The words are translated as without marks, which stand around some of them."""
    opening, closing = data.draw(MARKS if source != "zh" else NAMED_MARKS)
    found = translator.translate(AROUND[source].format(opening, closing), source, target)
    plain_text = translator.translate(AROUND[source].format("", ""), source, target)
    before, _, rest = found.partition(opening)
    inner, _, after = rest.partition(closing)
    assert before + inner + after == plain_text
    assert inner == inner.strip() != ""


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("de", "en")])
def test_chinese_words_stay_in_a_sentence_of_languages_without_them(
    translator: OfflineTranslator, source: str, target: str
) -> None:
    text = {"en": "My friend 李明 reads 《红楼梦》.", "de": "Mein Freund 李明 liest 《红楼梦》."}
    found = translator.translate(text[source], source, target)
    assert "李明" in found
    assert found.endswith("《红楼梦》.")


PAGES = [
    ("en", "de", "The <a href='/h'>old house</a> is <b>very big</b>.", "<b>sehr groß</b>"),
    ("en", "de", "<b>Two young girls</b> are playing <i>in the garden</i>.", "<i>im Garten</i>"),
    ("en", "de", "I do not like <a href=x><i>cold</i> water</a>.", None),
    ("en", "de", "My <b><i>little</i> brother</b> has a &quot;dog&quot;.", "<i>kleines</i>"),
    ("de", "en", "Das <b>kleine Mädchen</b> spielt mit <i>dem Hund</i>.", "<b>little girl</b>"),
    ("de", "en", "Ich habe <a href='b'>das Buch</a> gestern <u>gelesen</u>.", "<u>read</u>"),
    ("en", "zh", "The <a href='/h'>old house</a> is <b>very big</b>.", "<a href='/h'>老房子</a>"),
    ("en", "zh", "I love <b>you</b> and <i>your sister</i>.", None),
    ("en", "zh", "I know <b>him</b> and <i>his father</i>.", "<b>他</b>和<i>他父亲</i>"),
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


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        ("zh", "en", "你好，龘", "hello"),
        ("zh", "en", "谢谢你 😀", "thank"),
        ("en", "de", "Thank you, Łukasz.", "dank"),
        ("en", "de", "The café is cold.", "kalt"),
        ("zh", "en", "王翯今天很开心。", "today"),
    ],
)
def test_rare_characters_keep_no_sentence_from_being_translated(
    translator: OfflineTranslator, source: str, target: str, text: str, expected: str
) -> None:
    assert expected in translator.translate(text, source, target).lower()


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * 5000,
        "Hello e" + "\u0301" * 5000 + " world.",
        "The word h\u0336e\u0336l\u0336p\u0336 is here.",
    ],
)
@pytest.mark.parametrize("target", ["de", "zh"])
def test_piles_of_marks_stay_and_make_no_words(
    translator: OfflineTranslator, text: str, target: str
) -> None:
    found = translator.translate(text, "en", target)
    (pile,) = re.findall("[a-z]\u0301{9,}|(?:[a-z]\u0336)+", text)
    assert found.count(pile) == 1
    assert len(found) < len(text) + 20


@pytest.mark.parametrize("target", ["de", "zh"])
def test_brackets_of_carriers_in_a_text_are_like_any_other_placeholder(
    translator: OfflineTranslator, target: str
) -> None:
    for text in ("Please open @ now.", "She bought two @ apples.", "@ is my best friend."):
        named = translator.translate(text.replace("@", "{name}"), "en", target)
        for carrier in ("⟦0⟧", "⟦3⟧", "⟦15⟧"):
            found = translator.translate(text.replace("@", carrier), "en", target)
            assert found == named.replace("{name}", carrier)
    spaced = translator.translate("I like ⟦ red cars ⟧ here.", "en", "de")
    assert "rote" in spaced


def test_single_letters_that_must_stay_in_nonsense_do_not_make_it_longer(
    translator: OfflineTranslator,
) -> None:
    for text in ("xq {a} zk {b} plo {c}", "hjkl {x} uiop {y} bnm {z}", "ab {a} ab {a} ab {a}"):
        for source, target in (("en", "de"), ("en", "zh"), ("de", "en"), ("zh", "en")):
            found = translator.translate(text, source, target)
            assert len(found) < 2 * len(text)
            assert re.findall(r"\{.\}", text) == sorted(re.findall(r"\{.\}", found))


def test_capitals_are_translated_as_small_letters(translator: OfflineTranslator) -> None:
    for text in ("The house is very big.", "I do not like cold water."):
        small = translator.translate(text, "en", "de")
        assert translator.translate(text.upper(), "en", "de") == small.upper()


def test_a_page_keeps_its_tags_through_the_pivot(translator: OfflineTranslator) -> None:
    page = "<p>Das <b>Haus</b> von {name} ist <a href='x'>sehr groß</a>.</p>"
    found = translator.translate(page, "de", "zh", "html")
    assert sorted(re.findall("<[^>]+>", found)) == sorted(re.findall("<[^>]+>", page))
    assert found.count("{name}") == 1
