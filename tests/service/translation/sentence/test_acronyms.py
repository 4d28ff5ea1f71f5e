"""Acronyms of one language leave as those of the other."""

from __future__ import annotations

import pytest

from service.translation.sentence.acronyms import find_acronyms
from service.translation.sentence.latin import torn_acronyms
from service.translation.sentence.rendering import read
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself

ACRONYMS = pytest.mark.parametrize(
    ("german", "english"),
    [("DDR", "GDR"), ("BIP", "GDP"), ("DSGVO", "GDPR"), ("EuGH", "ECJ")],
)
ZONES = pytest.mark.parametrize(("german", "english"), [("MEZ", "CET"), ("MESZ", "CEST")])

TEXTS = {"de": "Danach kam {} aus Wien.", "en": "Then {} came from Vienna."}


@ACRONYMS
def test_an_acronym_is_that_of_the_target(german: str, english: str) -> None:
    for old, new, pair in ((german, english, ("de", "en")), (english, german, ("en", "de"))):
        text = TEXTS[pair[0]].format(old)
        parsed, (entry,) = prepared(text, pair=pair)
        draft = leave(entry.stages, to_itself(entry.text))
        assert draft is not None
        assert read(parsed.sentences[0], draft) == text.replace(old, new)
        assert torn_acronyms(text, f"{new} is.", pair[0]) == []


def test_ecb_may_be_a_mode_of_ciphers() -> None:
    assert [one.new for one in find_acronyms("Die EZB sagt", "de", "en")] == ["ECB"]
    assert [*find_acronyms("CBC and ECB modes", "en", "de")] == []
    assert torn_acronyms("The ECB and AI.", "Die EZB und KI.", "en") == []


@ZONES
@pytest.mark.parametrize("hour", ["15:00", "3"])
def test_a_time_zone_is_that_of_the_target(german: str, english: str, hour: str) -> None:
    for old, new, pair in ((german, english, ("de", "en")), (english, german, ("en", "de"))):
        text = TEXTS[pair[0]].format(f"um {hour} {old}")
        parsed, (entry,) = prepared(text, pair=pair)
        draft = leave(entry.stages, to_itself(entry.text))
        assert draft is not None
        assert f" {new} " in read(parsed.sentences[0], draft)
        parsed, _ = prepared(text, pair=pair, keep=[old])
        assert parsed.sentences[0].kept[-1].text == old


@pytest.mark.parametrize("text", ["DDR BRD", "x_DDR", "DDR-RAM", "ai.de", "KI/2", "#KI", "KInd"])
def test_codes_are_no_acronyms(text: str) -> None:
    assert [*find_acronyms(text, "de", "en")] == []
    assert [*find_acronyms(f"So {text.upper()}".replace(" ", "/"), "de", "zh")] == []


@pytest.mark.parametrize(("acronym", "other"), [("TÜV", "TURY"), ("DDR", "DRR"), ("FIFA", "FIF")])
def test_an_acronym_with_other_letters_behind_its_first_is_torn(acronym: str, other: str) -> None:
    text = TEXTS["de"].format(acronym)
    is_lost = acronym != "DDR"
    assert bool(torn_acronyms(text, f"The {other} came.", "de")) is is_lost
    for whole in (acronym, "X", "WHO", other.lower(), ""):
        assert torn_acronyms(text, f"The {whole} came.", "de") == []
