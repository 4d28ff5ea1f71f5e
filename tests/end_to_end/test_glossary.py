"""Glossaries and next words with the bundled models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.offline import OfflineTranslator
from service.translation.glossary import Glossary, GlossaryEntry
from service.translation.job import TranslationJob
from service.translation.language.chinese import to_simplified, to_traditional
from tests.end_to_end.conftest import ask, run, streamed


def job(text: str, source: str, target: str, *terms: tuple[str, str]) -> TranslationJob:
    glossary = Glossary([GlossaryEntry(*term) for term in terms]) if terms else None
    return TranslationJob([text], source, target, glossary=glossary)


def translated(translator: OfflineTranslator, *jobs: TranslationJob) -> list[str]:
    return [result.text for job in jobs for result in run(translator, job)]


CASES: list[tuple[str, str, str, Sequence[tuple[str, str]]]] = [
    ("My dog is sick.", "en", "de", [("dog", "Köter")]),
    ("The dog is running through the snow.", "en", "de", [("dog", "Köter")]),
    (
        "The committees met near the lake.",
        "en",
        "de",
        [("committee", "Gremium"), ("lake", "Teich")],
    ),
    ("I like unicorns.", "en", "de", [("unicorn", "🦄ꙮ")]),
    ("A dog.", "en", "de", [("a dog.", "Das ist ein Hund von nebenan.")]),
    ("The dog and the old dog.", "en", "de", [("dog", "Hund"), ("old dog", "Hund des Alten")]),
    ("委员会将于星期一开会。", "zh", "en", [("委员会", "panel")]),
    ("The committee will meet.", "en", "zh", [("committee", "专门小组")]),
]


@pytest.mark.parametrize(("text", "source", "target", "terms"), CASES)
def test_every_term_appears(
    translator: OfflineTranslator,
    text: str,
    source: str,
    target: str,
    terms: Sequence[tuple[str, str]],
) -> None:
    (found,) = translated(translator, job(text, source, target, *terms))
    for _, wanted in terms:
        assert wanted.casefold() in found.casefold()


def test_markup_capitals_and_kept_strings_go_with_terms(translator: OfflineTranslator) -> None:
    page = "The <b>dog</b> is in the <a href='x'>garden</a>, {name}."
    html = TranslationJob(
        [page], "en", "de", format="html", glossary=Glossary([GlossaryEntry("dog", "Köter")])
    )
    (found,) = translated(translator, html)
    assert "Köter" in found
    assert all(found.count(tag) == 1 for tag in ("<b>", "</b>", "<a href='x'>", "</a>", "{name}"))
    (capitals,) = translated(
        translator, job("THE DOG IS IN THE GARDEN", "en", "de", ("dog", "Köter"))
    )
    assert "KÖTER" in capitals


def test_two_hundred_terms_in_one_text_appear(translator: OfflineTranslator) -> None:
    terms = [(f"w{i}", f"Wort{i}") for i in range(200)]
    text = " ".join(f"w{i}" for i in range(200))
    (found,) = translated(translator, job(text, "en", "de", *terms))
    assert [i for i in range(200) if f"Wort{i}" not in found] == []


def test_a_stream_is_the_result(client: TestClient) -> None:
    terms = [{"source": "dog", "target": "Köter"}]
    fields: dict[str, Any] = {"q": CASES[0][0], "source": "en", "target": "de", "glossary": terms}
    whole = ask(client, **fields)["translatedText"]
    pieces, last = streamed(client, fields)
    assert pieces == last["translatedText"] == whole
    assert "Köter" in whole


@pytest.mark.parametrize(
    ("text", "source", "target", "prefix", "expected"),
    [
        ("The house is big.", "en", "de", "Das", " Haus"),
        ("The house is big.", "en", "de", "Das ", "Haus"),
        ("The house is big.", "en", "de", "", "Das"),
        ("The library is closed.", "en", "zh", "", "图书馆"),
        ("图书馆在哪里？", "zh", "en", "Where", " is"),
        ("The house is big. The dog sleeps.", "en", "de", "Das Haus ist groß. Der", " Hund"),
    ],
)
def test_the_likeliest_next_word(
    client: TestClient, text: str, source: str, target: str, prefix: str, expected: str
) -> None:
    fields = {"q": text, "source": source, "target": target, "prefix": prefix, "k": 5}
    found = client.post("/translate/next", json=fields).json()
    assert 1 <= len(found["words"]) <= 5
    best = found["words"][0]
    assert best["text"] == expected
    assert best["translation"].startswith(prefix + expected)
    probabilities = [word["probability"] for word in found["words"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) + found["end"] <= 1.01


@pytest.mark.parametrize(
    ("text", "source", "target", "prefix", "expected"),
    [
        ("Hello {name}.", "en", "de", "Hallo", " {name}"),
        ("I have %s books.", "en", "de", "Ich habe ", "%s"),
        ("See https://a.example/b for details.", "en", "de", "Siehe", " https://a.example/b"),
        ("Hello {name}.", "en", "zh", "你好", "{name}"),
        ("We sold 12,345 cars in 2023.", "en", "de", "Wir haben", " 12.345"),
        ("It costs €1,200.75 per month.", "en", "de", "Es kostet €", "1.200,75"),
        ("Tom gave {x} 3.5 kg for $1,234.50.", "en", "de", "Tom hat {x} 3,5 kg für $", "1.234,50"),
        ("你好，{name}。", "zh", "en", "Hello,", " {name}"),
    ],
)
def test_a_kept_string_or_a_number_that_may_be_lost_is_one_next_word(
    client: TestClient, text: str, source: str, target: str, prefix: str, expected: str
) -> None:
    fields = {"q": text, "source": source, "target": target, "prefix": prefix, "k": 5}
    found = client.post("/translate/next", json=fields).json()["words"]
    assert found[0]["text"] == expected
    assert found[0]["translation"].count(expected.strip()) == 1
    for word in found:
        assert word["translation"].startswith(prefix + word["text"])


@pytest.mark.parametrize(
    ("text", "source", "target", "before", "word"),
    [
        ("Tom lives in Boston.", "en", "de", "Tom wohnt in ", "Boston"),
        ("You have 3 new messages.", "en", "de", "Sie haben 3 neue ", "Nachrichten"),
        ("Das Wetter ist heute schön.", "de", "en", "The ", "weather"),
        ("It is late. The dog sleeps.", "en", "de", "Es ist spät. Der ", "Hund"),
        ("THE HOUSE IS BIG.", "en", "de", "DAS ", "HAUS"),
        ("图书馆在哪里？", "zh", "en", "Where is the ", "library"),
    ],
)
def test_a_beginning_that_ends_inside_a_word_goes_on_with_its_rest(
    client: TestClient, text: str, source: str, target: str, before: str, word: str
) -> None:
    for length in range(2, len(word)):
        prefix = before + word[:length]
        fields = {"q": text, "source": source, "target": target, "prefix": prefix}
        found = client.post("/translate/next", json=fields).json()
        assert word[length:] in [one["text"] for one in found["words"]]
        assert all(one["translation"].startswith(prefix) for one in found["words"])
        assert sum(one["probability"] for one in found["words"]) + found["end"] <= 1.01


@pytest.mark.parametrize(
    ("text", "source", "target", "before", "kept"),
    [
        ("Hello {name}, how are you?", "en", "de", "Hallo ", "{name}"),
        ("Hello {name}", "en", "de", "Hallo ", "{name}"),
        ("See https://a.example/b now.", "en", "de", "Siehe ", "https://a.example/b"),
        ("你好，{name}。", "zh", "en", "Hello, ", "{name}"),
        ("Use `code` here.", "en", "zh", "在这里使用 ", "`code`"),
    ],
)
def test_a_beginning_that_ends_inside_a_kept_string_goes_on_with_its_rest(
    client: TestClient, text: str, source: str, target: str, before: str, kept: str
) -> None:
    pair = {"source": source, "target": target}
    for length in range(len(kept) - 3, len(kept)):
        prefix = before + kept[:length]
        fields = {"q": text, **pair, "prefix": prefix}
        answer = client.post("/translate/next", json=fields).json()
        assert [word["text"] for word in answer["words"]] == [kept[length:]]
        assert answer["end"] == 0
        whole = ask(client, q=text, **pair, target_prefix=prefix)["translatedText"]
        for translation in (whole, answer["words"][0]["translation"]):
            assert translation.startswith(before + kept)
            assert translation.count(kept) == 1


@pytest.mark.parametrize("prefix", ["DAS", "DAS SALZ", "DAS ENDE"])
def test_a_sentence_in_capitals_goes_on_as_its_next_words_do(
    client: TestClient, prefix: str
) -> None:
    fields = {"q": "SALE ENDS ON 3 MAY 2024!", "source": "en", "target": "de"}
    words = client.post("/translate/next", json={**fields, "prefix": prefix}).json()["words"]
    translation = ask(client, **fields, target_prefix=prefix)["translatedText"]
    assert translation in [word["translation"] for word in words]
    assert translation.endswith("ENDET AM 3. MAI 2024!")


@pytest.mark.parametrize(("source", "q"), [("en", "The software is big."), ("de", "Hallo {x}.")])
@pytest.mark.parametrize("prefix", ["這個", "這", "", "這個軟件"])
def test_traditional_beginnings_and_next_words_are_those_of_the_simplified(
    client: TestClient, source: str, q: str, prefix: str
) -> None:
    fields = {"q": q, "source": source, "k": 5}
    beginnings = {"zh": to_simplified(prefix), "zt": prefix}
    words, translations = {}, {}
    for target, own in beginnings.items():
        asked = {**fields, "target": target}
        answer = client.post("/translate/next", json={**asked, "prefix": own})
        words[target] = [(one["text"], one["translation"]) for one in answer.json()["words"]]
        translations[target] = ask(client, **asked, target_prefix=own)["translatedText"]
    in_traditional = [tuple(map(to_traditional, pair)) for pair in words["zh"]]
    assert words["zt"] == in_traditional
    assert translations["zt"] == to_traditional(translations["zh"])
