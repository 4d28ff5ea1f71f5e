"""Texts are cut into sentences that fit the model, without loss and in linear time."""

from __future__ import annotations

import json
import unicodedata
from datetime import date

import pytest
from babel.dates import format_date
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.language.segmentation import Piece, cut_text, has_letters, spaced_gap
from service.translation.language.splitting import split_to_fit

ODD = st.text(
    st.sampled_from("ab 你。！，.!?\n\r\t 1😀❤\ufe0f\u200d\u0301👨👩🇫🇷-…“”\u2028"), max_size=80
)
TEXTS = st.one_of(ODD, st.text(max_size=80))


def cut(text: str, language: str = "en", max_tokens: int = 40) -> list[Piece]:
    return cut_text(text, language, max_tokens, len)


def sentences_of(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces if piece.is_sentence]


@settings(deadline=None, max_examples=60)
@given(TEXTS, st.sampled_from(["en", "zh", "de", "xx"]), st.integers(8, 50))
def test_joining_the_sentences_themselves_gives_the_text_back(
    text: str, language: str, max_tokens: int
) -> None:
    pieces = cut(text, language, max_tokens)
    assert "".join(piece.text for piece in pieces) == text
    for sentence in sentences_of(pieces):
        assert len(sentence) <= max_tokens
        assert sentence == sentence.strip()
        assert has_letters(sentence)
        assert "😀" not in sentence
        assert not set(sentence) & set("\n\r\t\u2028")


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.text(st.sampled_from("abN 你_."), min_size=1, max_size=9),
        st.sampled_from(["A cat", 'She said "it" here', "你好", 3, -1.5, True, None]),
        min_size=1,
    ),
    st.sampled_from([None, 1, 4]),
)
def test_of_json_only_the_texts_are_sentences(
    fields: dict[str, str | float | None], indent: int | None
) -> None:
    nested = [{**fields, "more": [fields]}]
    strings = [value for value in fields.values() if isinstance(value, str)]
    lists = {"all": [*strings, 3], "more": [strings]}
    texts = [value.replace('"', '\\"') for value in strings]
    for data, count in ((fields, 1), (nested, 2), (lists, 2)):
        text = json.dumps(data, ensure_ascii=False, indent=indent)
        assert sentences_of(cut(text)) == texts * count
    if strings:
        assert sentences_of(cut(json.dumps(strings, ensure_ascii=False))) == texts


@settings(deadline=None, max_examples=60)
@given(st.text(st.sampled_from("aé你ﷺ㌖½ﬃ "), max_size=60))
def test_a_tokenizer_that_normalizes_and_knows_only_bytes_gets_no_more_than_fits(text: str) -> None:
    """The worst there is: U+FDFA becomes eighteen characters, each of them two tokens."""

    def count_tokens(part: str) -> int:
        return 1 + len(unicodedata.normalize("NFKC", part).encode())

    for sentence in sentences_of(cut_text(text, "en", 40, count_tokens)):
        assert count_tokens(sentence) <= 40


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        ("Mr. Smith went. He left.", "en", ["Mr. Smith went.", "He left."]),
        ("你好。世界很大！", "zh", ["你好。", "世界很大！"]),
        ("One.\r\n\r\n\tTwo.\n", "en", ["One.", "Two."]),
        ("I 😀😀 you", "en", ["I", "you"]),
        ("1 2 3\n---\n…", "en", []),
        ("", "en", []),
        ("a   b  c", "en", ["a", "b  c"]),
        ("| a | b c |\td", "en", ["a", "b c", "d"]),
        ("保存 ｜ 取消", "zh", ["保存", "取消"]),
        ("Am 15. Jan. 2024 war es so.", "de", ["Am 15. Jan. 2024 war es so."]),
        (
            "Qty. 5: 2 pct. in it. Buy pcs. I do.",
            "en",
            ["Qty. 5: 2 pct. in it.", "Buy pcs.", "I do."],
        ),
        ("- Yes. – No.", "en", ["Yes.", "No."]),
        ("• First * item\n*required\n+more", "en", ["First * item", "required", "more"]),
        ("=== End ===\n> [ Yes ]\nNext »", "en", ["End", "Yes", "Next"]),
        ("(maybe)\n[laughs] That is (so) it", "en", ["maybe", "laughs", "That is (so) it"]),
        ('"Stop now"\n"I am here" he said.', "en", ["Stop now", '"I am here" he said.']),
        ("Home > Products » Tea", "en", ["Home", "Products", "Tea"]),
        ("首页＞产品→茶", "zh", ["首页", "产品", "茶"]),
        (
            "【公告】今晚维护\n［链接］点击（查看）【一】",
            "zh",
            ["公告", "今晚维护", "链接", "点击（查看）【一】"],
        ),
        ("Go to Home > Tea and wait.\nx > y", "en", ["Go to Home > Tea and wait.", "x > y"]),
        (":-) Thanks :) C# -5 degrees\nI <3 you <3", "en", ["Thanks", "C# -5 degrees", "I <3 you"]),
        ("a|b || c of P(A | B)", "en", ["a|b || c of P(A | B)"]),
        ("one red apple|many red apples", "en", ["one red apple", "many red apples"]),
        ("cat the file|sort it here", "en", ["cat the file|sort it here"]),
        (
            '"One","Two things",3\nHe said "no", "yes"',
            "en",
            ["One", '"Two things",3', 'He said "no", "yes"'],
        ),
        ("One day|{n} days|Many of them", "en", ["One day", "{n} days", "Many of them"]),
        ("Tea....$5\nOne......2", "en", ["Tea", "One"]),
        ("Help!!! Wait... what?!", "en", ["Help", "Wait... what?!"]),
        ("第一章…………12，真的……", "zh", ["第一章", "12，真的……"]),
        ("ii. One. IV. Two", "en", ["One.", "Two"]),
        ('"""The sum of it."""', "en", ["The sum of it."]),
        (", then go.\n; it 😀, is", "en", ["then go.", "it", "is"]),
        ("，然后。\n、去😀；好😀。是：的", "zh", ["然后。", "去", "好", "是：的"]),
        ("M. Roy part. Il rit.", "fr", ["M. Roy part.", "Il rit."]),
        ("Mme. Roy et le Dr. Bo sont là.", "fr-CA", ["Mme. Roy et le Dr. Bo sont là."]),
        ("Il rit. J.-C. Bo, p. 12. Fin.", "fr", ["Il rit.", "J.-C. Bo, p. 12.", "Fin."]),
        ("« Oui ! » dit-il. Et toi\u202f?", "fr", ["« Oui ! » dit-il.", "Et toi\u202f?"]),
        ("«\u00a0Oui\u00a0!\u00a0» Il rit.", "fr", ["«\u00a0Oui\u00a0!\u00a0»", "Il rit."]),
    ],
)
def test_what_is_translated(text: str, language: str, sentences: list[str]) -> None:
    assert sentences_of(cut(text, language)) == sentences


@pytest.mark.parametrize(
    "heads",
    [
        *("a.|b.|c.", "A.|B.|C.", "a)|b)|c)", "(a)|(b)|(c)", "(i)|(ii)|(iii)", "i)|ii)|iii)"),
        *("①|②|③", "（A）|（B）|（C）"),
    ],
)
@pytest.mark.parametrize(
    ("language", "entries"),
    [
        ("en", "Big Apples|Bananas are in|Cherries"),
        ("de", "Äpfel|Birnen sind da|Kirschen"),
        ("zh", "苹果|香蕉在这里|樱桃"),
    ],
)
def test_the_heads_of_entries_are_no_part_of_them(heads: str, language: str, entries: str) -> None:
    """In a line each, and in one row."""
    lines = [" ".join(pair) for pair in zip(heads.split("|"), entries.split("|"), strict=True)]
    for text in ("\n".join(lines), " ".join(lines), f"{entries[:6]}: {' '.join(lines)}"):
        found = sentences_of(cut(text, language, 80))
        assert found[-3:] == entries.split("|")


@pytest.mark.parametrize("line", ["zh|今天天气很好", "de|Heute ist es schön", "en|We go home."])
@pytest.mark.parametrize("form", ["♪{}♪", "♪ {} ♪", "♫ {}", "{} ♬", "♪♪ {} ♪♪"])
def test_notes_around_a_line_of_a_song_are_no_part_of_it(line: str, form: str) -> None:
    language, text = line.split("|")
    assert sentences_of(cut(form.format(text), language)) == [text]


@pytest.mark.parametrize("speaker", ["汤姆", "经理", "主持人"])
@pytest.mark.parametrize("colon", ["：", ":", "： "])
@pytest.mark.parametrize("speech", ["你好！", "2010年。", "你今年多大？"])
def test_a_speaker_is_no_part_of_what_is_said(speaker: str, colon: str, speech: str) -> None:
    text = speaker + colon + speech
    assert sentences_of(cut(text, "zh")) == [speaker + colon.strip(), speech]
    others = (f"{speaker}{colon}红色", f"{speaker}说{colon}“{speech}”", f"{speaker}，{text}")
    for other in (
        *others,
        *(f"{speaker}{colon}{defined}任何人。" for defined in ("指", "是指", "谓")),
    ):
        assert sentences_of(cut(other, "zh")) == [other]


@pytest.mark.parametrize("colon", ["：", "： "])
@pytest.mark.parametrize("letters", ["甲乙丙丁", "问答问答", "ABCD", "MWQA"])
@pytest.mark.parametrize("speech", ["你好！", "好", "不，“是”", "“走吧。”"])
def test_the_letter_of_a_speaker_is_no_part_of_what_is_said(
    colon: str, letters: str, speech: str
) -> None:
    """In a line each, and in one row if a space parts them."""
    for between in ("\n", " ") if letters.isascii() and speech[0] != "“" else ("\n",):
        text = between.join(letter + colon + speech for letter in letters)
        assert sentences_of(cut(text, "zh")) == [speech] * len(letters)


@pytest.mark.parametrize("colon", ["：", ":", "： "])
@pytest.mark.parametrize("space", [" ", "  ", "\u3000", "\u3000\u3000", "\xa0"])
@pytest.mark.parametrize(
    "labels", ["型号|颜色", "检票口|座位", "甲方（盖章）|乙方（盖章）", "應付|實付|日期"]
)
@pytest.mark.parametrize("value", ["M365", "黑色", "见包装（盒）", "0.25g×24片"])
def test_the_fields_of_a_row_are_parted(colon: str, space: str, labels: str, value: str) -> None:
    fields = [f"{label}{colon}{value}" for label in labels.split("|")]
    assert sentences_of(cut(space.join(fields), "zh")) == fields


@pytest.mark.parametrize(
    "sentence",
    [
        *("他说， 标题：红色", "汤姆 说：你好", "颜色：红色 或黑色", "比分 3：1"),
        *("时间： 地点：北京", "使用 pandas 读取 CSV 文件：", "右侧玩家 / KSnake 模式：右"),
        *("CMake 较智能：它支持", "提示：用 CSV 文件：", "错误：读取文件 “%s” 失败：%s"),
        *("错误：polkit 失败：%s", "用 -u 与 -lt 时：快；用 -l 时：慢", "部分 1 第 2 部分：介绍"),
    ],
)
def test_what_looks_like_a_row_of_fields_stays_whole(sentence: str) -> None:
    assert sentences_of(cut(sentence, "zh")) == [sentence]


@pytest.mark.parametrize("form", ["（{}）", "({})", "[{}]", "【{}】", "[{}] "])
@pytest.mark.parametrize("aside", ["笑", "旁白", "音乐响起"])
@pytest.mark.parametrize("speech", ["我不知道。", "“不。”"])
def test_an_aside_before_a_sentence_is_none_of_it(form: str, aside: str, speech: str) -> None:
    first, last = sentences_of(cut(form.format(aside) + speech, "zh"))
    assert first.strip("（）()[]") == aside
    assert last == speech


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        ("I. Introduction\nii. the buyer\n1. a. Apples", "en", "Introduction|the buyer|Apples"),
        ("I. The End. A. The rest", "en", "The End.|The rest"),
        ("A.北京B.上海", "zh", "北京|上海"),
        ("Q: Is it?\nA: Yes it is.\nA: 5\nB: No", "en", "Is it?|Yes it is.|A: 5|B: No"),
        ("Re: AW: Our trip\nFwd: Re: 5 pens\nReal: yes", "en", "Our trip|5 pens|Real: yes"),
        ("回复：转发：会议\n回复: 好\n他的回复：好", "zh", "会议|好|他的回复：好"),
        ("Subject: Re: FW: A trip\nSubject: Real", "en", "Subject|A trip|Subject: Real"),
        ("主题：回复：Re: 会议", "zh", "主题|会议"),
        (
            "Tea, 5 \ufffc\nRed wine (2 \ufffc)\nNo, 5 \ufffc of it",
            "en",
            "Tea|Red wine|No, 5 \ufffc of it",
        ),
        ("// a car\n/* The bus */\n/// by train\n//! it", "en", "a car|The bus|by train|it"),
        ("[12/05/2024, 14:32:10] Tom: Yes\n[9:41 AM] Bo", "en", "Tom: Yes|Bo"),
        ("12.05.24, 14:32 - Tom: Ja\nam 12.05.24 da", "de", "Tom: Ja|am 12.05.24 da"),
        ("9:32 - Tom: Ja\n9:32 – Bo\n9:32 – 10 Uhr", "de", "Tom: Ja|Bo|9:32 – 10 Uhr"),
        ("[2024/5/12 14:33] 汤姆: 来\n>好的\n>>你好", "zh", "汤姆: 来|好的|你好"),
        (">Hi Anna\n>>no\n>5 of them", "en", "Hi Anna|no|>5 of them"),
        ("-----Original Message-----", "en", "Original Message"),
        ("A. 3个  B. 4个  C. 5本书", "zh", "3个|4个|5本书"),
        ("It is: A. 12 B. 15 C. 18", "en", "It is: A. 12 B. 15 C. 18"),
        ("Is it?\nA. 12 B. 15 C. 18\nA. 5", "en", "Is it?|A. 5"),
        ("是吗？\nA．5　B．6\nA 3 B 4\nA组3人", "zh", "是吗？|A组3人"),
        ("共1.5个2.5个", "zh", "共1.5个2.5个"),
        ("(1)苹果(2)香蕉", "zh", "(1)苹果|(2)香蕉"),
        ("首页|新闻|体育", "zh", "首页|新闻|体育"),
        ("苹果>香蕉\n文件/文件夹\n苹果;梨", "zh", "苹果|香蕉|文件/文件夹|苹果|梨"),
        ("apples;bananas", "en", "apples|bananas"),
        ("Na+ und Cl-\nNote: 2-\nEin E-", "de", "Na+ und Cl|Note: 2|Ein E"),
        ("【京东】【订单】已发货【东】", "zh", "京东|订单|已发货【东】"),
        ("您的验证码是1【京东】", "zh", "您的验证码是1|京东"),
        ("[Important] [Notice] We go.", "en", "Important|Notice|We go."),
    ],
)
def test_entries_in_a_row_are_parted(text: str, language: str, sentences: str) -> None:
    assert sentences_of(cut(text, language)) == sentences.split("|")


@pytest.mark.parametrize(
    "sentence",
    [
        *("en|E. coli is one.", "en|(a) and (b) apply.", "en|We need (a) one and (b) two of it."),
        *("de|v. Chr. war es.", "de|z. B. das", "de|i. d. R. ja", "de|1. Mai und 2. Juni"),
        *("zh|请看图①和图②。", "zh|A、B两组", "zh|男/女", "zh|我去；他来"),
    ],
)
def test_what_looks_like_a_head_stays_in_its_sentence(sentence: str) -> None:
    language, text = sentence.split("|")
    assert sentences_of(cut(text, language)) == [text]


@pytest.mark.parametrize(
    "sentence",
    [
        *("de|Im 19. Jahrhundert war das so.", "de|Der 2. Weltkrieg war schlimm."),
        *("de|Der 1., 2. und 3. Platz.", "de|Nr. 5, 2. OG links", "en|5 min. per lb. of it"),
        *("de|Im 18. und 19. Jahrhundert.", "de|Am 1. Dienstag im Mai.", "de|Unser 3. Kind kam."),
        *("de|Es sind mind. Hundert inkl. Kinder.", "de|Max. 5 Personen.", "de|Die Fa. Bo."),
        *("de|3 Mrd. Euro und 5 Tsd. Stück.", "de|Dipl.-Ing. Bo kam.", "de|Mein Debian-Jr.-Kurs."),
        *("en|See misc. items below.", "en|It takes max. 5 or approx. 6.", "en|Ms. Bo left."),
        *("en|We met at 3 p.m. ET.", "en|It is at 8 P.M. GMT on Friday.", "en|At 9 a.m. Monday."),
        *("de|Nach Abs. 1 Satz 2.", "de|Das Haus, Bj. 1998, ist alt.", "en|Live in Apt. 4B here."),
        *("en|Add 8 \ufffc. of it.", "en|At 3 p.m. Eastern time.", "en|It is 5 a.m. UTC."),
        *("en|Be there at 8 p.m. Beijing time.", "en|It is 9 a.m. New York Time now."),
        *("da|I det 19. århundrede.", "es|Aprox. 5 min.", "nl|Mevr. Bo is er.", "hu|Kb. 5 perc."),
        *('zh|"这是对的。"他说。', "zh|“你是谁？”她问。", "zh|「你是誰？」她問。"),
        *(
            "zh|“我不知道。我想走！”他大声喊道。",
            "zh|“好。”，他说。",
            "zh|他读了《你好。》这本书。",
        ),
        *("zh|写有“随它去吧。”的图片。", "ja|「誰ですか？」と彼女は聞いた。"),
    ],
)
def test_a_sentence_goes_on(sentence: str) -> None:
    language, text = sentence.split("|")
    assert sentences_of(cut(text, language, 99)) == [text]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ich bin 20.|Er ist 30.", "de"),
        ("We met at 8 p.m.|Friday was the best day.", "en"),
        ("It was 5 p.m.|Everyone went.", "en"),
        ("He left at 5 p.m.|Last time he was late.", "en"),
        ("He left at 5 p.m.|The time was right.", "en"),
        ("Das war 1990.|Dann kam die Wende.", "de"),
        ("Das Treffen ist am 3.|Alle kommen.", "de"),
        ("Das ist Max.|Er ist groß.", "de"),
        ("I am 20.|He is 30.", "en"),
        ("他走了。|“好。”", "zh"),
        ("“你好！”|“你好！”", "zh"),
        ("他问：“你是谁？”|我没回答。", "zh"),
        ("他就说：“你是谁？”|她说：“我是路得。”", "zh"),
        ('他说"这是对的。"|她走了。', "zh"),
    ],
)
def test_a_sentence_does_not_go_on(text: str, language: str) -> None:
    gap = " " if language in ("de", "en") else ""
    assert sentences_of(cut(text.replace("|", gap), language)) == text.split("|")


@pytest.mark.parametrize(
    ("text", "language", "abbreviation"),
    [
        ("All of his friends bzw. Tom and others of the school", "de", "bzw."),
        ("All of the letters there incl. Those of the Greeks too", "en", "incl."),
    ],
)
def test_no_sentence_is_cut_behind_an_abbreviation(
    text: str, language: str, abbreviation: str
) -> None:
    for end, is_cut in ((abbreviation, False), ("here.", True)):
        first, *_ = sentences_of(cut(text.replace(f"{abbreviation} T", f"{end} t"), language))
        assert first.endswith(end) == is_cut


@pytest.mark.parametrize("language", ["cs", "da", "de", "fi", "fr", "hu", "is", "lv", "nb", "pt"])
def test_no_date_ends_a_sentence(language: str) -> None:
    for month in range(1, 13):
        for length in ("long", "medium"):
            written = format_date(date(2024, month, 5), length, locale=language)
            assert len(cut(f"x {written} x", language)) == 1


@pytest.mark.parametrize(
    ("gap", "source", "target", "spaced"),
    [
        ("", "zh", "en", " "),
        ("\n", "zh", "en", "\n"),
        (" ", "en", "zh", ""),
        ("  ", "en", "zh", "  "),
        ("\n", "en", "zh", "\n"),
        (" ", "en", "de", " "),
        (" ", "zh", "ja", " "),
    ],
)
def test_spacing_follows_the_target_language(
    gap: str, source: str, target: str, spaced: str
) -> None:
    assert spaced_gap(gap, source, target) == spaced


def test_a_sentence_that_is_not_translatable_is_kept() -> None:
    pieces = cut_text("One. Two 2. Three.", "en", 40, len, lambda text: "Two" not in text)
    assert sentences_of(pieces) == ["One.", "Three."]
    assert "".join(piece.text for piece in pieces) == "One. Two 2. Three."


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("aaaa aaaa aaaa. bbb, bbb bbb", "aaaa aaaa aaaa. "),
        ("aaaa aaaa aaaaa, bb bbb bbb", "aaaa aaaa aaaaa, "),
        ("aaa aaa aaa Mr. Bbb bbb b", "aaa aaa aaa Mr. Bbb "),
        ("aaa aaa aaa U.S. Bb bbb b", "aaa aaa aaa U.S. Bb "),
        ("aaa aaa aaa z. B. b bbb b", "aaa aaa aaa z. B. b "),
        ("aaa aaa am 5. Bbb bb bbb", "aaa aaa am 5. Bbb "),
        ("aaa aaa aaa aa. 5 bbb bbb", "aaa aaa aaa "),
        ("aaa aaa aaa 20 Bbbbbbb bb", "aaa aaa aaa "),
        ("aaaaa $ aaa 20 Bbbbbbb bbb", "aaaaa $ aaa "),
        ("aaaaa aaaaaa 20 Bbbbb bbb", "aaaaa aaaaaa "),
        ("aaaaaa 2 p.m. on bbbb bbb", "aaaaaa 2 p.m. on "),
        ("aaaa aaaa aaaaa bbbbbbbbb", "aaaa aaaa aaaaa "),
        ("« aaaa aaaa ! » bbbb bbb bbb", "« aaaa aaaa ! » "),
        ("«\u202faaaaaa aaaa\u202f!\u202f» bbb bbb", "«\u202faaaaaa aaaa\u202f!\u202f» "),
        ("aaaaa aaaaa aaaa. »Bbb bb bbbb", "aaaaa aaaaa aaaa. "),
        ("aaaaaa aaaa aaaaaaa ? bbb", "aaaaaa aaaa "),
        ("aaaaaa aaaaaaa « bbb bbb »", "aaaaaa aaaaaaa "),
        ("a" * 40, "a" * 20),
        ("e\u0301" * 20, "e\u0301" * 10),
        ("a" + "e\u0301" * 20, "a" + "e\u0301" * 9),
    ],
)
def test_an_over_long_sentence_is_cut_at_the_best_place(text: str, first: str) -> None:
    parts = list(split_to_fit(text, 20, len))
    assert "".join(parts) == text
    assert parts[0] == first


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", ",", "，", ":", "(", ")", "%"]),
            st.from_regex(r"\A(?:[1-9][0-9]{0,3}(\.[0-9]{1,2})?|A[a-z]{2,5}[0-9]?)\Z"),
            st.sampled_from(["元", "公司在", "，增长了", ",同比"]),
        ),
        min_size=4,
    )
)
def test_a_number_or_a_name_in_chinese_is_never_cut(runs: list[tuple[str, str, str]]) -> None:
    text = "".join(map("".join, runs))
    *parts, _ = split_to_fit(text, 24, len)
    for part in parts:
        assert part[-1] in "元公司增长了同比，,:)"


@given(
    st.text("共三件商品应付合计", min_size=21, max_size=34),
    st.lists(st.text("苹果香蕉", min_size=1, max_size=4), min_size=2, max_size=4),
    st.sampled_from(["（{}）", "({})", " ({})"]),
    st.sampled_from(["、", "，", "；", ", "]),
    st.text("今天发货到", min_size=8, max_size=14),
)
def test_no_part_ends_inside_brackets_that_begin_in_its_second_half(
    words: str, listed: list[str], brackets: str, mark: str, rest: str
) -> None:
    text = words + brackets.format(mark.join(listed)) + rest
    for part in split_to_fit(text, 40, len):
        assert part.count("(") + part.count("（") == part.count(")") + part.count("）")


@settings(deadline=None, max_examples=200)
@given(
    st.text("共三件商品应付合计", min_size=12, max_size=20),
    st.sampled_from(["（含运费{}）", "含运费{}", "（已优惠{}）。", " with fees of {})"]),
    st.sampled_from(["￥10.00", "10.00", "\ufffc5", "3%"]),
    st.integers(1, 6),
)
def test_no_part_is_a_number_alone(words: str, end: str, number: str, over: int) -> None:
    text = words + end.format(number)
    *_, last = split_to_fit(text, len(text) - over, len)
    assert has_letters(last)
    assert not has_letters(text[: -len(last)]) or "（" not in text or last.startswith("（")


@pytest.mark.parametrize("word", ["下午", "上午", "晚上", "价格"])
@pytest.mark.parametrize("over", range(1, 6))
def test_a_number_at_the_end_is_not_parted_within_its_word(word: str, over: int) -> None:
    text = f"会议时间是今天星期一{word}2:00"
    *_, last = split_to_fit(text, len(text) - over, len)
    assert last == f"{word}2:00"


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from("az. "), st.integers(1, 700)), min_size=1, max_size=30))
def test_the_work_is_linear_where_tokens_are_spread_unevenly(runs: list[tuple[str, int]]) -> None:
    """Long stretches that are next to nothing before others of which a character is too much."""
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return 2 + 9 * part.count("z")

    text = "".join(letter * length for letter, length in runs)
    cut_text(text, "en", 20, count)
    assert counted <= 60 * len(text) + 100
