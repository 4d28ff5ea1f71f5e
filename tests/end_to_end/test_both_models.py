"""The bundled checkpoints in one server, and on the command line."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from service.commands.group import dragoman
from service.offline import OfflineOptions, OfflineTranslator
from service.translation.checks.dates import lost_dates
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.sentence.latin import torn_latin
from tests.end_to_end.conftest import ask

ROOT = Path(__file__).parents[2]
ZH_EN, EN_DE = ROOT / "checkpoints" / "zh-en", ROOT / "checkpoints" / "en-de"


@pytest.mark.parametrize(
    ("text", "source", "target", "words"),
    [
        ("Tom has 250 books.", "en", "de", {"Tom": "Tom", "250": "250", "books": "Bücher"}),
        ("Tom wohnt in Berlin.", "de", "en", {"Tom": "Tom", "Berlin": "Berlin"}),
        ("汤姆住在波士顿。", "zh", "en", {"汤姆": "Tom", "波士顿": "Boston"}),
        ("Tom lives in Boston.", "en", "zh", {"Tom": "汤姆", "Boston": "波士顿"}),
    ],
)
def test_details_say_which_words_translate_each_other(
    client: TestClient, text: str, source: str, target: str, words: dict[str, str]
) -> None:
    (detail,) = ask(client, q=text, source=source, target=target, details=True)["details"]
    (sentence,) = detail["sentences"]
    strong = [
        (sentence["source"][link[0] : link[1]], sentence["target"][link[2] : link[3]])
        for link in sentence["alignment"]
        if link[4] > 0.5
    ]
    for word, translation in words.items():
        assert [pair for pair in strong if word in pair[0] and translation in pair[1]]
        assert not [pair for pair in strong if (word in pair[0]) != (translation in pair[1])]


def test_what_is_garbled_has_less_confidence_than_what_is_usual(client: TestClient) -> None:
    texts = ["Where is the library?", "Blorf wug the snarkle flimsy vorpal zibble."]
    details = ask(client, q=texts, source="en", target="de", details=True)["details"]
    usual, garbled = (text["sentences"][0] for text in details)
    assert usual["confidence"] > garbled["confidence"] + 0.2
    words = {usual["target"][start:end]: rated for start, end, rated in usual["words"]}
    assert words["Bibliothek"] > 0.5


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("Where is the library?\n", "en", "de"),
        ("图书馆在哪里？", "zh", "de"),
        ("图书馆在哪里？\n", "auto", "de"),
        ("Wo ist die Bibliothek? 😀\r\n\r\nIch mag Kaffee.", "auto", "zh-CN"),
        ("1234\n", "auto", "en"),
        ("I like coffee.", "en-GB", "en"),
        ("", "auto", "en"),
    ],
)
def test_the_command_line_translates_as_the_server_does(
    client: TestClient, text: str, source: str, target: str
) -> None:
    answer = ask(client, q=text, source=source, target=target)
    command = ["translate", "--from", source, "--to", target, "--device", "cpu"]
    result = CliRunner().invoke(dragoman, command, input=text)
    assert result.exit_code == 0, result.stderr
    assert result.stdout_bytes.decode() == answer["translatedText"]


def test_files_are_translated_in_their_order_each_from_its_own_language(tmp_path: Path) -> None:
    words = {"图书馆在哪里？": "library", "Ich mag Kaffee.": "coffee"}
    texts = list(words) * 150
    files = [tmp_path / f"{number:03}.txt" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(f"{text}\n", encoding="utf-8")
    command = ["translate", "--from", "auto", "--to", "en", "--device", "cpu", *map(str, files)]
    result = CliRunner().invoke(dragoman, command)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert all(words[text] in line for text, line in zip(texts, lines, strict=True))


def spelled(tokens: list[str]) -> bytes:
    """The bytes among the tokens, and a letter for each of the others."""
    bytes_of = [re.fullmatch("<0x([0-9A-F]{2})>", token) for token in tokens]
    return b"".join(bytes.fromhex(found[1]) if found else b"w" for found in bytes_of)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alternatives": 3, "beam_size": 6},
        {"temperature": 100.0, "seed": 3, "max_length": 9, "no_repeat_ngram_size": 1},
        {"target_prefix": "𝔇ie \N{LATIN SMALL LETTER E WITH CARON}", "beam_size": 2},
    ],
)
def test_no_answer_holds_the_character_for_what_was_lost(
    client: TestClient, options: dict[str, object]
) -> None:
    texts = ["The message {0} was sent to the server.", "Costs: ½ ₿ or 𝔘.", "{}{}{}"] * 4
    asked = texts[0] if "target_prefix" in options else texts
    body = {"q": asked, "source": "en", "target": "de", "details": True, **options}
    answer = client.post("/translate", json=body)
    assert answer.status_code == 200, answer.text
    assert "\N{REPLACEMENT CHARACTER}" not in answer.text
    for sentence in [s for detail in answer.json()["details"] for s in detail["sentences"]]:
        decoder = codecs.getincrementaldecoder("utf-8")("strict")
        assert decoder.decode(spelled(sentence["tokens"]), sentence["finish_reason"] == "stop")
    with client.websocket_connect("/translate/stream") as socket:
        socket.send_json({**body, "id": 1, "q": texts[0]})
        while True:
            message = socket.receive_text()
            assert "\N{REPLACEMENT CHARACTER}" not in message
            if '"type":"token"' not in message:
                break
    assert '"type":"final"' in message


@pytest.mark.parametrize(
    ("text", "beginning", "numbers"),
    [
        ("We sold 12,345 cars in 2023.", "Es wurden", {"12.345", "2023"}),
        ("We sold 12,345 cars in 2023.", "Im Jahr 2023", {"12.345", "2023"}),
        ("We sold 12,345 cars in 2023.", "Wir haben 12", {"12.345", "2023"}),
        ("It costs €1,200.75 per month.", "Das", {"€1.200,75"}),
        ("It costs €1,200.75 per month.", "Es kostet €", {"€1.200,75"}),
        ("Tom gave {name} 3.5 kg for $1,234.50.", "Tom hat {name}", {"3,5 kg", "$1.234,50"}),
    ],
)
def test_no_number_is_lost_after_a_given_beginning(
    client: TestClient, text: str, beginning: str, numbers: set[str]
) -> None:
    fields = {"q": text, "source": "en", "target": "de", "target_prefix": beginning}
    translation = ask(client, **fields)["translatedText"]
    assert translation.startswith(beginning)
    assert [translation.count(number) for number in numbers] == [1] * len(numbers)


def test_alternatives_differ_in_more_than_spaces(client: TestClient) -> None:
    lines = (ROOT / "tests/data/sentences.en.txt").read_text(encoding="utf-8").splitlines()[:20]
    texts = [*lines, "Where is the library?"]
    answer = ask(client, q=texts, source="en", target="de", alternatives=5)
    for best, others in zip(answer["translatedText"], answer["alternatives"], strict=True):
        bare = ["".join(text.split()) for text in (best, *others)]
        assert len(set(bare)) == len(bare)


AMOUNTS = {
    ("en", "de"): [
        *("Price: $5.00", "He's 30 years old.", "The train leaves at 10:30 on 3 May 2024."),
        *("We need 1,500 litres of water.", "Tom has 2 sisters and 3 brothers."),
    ],
    ("de", "en"): ["Der Preis ist 4,50 Euro.", "Er ist 30 Jahre alt.", "Wir sehen uns um 18 Uhr."],
    ("zh", "en"): ["他三十岁了。", "我有两百五十块钱。", "会议在下午三点开始。"],
}


@pytest.mark.parametrize("pair", AMOUNTS)
def test_alternatives_have_the_numbers_of_the_text(
    client: TestClient, pair: tuple[str, str]
) -> None:
    texts = [*AMOUNTS[pair], " ".join(AMOUNTS[pair])]
    answer = ask(client, q=texts, source=pair[0], target=pair[1], alternatives=5)
    assert sum(map(len, answer["alternatives"])) >= len(texts)
    for text, others in zip(texts, answer["alternatives"], strict=True):
        for other in others:
            assert unmatched(find_numbers(text), find_numbers(other)) == ([], []), (text, other)
            assert not lost_dates(text, other, pair)


def test_no_name_loses_its_first_letters_in_chinese(client: TestClient) -> None:
    texts = ["Federer beat Nadal in Wimbledon.", "Siobhan and Niamh are from Galway."]
    answer = ask(client, q=texts, source="en", target="zh")
    torn = map(torn_latin, texts, answer["translatedText"])
    assert [*torn] == [[], []], answer["translatedText"]


LINES = (
    "我喜欢咖啡。你呢？",
    "图书馆在哪里？ 😀",
    "昨天下午我和朋友一起去了图书馆，因为我们想借几本关于中国历史的书，"
    "可是图书馆关门了，所以我们去了附近的一家咖啡馆，在那里喝了咖啡，聊了很久，晚上才回家。",
)
SENTENCES = (ROOT / "tests/data/sentences.en.txt").read_text(encoding="utf-8").splitlines()
RECIPE = """
[model]
[data]
languages = ["zh", "en"]
is_one_way = true
[[data.corpora]]
name = "lines"
test = "{corpus}"
[training]
max_steps = 1
"""


def test_lines_are_translated_without_a_server_as_by_one(client: TestClient) -> None:
    """Also those that are translated once more, with a wider beam."""
    answer = ask(client, q=SENTENCES, source="en", target="de", beam_size=1)
    with OfflineTranslator([EN_DE], OfflineOptions("cpu", beam_size=1)) as translator:
        assert translator.translate_all(SENTENCES, "en", "de") == answer["translatedText"]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A test set whose references are the translations that the command line gives."""
    with OfflineTranslator([ZH_EN], OfflineOptions("cpu", "float32", 4)) as translator:
        translations = translator.translate_all(LINES, "zh", "en")
        pairs = [f"{line}\t{found}\n" for line, found in zip(LINES, translations, strict=True)]
    corpus, file = tmp_path / "test.tsv", tmp_path / "lines.toml"
    corpus.write_text("".join(pairs), encoding="utf-8")
    file.write_text(RECIPE.format(corpus=corpus.as_posix()), encoding="utf-8")
    return file


def test_evaluation_translates_lines_of_several_sentences_and_long_ones_as_the_command_does(
    recipe: Path,
) -> None:
    arguments = ["evaluate", str(ZH_EN), "--recipe", str(recipe), "--device", "cpu"]
    result = CliRunner().invoke(dragoman, arguments)
    assert result.exit_code == 0, result.output
    (row,) = [line.split() for line in result.output.splitlines() if line.startswith("lines")]
    assert row[1:5] == ["zh-en", "3", "100.00", "100.00"]
    assert "tok:13a" in result.output
