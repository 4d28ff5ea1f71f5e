"""Chinese names go in as English writes them, and idioms without their numerals."""

from __future__ import annotations

import pytest

from service.translation.checks.idioms import IDIOM
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.language.chinese import to_traditional
from service.translation.sentence.chinese_names import may_name_in_chinese
from service.translation.sentence.named import find_named
from service.translation.sentence.replaced import Replaced
from tests.service.translation.sentence.numbers.test_chinese_hours import read_by_network
from tests.service.translation.sentence.test_abbreviations import entered


def written(text: str) -> str:
    found = [*find_named(text, "zh", "en")]
    assert not found or may_name_in_chinese(text)
    return Replaced(text, found).text


@pytest.mark.parametrize(
    ("name", "english"),
    [
        *(("张三", "Zhang San"), ("李四", "Li Si"), ("王五", "Wang Wu"), ("赵六", "Zhao Liu")),
        *(("三亚", "Sanya"), ("九江", "Jiujiang"), ("五台山", "Mount Wutai"), ("六安", "Lu'an")),
        *(("五粮液", "Wuliangye"), ("六味地黄丸", "Liuwei Dihuang Pills"), ("二维码", "QR code")),
        *(("甲方", "Party A"), ("乙方", "Party B"), ("甲乙双方", "both parties")),
        *(("三峡", "the Three Gorges"), ("双十一", "Singles' Day"), ("三明", "Sanming")),
    ],
)
def test_a_name_with_a_numeral_goes_in_as_a_name(name: str, english: str) -> None:
    for text in ("{}", "{}今年很好。", "我看见{}了", "（{}）", "他的{}。", "{}和{}"):
        chinese = text.replace("{}", name)
        assert written(chinese) == text.replace("{}", english)
        assert "⟦0⟧" in read_by_network(chinese)
    assert written(f"我看见{name}") == f"我看见{english}"
    assert [*find_named(name, "zh", "de")] == []


@pytest.mark.parametrize(
    ("surname", "english"), [("张", "Zhang"), ("王", "Wang"), ("欧阳", "Ouyang")]
)
@pytest.mark.parametrize(
    ("title", "mister"), [("先生", "Mr"), ("女士", "Ms"), ("教授", "Professor")]
)
def test_a_title_has_its_name(surname: str, english: str, title: str, mister: str) -> None:
    for text in ("{}，您好！", "请找{}。", "我是{}", "联系人：{}", "和{}见面"):
        assert written(text.format(surname + title)) == text.format(f"{mister} {english}")
    assert written(f"尊敬的{surname}{title}：") == f"Dear {mister} {english}："


@pytest.mark.parametrize("dear", ["尊敬的", "亲爱的", "敬爱的"])
def test_a_letter_begins_with_dear(dear: str) -> None:
    assert written(f"{dear}客户：") == "Dear客户："
    for text in (f"他是我们{dear}客户：", f"{dear}客户来了。", f"{dear}客户，您好！", dear):
        assert written(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "三明治",
            "第三亚洲",
            "张三丰",
            "李四光",
            "二十二维码头",
            "一位先生",
            "老师们",
            "王五十岁",
        ),
        *("李小明先生", "我们的好老师", "万老师们", "补丁方向", "盔甲方案", "乙方案", "周六安排"),
        *(
            "周三明天",
            "十三亚",
            "数百色彩",
            "小三峡",
            "QR 二维码",
            "九龙池",
            "，于主任准用之",
            "王五岁",
        ),
    ],
)
def test_what_looks_like_such_a_name_stays(text: str) -> None:
    assert written(text) == text
    assert written(to_traditional(text)) == to_traditional(text)


@pytest.mark.parametrize("text", ["{}", "他{}了。", "事情{}，他走了"])
def test_an_idiom_has_no_numbers(text: str) -> None:
    idioms = IDIOM.pattern.split("|")
    for idiom in idioms:
        said = text.format(idiom)
        read = entered(said, "zh")
        assert read is not None
        assert not set("三四五六七八九十") & set(read)
        for written in (said, to_traditional(said)):
            assert find_numbers(written).certain == []
            assert unmatched(find_numbers(written), find_numbers("He did it.")) == ([], [])
