"""Latin words in other scripts are found, and missed in translations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.spans import Span
from service.translation.sentence.latin import (
    enter_latin,
    find_latin,
    keeps_latin,
    lost_codes,
    lost_latin,
    tears_latin,
    torn_latin,
)
from service.translation.sentence.stages import Draft


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天的 meeting 改到OK吧。", ["meeting", "OK"]),
        ("他是software engineer，don't worry！", ["software engineer", "don't worry"]),
        ("T恤, X光, 3D, 5kg, _b_c, ab_c, B 5", []),
        ("从C13登机口, 码SAVE20, H1N1和MP3 20次", ["C13", "SAVE20", "H1N1", "MP3"]),
        ("Ça va, Łódź-Tour和AA制", ["Ça va", "Łódź-Tour", "AA"]),
        ("你好, привет", []),
    ],
)
def test_runs_of_words_are_found(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in find_latin(text)] == expected


@given(st.from_regex("[A-Z]·[A-Z0-9]{5}", fullmatch=True))
def test_a_number_plate_is_one_word(plate: str) -> None:
    text = f"车牌号为京{plate}的车主"
    assert [text[start:end] for start, end in find_latin(text)] == [plate]
    assert lost_latin(text, f"The owner of Jing {plate}") == 0
    assert lost_latin(text, f"The owner of Jing {plate[2:]}") == 1


def test_what_a_translation_lacks_is_counted_but_for_capitals() -> None:
    assert lost_latin("请点击Save按钮，打开file menu", "Please click save and open the menu.") == 1
    assert lost_latin("从C13登机口到B2层", "From Gate C133 to floor b2") == 1
    assert keeps_latin("zh", "de")
    assert not keeps_latin("en", "zh")
    assert not keeps_latin("de", "en")


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (
            "保存时，Node 对象被更新。",
            "While saving, theNode is new.",
            "While saving, the Node is new.",
        ),
        ("Linux或macOS需要内存", "Linux ormacOS needs memory", "Linux or macOS needs memory"),
        ("目前，vue 处理更新。", "Now,vue handles updates.", "Now, vue handles updates."),
        ("它很大。abook 很小。", "It is big.abook is small.", "It is big. abook is small."),
        ("VPN 网络和 WebM 格式", "a vPN network, a webM format", "a VPN network, a WebM format"),
        ("VPN 网络", "das vPN-Netz", "das VPN-Netz"),
        ("使用优惠码SAVE20", "Use the codeSAVE20", "Use the code SAVE20"),
        ("用 Java 和 Script", "by Javascript, JAVA, java", "by Javascript, JAVA, java"),
        ("的 an 和 OpenAI 与 AI", "than OpenAI", "than OpenAI"),
        ("在 .net 的 node.js", "in asp.net", "in asp.net"),
    ],
)
def test_words_stand_apart_in_their_own_capitals(source: str, target: str, expected: str) -> None:
    stage = enter_latin(source)
    assert stage is not None
    assert stage.leave(Draft(target)).text == expected


def test_without_words_there_is_no_stage() -> None:
    assert enter_latin("T恤和3D打印") is None


@pytest.mark.parametrize(
    "code", ["B12", "HSK5", "i9", "SAVE20", "T2a", "CA 873", "RFC 2119", "4K", "DIN EN 1234"]
)
def test_a_code_that_a_translation_lacks_is_lost(code: str) -> None:
    text = f"In 2024 take {code}, the 3rd of 5 kg at 10AM."
    assert lost_codes(text, f"2024 {code.lower()}, 3.") == []
    for target in ("2024", f"Nimm {code[:-1]}.", f"Nimm {code}0."):
        (lost,) = lost_codes(text, target)
        assert text[slice(*lost)] == code
    for other in ("WM 2006", "AD 476", "a.b2", "x-5", "COVID-19", "$5M", "90s", "THE ROOM B12"):
        assert lost_codes(other, "") == []


@pytest.mark.parametrize("name", ["Anna", "Federer", "Siobhan", "Lübeck"])
def test_a_name_without_its_first_letters_is_torn(name: str) -> None:
    text = f"Then {name} met Tom and used applications."
    for at in range(1, len(name) - 1):
        (torn,) = torn_latin(text, f"然后弗{name[at:]}遇见Tom和app。")
        assert text[slice(*torn)] == name
    for whole in (name, name[:-1], name.upper(), "安", f"汤姆{name}x"):
        assert torn_latin(text, f"然后{whole}遇见") == []
    pairs = [("en", "zh"), ("en", "de"), ("zh", "en")]
    assert [tears_latin(*pair) for pair in pairs] == [True, False, False]


@pytest.mark.parametrize("acronym", ["EU", "OPEC", "ISBN", "FYI", "UFO", "CEO"])
def test_an_acronym_is_lost_on_its_way_into_chinese_unless_it_is_a_word(acronym: str) -> None:
    text = f"The {acronym} of 1990 is here, in World War II, and IT IS a {acronym}."
    places = [place for place in range(len(text)) if text.startswith(acronym, place)]
    for translation, is_lost in ((f"{acronym.lower()}在这里。", False), ("在这里。", True)):
        spans = [Span(place, place + len(acronym)) for place in places]
        assert torn_latin(text, translation) == (spans if is_lost else [])
    for other in (f"5 {acronym}", f"{acronym}-x", f"x/{acronym}", f"{acronym}s", "VERY", "VIII"):
        assert torn_latin(f"It is {other} now", "在这里。") == []
