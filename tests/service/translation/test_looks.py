"""The cheap look before an expression hides nothing that the expression finds."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from service.translation.checks import dates, half_days, possible_values
from service.translation.sentence.numbers import chinese_hours, hours, swiss_amounts

_WORDS = {
    "zh": "早上 上午 凌晨 清晨 早 下午 晚上 今天 8 八 十一 03 点 時 时 半 三刻 :30 ：05 分 至"
    " - ， 五 成 折 块 半个小时 早上8点 上午九时 17:30 晚上8：05 月 五月三日 2024年5月3",
    "en": "8 11 3:30 p.m. pm a.m. to and nine in_the_morning o'clock half_an_hour half_a_million"
    " CHF 12.50 10'000 5.50_francs Half_a_Million HALF_AN_HOUR at May_5 5th of July 3",
    "de": "8 17.30 Uhr abends morgens bis und halbe_Stunde h Fr._12.50 10’000 5.50_Franken um CHF"
    " 3._Mai am_3.5. 12. Juli 24",
}
_HALVES = half_days._hours
_SWISS = swiss_amounts.find_swiss_amounts
_VALUES = possible_values.possible_values
_LOOKS: list[tuple[ModuleType, str, str, Callable[[str], Iterator[Any]]]] = [
    (chinese_hours, "_MAYBE", "zh", chinese_hours.find_chinese_hours),
    *((hours, "_MAYBE", code, partial(hours.find_hours, language=code)) for code in _WORDS),
    *((swiss_amounts, "_MAYBE", code, partial(_SWISS, language=code)) for code in ("en", "de")),
    *((half_days, "_MAYBE", code, partial(_HALVES, language=code)) for code in _WORDS),
    *((possible_values, "_MAYBE", code, _VALUES) for code in _WORDS),
    *((dates, "_MAYBE", code, partial(dates.find_dates, language=code)) for code in _WORDS),
]


@pytest.mark.parametrize(("module", "look", "code", "find"), _LOOKS)
def test_a_look_hides_nothing(
    module: ModuleType,
    look: str,
    code: str,
    find: Callable[[str], Iterator[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn, space = random.Random(3), "" if code == "zh" else " "
    words = [word.replace("_", " ") for word in _WORDS[code].split()]
    texts = [space.join(drawn.choices(words, k=drawn.randrange(1, 6))) for _ in range(3000)]
    looked = [[*find(text)] for text in texts]
    all_of_it = re.compile("")
    is_one = isinstance(getattr(module, look), re.Pattern)
    monkeypatch.setattr(module, look, all_of_it if is_one else {code: all_of_it})
    assert looked == [[*find(text)] for text in texts]
    assert sum(map(bool, looked)) > 50
