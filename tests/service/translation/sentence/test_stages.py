"""What every stage has in common: a translation that is the text itself leaves as the text."""

from __future__ import annotations

import functools
import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from model.decoding.options import DecodingOptions
from model.decoding.sentence_limits import SentenceLimits
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from model.text.words import words
from service.translation.alignment import AlignmentLink
from service.translation.glossary import Glossary, GlossaryEntry
from service.translation.job import ModelJob, TranslationJob
from service.translation.language.segmentation import has_letters
from service.translation.markup.flow import MARK
from service.translation.preparation import Preparation
from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.capitals import enter_capitals, enter_title, is_title
from service.translation.sentence.emphasis import enter_emphasis
from service.translation.sentence.entering import Entry
from service.translation.sentence.gendered import enter_gendered
from service.translation.sentence.odd_words import has_odd_words
from service.translation.sentence.parsed_text import ParsedText, Sentence
from service.translation.sentence.rare_capitals import enter_rare_capitals
from service.translation.sentence.slashes import enter_slashes
from service.translation.sentence.stages import Draft, Stage, leave
from tests.fuzz.strings import texts as strange_texts

LIMITS = SentenceLimits(40, 60, 8)
PARTS = st.sampled_from(
    [
        *("The", "house", "is", "BIG", "NOW", "OPEN", "THE DOOR", "a", "dog.", "Mr.", "No", "!"),
        *("max.", "Approx.", "e. g.", "maximum", "MISC."),
        *("yes/no", "/", "VERY", "Never", "NASA", "NOT", "- ", "• ", "[ ] ", " > ", ":-)", "(yes)"),
        *("Hello,world", "cat&dog", "EXIT", "!!!", "....", "__Note__", "[NAME]", "{h}h", "&uuml;"),
        *(
            "5\u00a0kg",
            "\u00a0",
            "Öl",
            "öl",
            "Öffnen",
            "Kund:innen",
            "Jede/r",
            "1.299,-",
            '"I am it"',
            "   ",
            "d|{n} d",
        ),
        *("half past three", "2h 30m", "1 hr 5 min. 9", "17 Uhr", "halb 8 Uhr", "2 and a half"),
        *("Mon-Fri", "Sat./Sun. ", "Monday", "e.g., ", "i.e.: ", "(etc.) "),
        *("{0}", "%s", "a_b", "https://a.b/c", "€5", "3.5", "1,234", "<b>", "</b>", "**", "[x]"),
        *(
            "。",
            "老人去了海边",
            "，",
            "“Yes”",
            "Straße",
            "ÉTÉ",
            "👍",
            "\n",
            "\n\n",
            "\t",
            "\u3000",
            "½",
        ),
    ]
)
TEXTS = st.one_of(
    st.lists(st.one_of(PARTS, PARTS, st.just(" ")), max_size=12).map("".join),
    st.lists(PARTS, max_size=10).map(" ".join),
    strange_texts,
)
PAIRS = st.sampled_from([("en", "de"), ("de", "en")])
ALL_PAIRS = PAIRS | st.sampled_from([("zh", "en"), ("en", "zh")])
SENTENCES = [
    *(
        "老人去了海边。",
        "你好吗？",
        "第120号房间在这里。",
        "他买了2.5公斤米。",
        "他说：“好。”",
        "一、你好。",
    ),
    *("He went home.", "Why?", "See fig. 5.", "A.", "It costs 5 dollars.", "the house", "Yes! No!"),
    *(
        "Er ging heim.",
        "Am 3. Mai.",
        "Das kostet z. B. viel.",
        "Ja",
        "OK.",
        "(Nein.)",
        "5",
        "3 Uhr.",
    ),
    *(
        "[NAME] ist da.",
        "*Wichtig*.",
        "Siehe 4.2.",
        "我们 用 Debian 吧。",
        "是，是！",
        "SAVE IT NOW.",
    ),
]
OF_SENTENCES = st.tuples(
    st.sampled_from(["", " ", "  ", "\n"]), st.lists(st.sampled_from(SENTENCES), max_size=4)
).map(lambda drawn: drawn[0].join(drawn[1]))
MANY = "the old house, is big; und klein - Ähre “Ja” 2.5 kg. 3:30 So, No"
OF_MANY_WORDS = st.lists(st.sampled_from(MANY.split(" ")), min_size=12, max_size=60).map(" ".join)
"""Of which most are too long for the network."""
OF_FEW_PARTS = st.lists(PARTS, min_size=1, max_size=3).flatmap(
    lambda parts: st.lists(st.sampled_from(parts), max_size=24).map(" ".join)
)
SPELLED = st.characters(
    max_codepoint=0xFF,
    include_characters="老人去了海边的房子很大你好吗，、。！？",
    categories=["L", "P", "Z"],
)
TERMS = [GlossaryEntry("house", "house"), GlossaryEntry("dog", "dog"), GlossaryEntry("THE", "THE")]


@functools.cache
def tokenizer_of(reserved: int, model: str = "en-de") -> Tokenizer:
    file = Path(f"checkpoints/{model}/sentencepiece.model")
    return Tokenizer(file, file, TokenizerConfig(file.name, file.name, reserved=reserved))


TOKENIZERS = {reserved: tokenizer_of(reserved) for reserved in (0, 16)}


def prepared(
    text: str,
    reserved: int = 16,
    *,
    has_terms: bool = False,
    limits: SentenceLimits = LIMITS,
    pair: tuple[str, str] = ("en", "de"),
    **fields: object,
) -> tuple[ParsedText, list[Entry]]:
    glossary = Glossary(TERMS) if has_terms else None
    job = TranslationJob([text], *pair, glossary=glossary, **fields)
    work = ModelJob(job, [text], [0], *pair, DecodingOptions())
    tokenizer = tokenizer_of(reserved, "zh-en" if "zh" in pair else "en-de")
    (parsed,), entries = Preparation(tokenizer, limits, work).prepare()
    return parsed, entries


def described(sentence: Sentence) -> tuple[object, ...]:
    lists = sentence.kept, sentence.tags, sentence.tag_items
    ends = sentence.begins, sentence.ends
    return (sentence.text, *map(list, lists), sentence.escapes, sentence.is_in_capitals, *ends)


def to_itself(text: str) -> Draft:
    """A translation that is the text, with links of each word to itself."""
    spans = words(text, [(at, at + 1) for at in range(len(text))])
    return Draft(text, [AlignmentLink(a, b, a, b, 1.0) for a, b in spans])


def linked(draft: Draft, text: str) -> list[tuple[str, str]]:
    return [(text[a:b], draft.text[c:d]) for a, b, c, d, _ in draft.links]


LINES = st.lists(
    st.tuples(
        st.sampled_from(["老人去了", "go there", "%s", "{n}、%s", "👍", "1", "①", "第一章"]),
        st.sampled_from(["", "、", "，", ", ", "："]),
    ).map("".join),
    min_size=2,
    max_size=5,
).map("\n".join)


@settings(deadline=None)
@given(LINES, st.sampled_from([("zh", "en"), ("en", "zh"), ("en", "de")]))
def test_between_sentences_nothing_is_lost(text: str, pair: tuple[str, str]) -> None:
    parsed, _ = prepared(text, pair=pair)
    written = "".join(parsed.gaps) + "".join(one.read() for one in parsed.sentences)
    assert MARK not in written
    for string in ("%s", "{n}", "👍", "\n"):
        assert written.count(string) == text.count(string)


@settings(deadline=None)
@given(st.one_of(TEXTS, OF_FEW_PARTS), st.sampled_from([".", "“.", " ,", "!!", " )"]), PAIRS)
def test_no_word_is_linked_to_what_was_left_out(text: str, end: str, pair: tuple[str, str]) -> None:
    """As the mark at the end of a part of a sentence."""
    _, entries = prepared(text, pair=pair, limits=SentenceLimits(16, 60, 8))
    for entry in entries:
        own = to_itself(entry.text)
        more = [
            link._replace(target_start=len(own.text), target_end=len(own.text + end))
            for link in own.links[-1:]
        ]
        draft = leave(entry.stages, Draft(own.text + end, [*own.links, *more]))
        assert draft is None or all(link[2] < link[3] for link in draft.links)


@settings(deadline=None)
@example(";Q ", 0, False, ("en", "de"))
@given(TEXTS, st.sampled_from([0, 16]), st.booleans(), PAIRS)
def test_what_enters_leaves_as_it_was(
    text: str, reserved: int, has_terms: bool, pair: tuple[str, str]
) -> None:
    parsed, entries = prepared(text, reserved, has_terms=has_terms, pair=pair)
    for sentence, entry in zip(parsed.sentences, entries, strict=True):
        if not has_letters(entry.text):  # a time in words is translated by its digits
            continue
        draft = leave(entry.stages, to_itself(entry.text))
        assert draft is not None
        whole = sentence.text.upper() if sentence.is_in_capitals else sentence.text
        assert draft.text.replace(" ", "") == whole.replace(" ", "")
        assert reserved == 0 or draft.text == whole
        assert list(draft.order) == list(range(len(sentence.kept)))
        assert not draft.lost
        for source, target in linked(draft, sentence.text):
            assert source.upper() == target.upper()


@settings(deadline=None, max_examples=200)
@given(OF_FEW_PARTS, st.booleans(), st.integers(16, 24))
def test_no_sentence_is_longer_than_the_network_takes(
    text: str, has_terms: bool, most: int
) -> None:
    _, entries = prepared(text, has_terms=has_terms, limits=SentenceLimits(most, 60, 8))
    assert all(len(entry.source.ids) <= most for entry in entries)


CARRIED = [
    *((("de", "en"), unit) for unit in ("§ 5 Abs. 2 Satz 1 ", "Herr Klein ", "2 EL Öl ", "S. 3 ")),
    *((("en", "de"), unit) for unit in ("Mrs Baker ", "2 tbsp oil ", "6 ft 2 in ", "3 pcs ")),
    *(
        (("en", "zh"), unit)
        for unit in ("753 BC ", "2 tbsp ", "Mon, Wed ", "the 5th of each month ")
    ),
    *((("zh", "en"), unit) for unit in ("25摄氏度，", "每月15日，", "2茶匙", "周一、周三、")),
    *((("zh", "en"), unit) for unit in ("张三和", "王女士，", "甲方、")),
]


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(CARRIED), st.integers(16, 40))
def test_no_sentence_is_too_long_since_the_target_writes_a_part_otherwise(
    carried: tuple[tuple[str, str], str], most: int
) -> None:
    pair, unit = carried
    _, entries = prepared(unit * 30, limits=SentenceLimits(most, 60, 8), pair=pair)
    assert all(len(entry.source.ids) <= most for entry in entries)


@pytest.mark.parametrize(
    ("language", "text", "usual"),
    [
        ("en", "This is VERY important.", "This is very important."),
        ("en", "WARNING: I NEVER do.", "Warning: I never do."),
        ("en", "FILE NOT FOUND in here", "File NOT found in here"),
        ("de", "FEHLER: Bitte NICHT öffnen", "Fehler: Bitte nicht öffnen"),
        ("de", "Ein FEHLER ist da.", "Ein Fehler ist da."),
        ("en", "CONFIDENTIAL draft", "Confidential draft"),
        ("en", "Ask JENNIFER or MUELLER", None),
        *(("en", text, None) for text in ("NASA is big.", "the USA and it", "Call WHO or IT now")),
        *(("en", text, None) for text in ("Use SELECT here", "a VERY_BIG one", "the GROUP BY x")),
        *(("en", text, None) for text in ("VERY IMPORTANT", "the <NOT> b", "$NOT a", "NOT-a b")),
        *(("en", word, word.lower()) for word in ("EXIT!", "MENU", "STOP.", "DELETE")),
        *(("de", word, word.capitalize()) for word in ("AUSGANG", "WICHTIG!!!", "NEU")),
        *(("en", text, None) for text in ("WEBVTT", "NY", "IKEA", "OK", "OK!")),
        ("fr", "C'est TRÈS important.", None),
    ],
)
def test_emphasised_words_go_in_as_usual(language: str, text: str, usual: str | None) -> None:
    tokenizer = tokenizer_of(16)
    stage = enter_emphasis(text, language, lambda word: len(tokenizer.encode_source(word, "")))
    assert (stage and stage.text) == usual


DECOMPOSED = ("Öffnen", "Müller", "Grüße", "ÖPNV", "{größe}", "/etc/Öl.txt", "3 EL Öl", "Bär!\n")


@given(st.lists(st.sampled_from(DECOMPOSED)).map(" ".join), st.sampled_from(["text", "html"]))
def test_letters_enter_as_nfc_has_them_and_what_is_kept_as_it_is_written(
    text: str, form: str
) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    (usual, usual_entries), (parsed, entries) = (
        prepared(one, pair=("de", "en"), format=form, keep=["Ba\u0308r"])
        for one in (text, decomposed)
    )
    assert [one.source.ids for one in entries] == [one.source.ids for one in usual_entries]
    assert [one.escapes for one in parsed.sentences] == [one.escapes for one in usual.sentences]
    for sentence in parsed.sentences:
        assert unicodedata.is_normalized("NFC", sentence.read())
        for kept in sentence.kept:
            assert kept.written == (unicodedata.normalize("NFD", kept.text),)


RARE = ("Öffnen", "öffnen", "Öffne", "Österreichs", "Ölpreis", "Über", "Özil", "ÖPNV", "Tür", "!")


@given(st.lists(st.sampled_from(RARE)).map(" ".join))
def test_capitals_that_the_vocabulary_lacks_go_in_small_and_come_back(text: str) -> None:
    tokenizer = tokenizer_of(16)
    stage = enter_rare_capitals(text, tokenizer, "de")
    read = stage.text if stage else text
    names = {"Özil", "ÖPNV"}
    assert all(word in names for word in read.split() if tokenizer.count_unspelled(word))
    assert stage is None or stage.leave(Draft(stage.text)) == Draft(text)
    assert enter_rare_capitals(text, tokenizer, "en") is None


def test_german_nouns_keep_a_capital() -> None:
    text = "FROHE WEIHNACHTEN IM GARTEN, UND BITTE DIE TÜR SCHLIESSEN!"
    (entry,) = prepared(text, pair=("de", "en"))[1]
    assert entry.text == "Frohe Weihnachten im Garten, und bitte die Tür schliessen!"
    assert leave(entry.stages, Draft(entry.text)) == Draft(text)
    assert prepared("THE DOG IN BERLIN")[1][0].text == "The dog in berlin"


def test_a_word_in_capitals_that_is_no_usual_one_stays() -> None:
    for text in ("NY", "IKEA", "WEBVTT!"):
        parsed, entries = prepared(text)
        assert (parsed.gaps, entries) == ([text], [])
    (entry,) = prepared("STOP!")[1]
    assert (entry.text, entry.is_title) == ("stop!", False)


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("his/her dog", "his / her dog"),
        ("cat/dog/bird", "cat / dog / bird"),
        ("Note:this,that", "Note: this, that"),
        ("cat&dog", "cat & dog"),
        ("yes/no, maybe,so", "yes / no, maybe,so"),
        *((text, None) for text in ("I/O error", "km/h", "GNU/Linux", "this / that/those", "a/b")),
        *((text, None) for text in ("R&D", "1,234", "10:30", "你好,世界", "a,b", "host:port")),
    ],
)
def test_joined_words_go_in_apart(text: str, apart: str | None) -> None:
    stage = enter_slashes(text)
    assert (stage and stage.text) == apart
    if stage is not None:
        draft = stage.leave(to_itself(stage.text))
        assert draft.text == text
        assert all(source == target for source, target in linked(draft, text))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Liebe Kolleg*innen und Kund:innen", "Liebe Kollegen und Kunden"),
        ("Schüler/-innen, LehrerInnen-Treffen", "Schüler, Lehrer-Treffen"),
        ("Jede/r Student_in, ein/e Lehrer(in)", "Jeder Studentin, eine Lehrerin"),
        ("Sehr geehrte(r) Herr, eine(n)", "Sehr geehrter Herr, einen"),
        *(
            (text, None)
            for text in ("Ein/Aus, und/in", "LinkedIn, MacInnes", "der/die, er/sie", "Seite(n)")
        ),
    ],
)
def test_words_for_any_gender_go_in_as_plain_ones(text: str, plain: str | None) -> None:
    stage = enter_gendered(text, "de")
    assert (stage and stage.text) == plain
    assert stage is None or stage.leave(to_itself(stage.text)).text == text
    assert enter_gendered(text, "en") is None


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *(("Save As", True), ("OPEN!", True), ("Okay", True), ("OKAY", True), ("Ok", True)),
        *(("OK", False), ("OK.", False), ("Save it now", False), ("Cheers!", False)),
    ],
)
def test_few_words_with_capitals_are_a_title(text: str, is_one: bool) -> None:
    assert is_title(text) is is_one


@pytest.mark.parametrize(
    ("pair", "text", "spelled"),
    [
        (("en", "de"), "It takes 5 hrs.", "It takes 5 hours."),
        (("de", "en"), "Es kostet 5 Mio.", "Es kostet 5 Millionen."),
    ],
)
def test_a_sentence_may_end_with_an_abbreviation(
    pair: tuple[str, str], text: str, spelled: str
) -> None:
    assert [entry.text for entry in prepared(text, pair=pair)[1]] == [spelled]


def test_an_abbreviation_is_linked_to_its_translation() -> None:
    stage = enter_abbreviations("3 Mrd. Euro z. B.", "de")
    assert stage is not None
    pairs = [AlignmentLink(2, 12, 2, 9, 1.0), AlignmentLink(22, 30, 20, 27, 1.0)]
    draft = stage.leave(Draft("3 billion euros for example", pairs))
    assert linked(draft, "3 Mrd. Euro z. B.") == [("Mrd.", "billion"), ("z. B", "example")]


def test_an_emphasised_word_that_begins_with_an_abbreviation_is_there_once() -> None:
    stage = enter_emphasis("This is VERY IMPORTANT", "en", lambda word: word.isupper() + 1)
    assert stage is not None
    source = [(8, 12), (13, 22)]
    links = [AlignmentLink(*a, *b, 1.0) for a, b in zip(source, [(0, 4), (0, 6)], strict=True)]
    assert stage.leave(Draft("z.B.-s da", links)).text == "Z.B.-s da"


@given(st.text(st.sampled_from("abß Éé'I1"), min_size=1, max_size=12))
@pytest.mark.parametrize("enter", [enter_capitals, enter_title])
def test_case_changes_case_only(enter: type[Stage], text: str) -> None:
    stage = enter(text.upper())
    assert stage.text.upper() == text.upper()
    draft = stage.leave(to_itself(stage.text))
    assert draft is not None
    assert draft.text == text.upper()
    for source, target in linked(draft, stage.text):
        assert source.upper() == target


@settings(deadline=None)
@example(text="他买了第120号。", split=True, has_terms=False, pair=("zh", "en"))
@example(text=",dass er kommt.", split=True, has_terms=False, pair=("de", "en"))
@example(text="Öffnen Sie „das“ Haus. " * 5, split=True, has_terms=False, pair=("de", "en"))
@given(
    TEXTS | OF_SENTENCES | OF_MANY_WORDS,
    st.sampled_from([True, False, "nonewlines"]),
    st.booleans(),
    ALL_PAIRS,
)
def test_a_text_at_which_a_look_is_enough_is_what_the_whole_way_makes_of_it(
    text: str, split: bool, has_terms: bool, pair: tuple[str, str]
) -> None:
    """The look at a text decides nothing that taking apart and cutting does not."""
    looked, entries = prepared(text, split_sentences=split, has_terms=has_terms, pair=pair)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Preparation, "_whole", lambda *_: None)
        patch.setattr(Preparation, "_several", lambda *_: [])
        patch.setattr(Preparation, "_is_as_written", lambda *_: False)
        cut, others = prepared(text, split_sentences=split, has_terms=has_terms, pair=pair)
    assert looked.gaps == cut.gaps
    assert list(map(described, looked.sentences)) == list(map(described, cut.sentences))
    assert [one.source for one in entries] == [one.source for one in others]
    assert [one.text for one in entries] == [one.text for one in others]
    assert [[*map(type, one.stages)] for one in entries] == [
        [*map(type, one.stages)] for one in others
    ]


@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en"), ("zh", "en"), ("en", "zh")])
def test_a_text_that_is_only_too_long_is_not_taken_apart(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("service.translation.preparation.text_flow")
    known = {"de": "das Haus ist alt, ", "en": "the house is old, ", "zh": "老人去了海边，"}
    parsed, entries = prepared(known[pair[0]] * 20, pair=pair)
    assert len(entries) > 2
    assert not any(one.kept or one.tags or one.escapes for one in parsed.sentences)


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        *(("The old house is big.", True), ("Hello, world!", True), ("It is 5.", True)),
        *(("A NEW book", False), ("It takes two thirds of it.", False), ("It is yes/no.", False)),
        *(("Go {0}.", None), ("Go. Now.", None), ("GO THERE NOW", None), ("<b>x</b>", None)),
        *((" a", None), ("a\nb", None), ("€5", None), ("", None), (f"a {MARK}", None)),
    ],
)
def test_most_texts_are_one_sentence_at_a_look(text: str, is_plain: bool | None) -> None:
    """None: it must be taken apart."""
    work = ModelJob(TranslationJob([text], "en", "de"), [text], [0], "en", "de", DecodingOptions())
    whole = Preparation(TOKENIZERS[16], LIMITS, work)._whole(text)
    assert (whole and whole.is_plain) is is_plain


@given(st.data(), st.sampled_from(["en", "de", "fr", "ru", "ja", "th", "zh"]))
def test_a_usual_sentence_needs_no_stage(data: st.DataObject, source: str) -> None:
    """One look at such a sentence stands for all the others."""
    tokenizer = tokenizer_of(16, "zh-en" if source == "zh" else "en-de")
    work = ModelJob(TranslationJob([""], source, "de"), [""], [0], source, "de", DecodingOptions())
    preparation = Preparation(tokenizer, LIMITS, work)
    text = data.draw(st.from_regex(preparation._usual, fullmatch=True, alphabet=SPELLED))
    assume(not tokenizer.count_unspelled(text))
    assert preparation._is_bare_sentence(text)
    assert not has_odd_words(text, source)
