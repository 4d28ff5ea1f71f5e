"""Traditional Chinese is read and written by models that know only simplified Chinese."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.decoding.options import DecodingOptions
from model.decoding.sentence_limits import SentenceLimits
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from service.translation.alignment import AlignmentLink
from service.translation.checks.dates import find_dates
from service.translation.checks.number_words import HAS_NUMBERS
from service.translation.checks.numbers import find_numbers
from service.translation.job import ModelJob, TranslationJob
from service.translation.language.chinese import (
    is_chinese,
    is_traditional,
    to_simplified,
    to_traditional,
)
from service.translation.language.detection import LanguageDetector
from service.translation.preparation import Preparation
from service.translation.routing import OfferedModel, Routes
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.script import enter_script
from service.translation.sentence.stages import Draft, leave

FILE = Path("checkpoints/zh-en/sentencepiece.model")
TOKENIZER = Tokenizer(FILE, FILE, TokenizerConfig(FILE.name, FILE.name, reserved=16))
LIMITS = SentenceLimits(40, 60, 8)
DETECTOR = LanguageDetector()
OPTIONS = DecodingOptions()


@settings(deadline=None)
@given(st.text(st.sampled_from("後后裡里發髮发臺台 ab,。"), max_size=20))
def test_what_enters_leaves_as_it_was_written(text: str) -> None:
    stage = enter_script(text, is_traditional=False, reads_traditional=True, count=len)
    if stage is None:
        assert to_simplified(text) == text
    else:
        assert to_simplified(stage.text) == stage.text
        links = [AlignmentLink(0, 1, 0, 1, 1.0)]
        assert stage.leave(Draft(stage.text, links)) == Draft(text, links)


@pytest.mark.parametrize("text", ['He said "Yes" to us.', "He said “Yes” to us.", "Yes: „good“"])
def test_quotation_marks_are_those_of_the_script(text: str) -> None:
    for is_wanted, marks in ((False, "“”"), (True, "「」")):
        job = TranslationJob([text], "en", "zh")
        work = ModelJob(job, [text], [0], "en", "zh", OPTIONS, is_traditional=is_wanted)
        _, (entry,) = Preparation(TOKENIZER, LIMITS, work).prepare()
        left = leave(entry.stages, Draft("他说“是”。"))
        assert left is not None
        assert "".join(char for char in left.text if char in "“”「」") == marks


def num_pieces(text: str) -> int:
    return len(TOKENIZER.encode_source(text, "en"))


WORDS = ["滑鼠", "記憶體", "隨身碟", "字串", "伺服器", "程序", "後", "裡", "我在", "a", "，", " "]


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=8).map("".join))
def test_words_of_taiwan_leave_as_they_were_written(text: str) -> None:
    stage = enter_script(text, is_traditional=False, reads_traditional=True, count=num_pieces)
    assert stage is None or stage.leave(Draft(stage.text)).text == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        *(("請移動滑鼠。", "请移动鼠标。"), ("記憶體和資料庫", "内存和数据库")),
        ("應用程序的文件", "应用程序的文件"),  # words of the mainland, and others in Taiwan
    ],
)
def test_the_network_reads_the_words_that_it_knows(text: str, read: str) -> None:
    stage = enter_script(text, is_traditional=False, reads_traditional=False, count=num_pieces)
    assert stage is not None
    assert stage.text == read


NUMBERS = """
    三万元 三亿两千万人 一万两千米 三点五公里 百分之三点五 两年半 早上8点到晚上9点 两三千块
    下午3点05分 上世纪八十年代 中华民国九十九年 5月3号 近万人 零下5度 二战后 3万亿 打8折 三四个钟头
"""


@pytest.mark.parametrize("text", NUMBERS.split())
def test_numbers_in_traditional_characters_are_read_as_in_simplified_ones(text: str) -> None:
    text = f"他说，{text}。"
    written = to_traditional(text)
    job = TranslationJob([text, written], "zh", "en")
    work = ModelJob(job, job.texts, [0, 1], "zh", "en", OPTIONS)
    parsed, (simplified, traditional) = Preparation(TOKENIZER, LIMITS, work).prepare()
    assert traditional.text == simplified.text
    copied = leave(traditional.stages, Draft(traditional.text))
    assert copied is not None
    assert copied.text == parsed[1].sentences[0].text
    amounts = [one.new for one in find_amounts(text, "zh", "en")]
    assert [one.new for one in find_amounts(written, "zh", "en")] == amounts
    assert HAS_NUMBERS.search(written) or not HAS_NUMBERS.search(text)


def test_carried_numbers_are_in_the_characters_of_the_translation() -> None:
    text = "It paid 3.25 trillion euros."
    for is_wanted, amount in ((False, "3.25万亿"), (True, "3.25萬億")):
        job = TranslationJob([text], "en", "zh")
        work = ModelJob(job, [text], [0], "en", "zh", OPTIONS, is_traditional=is_wanted)
        preparation = Preparation(TOKENIZER, LIMITS, work)
        (parsed,), (first,) = preparation.prepare()
        entry = preparation.second_translation.entry(0, parsed.sentences[0], first, 1)
        assert entry is not None
        copied = leave(entry.stages, Draft(entry.text))
        assert copied is not None
        assert copied.text == text.replace("3.25 trillion", amount)


@settings(deadline=None)
@given(st.lists(st.sampled_from([*NUMBERS.split(), "one point five", "，", "5"]), max_size=5))
def test_numbers_have_the_same_values_in_traditional_characters(parts: list[str]) -> None:
    text = " ".join(parts)
    written = to_traditional(text)
    numbers, others = find_numbers(text), find_numbers(written)
    assert others.possible == numbers.possible
    assert [one.values for one in others.certain] == [one.values for one in numbers.certain]
    for number, other in zip(numbers.certain, others.certain, strict=True):
        assert other.written in written
        assert to_simplified(other.written) == number.written
    dates = [one[2:] for one in find_dates(text, "zh")]
    assert [one[2:] for one in find_dates(written, "zh")] == dates


@settings(deadline=None)  # the first call loads OpenCC
@given(st.text(st.one_of(st.characters(), st.sampled_from("臺台\0\ud800a")), max_size=40))
def test_conversions_keep_the_length(text: str) -> None:
    assert len(to_simplified(text)) == len(to_traditional(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *(("他們在學校讀書。", "zh-Hant"), ("請問圖書館在哪裡？", "zh-Hant"), ("臺灣", "zh-Hant")),
        *(("他们在学校读书。", "zh"), ("皇后有乾隆的著作。", "zh"), ("Where is it?", "en")),
        ("今天我在电视上看到一个叫陳的人，他说了很多关于天气的事。", "zh"),
    ],
)
def test_the_characters_tell_the_language(text: str, language: str) -> None:
    assert DETECTOR.detect(text, ["en", "zh", "zh-Hant"]).language == language
    assert is_traditional(text) == (language == "zh-Hant")


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        *(("我喜欢喝茶。", True), ("他们在学校读书！", True), ("请点击OK按钮。", True)),
        *(("I like 茶.", False), ("I like tea.", False), ("Menu 菜单", False), ("123", False)),
    ],
)
def test_chinese_is_told_from_what_quotes_it(text: str, is_kept: bool) -> None:
    assert is_chinese(text) == is_kept


@pytest.mark.parametrize(
    ("pair", "text", "is_kept"),
    [
        *((("en", "zh"), "我喜欢喝茶。", True), (("zh", "en"), "I like tea.", True)),
        *((("zh", "en"), "OK。", False), (("zh", "en"), "我喜欢喝茶。", False)),
        *((("ja", "zh"), "新規作成", False), (("de", "en"), "I like tea.", True)),
        *((("zh", "en"), "Good morning.", True), (("zh", "en"), "Good", False)),
    ],
)
def test_what_is_in_the_target_language_stays(
    pair: tuple[str, str], text: str, is_kept: bool
) -> None:
    work = ModelJob(TranslationJob([text], *pair), [text], [0], *pair, OPTIONS)
    (document,), entries = Preparation(TOKENIZER, LIMITS, work).prepare()
    assert (not entries) == is_kept
    if is_kept:
        assert "".join(document.gaps) == text


@pytest.mark.parametrize(
    ("text", "english", "japanese"),
    [
        ("1、打开盒子", "1. |", "1、|"),
        ("二、打开盒子", "2. |", "二、|"),
        ("１、打开盒子", "1. |", "１、|"),
        ("１．打开盒子", "1. |", "１．|"),
        ("第５章　总则", "Chapter 5: |", "第５章　|"),
        ("·打开盒子", "·|", "·|"),
        ("＊打开盒子", "＊|", "＊|"),
        ("1.打开盒子", "1. |", "1.|"),
        ("十一、打开。十二、关闭", "11. | 12. |", "十一、|十二、|"),
        ("（四）关闭", "(4) |", "（四）|"),
        ("第一章 总则", "Chapter 1: |", "第一章 |"),
        ("第一百零三条　公民。第2節 打开", "Article 103: | Section 2: |", "第一百零三条　|第2節 |"),
        ("回复：转发: 会议", "Re: Fwd: |", "回复：转发: |"),
        ("主题：转发：会议", "|: Fwd: |", "|：转发：|"),
        ("问：你是谁？\n答：“汤姆。”", "Q: |\nA: |", "问：|\n答：|"),
        ("甲：你是谁？\n乙：“汤姆。”", "A: |\nB: |", "甲：|\n乙：|"),
        ("Ａ：好 Ｂ：不好", "A: | B: |", "Ａ：| Ｂ：|"),
        ("他问：你是谁？", "| |", "||"),
        ("A、北京B、上海", "A. | B. |", "A、|B、|"),
        ("第一章总则，第一条狗", "|", "|"),
        ("苹果、3、4、梨", "|", "|"),
        ("3、4、梨", "|", "|"),
        ("一、二、三，跳！", "|", "|"),
    ],
)
def test_a_language_with_spaces_numbers_lists_otherwise(
    text: str, english: str, japanese: str
) -> None:
    for target, gaps in (("en", english), ("ja", japanese)):
        for written, tags in ((text, "{}"), (f"<p>{text}</p>", "<p>{}</p>")):
            job = TranslationJob([written], "zh", target, format="html" if "<" in tags else "text")
            work = ModelJob(job, [written], [0], "zh", target, OPTIONS)
            (document,), _ = Preparation(TOKENIZER, LIMITS, work).prepare()
            assert "|".join(document.gaps) == tags.format(gaps)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("<b>问：</b>你是谁？", "<b>Q: </b>"),
        ("<b>答</b>：好。", "<b>A</b>: "),
        ("<b>二、</b>打开盒子", "<b>2. </b>"),
        ("<i><b>（二）</b></i>打开盒子", "<i><b>(2) </b></i>"),
        ("<b>第二章 </b>打开盒子", "<b>Chapter 2: </b>"),
        ("<b>回复：</b>会议", "<b>Re: </b>"),
    ],
)
def test_a_head_in_a_tag_is_the_targets_too(text: str, english: str) -> None:
    work = ModelJob(
        TranslationJob([text], "zh", "en", format="html"), [text], [0], "zh", "en", OPTIONS
    )
    (document,), _ = Preparation(TOKENIZER, LIMITS, work).prepare()
    assert document.gaps[0] == english


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("【公告】【一】今晚维护【京东】", "[|] [|] | [|]"),
        ("他来了。（1）\n她走了。(完了)\n好。[1]", "| (1)\n| (|)\n|[1]"),
        ("👍！！加油～～\n！😀？好", "👍!! |~~\n!😀? |"),
        ("真好☀️。去吧❤️，好👋🏻。\n（1）、（2）。", "|☀️. |❤️, |👋🏻.\n(1), (2)."),
        ("——你去哪儿？——回家。\n———\n—", "—| —|\n———\n—"),
        ("时间｜地点｜9:00\n9:00｜大厅｜签到 ｜ 取消", "| | | | 9:00\n9:00 | | | | | |"),
        ("他来了。￥￥\n３＋５＝Ａ％", "|¥¥\n3+5=A%"),
        ("姓名：李娜　职务：经理　　部门：好\n　　你好", "| |  |\n　　|"),
    ],
)
def test_between_english_sentences_no_sign_is_of_full_width_and_no_bracket_is_glued(
    text: str, english: str
) -> None:
    for target in ("en", "ja"):
        work = ModelJob(TranslationJob([text], "zh", target), [text], [0], "zh", target, OPTIONS)
        (document,), _ = Preparation(TOKENIZER, LIMITS, work).prepare()
        sentences = [*(sentence.read() for sentence in document.sentences), ""]
        if target == "en":
            assert "|".join(document.gaps) == english
        else:
            pairs = zip(document.gaps, sentences, strict=True)
            assert "".join(part for pair in pairs for part in pair) == text


@pytest.mark.parametrize(
    ("brackets", "known"),
    [
        ("【】", "[]"),
        ("［］", "[]"),
        ("〖〗", "[]"),
        ("〔〕", "[]"),
        ("『』", "“”"),
        ("〈〉", "《》"),
    ],
)
@pytest.mark.parametrize("target", ["en", "ja"])
def test_brackets_within_a_sentence_go_in_as_networks_know_them(
    brackets: str, known: str, target: str
) -> None:
    text = "点击{0}开始{1}菜单，选择<b>{0}设置{1}</b>。"
    written = text.format(*brackets)
    job = TranslationJob([written], "zh", target, format="html")
    work = ModelJob(job, [written], [0], "zh", target, OPTIONS)
    (document,), _ = Preparation(TOKENIZER, LIMITS, work).prepare()
    (sentence,) = document.sentences
    without_tags = text.replace("<b>", "").replace("</b>", "")
    assert sentence.text == without_tags.format(*(known if target == "en" else brackets))
    assert [tag.offset for tag in sentence.tags] == [11, 15]


def test_chinese_words_stay_on_their_way_into_chinese() -> None:
    text, pair = "My friend 王伟 lives in 上海.", ("en", "zh")
    work = ModelJob(TranslationJob([text], *pair), [text], [0], *pair, OPTIONS)
    (document,), _ = Preparation(TOKENIZER, LIMITS, work).prepare()
    assert [kept.text for kept in document.sentences[0].kept] == ["王伟", "上海"]


@pytest.mark.parametrize(
    ("pair", "text", "kept"),
    [
        (("de", "en"), 'Er sang "Let it be" und sagte „Das ist gut.“', ["Let it be"]),
        (("en", "de"), "He said »Ich liebe dich.«", ["Ich liebe dich."]),
        (("zh", "en"), "他说“I love you”，然后走了。", ["I love you"]),
    ],
)
def test_what_is_quoted_in_the_target_language_stays(
    pair: tuple[str, str], text: str, kept: list[str]
) -> None:
    work = ModelJob(TranslationJob([text], *pair), [text], [0], *pair, OPTIONS)
    (document,), _ = Preparation(TOKENIZER, LIMITS, work).prepare()
    strings = [kept.text for sentence in document.sentences for kept in sentence.kept]
    assert [string for string in strings if " " in string] == kept


def test_a_model_of_simplified_chinese_offers_traditional() -> None:
    model = OfferedModel("m", [("zh", "en"), ("en", "zh")], {}, OPTIONS)
    routes = Routes([model])
    assert routes.targets["en"] == ["zh", "zh-Hant"]
    assert routes.targets["zh"] == ["en", "zh-Hant"]
    for code in ("zh-TW", "ZH-HANT", "zh_HK"):
        (hop,) = routes.require(code, "en")
        assert (hop.source, model.network_codes[hop.source]) == ("zh-Hant", "zh")
    own = OfferedModel("own", [("zh-Hant", "en"), ("zh", "en")], {}, OPTIONS)
    assert own.network_codes["zh-Hant"] == "zh-Hant"
    assert "zh-Hant" not in OfferedModel("x", [("en", "de")], {}, OPTIONS).languages
