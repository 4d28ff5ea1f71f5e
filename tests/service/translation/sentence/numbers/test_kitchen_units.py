"""Spoons, pounds and inches are carried, and come out as the target writes them."""

from __future__ import annotations

import pytest

from model.decoding.options import DecodingOptions
from service.translation.job import ModelJob, TranslationJob
from service.translation.preparation import Preparation
from service.translation.sentence.numbers.kitchen_units import parted_units
from service.translation.sentence.rendering import read
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import LIMITS, prepared, to_itself, tokenizer_of
from tests.service.translation.test_assembly import assembly_of, outcome

UNITS = {
    "de": {
        "tbsp": "EL",
        "tbsp.": "EL",
        "tablespoons": "EL",
        "tsp": "TL",
        "lbs": "Pfund",
        "pcs": "Stück",
        "yds": "Yards",
        "pts": "Punkte",
    },
    "zh": {"tbsp": "汤匙", "tsp": "茶匙", "teaspoon": "茶匙", "lbs": "磅", "gal": "加仑"},
}


@pytest.mark.parametrize(
    ("target", "unit", "written"),
    [(target, *names) for target, units in UNITS.items() for names in units.items()],
)
@pytest.mark.parametrize("number", ["2", "½", "1 1/2", "2.5"])
def test_a_unit_is_that_of_the_target_and_its_loss_counts(
    target: str, unit: str, written: str, number: str
) -> None:
    parsed, (entry,) = prepared(f"Add {number} {unit} oil.", pair=("en", target))
    assert unit not in entry.text
    draft = leave(entry.stages, to_itself(entry.text))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == f"Add {number} {written} oil."
    assert leave(entry.stages, to_itself("Add oil.")) is None


@pytest.mark.parametrize(
    ("length", "written"),
    [
        ("6 ft", "6 英尺"),
        ("6 feet 2 inches", "6 英尺 2 英寸"),
        ("6 ft 2 in", "6 英尺 2 英寸"),
        ("6-foot", "6 英尺"),
        ("27-inch", "27 英寸"),
        ("12 inches", "12 英寸"),
    ],
)
def test_feet_and_inches_are_units_of_a_length(length: str, written: str) -> None:
    parsed, (entry,) = prepared(f"It is {length} tall.", pair=("en", "zh"))
    draft = leave(entry.stages, to_itself(entry.text))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == f"It is {written} tall."


@pytest.mark.parametrize(
    ("target", "unit", "written"),
    [(target, *names) for target, units in UNITS.items() for names in units.items()],
)
def test_a_unit_that_left_its_number_counts(target: str, unit: str, written: str) -> None:
    source, pair = f"Add 2 {unit} oil.", ("en", target)
    for right in (f"2 {written} Öl", f"Öl 2{written}", f"二{written}油", f"½ {written}"):
        assert parted_units(source, right, pair) == 0
    assert parted_units(source, f"{written} 2", pair) == 1
    assert parted_units("Add 2 eggs.", "Gib 2 Eier dazu.", pair) == 0


@pytest.mark.parametrize("number", ["½", "2", "2½"])
@pytest.mark.parametrize("space", ["", " "])
def test_a_unit_has_one_space_before_it(number: str, space: str) -> None:
    parsed, (entry,) = prepared(f"加{number}茶匙。", pair=("zh", "en"))
    assert entry.carriers is not None
    *others, unit = entry.carriers.spellings
    said = f"Add {''.join(others) or number}{space}{unit}."
    draft = leave(entry.stages, to_itself(said.replace("2½", number)))
    assert draft is not None
    written = read(parsed.sentences[0], draft)
    assert written.endswith(f"{number[-1]} tsp.")


def test_in_is_no_inch_without_feet() -> None:
    _, (entry,) = prepared("We met 10 in 2020.", pair=("en", "zh"))
    assert entry.text == "We met 10 in 2020."


@pytest.mark.parametrize(
    ("chinese", "english", "sign"),
    [
        ("摄氏度", ["degrees Celsius", "degrees C", "Celsius"], "°C"),
        ("华氏度", ["degrees Fahrenheit", "degrees F", "Fahrenheit"], "°F"),
    ],
)
def test_degrees_keep_their_scale(chinese: str, english: list[str], sign: str) -> None:
    texts = {("zh", "en"): [chinese], ("en", "zh"): english}
    for pair, written in ((("zh", "en"), sign), (("en", "zh"), chinese)):
        for unit in texts[pair]:
            _, (entry,) = prepared(f"25 {unit}", pair=pair)
            assert entry.carriers is not None
            assert [shown.strip() for shown in entry.carriers.shown] == [written]


@pytest.mark.parametrize(("is_traditional", "written"), [(False, "汤匙"), (True, "湯匙")])
def test_a_unit_has_the_characters_of_the_target(is_traditional: bool, written: str) -> None:
    text, pair = "Add 2 tbsp oil.", ("en", "zh")
    job = TranslationJob([text], *pair)
    work = ModelJob(job, [text], [0], *pair, DecodingOptions(), is_traditional=is_traditional)
    _, (entry,) = Preparation(tokenizer_of(16, "zh-en"), LIMITS, work).prepare()
    assert entry.carriers is not None
    assert [shown.strip() for shown in entry.carriers.shown] == [written]


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("gilt § 5 Abs. 2 Satz 1 Nr. 3.", "gilt § 5 Absatz 2 sentence 1 Nummer 3."),
        (
            "laut Absatz 1 S. 2 und § 3a Sätze 1–3.",
            "laut Absatz 1 sentence 2 und § 3a sentences 1–3.",
        ),
        ("Der Satz 2 auf S. 3, Art. 5 S. 3", "Der Satz 2 auf Seite 3, Artikel 5 Seite 3"),
    ],
)
def test_the_sentences_of_laws_are_neither_sets_nor_pages(text: str, english: str) -> None:
    _, (entry,) = prepared(text, pair=("de", "en"))
    shown = entry.carriers.shown if entry.carriers else ()
    text = entry.text
    for number, string in enumerate(shown):
        text = text.replace(f"⟦{number}⟧", string)
    assert text == english


@pytest.mark.parametrize(
    ("text", "german"),
    [
        ("10 in", "10 Zoll"),
        ("8 in x 10 in.", "8 Zoll x 10 Zoll."),
        ("He is 5 ft 10 in tall", "He is 5 Fuß 10 Zoll tall"),
        *((text, text) for text in ("1 in 5 of us", "5 in a row", "May 10 in Berlin", "He is in")),
    ],
)
def test_inches_are_no_preposition(text: str, german: str) -> None:
    parsed, (entry,) = prepared(text)
    draft = leave(entry.stages, to_itself(entry.text))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == german


def test_a_unit_that_was_lost_enters_again_with_its_number() -> None:
    assembly = assembly_of("Take 1 tsp salt, 1/2 lb rice and 2 cups milk.")
    assembly.read([outcome("⟦0⟧ Salz, 1/2 Reis.")])
    assert assembly.again[0].text == "Take ⟦0⟧ salt, ⟦1⟧ rice and ⟦2⟧ cups milk."


def test_without_placeholders_it_is_spelled() -> None:
    _, (entry,) = prepared("Add 2 tbsp oil.", reserved=0)
    assert entry.text == "Add 2 EL oil."
