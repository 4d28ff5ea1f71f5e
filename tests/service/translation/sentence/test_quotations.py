"""Quotation marks of a translation are in pairs if those of the sentence are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.markup.flow import MARK
from service.translation.sentence.quotations import enter_quotations, lost_marks
from service.translation.sentence.stages import Draft


def left(source: str, target: str, language: str = "de") -> str:
    stage = enter_quotations(source, language)
    return stage.leave(Draft(target)).text if stage else target


@pytest.mark.parametrize("marks", ['„"', "„“", "»“", '""', "„”", '»"', "”„", "““"])
@pytest.mark.parametrize(
    ("source", "usual"), [('"Stop!" he said.', '""'), ("“Stop!” he said.", "„“")]
)
def test_two_marks_of_a_translation_are_a_pair(source: str, usual: str, marks: str) -> None:
    """Those of the network, otherwise straight ones for straight ones."""
    first, last = marks
    found = left(source, f"{first}Halt!{last} sagte er.")
    pair = marks if marks in ("„“", '""', "„”") else usual
    assert found == f"{pair[0]}Halt!{pair[1]} sagte er."


@pytest.mark.parametrize(
    ("source", "target", "language", "expected"),
    [
        ("“I am,” he said, “so.”", "„Ich“, sagt er, »so.“", "de", "„Ich“, sagt er, „so.“"),
        ("“Stop!” he said.", '“停！"他说。', "zh", "“停！”他说。"),
        ("It is “good”.", "Es ist »gut«.", "de", "Es ist „gut“."),
        ('"good" and "bad"', "»gut« und „schlecht“", "de", '"gut" und "schlecht"'),
        ("“Stop!” he said.", '“停！"他说。', "zh-Hant", "「停！」他说。"),
        ('{"a": "Where is it?"}', '{"a": "Wo ist es?“}', "de", '{"a": "Wo ist es?"}'),
        ('"Stop!" he said.', "„Halt! sagte er.", "de", "„Halt! sagte er."),
        ("He said “stop”.", "Er sagte „Halt.", "de", "Er sagte „Halt“."),
        ("He said: “Stop.”", "Er sagte: „Halt.", "de", "Er sagte: „Halt.“"),
        ("He said: “Stop.”", "Er sagte: Halt.“", "de", "Er sagte: „Halt.“"),
        ('He said, "Stop."', 'Er sagte: Halt."', "de", 'Er sagte: "Halt."'),
        ("He said, “Stop!”", "Er sagte: Halt!", "de", "Er sagte: „Halt!“"),
        ("Say “so”: stop", "Sage so: Halt", "de", "Sage so: Halt"),
        ("He said “no”: “Stop!”", "Er sagte nein: Halt!“", "de", "Er sagte nein: Halt!“"),
        ("Name: the “Bird”", "Name: der Vogel", "de", "Name: der Vogel"),
        ('It is "so"', '"那样""', "zh", '"那样"'),
        ("“Stop,” he said.", "„Halt““, sagte er.", "de", "„Halt“, sagte er."),
        ("“so” and “no”", '„so“ und "nein"', "de", "„so“ und „nein“"),
        ("He is “so”.", "Er ist “so”.", "de", "Er ist „so“."),
        ('"Stop! he said.', '„Halt!" sagte er.', "de", '„Halt!" sagte er.'),
        ("“Stop!” he said.", '„Halt!" sagte er.', "xx", '„Halt!" sagte er.'),
    ],
)
def test_marks_stay_in_number(source: str, target: str, language: str, expected: str) -> None:
    assert left(source, target, language) == expected


@pytest.mark.parametrize("marks", ["„“", "»«"])
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Delete | and |?", "Delete “|” and “|”?"),
        ("Delete “| and |”?", "Delete “|” and “|”?"),
        ("Delete '|' and |?", "Delete '|' and “|”?"),
        ('Delete "| in "|"?', 'Delete "|" in "|"?'),
        ("Delete „| in „|“?", "Delete „|“ in „|“?"),
        ("Delete “|” and “|”?", "Delete “|” and “|”?"),
    ],
)
def test_a_kept_string_has_the_marks_that_it_has_in_its_sentence(
    marks: str, said: str, expected: str
) -> None:
    kept = f"{marks[0]}{MARK}{marks[1]}"
    stage = enter_quotations(f"Löschen Sie {kept} und {kept} in {MARK}?", "en")
    assert stage is not None
    for text, order in ((said, [0, 1]), (said, [1, 0]), (f"In {MARK}: {said}", [2, 0, 1])):
        left = stage.leave(Draft(text.replace("|", MARK), order=order))
        assert left.text == text.replace(said, expected).replace("|", MARK)


def test_a_kept_string_with_straight_marks_has_straight_ones() -> None:
    stage = enter_quotations(f'Löschen Sie "{MARK}"?', "en")
    assert stage is not None
    assert stage.leave(Draft(f"Delete {MARK}?", order=[0])).text == f'Delete "{MARK}"?'


@given(st.sampled_from(["“”", '""']), st.sampled_from(["", " "]), st.sampled_from(["", " "]))
def test_no_space_is_inside_a_quotation_unless_the_source_has_one(
    marks: str, before: str, after: str
) -> None:
    first, last = marks
    spaced = f"He said, {first}{before}Stop{after}{last} and {first}{before}go.{after}{last}"
    bare = f"He said, {first}Stop{last} and {first}go.{last}"
    assert left("他说“停”和“走。”", spaced, "en") == bare
    assert left("他说“停 ”和“走。”", spaced, "en") == spaced


def test_between_quotations_spaces_stay_where_marks_are_doubled() -> None:
    text = 'It says "S" in "IoT" - there is no "S" in the IoT,"'
    assert left("„S“ im „IoT“ – kein „S“.", f'{text} "', "en") == f'{text} "'
    assert left("„S“ im „IoT“ – kein „S“.", text.replace(' "IoT"', ' IoT"'), "en").count('" ') == 3


@given(st.lists(st.sampled_from(["eins", "zwei drei", "vier"]), min_size=1, max_size=3))
def test_quotations_have_no_single_marks_if_the_sentence_has_none(said: list[str]) -> None:
    source = " und ".join(f"„{one}“" for one in said)
    for first, last in ("''", "‘’", "`'"):
        target = " and ".join(f"{first}{one}{last}" for one in said)
        expected = " and ".join(f"“{one}”" for one in said)
        assert left(source, target, "en") == expected
        assert left(source, f"{target}, the dogs' house", "en") != expected
        assert left(f"'a' {source}", target, "en") == target


@pytest.mark.parametrize("mark", ["", "«", "»", '"', "„", "“", "”", "'", "‘"])
@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("“I am tired.", "|Ich bin müde.", "„Ich bin müde."),
        ("I go home.”", "Ich gehe heim.|", "Ich gehe heim.“"),
        ("for NATO”.", "für die NATO|.", "für die NATO“."),
        ('"I am tired.', "|Ich bin müde.", '"Ich bin müde.'),
        ('I go home."', "Ich gehe heim.|", 'Ich gehe heim."'),
    ],
)
def test_one_mark_of_a_longer_quotation_is_the_target_s(
    source: str, target: str, expected: str, mark: str
) -> None:
    """Also if the network lost it. The target's own stand for straight ones, too."""
    is_own = mark == ("„" if target.startswith("|") else "“")
    written = target.replace("|", mark)
    assert left(source, written) == (written if is_own else expected)
    assert (
        left(source, f"{target.replace('|', '')} a „b“ c") == f"{target.replace('|', '')} a „b“ c"
    )
    assert left(source, source) == source


@pytest.mark.parametrize("text", ["Geh heim. ”", "Geh heim.”", "Geh heim ”."])
def test_a_mark_behind_a_space_at_the_end_begins_no_quotation(text: str) -> None:
    assert left(text, "Go home.'", "en") == "Go home.”"


def test_a_lost_mark_within_a_sentence_and_that_of_inches_stay() -> None:
    assert left("He said: “I am.", "Er sagte: ich.") == "Er sagte: ich."
    assert left('a 5" disk', "eine 5 Disk") == "eine 5 Disk"


@pytest.mark.parametrize("count", range(4))
def test_marks_that_a_translation_has_more_or_less_often_count(count: int) -> None:
    translation = "„a“ " * (count // 2) + "„" * (count % 2)
    assert lost_marks("“so” it is", translation, ("en", "de")) == abs(2 - count)
    assert lost_marks("“so” it is", translation, ("en", "zh")) == 0
    assert lost_marks("“so it is", translation, ("en", "de")) == 0
