"""The bundled checkpoints in one server, and on the command line."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from service.commands.group import dragoman

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "source", "target", "word", "models"),
    [
        ("Where is the library?", "en", "de", "Bibliothek", ["en-de"]),
        ("Wo ist die Bibliothek?", "auto", "en", "library", ["en-de"]),
        ("图书馆在哪里？", "zh", "de", "Bibliothek", ["zh-en", "en-de"]),
        ("Wo ist die Bibliothek?", "de", "zh", "图书馆", ["en-de", "zh-en"]),
    ],
)
def test_each_pair_is_translated_by_the_models_that_have_it(
    client: TestClient, text: str, source: str, target: str, word: str, models: list[str]
) -> None:
    body = {"q": text, "source": source, "target": target, "details": True}
    answer = client.post("/translate", json=body).json()
    assert word in answer["translatedText"]
    (detail,) = answer["details"]
    pivot = [detail["pivot"]["model"]] if "pivot" in detail else []
    assert [*pivot, detail["model"]] == models


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
    body = {"q": text, "source": source, "target": target, "details": True}
    (detail,) = client.post("/translate", json=body).json()["details"]
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
    body: dict[str, object] = {
        "q": ["Where is the library?", "Blorf wug the snarkle flimsy vorpal zibble."]
    }
    body |= {"source": "en", "target": "de", "details": True}
    texts = client.post("/translate", json=body).json()["details"]
    usual, garbled = (text["sentences"][0] for text in texts)
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
    answer = client.post("/translate", json={"q": text, "source": source, "target": target})
    command = ["translate", "--from", source, "--to", target, "--device", "cpu"]
    result = CliRunner().invoke(dragoman, command, input=text)
    assert result.exit_code == 0, result.stderr
    assert result.stdout_bytes.decode() == answer.json()["translatedText"]


@pytest.mark.parametrize("source", ["auto", "de"])
def test_files_are_translated_in_their_order_each_from_its_own_language(
    source: str, tmp_path: Path
) -> None:
    texts = {"auto": ["图书馆在哪里？\n", "Wo ist die Bibliothek?\n"], "de": ["Hallo!\n"] * 300}
    files = [tmp_path / f"{number:03}.txt" for number in range(len(texts[source]))]
    for file, text in zip(files, texts[source], strict=True):
        file.write_text(text, encoding="utf-8")
    command = ["translate", "--from", source, "--to", "en", "--device", "cpu", *map(str, files)]
    result = CliRunner().invoke(dragoman, command)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == len(files)
    if source == "auto":
        assert all("library" in line for line in lines)


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


def test_alternatives_differ_in_more_than_spaces(client: TestClient) -> None:
    lines = (ROOT / "tests/data/sentences.en.txt").read_text(encoding="utf-8").splitlines()[:20]
    body = {"q": [*lines, "Where is the library?"], "source": "en", "target": "de"}
    answer = client.post("/translate", json={**body, "alternatives": 5}).json()
    for best, others in zip(answer["translatedText"], answer["alternatives"], strict=True):
        texts = ["".join(text.split()) for text in (best, *others)]
        assert len(set(texts)) == len(texts)
