"""What is read of the network's translations: the better of two counts, and what it lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from model.decoding.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis
from model.decoding.sentence_limits import SentenceLimits
from service.engine.sentence_task import SentenceOutcome
from service.translation.assembly import Assembly, fault_counter
from service.translation.checks.differences import check_sentence
from service.translation.glossary import GlossaryEntry
from service.translation.job import ModelJob, TranslationJob
from service.translation.markup.flow import MARK, Kept
from service.translation.preparation import Preparation
from service.translation.sentence.parsed_text import Sentence
from service.translation.sentence.stages import Draft
from tests.service.fakes import CALIBRATION
from tests.service.translation.sentence.test_stages import tokenizer_of

TOKENIZER = tokenizer_of(16)
NUMBERS = "I have 7 dogs and 8 cats."


def work_of(text: str, *pair: str, **fields: Any) -> ModelJob:
    options = DecodingOptions(n_best=3)
    return ModelJob(TranslationJob([text], *pair, **fields), [text], [0], *pair, options)


def assembly_of(text: str, calibration: Calibration | None = None, **fields: Any) -> Assembly:
    """That of an English text on its way to German."""
    work = work_of(text, "en", "de", **fields)
    preparation = Preparation(TOKENIZER, SentenceLimits(40, 60, 8), work)
    return Assembly(preparation, *preparation.prepare(), "model", calibration)


def outcome(*texts: str, log_prob: float = -0.1) -> SentenceOutcome:
    """The network's translations, best first."""
    all_ids = TOKENIZER.encode_target_batch(texts)
    return SentenceOutcome(
        [
            Hypothesis(ids, [log_prob] * (len(ids) + 1), -1.0 - rank, "stop")
            for rank, ids in enumerate(all_ids)
        ]
    )


def read_twice(assembly: Assembly, first: SentenceOutcome, again: SentenceOutcome) -> list[str]:
    """The translation and its alternatives."""
    assert assembly.read([first]) == []
    assembly.read_again([again])
    assert not assembly.again
    (result,) = assembly.results()
    return [result.text, *result.alternatives]


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        (["Ich habe ⟦0⟧ Hunde und ⟦1⟧ Katzen."], ["Ich habe 7 Hunde und 8 Katzen."]),
        (["Hunde und Katzen."], ["Ich habe 7 Hunde und 9 Katzen."]),
        (["⟦0⟧ Hunde und 6 Katzen."], ["Ich habe 7 Hunde und 9 Katzen."]),
        (
            ["Hunde.", "⟦0⟧ Hunde, ⟦1⟧ Katzen.", "⟦1⟧ Katzen, ⟦0⟧ Hunde.", "⟦0⟧ Hunde."],
            ["7 Hunde, 8 Katzen.", "8 Katzen, 7 Hunde."],
        ),
    ],
)
def test_the_translation_that_lost_least_counts_and_no_alternative_lost_more(
    again: list[str], expected: list[str]
) -> None:
    """Of two that lost as much the first."""
    first = outcome("Ich habe 7 Hunde und 9 Katzen.")
    assert read_twice(assembly_of(NUMBERS), first, outcome(*again)) == expected


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        ("{0} bei {1} {0}.", "€2 bei 5 km."),
        ("{0} bei 5 {0}.", "2 € bei 6 km."),
        ("bei 5 km {1}.", "2 € bei 6 km."),
    ],
)
def test_of_two_translations_that_lost_something_one_that_doubles_a_carrier_counts(
    again: str, expected: str
) -> None:
    """But not one that lost a carrier."""
    assembly = assembly_of("It costs €2 at 5 km.")
    first = outcome("2 ⟦0⟧ bei 6 ⟦1⟧.")
    said = outcome(again.format("⟦0⟧", "⟦1⟧"))
    assert read_twice(assembly, first, said)[0] == expected


@pytest.mark.parametrize(
    ("text", "lost", "again", "whole"),
    [
        ("Unit 3", "3", "Einheit ⟦0⟧", "Einheit 3"),
        ("2 kg of rice", "2 ⟦0⟧", "⟦0⟧ Reis", "2 kg Reis"),
        ("my room 101", "101", "mein Raum ⟦0⟧", "mein Raum 101"),
    ],
)
def test_a_text_of_which_only_numbers_and_kept_strings_are_left_enters_again(
    text: str, lost: str, again: str, whole: str
) -> None:
    assert read_twice(assembly_of(text), outcome(lost), outcome(again)) == [whole]


@pytest.mark.parametrize("text", ["10:30 a.m.", "{n}", "5 m"])
def test_a_number_needs_no_words(text: str) -> None:
    assembly = assembly_of(text)
    for entry in assembly.entries:
        assembly.read([outcome(entry.text)])
    assert not assembly.again


def test_the_translation_that_counts_has_its_alignment_whichever_hypothesis_it_is() -> None:
    """The engine aligns only the first."""
    assembly = assembly_of(NUMBERS, is_aligned=True)
    assembly.read([outcome("Ich habe 7 Hunde und 9 Katzen.")])
    best, *others = outcome("Hunde.", "⟦0⟧ Hunde, ⟦1⟧ Katzen.").hypotheses
    num_source_tokens = len(assembly.again[0].source.ids)
    attention = np.full((len(best.ids), num_source_tokens), 1 / num_source_tokens, np.float32)
    attention[:, num_source_tokens // 2] += 1
    assembly.read_again([SentenceOutcome([replace(best, attention=attention), *others])])
    (sentence,) = assembly.results()[0].sentences
    assert sentence.target == "7 Hunde, 8 Katzen."
    words = {sentence.target[link.target_start : link.target_end] for link in sentence.alignment}
    assert {"7", "Hunde", "8"} <= words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NUMBERS, "Ich habe 7 Hunde und 8 Katzen."),
        ("Open {name} now.", "Öffne ⟦0⟧ jetzt."),
        ("A dog barks.", "Ein Hund bellt."),
    ],
)
def test_what_lost_nothing_does_not_enter_again(text: str, said: str) -> None:
    assembly = assembly_of(text)
    (result,) = assembly.read([outcome(said)])
    assert result.text == said.replace("⟦0⟧", "{name}")
    assert result.sentences[0].faults == 0


@pytest.mark.parametrize(
    ("log_prob", "expected"), [(-0.29, "Eine Datei hier jetzt öffnen"), (-0.31, "Öffnen")]
)
def test_of_two_translations_of_a_title_the_surer_counts(log_prob: float, expected: str) -> None:
    """However many tokens they have."""
    first = outcome("Öffnen", log_prob=-0.3)
    again = outcome("eine Datei hier jetzt öffnen", log_prob=log_prob)
    assert read_twice(assembly_of("Open File"), first, again)[0] == expected


@pytest.mark.parametrize(
    ("prefixes", "expected"), [((), "Hunde bellen."), (("hunde",), "hunde bellen.")]
)
def test_the_first_letter_of_a_beginning_that_was_given_stays(
    prefixes: tuple[str, ...], expected: str
) -> None:
    (result,) = assembly_of("Dogs bark.", prefixes=prefixes).read([outcome("hunde bellen.")])
    assert result.text == expected


@pytest.mark.parametrize(
    ("pair", "text", "translation", "lost", "faults"),
    [
        ("en-de", "7 dogs", "7 Hunde", [], 0),
        ("en-de", "7 dogs", "Hunde", [], 2),
        ("en-de", "7 dogs", "8 Hunde", [], 3),
        ("en-de", "on 7 May 2020", "am 7. Mai 2020", [], 0),
        ("en-de", "on 7 May 2020", "am 5. Juli 2020", [], 2),
        ("en-de", "a dog", "ein Tier", [GlossaryEntry("dog", "Hund")], 2),
        ("en-de", "| or |", "| oder |", [], 0),
        ("en-de", "| or |", "||", [], 1),
        ("en-de", "To: |; |", "An: |; |", [], 0),
        ("en-de", "|5k", "|5.000", [], 0),
        ("de-en", "15 Uhr |", "15:00 |", [], 0),
        ("en-de", "||", "||", [], 0),
        ("en-de", "7 | now", "jetzt 7 |", [], 0),
        ("en-de", "7 | now", "7 jetzt |", [], 1),
        ("en-de", "The WHO and FIFA", "Das WO und FIFAFA", [], 4),
        ("en-de", "The WHO and FIFA", "Die WHO und FIFA", [], 0),
        ("de-en", "Laut GG und BAföG", "Under GGG and BAG", [], 4),
        ("de-en", "SMTPs Befehl", "SMTP's command", [], 0),
        *(("en-de", "It IS a FISH", f"Das IST {fish}", [], 0) for fish in ("ein FISCH", "Fisch")),
        ("en-de", "THE AI AND FIFA", "DIE KI UND FIFAFA", [], 0),
        ("en-de", "The AI is new", "Die KI ist neu", [], 0),
        ("zh-en", "我用theNode写。", "I write with theNode.", [], 0),
        ("zh-en", "我用theNode写。", "I write with it.", [], 2),
        ("en-zh", "I write with theNode é.", "我写。", [], 0),
    ],
)
def test_each_loss_of_a_translation_counts(
    pair: str, text: str, translation: str, lost: list[GlossaryEntry], faults: int
) -> None:
    num_marks = text.count("|")
    sentence = Sentence(text.replace("|", MARK), [Kept(("km",), "km")] * num_marks)
    draft = Draft(translation.replace("|", MARK), (), range(num_marks), lost)
    work = work_of(text, *pair.split("-"))
    assert [*map(fault_counter(sentence, work), [draft, None])] == [faults, math.inf]


@pytest.mark.parametrize(
    ("text", "translation", "faults"),
    [
        ("|3.5 billion in all", "|3,5 Milliarden Dollar in allem", 1),
        ("|3.5 billion in all", "|3,5 Milliarden in allem", 0),
        ("|5 or 5 dollars", "|5 oder 5 Dollar", 0),
        ("|5 dollars", "|5 Dollar", 0),
    ],
)
def test_a_currency_that_a_sign_names_has_no_name_too(
    text: str, translation: str, faults: int
) -> None:
    sentence = Sentence(text.replace("|", MARK), [Kept(("€",), "€")])
    draft = Draft(translation.replace("|", MARK), (), [0])
    assert fault_counter(sentence, work_of(text, "en", "de"))(draft) == faults


@pytest.mark.parametrize(
    ("text", "said", "is_rated"),
    [
        ("A dog barks.", "Ein Hund bellt.", True),
        ("Dogs bark.", "hunde bellen.", True),
        ("Open {name}.", "Öffne ⟦0⟧.", False),
        ("DOGS BARK LOUDLY.", "Hunde bellen laut.", False),
    ],
)
def test_only_what_reads_as_the_network_wrote_it_has_a_confidence(
    text: str, said: str, is_rated: bool
) -> None:
    """And only of a pair that is calibrated, where it was asked for."""
    asked = [(CALIBRATION, True), (CALIBRATION, False), (None, True)]
    rated: list[Sequence[Any] | None] = []
    for calibration, is_aligned in asked:
        assembly = assembly_of(text, calibration, is_aligned=is_aligned)
        (result,) = assembly.read([outcome(said)])
        rated.append(result.sentences[0].words)
    assert [one is not None for one in rated] == [is_rated, False, False]


@pytest.mark.parametrize(
    ("source", "target", "lost"),
    [
        ("On Tuesday, March 5, it rains.", "Am 5. März regnet es.", "Tuesday, March 5"),
        ("On March 5 the 7 go on.", "Am 7. März gehen die 5 weiter.", "March 5"),
        ("We are open from Monday to Friday.", "Wir haben am Montag offen.", "Monday to Friday"),
        ("It is warm from May to July.", "Im Mai ist es warm.", "May to July"),
        ("We are open at 8 p.m. now.", "Wir haben jetzt um 8 Uhr morgens offen.", "8 p.m"),
    ],
)
def test_what_lets_a_sentence_enter_again_is_told_by_a_check(
    source: str, target: str, lost: str
) -> None:
    assert fault_counter(Sentence(source), work_of(source, "en", "de"))(Draft(target))
    (check,) = check_sentence(source, target, ("en", "de"))
    assert (check.kind, check.source, check.target) == ("number", [lost], [])
