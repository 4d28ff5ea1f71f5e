"""E-mail: every text is found in every charset and transfer encoding, Python's parser reads what is
written, and all else stays byte for byte."""

from __future__ import annotations

import base64
import email
import email.policy
import quopri
from email.message import EmailMessage, Message
from email.mime.application import MIMEApplication
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.documents.formats import parse_file
from service.errors import InvalidDocument
from tests.service.documents.samples import OPTIONS, capitals, texts_of, translated

NEW = "Hallo, schöne Welt! 你好 😀"
TEXTS = {
    "us-ascii": "Hello there",
    "utf-8": "Grüße 😀 你好",
    "iso-8859-1": "Café für zwei",
    "windows-1252": "“Quotes” – 5 €",
    "iso-8859-2": "Dobrý večer",
    "iso-8859-15": "Œuvre à 5 €",
    "windows-1251": "Добрый день",
    "koi8-r": "Добрый вечер",
    "gb2312": "今天天气很好",
    "gb18030": "今天天氣很好",
    "big5": "今天天氣很好",
    "iso-2022-jp": "今日は天気がいい",
    "shift_jis": "今日は天気がいい",
    "euc-jp": "今日は天気がいい",
    "euc-kr": "안녕하세요 여러분",
    "utf-16": "Grüße 你好",
    "utf-7": "Grüße 你好",
}
ENCODINGS = ("7bit", "8bit", "binary", "quoted-printable", "base64")
SPELLED = [
    (charset, encoding)
    for charset, text in TEXTS.items()
    for encoding in ENCODINGS
    if encoding != "7bit" or text.encode(charset).isascii()
    if encoding == "base64" or charset != "utf-16"
]


def spelled(text: str, charset: str, encoding: str) -> bytes:
    content = text.encode(charset)
    if encoding == "base64":
        return base64.encodebytes(content).replace(b"\n", b"\r\n")
    return quopri.encodestring(content) if encoding == "quoted-printable" else content


def read(content: bytes) -> EmailMessage:
    return cast(EmailMessage, email.message_from_bytes(content, policy=email.policy.default))


def texts_read(content: bytes) -> list[str]:
    """The subjects and bodies that Python's parser finds, without white space around them."""
    parts = read(content).walk()
    subjects_and_bodies = (
        text
        for part in parts
        for text in (
            part["subject"],
            cast(EmailMessage, part).get_content() if part.get_content_maintype() == "text" else "",
        )
        if text
    )
    return [text.strip() for text in subjects_and_bodies]


@pytest.mark.parametrize(("charset", "encoding"), SPELLED)
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_a_text_is_read_and_written_in_any_charset_and_transfer_encoding(
    charset: str, encoding: str, kind: str
) -> None:
    text = TEXTS[charset] if kind == "plain" else f"<p>{TEXTS[charset]}</p>"
    head = (
        f"From: a@b.example\r\nContent-Type: text/{kind}; charset={charset}; x=y\r\n"
        f"Content-Transfer-Encoding: {encoding}\r\n\r\n"
    )
    content = head.encode() + spelled(f"{text}\r\n", charset, encoding)
    parsed = parse_file(content, "a.eml", OPTIONS)
    (segment,) = parsed.segments
    assert str(segment.text).strip() == text
    assert parsed.write([segment.text]) == content
    for new in (text.upper(), NEW):
        written = parsed.write([new])
        assert texts_read(written) == [new]
        assert texts_of("a.eml", written) == [new]
        assert read(written).get_param("x") == "y"
    shorter = parsed.write([capitals(segment.text)]).partition(b"\r\n\r\n")[0]
    assert shorter == head.strip().encode(), "what the charset can spell changes no field"


@pytest.mark.parametrize("charset", [one for one in TEXTS if one not in ("utf-16", "utf-7")])
@pytest.mark.parametrize("encoding", ["q", "b"])
def test_a_subject_is_read_and_written_in_any_charset(charset: str, encoding: str) -> None:
    raw = TEXTS[charset].encode(charset)
    word = base64.b64encode(raw) if encoding == "b" else quopri.encodestring(raw, header=True)
    word = word.replace(b"?", b"=3F") if encoding == "q" else word
    content = b"Subject:\tAW: =?%s?%s?%s?=\n =?utf-8?q?!?=\nX: y\n\n" % (
        charset.encode(),
        encoding.encode(),
        word,
    )
    assert texts_of("a.eml", content) == [f"{TEXTS[charset]}!"]
    written = parse_file(content, "a.eml", OPTIONS).write([NEW * 5])
    assert read(written)["subject"] == f"AW: {NEW * 5}"
    assert max(map(len, written.splitlines())) <= 78
    assert written.endswith(b"\nX: y\n\n")


@pytest.mark.parametrize(
    ("marks", "new"),
    [("Re: ", "Re: "), ("[users] AW: WG:", "[users] AW: WG:"), ("转发：回复：", "Fwd: Re: ")],
)
def test_marks_of_answers_stay_or_become_those_that_all_programs_know(marks: str, new: str) -> None:
    content = f"Subject: {marks}The sea\n\n".encode()
    assert texts_of("a.eml", content) == ["The sea"]
    assert read(translated("a.eml", content))["subject"] == f"{new}THE SEA"


def test_a_subject_in_raw_bytes_is_read() -> None:
    for raw in (NEW.encode(), "Café".encode("latin-1")):
        assert texts_of("a.eml", b"Subject: %s\n\n" % raw)[0] in (NEW, "Café")


def texts(kind: str) -> st.SearchStrategy[Message]:
    words = st.sampled_from(("Hello there", "Caf\u00e9 f\u00fcr zwei", "\u4f60\u597d"))
    charsets = st.sampled_from(("utf-8", "iso-8859-1"))

    def made(word: str, charset: str) -> Message:
        fits = charset == "utf-8" or word.isascii() or "\u4f60" not in word
        return MIMEText(word, kind, charset if fits else "utf-8")

    return st.builds(made, words, charsets)


def forwarded(inner: Message) -> Message:
    inner["Subject"] = "An older message"
    return MIMEMessage(inner)


def joined(kind: str, parts: list[Message], preamble: str) -> Message:
    whole = MIMEMultipart(kind)
    whole.preamble, whole.epilogue = preamble, preamble
    for part in parts:
        whole.attach(part)
    return whole


FILES = st.binary(max_size=300).map(MIMEApplication)
MESSAGES = st.recursive(
    texts("plain") | texts("html") | FILES,
    lambda inner: (
        st.builds(
            joined,
            st.sampled_from(("mixed", "alternative", "related", "report")),
            st.lists(inner, max_size=3),
            st.sampled_from(("", "A multi-part message")),
        )
        | inner.map(forwarded)
    ),
    max_leaves=6,
)


@given(MESSAGES, st.sampled_from(("\n", "\r\n")))
@settings(max_examples=200, deadline=None)
def test_every_text_of_a_message_is_translated_and_nothing_else_changes(
    made: Message, line_end: str
) -> None:
    if "subject" not in made:
        made["Subject"] = "The subject"
    made["X-Other"], made["Content-Language"] = "Keep  me", "en"
    content = made.as_bytes(policy=email.policy.compat32.clone(linesep=line_end))
    parsed = parse_file(content, "a.eml", OPTIONS)
    found = [str(segment.text).strip() for segment in parsed.segments]
    assert found == [text for text in texts_read(content) if text]
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    written = parsed.write([NEW for _ in found])
    assert [text for text in texts_read(written) if text] == [NEW for _ in found]
    for old, new in zip(read(content).walk(), read(written).walk(), strict=True):
        changed = ("subject", "content-language", "content-type", "content-transfer-encoding")
        fields = [(k, v) for k, v in old.items() if k.lower() not in changed]
        assert fields == [(k, v) for k, v in new.items() if k.lower() not in changed]
        assert old.get_content_type() == new.get_content_type()
        if old.get_content_maintype() == "application":
            assert old.get_payload() == new.get_payload()


@pytest.mark.parametrize(
    ("head", "body", "word"),
    [
        ("multipart/signed; boundary=b", "--b\n\na\n--b--", "signed"),
        ("multipart/encrypted; boundary=b", "--b\n\na\n--b--", "encrypted"),
        ("application/pkcs7-mime; smime-type=signed-data", "a", "signed"),
        ("application/x-pkcs7-mime; smime-type=enveloped-data", "a", "encrypted"),
        ("text/plain", "-----BEGIN PGP MESSAGE-----\n\nabc", "encrypted"),
        ("text/plain", "-----BEGIN PGP SIGNED MESSAGE-----\n\nabc", "signed"),
        (
            "multipart/mixed; boundary=a",
            "--a\nContent-Type: multipart/signed; boundary=b\n\n--b\n\na\n--b--\n--a--",
            "signed",
        ),
    ],
)
def test_a_signed_or_encrypted_message_is_refused_as_such(head: str, body: str, word: str) -> None:
    content = f"Subject: a\nContent-Type: {head}\n\n{body}\n".encode()
    with pytest.raises(InvalidDocument, match=f"the message is {word}"):
        parse_file(content, "a.eml", OPTIONS)


def test_a_text_that_is_not_in_its_charset_is_refused() -> None:
    content = b"Subject: a\nContent-Type: text/plain; charset=iso-2022-jp\n\n\x1b$B\x7f\x7f\n"
    with pytest.raises(InvalidDocument, match="charset that it names: 'iso-2022-jp'"):
        parse_file(content, "a.eml", OPTIONS)


PLAIN = b"From: a@b.example\n\n"


@pytest.mark.parametrize("charset", ["utf-8", "gbk", "big5", "cp1252"])
@pytest.mark.parametrize("named", ["", "Content-Type: text/plain; charset=unknown-8bit\n"])
def test_a_text_without_a_known_charset_is_read_and_gets_one(charset: str, named: str) -> None:
    text = {"gbk": "今天天气很好，我们去公园。", "big5": "今天天氣很好。"}.get(
        charset, "Größe für zwei"
    )
    content = f"From: a@b.example\n{named}\n{text}\n".encode(charset)
    parsed = parse_file(content, "a.eml", OPTIONS)
    assert [segment.text for segment in parsed.segments] == [text]
    written = parsed.write([NEW])
    assert texts_read(written) == [NEW]
    assert read(written)["mime-version"] in ("1.0", None)


def test_messages_of_a_digest_are_messages() -> None:
    head = "Subject: One\nContent-Type: multipart/digest; boundary=b\n\n"
    content = f"{head}--b\n\nSubject: Two\n\nHi\n--b--".encode()
    assert texts_of("a.eml", content) == ["One", "Two", "Hi"]


LONG = (
    "We have received your order of the first of December last year, and\nwe will send it tomorrow."
)
LINE = ("A long line. " * 9).strip()
JOINED = LONG.replace("\n", " ")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"Dear all,\n{LONG}\nBob", ["Dear all,", JOINED, "Bob"]),
        ("> " + LONG.replace("\n", "\n> ") + "\n>> No.", [JOINED, "No."]),
        (f"{LONG}\n- one\n- two", [JOINED, "- one", "- two"]),
        ("From: Bob\nSubject: Hello\n", ["From: Bob", "Subject: Hello"]),
        ("Sent to: Lee, Ann <a@b.example>, <c@d.example>;\nCc: c\n", ["Sent to:", "Cc: c"]),
        ("Signed-off-by: Ann <a@b.example>", []),
        ("Run\n```\nthe code\n\n```\nnow", ["Run", "now"]),
        ("A patch.\n---\ndiff --git a/b b/b\n- old\n\n+ new\n-- \nBob", ["A patch.", "Bob"]),
        ("Note: <a@b.example> is new.", ["Note: <a@b.example> is new."]),
        ("Jane\n12 Main Street\n-- \nHead of Sales", ["Jane", "12 Main Street", "Head of Sales"]),
        (f"{LINE}\n{LINE}", [LINE, LINE]),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + "mQINBF4" * 9 + "\n", []),
        ("今天天气很好，我们去公园散步。\n" * 2, ["今天天气很好，我们去公园散步。"] * 2),
    ],
)
def test_lines_that_a_program_has_broken_are_one_paragraph(body: str, expected: list[str]) -> None:
    content = PLAIN + body.encode()
    assert texts_of("a.eml", content) == expected
    done = translated("a.eml", content).decode()
    assert [line.count(">") for line in done.split("\n")] == [
        line.count(">") for line in content.decode().split("\n")
    ]
    assert texts_of("a.eml", done.encode()) == [capitals(text) for text in expected]


WORDS = st.lists(st.sampled_from(("a", "longer", "extraordinarily", "of")), min_size=1, max_size=60)


@given(st.lists(st.tuples(st.integers(0, 2), WORDS), min_size=1, max_size=4), st.booleans())
@settings(max_examples=200, deadline=None)
def test_flowed_paragraphs_are_read_and_written_as_they_flow(
    paragraphs: list[tuple[int, list[str]]], deletes_space: bool
) -> None:
    """Each word on a line of its own, then as lines of the width that it had."""
    end = "  \n" if deletes_space else " \n"
    lines = [
        end.join(">" * depth + " " * bool(depth) + word for word in words)
        for depth, words in paragraphs
    ]
    head = f"Content-Type: text/plain; format=flowed; delsp={'yes' if deletes_space else 'no'}\n\n"
    content = f"{head}{chr(10).join(lines)}\n-- \nBob\n".encode()
    expected = [*(" ".join(words) for _, words in paragraphs), "Bob"]
    assert texts_of("a.eml", content) == expected
    done = translated("a.eml", content)
    assert texts_of("a.eml", done) == [text.upper() for text in expected]
    assert b"\n-- \nBOB\n" in done


def test_hebrew_is_read_in_the_order_in_which_mail_has_it() -> None:
    head = b"From: a@b.example\r\nContent-Type: text/plain; charset=iso-8859-8-i\r\n\r\n"
    content = head + "שלום לכם".encode("iso-8859-8")
    assert texts_of("a.eml", content) == ["שלום לכם"]
    assert texts_of("a.eml", translated("a.eml", content + b" a")) == ["שלום לכם A"]


def test_a_damaged_subject_stays_and_the_text_is_translated() -> None:
    head = b"Subject: =?iso-2022-jp?B?GyRCrSEbKEI=?=\r\nFrom: a@b.example\r\n\r\n"
    assert translated("a.eml", head + b"one\r\n") == head + b"ONE\r\n"
