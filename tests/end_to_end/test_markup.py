"""HTML, placeholders, capitals, unknown scripts and numbers with the bundled models."""

from __future__ import annotations

import html
import itertools
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from model.text.spans import Span
from service.offline import OfflineTranslator
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.job import TextFormat, TranslationJob
from service.translation.markup.choices import message_branches
from service.translation.markup.flow import MARK
from tests.end_to_end.conftest import ask, run, streamed, translate
from tests.service.translation.code_tokens import CODE, MARKS, NAMED_MARKS

ROOT = Path(__file__).parents[2]


def test_every_placeholder_survives(translator: OfflineTranslator) -> None:
    lines = (ROOT / "tests" / "data" / "placeholders.tsv").read_text(encoding="utf-8")
    for line in lines.splitlines():
        source, target, text, kept = line.split("\t")
        found = translate(translator, text, source, target)
        for string in {part for one in kept.split(" ¦ ") for part in outside_branches(one)}:
            assert found.count(string) == text.count(string), (line, found)
        assert "\N{REPLACEMENT CHARACTER}" not in found
        assert "\N{OBJECT REPLACEMENT CHARACTER}" not in found


def outside_branches(string: str) -> list[str]:
    """What stays of a kept string: of an ICU choice all but its branches."""
    spans = [Span(0, 0), *message_branches(string), Span(len(string), len(string))]
    return [string[one.end : other.start] for one, other in itertools.pairwise(spans)]


@pytest.mark.parametrize(
    ("text", "source", "target", "head"),
    [
        (", then go home.", "en", "de", ", dann "),
        ("; then go home.", "en", "de", "; dann "),
        (", und dann ging er.", "de", "en", ", and "),
        ("，然后等待。", "zh", "en", ", then "),
        ("、然后等待。", "zh", "de", ", "),
        (", then go home.", "en", "zh", "，"),
    ],
)
def test_a_sentence_goes_on_after_its_mark_in_small_letters(
    translator: OfflineTranslator, text: str, source: str, target: str, head: str
) -> None:
    found = translate(translator, text, source, target)
    assert found.startswith(head)
    assert not found[len(head)].isspace()


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("<p>These words are true & good.</p>", " & "),
        ("<p>These words are true &amp; good.</p>", " &amp; "),
        ("<p>These words are <b>true</b> &#38; good.</p>", " &#38; "),
        ('<img alt="These words are true & good.">', " & "),
        ("<p>This house > that house.</p>", " > "),
        ("<p>This house &gt; that house.</p>", " &gt; "),
    ],
)
def test_a_sign_is_written_as_in_the_source(
    translator: OfflineTranslator, page: str, written: str
) -> None:
    found = translate(translator, page, "en", "de", "html")
    assert written in found
    assert found.count("&") == page.count("&")


def test_an_element_in_the_middle_of_a_sentence_does_not_cut_it(
    translator: OfflineTranslator,
) -> None:
    page = "<p>Press <button>OK</button>, then go home.</p>"
    assert "<button>OK</button>, dann " in translate(translator, page, "en", "de", "html")


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
        found = translate(translator, text, source, target)
        for code in (first, second):
            assert found.count(code) == text.count(code), found
            before, _, after = found.partition(code)
            assert not before[-1:].isalnum(), found
            assert not after[:1].isalnum(), found


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Hello {name}, you have {count} new messages.", "de"),
        ("Hallo {name}, Sie haben {count} neue Nachrichten.", "en"),
    ],
)
def test_words_between_placeholders_stay_between_them(
    translator: OfflineTranslator, text: str, target: str
) -> None:
    found = translate(translator, text, {"de": "en", "en": "de"}[target], target)
    assert "{name}," in found
    assert " {count} " in found


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
    found = translate(translator, AROUND[source].format(opening, closing), source, target)
    plain_text = translate(translator, AROUND[source].format("", ""), source, target)
    before, _, rest = found.partition(opening)
    inner, _, after = rest.partition(closing)
    assert before + inner + after == plain_text
    assert inner == inner.strip() != ""


@pytest.mark.parametrize(
    "text",
    [
        "Please **do not** press the *red* button **again**.",
        "The **car** that I **bought** yesterday is already **broken**.",
        "**Note:** The server must be running.",
    ],
)
def test_markdown_reads_each_emphasis_of_a_translation(
    translator: OfflineTranslator, text: str
) -> None:
    """Also in Chinese, where no spaces part them."""
    found = translate(translator, text, "en", "zh")
    marks = [re.findall("</?(?:em|strong)>", MarkdownIt().render(one)) for one in (text, found)]
    assert sorted(marks[0]) == sorted(marks[1]), found


@pytest.mark.parametrize("mark", ["*", "**"])
def test_words_that_a_colon_joins_have_marks_each(translator: OfflineTranslator, mark: str) -> None:
    text = "Set *host*:*port* in the *file*.".replace("*", mark)
    found = translate(translator, text, "en", "de")
    assert f"{mark}:{mark}" in found
    assert found.count(mark) == text.count(mark)


PAGES = [
    ("en", "de", "The <a href='/h'>old house</a> is <b>very big</b>."),
    ("en", "de", "<b>Two young girls</b> are playing <i>in the garden</i>."),
    ("en", "de", "I do not like <a href=x><i>cold</i> water</a>."),
    ("en", "de", "My <b><i>little</i> brother</b> has a &quot;dog&quot;."),
    ("de", "en", "Das <b>kleine Mädchen</b> spielt mit <i>dem Hund</i>."),
    ("de", "en", "Ich habe <a href='b'>das Buch</a> gestern <u>gelesen</u>."),
    ("en", "zh", "The <a href='/h'>old house</a> is <b>very big</b>."),
    ("en", "zh", "I love <b>you</b> and <i>your sister</i>."),
    ("en", "zh", "I know <b>him</b> and <i>his father</i>."),
    ("en", "zh", "Please bring me <b>water</b> and <i>bread</i>."),
    ("zh", "en", "我喜欢<b>红色</b>的<a href='c'>汽车</a>。"),
    ("zh", "en", "谢谢你的<b>帮助</b>，今天<em>天气</em>很好。"),
]
ELEMENT = re.compile(r"<(\w+)[^>]*>")


@pytest.mark.parametrize(("source", "target", "page"), PAGES)
def test_without_its_tags_the_answer_is_the_plain_translation(
    translator: OfflineTranslator, source: str, target: str, page: str
) -> None:
    found = translate(translator, page, source, target, "html")
    assert plain(found) == translate(translator, plain(page), source, target)
    assert sorted(re.findall("<[^>]+>", found)) == sorted(re.findall("<[^>]+>", page))


@pytest.mark.parametrize(("source", "target", "page"), PAGES)
def test_each_element_encloses_the_word_that_its_surest_word_is_linked_to(
    translator: OfflineTranslator, source: str, target: str, page: str
) -> None:
    job = TranslationJob([page], source, target, format="html", is_aligned=True)
    (found,) = run(translator, job)
    (sentence,) = found.sentences
    for element in ELEMENT.finditer(page):
        first, last = enclosed(page, element[0])
        links = [
            link
            for link in sentence.alignment or ()
            if first <= link.source_start < link.source_end <= last
        ]
        surest = max(links, key=lambda link: link.weight)
        first, last = enclosed(found.text, element[0])
        assert first <= surest.target_start < surest.target_end <= last, found.text


def enclosed(page: str, tag: str) -> tuple[int, int]:
    """Where the content of an element is in the text without tags."""
    before, _, rest = page.partition(tag)
    content = rest.partition(f"</{ELEMENT.fullmatch(tag)[1]}>")[0]  # type: ignore[index]
    return len(plain(before)), len(plain(before + content))


def plain(page: str) -> str:
    return html.unescape(re.sub("<[^>]+>", "", page))


def test_a_sentence_that_the_model_cannot_spell_stays_as_it_is(
    translator: OfflineTranslator,
) -> None:
    russian = "Привет, как дела сегодня?"
    for source, target in (("zh", "en"), ("en", "zh"), ("en", "de"), ("de", "en")):
        assert translate(translator, russian, source, target) == russian
    assert translate(translator, "今天天气很好。", "de", "en") == "今天天气很好。"
    found = translate(translator, f"{russian} Thank you.", "en", "de")
    assert found == f"{russian} {translate(translator, 'Thank you.', 'en', 'de')}"


@pytest.mark.parametrize(
    ("source", "target", "text", "rare"),
    [
        ("zh", "en", "你好，龘", "龘"),
        ("zh", "en", "谢谢你 😀", "😀"),
        ("en", "de", "Thank you, Łukasz.", "Łukasz"),
        ("en", "de", "The café is cold.", "café"),
        ("zh", "en", "王翯今天很开心。", "翯"),
    ],
)
def test_rare_characters_keep_no_sentence_from_being_translated(
    translator: OfflineTranslator, source: str, target: str, text: str, rare: str
) -> None:
    found = translate(translator, text, source, target)
    stay = set(re.findall(r"\w+", text)) & set(re.findall(r"\w+", found))
    assert stay <= {rare}
    assert found.strip(" ,.")


def test_a_page_keeps_its_tags_through_the_pivot(translator: OfflineTranslator) -> None:
    page = "<p>Das <b>Haus</b> von {name} ist <a href='x'>sehr groß</a>.</p>"
    found = translate(translator, page, "de", "zh", "html")
    assert sorted(re.findall("<[^>]+>", found)) == sorted(re.findall("<[^>]+>", page))
    assert found.count("{name}") == 1


SENTENCES = [
    ("zh", "en", "2000万盆鲜花扮靓首都。"),
    ("zh", "en", "1973年至1977年由六人组成。"),
    ("zh", "en", "这张桌子12345元，那张67890元。"),
    ("zh", "en", "价格是<b>99.99</b>元，不是<i>100.5</i>元。"),
    ("zh", "en", "余额为-120.50元。"),
    ("zh", "en", "升级军事单位所需的金钱-33%"),
    ("en", "zh", "+1: Hostile ratmogrified enemies deal -10% damage."),
    ("en", "zh", "The price is $99.99."),
    ("en", "zh", "It costs $2.5 million."),
    ("en", "zh", "The airport can handle 45 million passengers by 2022."),
    ("en", "zh", "Call 5550123 or {name} at 18:30."),
    ("en", "de", "Apollo made a $1 billion investment in 2008."),
    ("en", "de", "Version 3 keys have only 32 digits, version 4 have 40 digits."),
    ("de", "en", "Im April 2002 hatte sie 48.000 Einwohner und 3,5 Prozent mehr Schulen."),
    ("de", "zh", "Das Haus kostet 275000 Euro."),
]


@pytest.mark.parametrize(("source", "target", "text"), SENTENCES)
def test_numbers_come_through(
    translator: OfflineTranslator, source: str, target: str, text: str
) -> None:
    text_format: TextFormat = "html" if "<" in text else "text"
    found = translate(translator, text, source, target, text_format)
    assert unmatched(find_numbers(text), find_numbers(found)) == ([], []), found
    assert not {"⟦", "⟧", MARK} & set(found)
    assert found.count("<") == text.count("<")
    assert ("{name}" in found) == ("{name}" in text)


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ("en", "de", "Page {0} of {1}"),
        ("en", "de", "Hello {0}, welcome!"),
        ("en", "de", "Open the {0} file, then {1} it."),
        ("en", "zh", "You have {0} new messages from {1}."),
        ("zh", "en", "请点击 {0} 按钮保存文件。"),
    ],
)
def test_elements_without_text_are_translated_like_placeholders(
    translator: OfflineTranslator, source: str, target: str, text: str
) -> None:
    for tag in (r'<x id="\1"/>', r'<ph id="\1"></ph>', r'<ph translate="no" id="\1"> </ph>'):
        page = re.sub(r"\{(\d)\}", tag, text)
        expected = re.sub(r"\{(\d)\}", tag, translate(translator, text, source, target))
        assert translate(translator, page, source, target, "html") == expected


@pytest.mark.parametrize("word", ["meeting", "software engineer", "report", "Rust parser"])
@pytest.mark.parametrize(
    "text", ["今天的 {} 很好。", "请把 {} 发给我。", "他们说{}改到下午三点了。", "{} 是什么"]
)
def test_english_words_in_chinese_stay(translator: OfflineTranslator, text: str, word: str) -> None:
    found = translate(translator, text.format(word), "zh", "en")
    assert word in found
    assert not re.search("[\u4e00-\u9fff]", found)


@pytest.mark.parametrize(("target", "word"), [("en", "mouse"), ("de", "Maus")])
def test_a_word_of_taiwan_alone_is_understood(
    translator: OfflineTranslator, target: str, word: str
) -> None:
    """It has no character that simplified Chinese writes otherwise."""
    assert translate(translator, "滑鼠", "zh-TW", target).lower() == word.lower()
    page = translate(translator, "<p>請移動<b>滑鼠</b>。</p>", "zh-TW", target, "html")
    assert re.search(f"<b>[^<]*{word}</b>", page)


def test_elements_that_are_kept_are_no_fault(client: TestClient) -> None:
    page = "<p><b>Hello</b> <code>abc</code>, see <x/> there.</p>"
    fields = {"q": page, "source": "en", "target": "de", "format": "html", "details": True}
    (sentence,) = client.post("/translate", json=fields).json()["details"][0]["sentences"]
    assert sentence["checks"] == []


def test_an_amount_keeps_its_sign(translator: OfflineTranslator) -> None:
    text = "Der Umsatz stieg um 4,3 % auf 10 Milliarden € und von £1234 auf £98765."
    found = translate(translator, text, "de", "en")
    assert re.search("€ ?10 billion|10 billion ?€", found)
    assert re.search("£ ?98,?765", found)


STRANGE = (
    "{0}5€{1} 7%d8 ￼ 3 €",
    "5€€ 6 €7 is",
    "1\ufe0f\u20e3 x 2 €\ufe0f\u0301",
    "PRICE €5 MILLION 𝒳1",
)


def test_links_stay_within_strange_sentences(translator: OfflineTranslator) -> None:
    texts = [*STRANGE, "The price is $99.99."]
    wanted = TranslationJob(texts, "en", "zh", is_aligned=True, alternatives=2)
    results = run(translator, wanted)
    for sentence in (sentence for result in results for sentence in result.sentences):
        for start, end, target_start, target_end, _ in sentence.alignment or ():
            assert 0 <= start < end <= len(sentence.source)
            assert 0 <= target_start < target_end <= len(sentence.target)
    (price,) = results[-1].sentences
    assert price.confidence is None, "it is translated again"


def test_a_stream_says_which_numbers_it_lost(client: TestClient) -> None:
    for source, target in (("zh", "en"), ("en", "zh"), ("en", "de")):
        texts = [t for *pair, t in SENTENCES if pair == [source, target] and "<" not in t]
        fields = {"q": " ".join(texts), "source": source, "target": target, "details": True}
        pieces, last = streamed(client, fields)
        assert pieces == last["translatedText"]
        for sentence in last["details"][0]["sentences"]:
            lost = unmatched(find_numbers(sentence["source"]), find_numbers(sentence["target"]))
            found = [check for check in sentence["checks"] if check["kind"] == "number"]
            assert bool(found) == (lost != ([], []))


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ("en", "de", "I have 1000000 books."),
        ("en", "de", "It took fifteen hundred years."),
        ("en", "zh", "The house was built in 1873 and cost 12,345,678 dollars."),
        ("de", "en", "Es kostet 3.141.592 Euro."),
        ("zh", "en", "我有一千二百三十四万本书。"),
        ("zh", "de", "他在Kickstarter上筹集了98765432美元。"),
    ],
)
def test_a_stream_translates_numbers_as_without_streaming(
    client: TestClient, source: str, target: str, text: str
) -> None:
    fields = {"q": text, "source": source, "target": target}
    pieces, last = streamed(client, fields)
    assert pieces == last["translatedText"] == ask(client, **fields)["translatedText"]


def test_a_required_beginning_is_kept_even_with_a_wrong_number(
    translator: OfflineTranslator,
) -> None:
    text = "1973年至1977年由六人组成。"
    wanted = TranslationJob([text], "zh", "en", prefixes=["In 1999"])
    (found,) = run(translator, wanted)
    assert found.text.startswith("In 1999")
