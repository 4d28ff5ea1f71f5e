"""Names of people and firms come out as they are, whatever their parts mean as words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.sentence.rendering import read
from service.translation.sentence.stages import leave
from service.translation.sentence.whole_names import find_whole_names
from tests.service.translation.sentence.test_stages import prepared, to_itself

FIRST = st.sampled_from(["Julia", "Peter", "Hans-Peter", "Mary", "T.", "J. W.", "John F.", "Dr."])
LAST = st.sampled_from(["Koch", "Young", "Klein", "Cook", "von Stein", "Weiß", "Schwarz-Wolf"])
FIRMS = st.sampled_from(
    ["Koch GmbH", "Wolf & Söhne GmbH & Co. KG", "Cooper Tools Inc.", "Young Ltd.", "Apple, Inc."]
)
TEXTS = {
    "de": ["{} ist da", "Gestern traf {} uns.", "„{} ruft an“, sagte er.", "Von {} bis hier"],
    "en": ["{} is here", "We met {} there.", "“Ask {} now”, he said.", "See {}'s dog"],
}
PAIRS = st.sampled_from([("de", "en"), ("en", "de")])


@given(pair=PAIRS, name=st.tuples(FIRST, LAST).map(" ".join) | FIRMS, which=st.integers(0, 3))
def test_a_known_name_leaves_as_it_is_where_the_network_puts_it(
    pair: tuple[str, str], name: str, which: int
) -> None:
    text = TEXTS[pair[0]][which].format(name)
    parsed, (entry, *_) = prepared(text, pair=pair)
    assert entry.text == text.replace(name, "⟦0⟧")
    draft = leave(entry.stages, to_itself("Hier ⟦0⟧ dort"))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == f"Hier {name} dort"
    assert leave(entry.stages, to_itself("Hier dort")) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Gestern hat Julia Blumen gekauft.", "de"),
        ("Vitamin B. Der König kam.", "de"),
        ("Eine GmbH und die AG", "de"),
        ("Der Koch und Julia", "de"),
        ("Ask a young cook", "en"),
        ("The Inc. is here", "en"),
        ("Max. Strong wind", "en"),
    ],
)
def test_other_words_with_capitals_are_no_names(text: str, language: str) -> None:
    assert [*find_whole_names(text, language, "de" if language == "en" else "en")] == []


def test_a_german_genitive_becomes_an_english_one() -> None:
    (name,) = find_whole_names("Julia Kochs Auto", "de", "en")
    assert name == (0, len("Julia Kochs"), "Julia Koch's")


def test_a_verb_that_begins_an_english_sentence_is_no_part_of_a_firm() -> None:
    (firm,) = find_whole_names("Contact Cooper Tools Inc. now", "en", "de")
    assert firm.new == "Cooper Tools Inc."
